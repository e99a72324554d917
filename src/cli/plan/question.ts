/** Asks the planner both questions of a loop and says the answers in a form that can be printed and compared. */
import { podName } from '../../domain/ids.ts';
import type { LoopState } from '../../domain/loop-state.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { Observation } from '../../domain/observation.ts';
import type { ScaleDownPlan, ScaleUpPlan } from '../../domain/plan.ts';
import type { Pod } from '../../domain/pod.ts';
import type { Policy, ScaleUpPolicy } from '../../domain/policy.ts';
import type { PodVerdict } from '../../domain/reasons.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import { planScaleDown, type PlanScaleDownInput } from '../../planning/scale-down/plan.ts';
import { explainRefusal, explainSkip } from '../../planning/explain/refusals.ts';
import { planScaleUp } from '../../planning/scale-up/plan.ts';
import type { ScaleUpInput } from '../../planning/scale-up/plan-input.ts';
import { classOf, type VerdictClass } from '../../planning/explain/refusal-class.ts';
import { explainIgnored } from '../../planning/explain/ignored-pods.ts';
import { ClusterSnapshot } from '../../scheduling/snapshot/cluster-snapshot.ts';
import { explainRemovals, removalsAnswer, type RemovalsAnswer, type RemovalsExplained } from './removals-report.ts';
import { compareBy } from '../../lib/comparison.ts';

/** The shape of `--json`; every list is sorted. */
export interface Answer {
  readonly scaleUp: {
    readonly increases: readonly { readonly group: string; readonly from: number; readonly to: number; readonly pods: readonly string[] }[];
    readonly skipped: readonly { readonly group: string; readonly reason: string; readonly detail: string }[];
    readonly helpless: readonly {
      readonly pod: string;
      readonly verdict: VerdictClass;
      readonly detail?: string;
      readonly groups: readonly { readonly group: string; readonly reason: string; readonly detail: string; readonly fix: string }[];
    }[];
    readonly fits: readonly { readonly pod: string; readonly node: string }[];
  };
  readonly scaleDown: RemovalsAnswer;
  readonly explained: RemovalsExplained;
  readonly notes?: readonly string[];
}

export interface Question {
  readonly observation: Observation;
  readonly state: LoopState;
  readonly policy: Policy;
  readonly names: ResourceNames;
  /** Kinds of controllers of which nothing is known: those that pods name are taken to exist. Absent: none. */
  readonly trusted?: readonly string[];
  /** Pods that are being deleted before they got a node. Absent: none. */
  readonly leaving?: readonly Pod[];
  /** A loop had this question. Absent: nobody had. */
  readonly decided?: Decided;
}

/** What a loop that had the question had decided before, whose turn it was, and where its time was up. */
export interface Decided {
  readonly scaleUp: Pick<ScaleUpInput, 'exclude' | 'request' | 'isLate'>;
  /** Absent: removals were not what was decided. */
  readonly scaleDown?: Pick<PlanScaleDownInput, 'scaleUpPlanned' | 'isLate'>;
}

export function answer(question: Question): Answer {
  const { decided } = question;
  const scaleUp = planScaleUp({ ...question, ...decided?.scaleUp });
  const settled = decided?.scaleDown === undefined ? settle(question.observation, scaleUp) : question.observation;
  const scaleDown = removalsOf(question, settled);
  const groups = new Map(question.observation.cloud.groups.map((group) => [group.id as string, group]));
  const notes = [
    ...trustNotes(scaleDown, settled, question.trusted ?? []),
    ...(scaleUp.notes ?? []).map(({ text }) => text),
    ...machineNotes(scaleDown),
    ...(scaleDown.inhibited === undefined ? [] : [`Nothing is removed: ${scaleDown.inhibited}.`]),
  ];
  return {
    scaleUp: scaleUpAnswer(withLeaving(scaleUp, question.leaving ?? []), groups, question.policy.scaleUp),
    scaleDown: removalsAnswer(scaleDown, settled),
    explained: explainRemovals(scaleDown, settled, question.policy.scaleUp),
    ...(notes.length === 0 ? {} : { notes }),
  };
}

/**
 * Pods that fit on nodes that are there are bound there before removals are looked for: that is what would happen first. A loop
 * had its removals decided on what it saw.
 */
