/** Plans increases and removals as a loop does, and makes a report that can be printed and compared. */
import { podName } from '../../domain/ids.ts';
import type { LoopState } from '../../domain/loop-state.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { Observation } from '../../domain/observation.ts';
import type { ScaleDownPlan, ScaleUpPlan } from '../../domain/plan.ts';
import type { Pod } from '../../domain/pod.ts';
import type { Policy, ScaleUpPolicy } from '../../domain/policy.ts';
import type { PodVerdict } from '../../domain/reasons.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import { fullGroups, type FullGroups } from '../../planning/scale-down/full-groups.ts';
import { planScaleDown, type PlanScaleDownInput } from '../../planning/scale-down/plan.ts';
import { wasteRows, type WasteRow } from '../../planning/explain/removal-advice/waste.ts';
import { adviseClass, helplessClasses } from '../../planning/explain/advice/advice.ts';
import { type Advice, describeAdvice } from '../../planning/explain/fix.ts';
import { explainRefusal, explainSkip } from '../../planning/explain/refusals.ts';
import { planScaleUp } from '../../planning/scale-up/plan.ts';
import type { ScaleUpInput } from '../../planning/scale-up/plan-input.ts';
import { classifyVerdict, type VerdictClass } from '../../planning/explain/refusal-class.ts';
import { explainIgnored } from '../../planning/explain/ignored-pods.ts';
import { ClusterSnapshot } from '../../scheduling/snapshot/cluster-snapshot.ts';
import { explainRemovals, reportRemovals, type RemovalsReport, type RemovalsExplained } from './removals-report.ts';
import { compareBy } from '../../lib/comparison.ts';

/** The shape of `--json`; every list is sorted. */
export interface PlanReport {
  readonly scaleUp: {
    readonly increases: readonly { readonly group: string; readonly from: number; readonly to: number; readonly pods: readonly string[] }[];
    readonly skipped: readonly { readonly group: string; readonly reason: string; readonly detail: string }[];
    readonly helpless: readonly {
      readonly pod: string;
      readonly verdict: VerdictClass;
      readonly detail?: string;
      /** `fix` is the advice, if it makes this group grow. */
      readonly groups: readonly { readonly group: string; readonly reason: string; readonly detail: string; readonly fix: string }[];
      /** What helps, as far as it was simulated. Absent for pods that need no change, and for small classes beyond the first. */
      readonly advice?: Advice & { readonly text: string };
    }[];
    readonly fits: readonly { readonly pod: string; readonly node: string }[];
  };
  readonly scaleDown: RemovalsReport;
  readonly explained: RemovalsExplained;
  readonly notes?: readonly string[];
}

export interface PlanInput {
  readonly observation: Observation;
  readonly state: LoopState;
  readonly policy: Policy;
  readonly names: ResourceNames;
  /** Kinds of owners that the file does not contain: owners of these kinds are assumed to exist. Default: none. */
  readonly assumedOwnerKinds?: readonly string[];
  /** Pods that were deleted before they had a node. Default: none. */
  readonly deletedPods?: readonly Pod[];
  /** If present, a loop of the daemon had this input, and its decision is repeated. */
  readonly recorded?: RecordedTurn;
}

/** What the recorded loop had decided before, whose turn it was, and where its time ended. */
export interface RecordedTurn {
  readonly scaleUp: Pick<ScaleUpInput, 'exclude' | 'request' | 'isLate'>;
  /** If absent, the loop did not decide on removals. */
  readonly scaleDown?: Pick<PlanScaleDownInput, 'scaleUpPlanned' | 'fullGroups' | 'isLate'>;
}

/** The decision of a loop: the one that was recorded, or the one that a loop would make. */
export interface PlannedLoop {
  readonly input: ScaleUpInput;
  readonly scaleUp: ScaleUpPlan;
  readonly scaleDown: ScaleDownPlan;
  /** What the removals were planned from. */
  readonly observation: Observation;
}

