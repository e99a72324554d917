/** One plan for one set of pods: places them on existing capacity, and grows groups for the others. */
import type { NodeGroupId } from '../../domain/ids.ts';
import { NOTHING_PLANNED, type ScaleUpPlan } from '../../domain/plan.ts';
import type { Pod } from '../../domain/pod.ts';
import type { PodVerdict, SkipReason } from '../../domain/reasons.ts';
import { ClusterSnapshot } from '../../scheduling/snapshot/cluster-snapshot.ts';
import { AutoscalerError } from '../../lib/errors.ts';
import type { SlicedWork } from '../../lib/slices.ts';
import { tryInSlices, withForkInSlices } from '../../scheduling/snapshot/snapshot.ts';
import { withAttachLimits } from '../../scheduling/volumes/attachments.ts';
import { bookedPods, isCheck } from '../capacity-objects/provisioning-requests.ts';
import { reasonNotToAct } from '../state/cluster-health.ts';
import { displacedPods, isReservation, nominatedPods } from '../state/assumed-pods.ts';
import { outOfStockZones } from '../state/stockouts.ts';
import { estimateFrom } from '../state/stopped-plans.ts';
import { withConfirmedParts } from './groups/unpublished-devices.ts';
import { type AwaitedPods, explainNodes, findAwaitedPods, unexplainedNodes } from './awaited-pods.ts';
import { type ExistingCapacity, addUpcomingNodes, copyCapacity, placeOnCapacity } from './groups/existing-capacity.ts';
import { reasonAgainstIncrease } from './groups/group-eligibility.ts';
import { isRefusedByAll, newNodeKinds, type NewNodeKinds } from './groups/refused-shapes.ts';
import { similarityRulesOf } from './groups/similar-groups.ts';
import { type GroupTemplate, makeTemplate } from './groups/template-node.ts';
import { expandGroups } from './packing/expand.ts';
import { type SizeBounds, emptyExpansion } from './packing/expansion.ts';
import { placeAndPack } from './packing/pack-upcoming.ts';
import {
  type PodsToPlace,
  type ScaleUpContext,
  growthOf,
  leavingNodes,
  makeScaleUpContext,
  nodesToMinimum,
  plannedSize,
  seededExpanders,
} from './plan-context.ts';
import type { PodsToPlan, ScaleUpInput } from './plan-input.ts';
import { buildScaleUpPlan, type DecidedPlan, prepareExplanation } from './plan-result.ts';
import { type EquivalenceGroup, groupPodsInSlices } from './pods/equivalence-groups.ts';
import { bestPlanByPriority, isPlaced, isUnplaced, splitByPriority } from './pods/priority-order.ts';
import { inTurns } from './pods/search-order.ts';
import { withoutUnallocatableClaims } from './pods/unallocatable-claims.ts';
import { factsOf } from './pods/pod-list-facts.ts';
import { allRecreated } from '../facts/recreated-pods.ts';
import { byPrecedence, isExpendable } from './pods/unschedulable-pods.ts';

const OTHER_TURN = 'this loop plans a ProvisioningRequest';

/**
 * Packing goes by size, so a buffer could get the node that a pod needs if capacity is short. Then the plan is made again with buffers
 * after all other pods, and used if it leaves fewer of these without a place. Leaves the snapshot as found.
 */
export function* planForPods(input: ScaleUpInput, toPlan: PodsToPlan): SlicedWork<DecidedPlan> {
  const plan = yield* planOnce(input, toPlan);
  const [others, buffers] = splitBuffers(toPlan.pods, true);
  const unplacedIn = (some: ScaleUpPlan): number => others.filter((pod) => isUnplaced(some, pod)).length;
  if (toPlan.buffersLast || !buffers.some((pod) => isPlaced(plan, pod)) || unplacedIn(plan) === 0) return plan;
  if (!toPlan.tries.startRetry()) return plan;
  const fair = yield* planOnce(input, { ...toPlan, buffersLast: true });
  return unplacedIn(fair) < unplacedIn(plan) ? fair : plan;
}

/** Buffers are the second part, unless they are packed together with the others. */
function splitBuffers(pods: readonly Pod[], buffersLast: boolean): readonly [others: readonly Pod[], buffers: readonly Pod[]] {
  if (!buffersLast) return [pods, []];
  return [pods.filter(({ origin }) => origin !== 'buffer'), pods.filter(({ origin }) => origin === 'buffer')];
}

