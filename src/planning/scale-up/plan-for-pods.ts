/** One plan for one set of pods: places them where there is room, and grows groups for the others. */
import type { NodeGroupId } from '../../domain/ids.ts';
import type { ScaleUpPlan } from '../../domain/plan.ts';
import type { Pod, PodShape } from '../../domain/pod.ts';
import type { PodVerdict, SkipReason } from '../../domain/reasons.ts';
import { attaching } from '../../scheduling/volumes/attachments.ts';
import { ClusterSnapshot } from '../../scheduling/snapshot/cluster-snapshot.ts';
import { unfitness, tooStale } from '../state/cluster-health.ts';
import { holdsRoom } from '../state/reserved-room.ts';
import { bookedPods, isCheck } from '../capacity-objects/provisioning-requests.ts';
import { withProvenDevices } from '../state/unpublished-devices.ts';
import { bestPlanByPriority } from './pods/priority-order.ts';
import { byPrecedence, displacedPods, isExpendable, priorityOf } from './pods/unschedulable-pods.ts';
import { type EquivalenceGroup, groupPods } from './pods/equivalence-groups.ts';
import { withoutUnallocatableClaims } from './pods/unallocatable-claims.ts';
import { grow } from './packing/expand.ts';
import type { PlanDeadline } from './pods/plan-deadline.ts';
import { type ExistingCapacity, addUpcomingNodes, copyCapacity, placeOnCapacity } from './groups/existing-capacity.ts';
import { similarityRulesOf } from './groups/similar-groups.ts';
import { outOfStockZones, reasonAgainstIncrease } from './groups/group-eligibility.ts';
import { type GroupTemplate, makeTemplate } from './groups/template-node.ts';
import type { Claims, ScaleUpInput } from './plan-input.ts';
import {
  type ScaleUpContext,
  leavingNodes,
  makeScaleUpContext,
  nodesToMinimum,
  rampFor,
  limitReason,
  plannedSize,
} from './plan-context.ts';
import { explainUnplacedPods, buildScaleUpPlan, noGrowth } from './plan-result.ts';
import { withFork } from '../../scheduling/snapshot/fork.ts';

/** Who else is there, and how new nodes are given. */
export interface PlanFor extends Omit<Claims, 'booked'> {
  /** Where capacity is short those of higher priority are served first. Otherwise everybody at once. */
  readonly byPriority: boolean;
  readonly timer: PlanDeadline;
}

/** The snapshot is left as found. */
export function planFor(input: ScaleUpInput, pods: readonly Pod[], ignored: ReadonlyMap<Pod, PodVerdict>, others: PlanFor): ScaleUpPlan {
  const asking = pods.toSorted(byPrecedence);
  const verdicts = new Map(ignored);
  const { observation, policy, request } = input;
  const booked = policy.capacity?.requests === true ? bookedPods(observation, request?.granted) : [];
  const blocked = blockedBecause(input);
  if (blocked !== undefined) {
    for (const pod of [...asking, ...others.waiting]) verdicts.set(pod, { kind: 'waiting', detail: blocked });
    const held = [...asking, ...booked, ...others.last].some(holdsRoom) ? { held: 'unknown' as const } : {};
    return { increases: [], skipped: [], verdicts, options: [], ...held, summary: `no scale-up: ${blocked}` };
  }
  const context = makeScaleUpContext(input, { booked, waiting: others.waiting, last: others.last });
  const daemons = [...verdicts].filter(([, verdict]) => isDaemon(verdict)).map(([pod]) => pod);
  const everybody = [asking, daemons, booked, others.waiting, others.last];
  if (everybody.every(({ length }) => length === 0) && leavingNodes(input).size === 0)
    return buildScaleUpPlan(context, { skips: new Map(), growth: noGrowth(context), templates: [] }, verdicts);
  const snapshot = input.snapshot ?? freshSnapshot(input);
  return withFork(snapshot, () => planPods(context, { asking, daemons, verdicts, ...others }, snapshot));
}

/** Why no group may grow at all, or undefined. */
function blockedBecause({ observation, state, policy }: ScaleUpInput): string | undefined {
  const { cloud, cluster } = observation;
  const stale = cloud.scaleUpBlocked ?? tooStale(cluster, policy.scaleUp.maxClusterStalenessMs);
  return stale ?? unfitness(observation, state, policy)?.detail;
}