export function planLoop(input: PlanInput): PlannedLoop {
  const { recorded } = input;
  const scaleUpInput = { ...input, ...recorded?.scaleUp };
  const scaleUp = planScaleUp(scaleUpInput);
  // The removals of a recorded loop were decided on the observation itself.
  const observation = recorded?.scaleDown === undefined ? withBoundPods(input.observation, scaleUp) : input.observation;
  const scaleDown = planRemovals(input, observation, fullGroups(scaleUp, observation.cloud.groups));
  return { input: scaleUpInput, scaleUp, scaleDown, observation };
}

export function planReport(input: PlanInput): PlanReport {
  const { policy } = input;
  const planned = planLoop(input);
  const { input: scaleUpInput, scaleUp, scaleDown, observation } = planned;
  const groups = new Map(input.observation.cloud.groups.map((group) => [group.id as string, group]));
  const notes = [
    ...assumedOwnerNotes(scaleDown, observation, input.assumedOwnerKinds ?? []),
    ...(scaleUp.notes ?? []).map(({ text }) => text),
    ...instanceNotes(scaleDown),
    ...(scaleDown.inhibited === undefined ? [] : [`Nothing is removed: ${scaleDown.inhibited}.`]),
  ];
  return {
    scaleUp: reportScaleUp(withDeletedPods(scaleUp, input.deletedPods ?? []), {
      groups,
      policy: policy.scaleUp,
      advice: adviseClasses(scaleUpInput, scaleUp),
    }),
    scaleDown: reportRemovals(scaleDown, observation),
    explained: explainRemovals(scaleDown, observation, wasteOf(input, planned)),
    ...(notes.length === 0 ? {} : { notes }),
  };
}

function wasteOf({ state, policy, names }: PlanInput, { observation, scaleDown, scaleUp }: PlannedLoop): readonly WasteRow[] {
  const full = fullGroups(scaleUp, observation.cloud.groups);
  return wasteRows({ observation, stateBefore: state, scaleUp: [], scaleDown, policy, fullGroups: full }, names);
}

/** Each simulation takes as long as a plan, so only the classes with the most pods get advice. */
const MOST_ADVISED = 20;

function adviseClasses(input: ScaleUpInput, plan: ScaleUpPlan): ReadonlyMap<PodVerdict, Advice> {
  const snapshot = new ClusterSnapshot({ names: input.names });
  snapshot.sync(input.observation.cluster);
  const classes = helplessClasses(plan).slice(0, MOST_ADVISED);
  return new Map(classes.map((helpless) => [helpless.verdict, adviseClass({ input: { ...input, snapshot }, plan }, helpless)]));
}

function planRemovals(
  { observation: _original, recorded, ...input }: PlanInput,
  observation: Observation,
  full: FullGroups,
): ScaleDownPlan {
  const snapshot = new ClusterSnapshot({ names: input.names });
  snapshot.sync(observation.cluster);
  return planScaleDown({ ...input, observation, snapshot, scaleUpPlanned: false, fullGroups: full, ...recorded?.scaleDown });
}

const INSTANCE_CAUSES = { 'never-registered': 'that never registered as nodes', failed: 'that failed' } as const;

/** Instances without a node are deleted as well. */
function instanceNotes({ instanceRemovals }: ScaleDownPlan): readonly string[] {
  const counts = new Map<string, number>();
  for (const { group, cause } of instanceRemovals) {
    const what = `Instances of pool ${group} ${INSTANCE_CAUSES[cause]} are deleted`;
    counts.set(what, (counts.get(what) ?? 0) + 1);
  }
  return [...counts].sort(compareBy(([key]) => key)).map(([what, count]) => `${what}: ${count}.`);
}

/** Only kinds that a removal depends on. */
function assumedOwnerNotes({ removals }: ScaleDownPlan, { cluster }: Observation, assumed: readonly string[]): readonly string[] {
  const moved = new Set(removals.flatMap(({ node }) => (cluster.podsByNode.get(node) ?? []).map(({ controller }) => controller?.kind)));
  const kinds = assumed.filter((kind) => moved.has(kind));
  if (kinds.length === 0) return [];
  return [`The file contains no ${kinds.join(', ')}; owners of pods on the nodes to remove are assumed to exist.`];
}