function* planOnce(input: ScaleUpInput, toPlan: PodsToPlan): SlicedWork<DecidedPlan> {
  const pods = podsToPlace(input, toPlan);
  const { observation, state, policy } = input;
  const toServe = [...pods.pods, ...pods.booked, ...pods.last];
  const blocked = reasonNotToAct(observation, state, policy);
  if (blocked !== undefined) {
    const waiting = [...pods.pods, ...pods.waiting].map((pod) => [pod, { kind: 'waiting', detail: blocked }] as const);
    const reserved = toServe.some(isReservation) ? 'unknown' : [];
    const verdicts = new Map<Pod, PodVerdict>([...pods.ignored, ...waiting]);
    return { ...NOTHING_PLANNED, verdicts, reserved, summary: `no scale-up: ${blocked}`, ...NOTHING_OPEN };
  }
  const context = makeScaleUpContext(input, pods);
  if (toServe.length + pods.daemons.length + pods.waiting.length === 0 && leavingNodes(input).size === 0)
    return {
      ...(yield* buildScaleUpPlan(context, { skips: new Map(), expansion: emptyExpansion(context.room), templates: [] }, pods.ignored)),
      ...NOTHING_OPEN,
    };
  const snapshot = input.snapshot ?? newSnapshot(input);
  yield;
  const first = yield* withForkInSlices(snapshot, () => placeAndExpand(context, snapshot, undefined));
  if (first !== UNEXPLAINED) return first;
  const explained = yield* withForkInSlices(snapshot, () => explainUpcoming(context, snapshot));
  const second = yield* withForkInSlices(snapshot, () => placeAndExpand(context, snapshot, explained));
  if (second === UNEXPLAINED) throw new AutoscalerError({ kind: 'bug' }, 'Nodes on their way were explained twice.');
  return second;
}

/** A plan that leaves nothing to explain. */
const NOTHING_OPEN = { unexplained: undefined, held: [] };

/** Pods found no place, and there are nodes on their way that nothing explains. */
const UNEXPLAINED = 'unexplained';

/** On the model of present nodes, which it leaves as found: a second model of a large cluster takes longer than the plan. */
function explainUpcoming({ input, upcoming, pods }: ScaleUpContext, snapshot: ClusterSnapshot): SlicedWork<AwaitedPods> {
  const awaited = findAwaitedPods(input, upcoming, pods.pods);
  const rest = pods.pods.filter(({ uid }) => !awaited.has(uid));
  const plan = (other: ScaleUpInput): SlicedWork<DecidedPlan> => planForPods(other, { ...pods, pods: rest, ignored: new Map() });
  return explainNodes({ ...input, snapshot }, unexplainedNodes(input, upcoming), plan);
}

function podsToPlace(input: ScaleUpInput, toPlan: PodsToPlan): PodsToPlace {
  const { observation, policy, request } = input;
  const leaving = displacedPods(observation, leavingNodes(input));
  return {
    ...toPlan,
    leaving,
    pods: toPlan.pods.toSorted(byPrecedence),
    booked: policy.capacity.requests ? bookedPods(observation, request?.granted) : [],
    daemons: [...toPlan.ignored].filter(([, verdict]) => isDaemonVerdict(verdict)).map(([pod]) => pod),
    displaced: allRecreated(leaving, observation.cluster),
  };
}

function isDaemonVerdict(verdict: PodVerdict): boolean {
  return verdict.kind === 'ignored' && verdict.reason === 'daemon-set';
}

/** Places the pods that fit, once. Grows groups for the others, as often as it takes to serve priorities in the right order. */
function* placeAndExpand(
  context: ScaleUpContext,
  snapshot: ClusterSnapshot,
  explained: AwaitedPods | undefined,
): SlicedWork<DecidedPlan | typeof UNEXPLAINED> {
  const { pods, byPriority, buffersLast, tries } = context.pods;
  makeRoom(context, snapshot);
  yield;
  const present = yield* existingCapacity(context, snapshot);
  yield;
  const hopeful = pods.filter((pod) => !present.verdicts.has(pod));
  const placed = yield* placePods(context, present, explained);
  if (placed === undefined) return UNEXPLAINED;
  const { unplaced, capacity } = placed;
  const growable = growableGroups(context, snapshot);
  yield;
  const [others, buffers] = splitBuffers(unplaced, buffersLast);
  const planInSteps = (steps: readonly number[]): SlicedWork<DecidedPlan> => {
    const parts = [...splitByPriority(others, steps), ...(buffers.length === 0 ? [] : [buffers])];
    return withForkInSlices(snapshot, () => expandAndExplain(context, growable, parts, copyCapacity(capacity)));
  };
  const [rivals] = splitBuffers(
    hopeful.filter(({ shape }) => !isRefusedByAll(shape, growable.kinds)),
    buffersLast,
  );
  return yield* byPriority ? bestPlanByPriority(rivals, planInSteps, tries) : planInSteps([]);
}