/** Pods of DaemonSets ask for no node, and take their room on those that are there like everybody else. */
function isDaemon(verdict: PodVerdict): boolean {
  return verdict.kind === 'ignored' && verdict.reason === 'daemon-set';
}

interface Asked extends Pick<PlanFor, 'byPriority' | 'timer'> {
  readonly asking: readonly Pod[];
  readonly daemons: readonly Pod[];
  /** Filled with what is decided before anything grows. */
  readonly verdicts: Map<Pod, PodVerdict>;
}

/** Places who finds a place, once; grows for the others, as often as it takes to serve them in the right order. */
function planPods(context: ScaleUpContext, asked: Asked, snapshot: ClusterSnapshot): ScaleUpPlan {
  const { verdicts, byPriority, timer } = asked;
  const displaced = displacedPods(context.input.observation, leavingNodes(context.input));
  makeRoom(context, displaced, snapshot);
  const { groups } = context.input.observation.cloud;
  const asking = context.input.request === undefined ? withoutUnallocatableClaims(asked.asking, groups, snapshot, verdicts) : asked.asking;
  const capacity = capacityOf(context, snapshot);
  addUpcomingNodes(capacity, [...context.coming, ...nodesToMinimum(context)]);
  const { left, tied } = placeInOrder(context, capacity, { ...asked, asking, displaced });
  const { templates, skips } = templatesOf(context);
  const tryIn = (steps: readonly number[]): ScaleUpPlan =>
    withFork(snapshot, () => {
      const turns = inSteps(left, steps).map((pods) => groupPods(pods, tied));
      const settled = { turns, tied, capacity: copyCapacity(capacity), templates, skips, verdicts: new Map(verdicts), timer };
      return growFor(context, settled);
    });
  return byPriority ? bestPlanByPriority(asking, tryIn, timer) : tryIn([]);
}

/** The groups that may grow, with what a new node offers, and why the others may not. */
function templatesOf(context: ScaleUpContext): Pick<Settled, 'templates' | 'skips'> {
  const { observation, policy, names } = context.input;
  const skips = new Map<NodeGroupId, SkipReason>();
  const templates: GroupTemplate[] = [];
  for (const group of observation.cloud.groups) {
    const size = plannedSize(context, group.id, undefined);
    const reason =
      reasonAgainstIncrease(group, context.standing, size, rampFor(context, group)) ??
      (group.template === undefined ? undefined : limitReason(context.headroom, group, group.template, { policy, size }));
    if (reason !== undefined) skips.set(group.id, reason);
    else if (group.template !== undefined) {
      const offered = withProvenDevices(attaching(group.template, names), group, context.input);
      templates.push(makeTemplate(group, offered, observation.cluster.daemonSets, outOfStockZones(group, context.standing)));
    }
  }
  return { templates, skips };
}

/** What is known before anything grows. */
interface Settled extends Pick<PlanFor, 'timer'> {
  /** Who asks for nodes, those that are served first first. */
  readonly turns: readonly (readonly EquivalenceGroup[])[];
  readonly tied: ReadonlySet<PodShape>;
  readonly capacity: ExistingCapacity;
  readonly templates: readonly GroupTemplate[];
  readonly skips: ReadonlyMap<NodeGroupId, SkipReason>;
  readonly verdicts: Map<Pod, PodVerdict>;
}

/** Leaves what it grew by in the snapshot. */
function growFor(context: ScaleUpContext, { turns, tied, capacity, templates, skips, verdicts, timer }: Settled): ScaleUpPlan {
  const { observation, policy } = context.input;
  const { snapshot } = capacity;
  const isTurn = context.input.request !== undefined;
  const growth = grow({
    snapshot,
    templates: mayGrow(context) ? templates : [],
    turns,
    allOrNothing: isTurn,
    together: isTurn && policy.scaleUp.balanceSimilarGroups,
    scoring: context.scoring,
    expanders: context.makeExpanders(),
    headroom: context.headroom,
    sizeOf: (id) => plannedSize(context, id, undefined),
    ceilingOf: (group) => rampFor(context, group).ceiling,
    retry: (waiting) => placeOnCapacity(capacity, waiting, tied, verdicts),
    planned: capacity.planned,
    turn: observation.loopId,
    timer,
    likeness: similarityRulesOf(policy.scaleUp),
    balance: policy.scaleUp.balanceSimilarGroups && !isTurn,
  });
  for (const [group, { pods: helped }] of growth.grown) for (const pod of helped) verdicts.set(pod, { kind: 'triggered', group });
  explainUnplacedPods({ context, snapshot, groups: turns.flat(), templates, growth, skips, verdicts });
  return buildScaleUpPlan(context, { skips, growth, templates }, verdicts);
}

