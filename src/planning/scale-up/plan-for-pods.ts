/** One plan for one set of pods: places them on existing capacity, and grows groups for the others. */
import type { NodeGroupId } from '../../domain/ids.ts';
import type { ScaleUpPlan } from '../../domain/plan.ts';
import type { Pod, PodShape } from '../../domain/pod.ts';
import type { PodVerdict, SkipReason } from '../../domain/reasons.ts';
import { ClusterSnapshot } from '../../scheduling/snapshot/cluster-snapshot.ts';
import { withFork } from '../../scheduling/snapshot/snapshot.ts';
import { withAttachLimits } from '../../scheduling/volumes/attachments.ts';
import { bookedPods, isCheck } from '../capacity-objects/provisioning-requests.ts';
import { reasonNotToAct } from '../state/cluster-health.ts';
import { isReservation } from '../state/reserved-room.ts';
import { withConfirmedDevices } from '../state/unpublished-devices.ts';
import { type AwaitedPods, explainNodes, findAwaitedPods, unexplainedNodes } from './awaited-pods.ts';
import { type ExistingCapacity, addUpcomingNodes, copyCapacity, placeOnCapacity } from './groups/existing-capacity.ts';
import { outOfStockZones, reasonAgainstIncrease } from './groups/group-eligibility.ts';
import { similarityRulesOf } from './groups/similar-groups.ts';
import { type GroupTemplate, makeTemplate } from './groups/template-node.ts';
import { expandGroups } from './packing/expand.ts';
import { type SizeBounds, emptyExpansion } from './packing/expansion.ts';
import { placeAndPack } from './packing/pack-upcoming.ts';
import {
  type ScaleUpContext,
  increaseCeiling,
  leavingNodes,
  limitReason,
  makeScaleUpContext,
  nodesToMinimum,
  plannedSize,
  seededExpanders,
} from './plan-context.ts';
import type { ExistingRoomPods, ScaleUpInput } from './plan-input.ts';
import { buildScaleUpPlan, explainUnplacedPods } from './plan-result.ts';
import { groupPods } from './pods/equivalence-groups.ts';
import type { TryLimits } from './pods/try-limits.ts';
import { bestPlanByPriority, splitByPriority } from './pods/priority-order.ts';
import { withoutUnallocatableClaims } from './pods/unallocatable-claims.ts';
import { byPrecedence, displacedPods, isExpendable } from './pods/unschedulable-pods.ts';

/** The pods of one plan, and how they are served. */
export interface PodsToPlan extends Omit<ExistingRoomPods, 'booked'> {
  /** Pods that may cause an increase. */
  readonly pods: readonly Pod[];
  /** Verdicts on pending pods that may not. */
  readonly ignored: ReadonlyMap<Pod, PodVerdict>;
  /** Whether pods of higher priority are served first if capacity is short. */
  readonly byPriority: boolean;
  readonly tries: TryLimits;
}

const OTHER_TURN = 'this loop plans a ProvisioningRequest';

/** Leaves the snapshot as found. */
export function planForPods(input: ScaleUpInput, toPlan: PodsToPlan): ScaleUpPlan {
  const { waiting, last } = toPlan;
  const pods = toPlan.pods.toSorted(byPrecedence);
  const verdicts = new Map(toPlan.ignored);
  const { observation, policy, request } = input;
  const booked = policy.capacity?.requests === true ? bookedPods(observation, request?.granted) : [];
  const blocked = reasonNotToAct(input.observation, input.state, input.policy);
  if (blocked !== undefined) {
    for (const pod of [...pods, ...waiting]) verdicts.set(pod, { kind: 'waiting', detail: blocked });
    const held = [...pods, ...booked, ...last].some(isReservation) ? { held: 'unknown' as const } : {};
    return { increases: [], skipped: [], verdicts, options: [], ...held, summary: `no scale-up: ${blocked}` };
  }
  const context = makeScaleUpContext(input, { booked, waiting, last });
  const daemons = [...verdicts].filter(([, verdict]) => isDaemonVerdict(verdict)).map(([pod]) => pod);
  const nothingToPlace = [pods, daemons, booked, waiting, last].every(({ length }) => length === 0);
  if (nothingToPlace && leavingNodes(input).size === 0)
    return buildScaleUpPlan(context, { skips: new Map(), expansion: emptyExpansion(context.headroom), templates: [] }, verdicts);
  const snapshot = input.snapshot ?? newSnapshot(input);
  return withFork(snapshot, () => placeAndExpand(context, { ...toPlan, pods, daemons, verdicts }, snapshot));
}