interface GrowableGroups {
  /** What a new node of each group that may grow offers. */
  readonly templates: readonly GroupTemplate[];
  /** The same nodes, for what each of them refuses. */
  readonly kinds: NewNodeKinds;
  /** For every group of `templates`. */
  readonly bounds: ReadonlyMap<NodeGroupId, SizeBounds>;
  /** Why each of the other groups may not grow. */
  readonly skips: ReadonlyMap<NodeGroupId, SkipReason>;
}

function growableGroups(context: ScaleUpContext, snapshot: ClusterSnapshot): GrowableGroups {
  const { observation, state, names } = context.input;
  const skips = new Map<NodeGroupId, SkipReason>();
  const bounds = new Map<NodeGroupId, SizeBounds>();
  const templates: GroupTemplate[] = [];
  for (const group of observation.cloud.groups) {
    const size = plannedSize(context, group);
    const growth = growthOf(context, { group, template: group.template }, size, context.room);
    const reason = reasonAgainstIncrease(growth);
    if (reason !== undefined) skips.set(group.id, reason);
    else if (group.template !== undefined) {
      const offered = withConfirmedParts(withAttachLimits(group.template, names), group, context.input);
      const closedZones = outOfStockZones(group, state.stockouts, observation.nowMs);
      templates.push(makeTemplate(group, offered, observation.cluster, closedZones));
      bounds.set(group.id, { size, ceiling: growth.ceiling.ceiling });
    }
  }
  return { templates, kinds: newNodeKinds(templates, snapshot), bounds, skips };
}

/** Serves the parts one after the other. Leaves the new nodes in the snapshot. */
function* expandAndExplain(
  context: ScaleUpContext,
  { templates, kinds, bounds, skips }: GrowableGroups,
  parts: readonly (readonly Pod[])[],
  capacity: ExistingCapacity,
): SlicedWork<DecidedPlan> {
  const { observation, state, policy, request } = context.input;
  const all: (readonly EquivalenceGroup[])[] = [];
  for (const pods of parts) all.push(yield* groupPodsInSlices(pods, capacity.interdependent));
  yield;
  const turns: (readonly EquivalenceGroup[])[] = [];
  // guard: pods that no new node could hold take no time of estimates
  for (const groups of all) turns.push(groups.filter(({ shape }) => !isRefusedByAll(shape, kinds)));
  yield;
  const expansion = yield* expandGroups({
    capacity,
    turns,
    tries: context.pods.tries,
    bounds,
    templates: mayGrow(context.input) ? templates : [],
    room: context.room,
    scoring: context.scoring,
    expandersFor: seededExpanders(context.input),
    similarity: similarityRulesOf(policy.scaleUp),
    rotation: estimateFrom(state, observation.loopId),
    allOrNothing: request !== undefined,
    balance: policy.scaleUp.balanceSimilarGroups,
  });
  for (const [group, { pods }] of expansion.added) {
    const verdict: PodVerdict = { kind: 'triggered', group };
    for (const pod of pods) capacity.verdicts.set(pod, verdict);
  }
  const outcome = { skips, expansion, templates };
  const unexplained = yield* prepareExplanation(context, outcome, all.flat(), capacity);
  yield;
  return { ...(yield* buildScaleUpPlan(context, outcome, capacity.verdicts)), unexplained, held: [] };
}

interface PlacedPods {
  readonly unplaced: readonly Pod[];
  readonly capacity: ExistingCapacity;
}

/** undefined: pods find no place, and the nodes on their way that nothing explains must be `explained` first. */
function* placePods(
  context: ScaleUpContext,
  capacity: ExistingCapacity,
  explained: AwaitedPods | undefined,
): SlicedWork<PlacedPods | undefined> {
  const { input, upcoming, pods } = context;
  const awaited = findAwaitedPods(input, upcoming, pods.pods);
  if (explained !== undefined) return yield* placeInOrder(context, capacity, new Map([...awaited, ...explained]));
  const unexplained = input.request === undefined ? unexplainedNodes(input, upcoming) : [];
  const place = (): SlicedWork<PlacedPods> => placeInOrder(context, copyCapacity(capacity), awaited);
  if (unexplained.length === 0) return yield* place();
  const placed = yield* tryInSlices(capacity.snapshot, place, ({ unplaced }) => unplaced.length === 0);
  if (placed.unplaced.length === 0) return placed;
  return pods.tries.startRetry() ? undefined : yield* place();
}