function inSteps(pods: readonly Pod[], steps: readonly number[]): readonly (readonly Pod[])[] {
  const stepOf = (pod: Pod): number => {
    const step = steps.findIndex((least) => priorityOf(pod) >= least);
    return step < 0 ? steps.length : step;
  };
  const turns = Array.from({ length: steps.length + 1 }, (): Pod[] => []);
  for (const pod of pods) turns[stepOf(pod)]?.push(pod);
  return turns;
}

interface Placing extends Asked {
  readonly displaced: readonly Pod[];
}

/** Booked room first, then whose turn it is not, then those that ask, then who only takes what is left. Answers who needs nodes. */
function placeInOrder({ claims, input }: ScaleUpContext, capacity: ExistingCapacity, { asking, daemons, displaced, verdicts }: Placing) {
  const isTurn = input.request !== undefined;
  const pods = isTurn ? asking : [...displaced, ...daemons, ...asking].sort(byPrecedence);
  const first = isTurn ? [...daemons, ...claims.booked] : claims.booked;
  const waiting = isTurn ? [...displaced, ...claims.waiting] : [];
  const all = [...first, ...waiting, ...pods, ...claims.last];
  const tied = capacity.snapshot.tiedShapes([...new Set(all.map((pod) => pod.shape))]);
  placeOnCapacity(capacity, first, tied, verdicts);
  for (const pod of placeOnCapacity(capacity, waiting, tied, verdicts)) verdicts.set(pod, { kind: 'waiting', detail: ANOTHERS_TURN });
  const left = placeOnCapacity(capacity, pods, tied, verdicts).filter((pod) => verdicts.get(pod)?.kind !== 'ignored');
  placeOnCapacity(capacity, claims.last, tied, verdicts);
  return { left, tied };
}

const ANOTHERS_TURN = 'a request for capacity has its turn';

/** Some requests only ask whether there is room. */
function mayGrow({ input }: ScaleUpContext): boolean {
  const { request, observation } = input;
  const turn = request === undefined ? undefined : observation.cluster.capacity?.requests?.find(({ ref }) => ref.uid === request.uid);
  return turn === undefined || !isCheck(turn);
}

/** Bound pods that may be pushed aside count for nothing; pods that wait for a pushed-aside place have theirs. */
function makeRoom(context: ScaleUpContext, displaced: readonly Pod[], snapshot: ClusterSnapshot): void {
  const { observation, policy } = context.input;
  for (const pod of displaced) if (pod.nodeName !== undefined) snapshot.removePod(pod, pod.nodeName);
  const gone = new Set(displaced);
  for (const [node, pods] of observation.cluster.podsByNode) {
    if (!observation.cluster.nodes.has(node)) continue;
    for (const pod of pods) if (isExpendable(pod, policy.scaleUp) && !gone.has(pod)) snapshot.removePod(pod, node);
  }
  for (const pod of observation.cluster.pendingPods) {
    const node = pod.nominatedNodeName;
    if (node !== undefined && pod.deletionAtMs === undefined && observation.cluster.nodes.has(node)) snapshot.addPod(pod, node);
  }
}

function capacityOf(context: ScaleUpContext, snapshot: ClusterSnapshot): ExistingCapacity {
  const { observation } = context.input;
  const leaving = leavingNodes(context.input);
  const isUsable = (name: string): boolean => {
    const node = observation.cluster.nodes.get(name);
    return node !== undefined && node.readiness.ready && node.deletionAtMs === undefined && !leaving.has(name);
  };
  return { snapshot, isUsable, upcoming: new Map(), planned: new Map(), undecided: [] };
}

function freshSnapshot({ observation, names }: ScaleUpInput): ClusterSnapshot {
  const snapshot = new ClusterSnapshot({ names });
  snapshot.sync(observation.cluster);
  return snapshot;
}