/** DaemonSet pods cause no increase, but take room on present nodes like all other pods. */
function isDaemonVerdict(verdict: PodVerdict): boolean {
  return verdict.kind === 'ignored' && verdict.reason === 'daemon-set';
}

interface PlacementInput extends Pick<PodsToPlan, 'pods' | 'byPriority' | 'tries'> {
  readonly daemons: readonly Pod[];
  /** Filled with what is decided before any group grows. */
  readonly verdicts: Map<Pod, PodVerdict>;
}

/** Places the pods that fit, once. Grows groups for the others, as often as it takes to serve priorities in the right order. */
function placeAndExpand(context: ScaleUpContext, given: PlacementInput, snapshot: ClusterSnapshot): ScaleUpPlan {
  const { verdicts, byPriority, tries } = given;
  const { observation, request } = context.input;
  const displaced = displacedPods(observation, leavingNodes(context.input));
  makeRoom(context.input, displaced, snapshot);
  const pods = request === undefined ? withoutUnallocatableClaims(given.pods, observation.cloud.groups, snapshot, verdicts) : given.pods;
  const capacity = existingCapacity(context.input, snapshot);
  addUpcomingNodes(capacity, [...context.upcoming, ...nodesToMinimum(context)]);
  const { unplaced, interdependent } = placePods(context, capacity, { ...given, pods, displaced });
  const growable = growableGroups(context);
  const planInSteps = (steps: readonly number[]): ScaleUpPlan =>
    withFork(snapshot, () =>
      expandAndExplain(context, growable, {
        turns: splitByPriority(unplaced, steps),
        interdependent,
        capacity: copyCapacity(capacity),
        verdicts: new Map(verdicts),
        tries,
      }),
    );
  return byPriority ? bestPlanByPriority(pods, planInSteps, tries) : planInSteps([]);
}

interface GrowableGroups {
  /** What a new node of each group that may grow offers. */
  readonly templates: readonly GroupTemplate[];
  /** For every group of `templates`. */
  readonly bounds: ReadonlyMap<NodeGroupId, SizeBounds>;
  /** Why each of the other groups may not grow. */
  readonly skips: ReadonlyMap<NodeGroupId, SkipReason>;
}

function growableGroups(context: ScaleUpContext): GrowableGroups {
  const { observation, policy, names } = context.input;
  const skips = new Map<NodeGroupId, SkipReason>();
  const bounds = new Map<NodeGroupId, SizeBounds>();
  const templates: GroupTemplate[] = [];
  for (const group of observation.cloud.groups) {
    const size = plannedSize(context, group);
    const ceiling = increaseCeiling(group, context.input);
    const reason =
      reasonAgainstIncrease(group, context.standing, size, ceiling) ??
      (group.template === undefined ? undefined : limitReason(context.headroom, group, group.template, { policy: policy.scaleUp, size }));
    if (reason !== undefined) skips.set(group.id, reason);
    else if (group.template !== undefined) {
      const offered = withConfirmedDevices(withAttachLimits(group.template, names), group, context.input);
      templates.push(makeTemplate(group, offered, observation.cluster.daemonSets, outOfStockZones(group, context.standing)));
      bounds.set(group.id, { size, ceiling: ceiling.ceiling });
    }
  }
  return { templates, bounds, skips };
}

interface UnplacedPodsInput {
  /** Pods that need new nodes, in the order in which they are served. */
  readonly turns: readonly (readonly Pod[])[];
  /** Shapes whose place depends on other pods' places. */
  readonly interdependent: ReadonlySet<PodShape>;
  readonly capacity: ExistingCapacity;
  readonly verdicts: Map<Pod, PodVerdict>;
  readonly tries: TryLimits;
}

/** Leaves the new nodes in the snapshot. */
function expandAndExplain(context: ScaleUpContext, growable: GrowableGroups, unplaced: UnplacedPodsInput): ScaleUpPlan {
  const { observation, policy, request } = context.input;
  const { interdependent, capacity, verdicts, tries } = unplaced;
  const { templates, bounds, skips } = growable;
  const { snapshot, planned } = capacity;
  const turns = unplaced.turns.map((pods) => groupPods(pods, interdependent));
  const expansion = expandGroups({
    snapshot,
    planned,
    turns,
    tries,
    bounds,
    templates: mayGrow(context.input) ? templates : [],
    headroom: context.headroom,
    scoring: context.scoring,
    expanders: seededExpanders(context.input),
    similarity: similarityRulesOf(policy.scaleUp),
    retry: (pods) => placeOnCapacity(capacity, pods, interdependent, verdicts),
    rotation: observation.loopId,
    allOrNothing: request !== undefined,
    balance: policy.scaleUp.balanceSimilarGroups,
  });
  for (const [group, { pods }] of expansion.added) for (const pod of pods) verdicts.set(pod, { kind: 'triggered', group });
  const outcome = { skips, expansion, templates };
  explainUnplacedPods(context, outcome, { groups: turns.flat(), snapshot, verdicts });
  return buildScaleUpPlan(context, outcome, verdicts);
}

