/**
 * Plans increases and removals as a loop does, and makes a report that can be printed and compared. Must not know where the input
 * comes from.
 */
import { podName } from '../../../domain/ids.ts';
import { summarizeDurations } from '../../../domain/history.ts';
import { type NodeGroup, stoppedInstances } from '../../../domain/node-group.ts';
import type { Observation } from '../../../domain/observation.ts';
import type { ScaleDownPlan, ScaleUpPlan } from '../../../domain/plan.ts';
import type { Pod } from '../../../domain/pod.ts';
import { optionsOf, type PriceSources, type ScaleDownPolicy } from '../../../domain/policy.ts';
import type { PodVerdict } from '../../../domain/reasons.ts';
import { freeRoom } from '../../../planning/scale-up/groups/quotas.ts';
import { type NodePrice, nodePrice, priceOf } from '../../../planning/expanders/node-price.ts';
import { adviseClass, helplessClasses } from '../../../planning/explain/advice/advice.ts';
import { wasteRows, type WasteRow } from '../../../planning/explain/removal-advice/waste.ts';
import type { Advice } from '../../../planning/explain/advice/fix.ts';
import { daemonWaits } from '../../../planning/explain/answers/daemon-waits.ts';
import { describeResize } from '../../../planning/explain/answers/resizes.ts';
import { poolHealth, type PoolHealth } from '../../../planning/explain/answers/node-health.ts';
import { describeStopped, stoppedCost } from '../../../planning/explain/answers/stopped-words.ts';
import { type HeadroomRow, headroomRows } from '../../../planning/explain/headroom-rows.ts';
import { waitedGroups } from '../../../planning/scale-down/full-groups.ts';
import { stepsAhead, type StepAhead } from '../../../planning/explain/schedule-text.ts';
import { formatSpan } from '../../../planning/explain/spans.ts';
import { NOTHING_DECIDED } from '../../../domain/ports/records.ts';
import type { ScaleUpInput } from '../../../planning/scale-up/plan-input.ts';
import { ClusterSnapshot } from '../../../scheduling/snapshot/cluster-snapshot.ts';
import { compareBy } from '../../../lib/comparison.ts';
import { defined } from '../../../lib/defined.ts';
import { repackingDocument, type RepackingDocument } from '../../../api/documents/cost.ts';
import { estimateRepacks } from '../../../planning/scale-down/repack/repack-estimate.ts';
import { finishAtOnce } from '../../../lib/slices.ts';
import { makeScaleDownContext, REMOVALS_ALONE } from '../../../planning/scale-down/plan-context.ts';
import { planRoom } from '../../../planning/scale-down/room/room.ts';
import { missingKinds, type MissingKind } from './missing-kinds.ts';
import { choiceOf } from './option-scores.ts';
import { type PlanInput, planLoop, type PlannedLoop } from './plan-loop.ts';
import { explainRemovals, reportRemovals, type RemovalsReport, type RemovalsExplained } from './removals-report.ts';
import { ownerName, reportScaleUp, type ScaleUpReport } from './scale-up-report.ts';
import { type PlanCounts, summaryOf } from './plan-summary.ts';

/** The shape of `--json`; every list is sorted. */
export interface PlanReport {
  /** `text` is the first line. */
  readonly summary: PlanCounts & { readonly text: string };
  /** The assumed moment. `time` is absent if the source has no time. */
  readonly asOf: { readonly time?: string; readonly source: string };
  /** What the file lacks and what that could change. Absent for other sources, and if nothing is missing. */
  readonly lacks?: readonly MissingKind[];
  readonly pools: readonly PoolReport[];
  /** With `--schedule`: what schedules change in each pool; the first step is what holds now. */
  readonly schedule?: readonly PoolSchedule[];
  /** With `--schedule`: rules without effect. If absent, there are none. One sentence each. */
  readonly scheduleFindings?: readonly string[];
  readonly scaleUp: ScaleUpReport;
  /** Room that is kept free by configuration. Absent if none is configured. */
  readonly headroom?: readonly HeadroomRow[];
  /** What becomes of removed nodes where they are to be stopped (azure.deallocate). Absent where it is off. */
  readonly stopped?: readonly PoolStops[];
  /** Pools with nodes that are sick or left aside by AKS. Absent if there are none. */
  readonly health?: readonly PoolHealth[];
  /** Running pods whose new size waits, at most a hundred. Absent if there are none. */
  readonly resizes?: readonly PodResize[];
  /** The workload of each pod without a node, by the pod's name; pods without a workload are absent. */
  readonly owners: Readonly<Record<string, string>>;
  readonly scaleDown: RemovalsReport;
  /** What follows from an increase for removals. Absent unless the plan has both. */
  readonly exclusion?: string;
  readonly explained: RemovalsExplained;
  /** What repacking would save in every pool, with what is removed anyway. */
  readonly repacking: RepackingDocument;
  readonly notes?: readonly string[];
}