/** Binds pods that fit on existing nodes: the scheduler would do so before nodes are removed. */
function withBoundPods(observation: Observation, { verdicts }: ScaleUpPlan): Observation {
  const podsByNode = new Map(observation.cluster.podsByNode);
  const bound = new Set<Pod>();
  for (const [pod, verdict] of verdicts) {
    if (verdict.kind !== 'fits-present-node' || pod.nodeName !== undefined) continue;
    bound.add(pod);
    podsByNode.set(verdict.node, [...(podsByNode.get(verdict.node) ?? []), { ...pod, nodeName: verdict.node, unschedulable: undefined }]);
  }
  const pendingPods = observation.cluster.pendingPods.filter((pod) => !bound.has(pod));
  return { ...observation, cluster: { ...observation.cluster, podsByNode, pendingPods } };
}

function withDeletedPods(plan: ScaleUpPlan, pods: readonly Pod[]): ScaleUpPlan {
  const ignored = pods.map((pod) => [pod, { kind: 'ignored', reason: 'not-unschedulable' }] as const);
  return pods.length === 0 ? plan : { ...plan, verdicts: new Map<Pod, PodVerdict>([...plan.verdicts, ...ignored]) };
}

interface ReportContext {
  readonly groups: ReadonlyMap<string, NodeGroup>;
  readonly policy: ScaleUpPolicy;
  readonly advice: ReadonlyMap<PodVerdict, Advice>;
}

function reportScaleUp(plan: ScaleUpPlan, context: ReportContext): PlanReport['scaleUp'] {
  const verdicts = [...plan.verdicts]
    .filter(([pod]) => pod.nodeName === undefined)
    .map(([pod, verdict]) => ({ pod, name: podName(pod), verdict }));
  const increases = plan.increases.map(({ group, from, to, pods }) => ({ group, from, to, pods: pods.map(podName).sort() }));
  const skipped = plan.skipped.map(({ group, reason }) => {
    const { reason: kind, detail } = explainSkip(reason, context.groups.get(group));
    return { group, reason: kind, detail };
  });
  return {
    increases: sortedBy(increases, ({ group }) => group),
    skipped: sortedBy(skipped, ({ group }) => group),
    helpless: sortedBy(
      verdicts.flatMap((entry) => reportPending(entry, context)),
      ({ pod }) => pod,
    ),
    fits: sortedBy(
      verdicts.flatMap(({ name, verdict }) => reportFit(name, verdict)),
      ({ pod }) => pod,
    ),
  };
}

function reportFit(pod: string, verdict: PodVerdict): PlanReport['scaleUp']['fits'] {
  if (verdict.kind === 'fits-present-node') return [{ pod, node: verdict.node }];
  return verdict.kind === 'fits-upcoming-node' ? [{ pod, node: `(coming in ${verdict.group})` }] : [];
}

interface NamedVerdict {
  readonly pod: Pod;
  readonly name: string;
  readonly verdict: PodVerdict;
}

function reportPending({ pod, name, verdict }: NamedVerdict, { groups, policy, advice }: ReportContext): PlanReport['scaleUp']['helpless'] {
  if (verdict.kind === 'ignored')
    return [{ pod: name, verdict: 'ignored', detail: explainIgnored(verdict.reason, pod, policy), groups: [] }];
  if (verdict.kind === 'waiting') return [{ pod: name, verdict: 'coming', detail: verdict.detail, groups: [] }];
  if (verdict.kind !== 'helpless') return [];
  const advised = advice.get(verdict);
  const refusals = verdict.byGroup.map((refusal) => {
    const { reason, detail } = explainRefusal(refusal, groups.get(refusal.group));
    const fix = advised?.fix?.proof.groups.includes(refusal.group) === true ? advised.fix.text : '';
    return { group: refusal.group, reason, detail, fix };
  });
  const told = advised === undefined ? {} : { advice: { ...advised, text: describeAdvice(advised) } };
  return [{ pod: name, verdict: classifyVerdict(verdict), groups: sortedBy(refusals, ({ group }) => group), ...told }];
}

function sortedBy<Item>(items: readonly Item[], textOf: (item: Item) => string): readonly Item[] {
  return [...items].sort(compareBy(textOf));
}