interface PlacementOrderInput extends PlacementInput {
  readonly displaced: readonly Pod[];
}

/** If pods find no place and there are nodes on their way that nothing explains, these nodes are explained first. */
function placePods(context: ScaleUpContext, capacity: ExistingCapacity, given: PlacementOrderInput) {
  const { input, upcoming, roomPods } = context;
  const awaited = findAwaitedPods(input, upcoming, given.pods);
  const unexplained = input.request === undefined ? unexplainedNodes(input, upcoming) : [];
  if (unexplained.length === 0) return placeInOrder(context, capacity, given, awaited);
  const { snapshot } = capacity;
  const { unplaced } = withFork(snapshot, () =>
    placeInOrder(context, copyCapacity(capacity), { ...given, verdicts: new Map(given.verdicts) }, awaited),
  );
  if (unplaced.length === 0 || !given.tries.startRetry()) return placeInOrder(context, capacity, given, awaited);
  const rest = given.pods.filter(({ uid }) => !awaited.has(uid));
  const plan = (other: ScaleUpInput): ScaleUpPlan => planForPods(other, { ...roomPods, ...given, pods: rest, ignored: new Map() });
  return placeInOrder(context, capacity, given, new Map([...awaited, ...explainNodes(input, unexplained, plan)]));
}

/** Places booked pods first, then waiting pods, then those that may cause an increase, then the last. */
function placeInOrder({ roomPods, input }: ScaleUpContext, capacity: ExistingCapacity, given: PlacementOrderInput, awaited: AwaitedPods) {
  const { daemons, displaced, verdicts } = given;
  const isRequest = input.request !== undefined;
  const pods = isRequest ? given.pods : [...displaced, ...daemons, ...given.pods].sort(byPrecedence);
  const first = isRequest ? [...daemons, ...roomPods.booked] : roomPods.booked;
  const waiting = isRequest ? [...displaced, ...roomPods.waiting] : [];
  const all = [...first, ...waiting, ...pods, ...roomPods.last];
  const interdependent = capacity.snapshot.interdependentShapes([...new Set(all.map((pod) => pod.shape))]);
  const place = (some: readonly Pod[]): readonly Pod[] => placeOnCapacity(capacity, some, interdependent, verdicts);
  place(first);
  for (const pod of placeAndPack(capacity, { pods: waiting, interdependent, verdicts }, { awaited, areLast: false }))
    verdicts.set(pod, { kind: 'waiting', detail: OTHER_TURN });
  const unplaced = placeAndPack(capacity, { pods, interdependent, verdicts }, { awaited, areLast: !isRequest }).filter(
    (pod) => verdicts.get(pod)?.kind !== 'ignored',
  );
  place(roomPods.last);
  return { unplaced, interdependent };
}

/** Some ProvisioningRequests only check for room. */
function mayGrow({ request, observation }: ScaleUpInput): boolean {
  const planned = request === undefined ? undefined : observation.cluster.capacity?.requests?.find(({ ref }) => ref.uid === request.uid);
  return planned === undefined || !isCheck(planned);
}

/** Removes bound pods that may be preempted, and places the pods that wait for a preempted place. */
function makeRoom({ observation, policy }: ScaleUpInput, displaced: readonly Pod[], snapshot: ClusterSnapshot): void {
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

function existingCapacity(input: ScaleUpInput, snapshot: ClusterSnapshot): ExistingCapacity {
  const { nodes } = input.observation.cluster;
  const leaving = leavingNodes(input);
  const isUsable = (name: string): boolean => {
    const node = nodes.get(name);
    return node !== undefined && node.readiness.ready && node.deletionAtMs === undefined && !leaving.has(name);
  };
  return { snapshot, isUsable, fresh: new Map(), upcoming: new Map(), planned: new Map(), undecided: [], newNodeTemplates: new Map() };
}

function newSnapshot({ observation, names }: ScaleUpInput): ClusterSnapshot {
  const snapshot = new ClusterSnapshot({ names });
  snapshot.sync(observation.cluster);
  return snapshot;
}