interface PodResize {
  readonly pod: string;
  /** What keeps it from its size, what is done, and what would help. */
  readonly sentence: string;
}

interface PoolStops {
  readonly group: string;
  /** Instances that are stopped now. */
  readonly instances: number;
  /** What their disks cost, in the currency of the prices. Absent if none is stopped, or the price is not known. */
  readonly perHour?: number;
  /** Without a full stop. */
  readonly sentence: string;
}

interface PoolSchedule {
  readonly group: string;
  /** The limits without schedules. */
  readonly min: number;
  readonly max: number;
  readonly steps: readonly StepAhead[];
}

export interface PoolReport {
  readonly group: string;
  readonly vmSize: string;
  readonly zones: readonly string[];
  /** Absent if it is unknown. */
  readonly target?: number;
  readonly max: number;
  /** Of one node, in the currency of the prices. Absent if it is unknown. */
  readonly perHour?: number;
  /** What the configuration takes off the list price. Absent if nothing. */
  readonly discount?: NodePrice['discount'];
}

export function planReport(input: PlanInput): PlanReport {
  const { policy, file } = input;
  const decision = planLoop(input);
  const { scaleUp, scaleDown, observation } = decision;
  const groups = new Map(input.observation.cloud.groups.map((group) => [group.id as string, group]));
  const advice = adviseClasses(decision.input, scaleUp);
  const roomy = withRooms(decision.input, scaleDown);
  const notes = notesOf(input, { scaleUp, scaleDown, observation });
  const growth = {
    ...reportScaleUp(withDeletedPods(scaleUp, input.deletedPods ?? []), {
      groups,
      policy: policy.scaleUp,
      advice,
      daemonWait: daemonWaits(roomy),
      free: freeRoom(policy.scaleUp, input.observation),
    }),
    ...choiceOf(decision),
  };
  const removals = reportRemovals(scaleDown, observation, policy.scaleUp);
  const counts = { ...countsOf(growth, removals), ...defined({ currency: hasPrices(input) ? input.currency : undefined }) };
  const waste = wasteOf(input, decision);
  const lacks =
    file === undefined ? [] : missingKinds({ file, scaleDown, observation, freesNodes: waste.some(({ fix }) => fix !== undefined) });
  const headroom = headroomRows(input, scaleUp);
  const stopped = stopsOf(input);
  const health = poolHealth(input);
  const resizes = resizesIn(roomy);
  const hasBoth = growth.increases.length > 0 && removals.removals.length > 0;
  return {
    summary: { text: summaryOf(counts), ...counts },
    asOf: momentOf(input),
    ...(lacks.length === 0 ? {} : { lacks }),
    pools: [...groups.values()].map((group) => poolOf(group, policy.scaleUp)).sort(compareBy(({ group }) => group)),
    ...(input.scheduleForMs === undefined ? {} : scheduledIn(input, input.scheduleForMs)),
    scaleUp: growth,
    ...(headroom.length === 0 ? {} : { headroom }),
    ...(stopped.length === 0 ? {} : { stopped }),
    ...(health.length === 0 ? {} : { health }),
    ...(resizes.length === 0 ? {} : { resizes }),
    owners: ownersOf(scaleUp),
    scaleDown: removals,
    ...(hasBoth ? { exclusion: describeExclusion(policy.scaleDown) } : {}),
    explained: explainRemovals(scaleDown, observation, waste),
    repacking: repackingOf(input, observation),
    ...(notes.length === 0 ? {} : { notes }),
  };
}