function removalsOf({ observation: _seen, decided, ...question }: Question, observation: Observation): ScaleDownPlan {
  const snapshot = new ClusterSnapshot({ names: question.names });
  snapshot.sync(observation.cluster);
  return planScaleDown({ ...question, observation, snapshot, scaleUpPlanned: false, ...decided?.scaleDown });
}

const MACHINE_CAUSES = { 'never-registered': 'that never became nodes', failed: 'that failed' } as const;

/** Machines that are no nodes go, too. */
function machineNotes({ instanceRemovals }: ScaleDownPlan): readonly string[] {
  const counts = new Map<string, number>();
  for (const { group, cause } of instanceRemovals) {
    const what = `Machines of pool ${group} ${MACHINE_CAUSES[cause]} are deleted`;
    counts.set(what, (counts.get(what) ?? 0) + 1);
  }
  return [...counts].sort(compareBy(([key]) => key)).map(([what, count]) => `${what}: ${count}.`);
}

/** Said only where a removal rests on it. */
function trustNotes({ removals }: ScaleDownPlan, { cluster }: Observation, trusted: readonly string[]): readonly string[] {
  const moved = new Set(removals.flatMap(({ node }) => (cluster.podsByNode.get(node) ?? []).map(({ controller }) => controller?.kind)));
  const kinds = trusted.filter((kind) => moved.has(kind));
  if (kinds.length === 0) return [];
  return [`The file holds no ${kinds.join(', ')}: those that the pods of nodes that would go belong to are taken to exist.`];
}

function settle(observation: Observation, { verdicts }: ScaleUpPlan): Observation {
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

function withLeaving(plan: ScaleUpPlan, leaving: readonly Pod[]): ScaleUpPlan {
  const ignored = leaving.map((pod) => [pod, { kind: 'ignored', reason: 'not-unschedulable' }] as const);
  return leaving.length === 0 ? plan : { ...plan, verdicts: new Map<Pod, PodVerdict>([...plan.verdicts, ...ignored]) };
}

type Groups = ReadonlyMap<string, NodeGroup>;

function scaleUpAnswer(plan: ScaleUpPlan, groups: Groups, policy: ScaleUpPolicy): Answer['scaleUp'] {
  const verdicts = [...plan.verdicts]
    .filter(([pod]) => pod.nodeName === undefined)
    .map(([asking, verdict]) => ({ asking, pod: podName(asking), verdict }));
  const increases = plan.increases.map(({ group, from, to, pods }) => ({ group, from, to, pods: pods.map(podName).sort() }));
  const skipped = plan.skipped.map(({ group, reason }) => {
    const { reason: kind, detail } = explainSkip(reason, groups.get(group));
    return { group, reason: kind, detail };
  });
  return {
    increases: sortedBy(increases, ({ group }) => group),
    skipped: sortedBy(skipped, ({ group }) => group),
    helpless: sortedBy(
      verdicts.flatMap((entry) => helplessOf(entry, groups, policy)),
      ({ pod }) => pod,
    ),
    fits: sortedBy(
      verdicts.flatMap(({ pod, verdict }) => fitOf(pod, verdict)),
      ({ pod }) => pod,
    ),
  };
}

function fitOf(pod: string, verdict: PodVerdict): Answer['scaleUp']['fits'] {
  if (verdict.kind === 'fits-present-node') return [{ pod, node: verdict.node }];
  return verdict.kind === 'fits-upcoming-node' ? [{ pod, node: `(coming in ${verdict.group})` }] : [];
}

interface Judged {
  readonly asking: Pod;
  readonly pod: string;
  readonly verdict: PodVerdict;
}

function helplessOf({ asking, pod, verdict }: Judged, groups: Groups, policy: ScaleUpPolicy): Answer['scaleUp']['helpless'] {
  if (verdict.kind === 'ignored') return [{ pod, verdict: 'ignored', detail: explainIgnored(verdict.reason, asking, policy), groups: [] }];
  if (verdict.kind === 'waiting') return [{ pod, verdict: 'coming', detail: verdict.detail, groups: [] }];
  if (verdict.kind !== 'helpless') return [];
  const refusals = verdict.byGroup.map((refusal) => ({
    group: refusal.group as string,
    ...explainRefusal(refusal, groups.get(refusal.group)),
  }));
  return [{ pod, verdict: classOf(verdict), groups: sortedBy(refusals, ({ group }) => group) }];
}

function sortedBy<Item>(items: readonly Item[], textOf: (item: Item) => string): readonly Item[] {
  return [...items].sort(compareBy(textOf));
}