/** Places booked pods first, then waiting pods, then those that may cause an increase, then the last. */
function* placeInOrder({ pods, input }: ScaleUpContext, capacity: ExistingCapacity, awaited: AwaitedPods): SlicedWork<PlacedPods> {
  const { verdicts } = capacity;
  const isRequest = input.request !== undefined;
  const toServe = pods.pods.filter((pod) => !verdicts.has(pod));
  yield* placeOnCapacity(capacity, isRequest ? [...pods.daemons, ...pods.booked] : pods.booked);
  const waiting = isRequest ? [...pods.displaced, ...pods.waiting] : [];
  for (const pod of yield* placeAndPack(capacity, waiting, { awaited, areLast: false }))
    verdicts.set(pod, { kind: 'waiting', detail: OTHER_TURN });
  yield;
  const inOrder = isRequest ? toServe : inTurns([...pods.displaced, ...pods.daemons, ...toServe], input.state.stopped?.searched);
  const parts = splitBuffers(inOrder, pods.buffersLast).filter((part, at) => at === 0 || part.length > 0);
  const left: Pod[] = [];
  for (const [at, part] of parts.entries()) {
    const areLast = !isRequest && at === parts.length - 1;
    for (const pod of yield* placeAndPack(capacity, part, { awaited, areLast })) left.push(pod);
  }
  yield* placeOnCapacity(capacity, pods.last);
  return { unplaced: left.filter((pod) => verdicts.get(pod)?.kind !== 'ignored'), capacity };
}

/** Some ProvisioningRequests only check for room. */
function mayGrow({ request, observation }: ScaleUpInput): boolean {
  const planned = request === undefined ? undefined : observation.cluster.capacity.requests.find(({ ref }) => ref.uid === request.uid);
  return planned === undefined || !isCheck(planned);
}

/** Removes bound pods that may be preempted, and places the pods that wait for a preempted place. */
function makeRoom({ input, pods }: ScaleUpContext, snapshot: ClusterSnapshot): void {
  const { observation, policy } = input;
  for (const pod of pods.leaving) if (pod.nodeName !== undefined) snapshot.removePod(pod, pod.nodeName);
  const gone = new Set(pods.leaving);
  for (const [node, present] of observation.cluster.podsByNode) {
    if (!observation.cluster.nodes.has(node)) continue;
    if (factsOf(present).lowestPriority >= policy.scaleUp.expendablePriorityCutoff) continue;
    for (const pod of present) if (isExpendable(pod, policy.scaleUp) && !gone.has(pod)) snapshot.removePod(pod, node);
  }
  for (const { pod, node } of nominatedPods(input)) snapshot.addPod(pod, node);
}

/** Present nodes and nodes on their way. Pods whose claims cannot be allocated on any node have their verdict already. */
function* existingCapacity(context: ScaleUpContext, snapshot: ClusterSnapshot): SlicedWork<ExistingCapacity> {
  const { input, pods } = context;
  const { observation, request, policy } = input;
  const { nodes } = observation.cluster;
  const leaving = leavingNodes(input);
  const isUsable = (name: string): boolean => {
    const node = nodes.get(name);
    return node !== undefined && node.readiness.ready && node.deletionAtMs === undefined && !leaving.has(name);
  };
  const verdicts = new Map(pods.ignored);
  if (request === undefined) withoutUnallocatableClaims(pods.pods, observation.cloud.groups, snapshot, verdicts);
  const none = { fresh: new Map(), upcoming: new Map(), planned: new Map(), undecided: [], newNodeTemplates: new Map() };
  const joined = new Set(policy.scaleUp.nominateNodes ? context.upcoming.flatMap(({ upcoming }) => upcoming.unready) : []);
  const capacity: ExistingCapacity = { snapshot, tries: pods.tries, interdependent: new Map(), verdicts, isUsable, joined, ...none };
  addUpcomingNodes(capacity, [...context.upcoming, ...nodesToMinimum(context)]);
  const all = [...pods.booked, ...pods.waiting, ...pods.displaced, ...pods.daemons, ...pods.pods, ...pods.last];
  const shapes = [...new Set(all.map(({ shape }) => shape))];
  const daemons = observation.cluster.daemonSets.map(({ shape }) => shape);
  return { ...capacity, interdependent: yield* snapshot.interdependentShapes(shapes, daemons) };
}

function newSnapshot({ observation, names }: ScaleUpInput): ClusterSnapshot {
  const snapshot = new ClusterSnapshot({ names });
  snapshot.sync(observation.cluster);
  return snapshot;
}