/** With what would be done about full nodes, where room is made on any. */
function withRooms(input: ScaleUpInput, plan: ScaleDownPlan): ScaleUpInput {
  const { observation, state, policy, names } = input;
  if (!observation.cloud.groups.some((group) => optionsOf(group, policy).makeRoom)) return input;
  const snapshot = new ClusterSnapshot({ names });
  snapshot.sync(observation.cluster);
  const context = makeScaleDownContext({ ...REMOVALS_ALONE, observation, state, policy, names, snapshot, inSequence: true });
  const { rooms } = finishAtOnce(planRoom({ context, names, plan, memory: state.repacks, busy: false }));
  return { ...input, state: { ...state, repacks: { ...state.repacks, rooms } } };
}

/** Each costs a look at every pool. */
const MOST_RESIZES = 100;

function resizesIn(input: ScaleUpInput): readonly PodResize[] {
  const pods = [...input.observation.cluster.podsByNode.values()].flat().filter(({ status }) => status.resize !== undefined);
  return pods
    .sort(compareBy(podName))
    .slice(0, MOST_RESIZES)
    .flatMap((pod) => {
      const { resize } = pod.status;
      return resize === undefined ? [] : [{ pod: podName(pod), sentence: describeResize(pod, resize, input) }];
    });
}

function ownersOf({ verdicts }: ScaleUpPlan): PlanReport['owners'] {
  const owned = [...verdicts.keys()]
    .filter(({ controller, nodeName }) => controller !== undefined && nodeName === undefined)
    .map((pod) => [podName(pod), ownerName(pod)] as const);
  return Object.fromEntries(owned.sort(compareBy(([pod]) => pod)));
}

function poolOf(group: NodeGroup, prices: PriceSources): PoolReport {
  const { id, vmSize, zones, target, maxSize } = group;
  return { group: id, vmSize, zones, ...(target.known ? { target: target.value } : {}), max: maxSize, ...nodePrice(prices, group) };
}

function stopsOf({ observation, state, policy: { scaleUp: prices }, currency }: PlanInput): readonly PoolStops[] {
  return observation.cloud.groups
    .flatMap((group) => {
      const [created, started] = [state.readyTimes, state.startTimes].map((times) => summarizeDurations(times.get(group.id) ?? []));
      const sentence = describeStopped(group, { prices, currency, created, started });
      if (sentence === undefined) return [];
      return [
        { group: group.id, instances: stoppedInstances(group).length, sentence, ...defined({ perHour: stoppedCost(group, prices) }) },
      ];
    })
    .sort(compareBy(({ group, instances }) => `${instances > 0 ? 0 : 1} ${group}`));
}

function scheduledIn(input: PlanInput, forMs: number): Pick<PlanReport, 'schedule' | 'scheduleFindings'> {
  const { scheduleFindings } = input.observation.cloud;
  return { schedule: schedulesIn(input, forMs), ...(scheduleFindings.length === 0 ? {} : { scheduleFindings }) };
}

function schedulesIn(input: PlanInput, forMs: number): readonly PoolSchedule[] {
  return input.observation.cloud.groups
    .map((group) => {
      const { min, max } = group.schedule?.pool ?? { min: group.minSize, max: group.maxSize };
      return { group: group.id, min, max, steps: stepsAhead(group, input, forMs) };
    })
    .filter(({ steps }) => steps.length > 0)
    .sort(compareBy(({ group }) => group));
}

/** Times before the epoch, or at it, stand for unknown times. */
function momentOf({ observation: { nowMs }, source = 'the input' }: PlanInput): PlanReport['asOf'] {
  return { ...(nowMs > 0 ? { time: new Date(nowMs).toISOString() } : {}), source };
}

function countsOf(
  { increases, helpless, fits }: Pick<ScaleUpReport, 'increases' | 'helpless' | 'fits'>,
  { removals }: RemovalsReport,
): PlanCounts {
  const podsIgnored = helpless.filter(({ verdict }) => verdict === 'ignored').length;
  const costs = [
    ...increases.map(({ perHour }) => perHour),
    ...removals.map(({ perHour }) => (perHour === undefined ? undefined : -perHour)),
  ];
  const known = costs.filter((cost) => cost !== undefined);
  return {
    nodesAdded: sumOf(increases.map(({ from, to }) => to - from)),
    poolsGrown: increases.length,
    podsHelped: sumOf(increases.map(({ pods }) => pods.length)),
    podsFitting: fits.length,
    podsPending: helpless.length - podsIgnored,
    podsIgnored,
    nodesRemoved: removals.length,
    ...(known.length < costs.length ? {} : { perHour: Math.round(sumOf(known) * 10_000) / 10_000 }),
  };
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, each) => sum + each, 0);
}

function describeExclusion({ delayAfterAddMs, delaysPerGroup }: ScaleDownPolicy): string {
  const wait = formatSpan(delayAfterAddMs);
  const follows = delaysPerGroup
    ? `in the next loop, and ${wait} later in pools that grow`
    : delayAfterAddMs === 0
      ? 'in the next loop'
      : `${wait} later`;
  return `An increase and a removal exclude each other in one loop: removals follow ${follows}.`;
}

function notesOf(
  { assumedOwnerKinds = [] }: PlanInput,
  {
    scaleUp,
    scaleDown,
    observation,
  }: { readonly scaleUp: ScaleUpPlan; readonly scaleDown: ScaleDownPlan; readonly observation: Observation },
): readonly string[] {
  return [
    ...assumedOwnerNotes(scaleDown, observation, assumedOwnerKinds),
    ...scaleUp.notes.map(({ text }) => text),
    ...observation.cloud.groups.flatMap(({ id, template }) =>
      template === undefined || template.declaredDiffer === '' ? [] : [`${id}: ${template.declaredDiffer}.`],
    ),
    ...instanceNotes(scaleDown),
    ...(scaleDown.inhibited === undefined ? [] : [`Nothing is removed: ${scaleDown.inhibited}.`]),
  ];
}

function repackingOf({ state, policy, names, currency }: PlanInput, observation: Observation): RepackingDocument {
  const estimate = finishAtOnce(estimateRepacks({ observation, state, policy, names }));
  return repackingDocument({
    estimate,
    groups: observation.cloud.groups,
    policy,
    state,
    currency: hasPrices({ policy, observation }) ? currency : undefined,
  });
}

function wasteOf({ state, policy, names }: PlanInput, { observation, scaleDown, scaleUp }: PlannedLoop): readonly WasteRow[] {
  const full = waitedGroups(scaleUp, { observation, names });
  return wasteRows({ ...NOTHING_DECIDED, observation, stateBefore: state, scaleUp: [], scaleDown, policy, fullGroups: full }, names);
}

/** Each simulation takes as long as a plan, so only the classes with the most pods get advice. */
const MOST_ADVISED = 20;

/** A currency says nothing where no price is known. */
function hasPrices({ observation, policy }: Pick<PlanInput, 'observation' | 'policy'>): boolean {
  return observation.cloud.groups.some((group) => priceOf(policy.scaleUp, group) !== undefined);
}

function adviseClasses(input: ScaleUpInput, plan: ScaleUpPlan): ReadonlyMap<PodVerdict, Advice> {
  const snapshot = new ClusterSnapshot({ names: input.names });
  snapshot.sync(input.observation.cluster);
  const classes = helplessClasses(plan).slice(0, MOST_ADVISED);
  return new Map(classes.map((helpless) => [helpless.verdict, adviseClass({ input: { ...input, snapshot }, plan }, helpless)]));
}

const INSTANCE_CAUSES = {
  'never-registered': 'that never registered as nodes',
  failed: 'that failed',
  'not-needed': 'that are on their way and no longer needed',
} as const;

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

function withDeletedPods(plan: ScaleUpPlan, pods: readonly Pod[]): ScaleUpPlan {
  const ignored = pods.map((pod) => [pod, { kind: 'ignored', reason: 'not-unschedulable' }] as const);
  return pods.length === 0 ? plan : { ...plan, verdicts: new Map<Pod, PodVerdict>([...plan.verdicts, ...ignored]) };
}
