/**
 * Scale-up: which groups grow, to what size, for which pods, and why everything else does not. Pure: reads one
 * observation and the loop's memory, and leaves the snapshot as it was. Must not know how a size is written.
 */
import { podName, type NodeGroupId, type NodeName } from '../../domain/ids.ts';
import type { LoopState } from '../../domain/loop-state.ts';
import { isWhole, type NodeGroup, type NodeTemplate } from '../../domain/node-group.ts';
import type { Observation } from '../../domain/observation.ts';
import type { HeldRoom, Increase, ScaleUpPlan, SkippedGroup } from '../../domain/plan.ts';
import type { Pod } from '../../domain/pod.ts';
import type { Policy } from '../../domain/policy.ts';
import { seededRandom, stableHash } from '../../domain/random.ts';
import type { PodVerdict, SkipReason } from '../../domain/reasons.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import { attaching } from '../../scheduling/attach-limits.ts';
import { ClusterSnapshot } from '../../scheduling/cluster-snapshot.ts';
import { createExpanders, type Expander } from '../expanders/expander.ts';
import { unfitness } from '../cluster-health.ts';
import { bufferPods } from '../buffers/inject.ts';
import { holdsRoom } from '../held-room.ts';
import { emptyRooms } from '../quotas/rooms.ts';
import { rampOf, type Ramp } from '../ramp.ts';
import { probeOf } from '../stockouts.ts';
import { bookedPods, isCheck, requestPods } from '../requests/requests.ts';
import { preemptedNodes } from '../preempted.ts';
import { tooStale } from '../stale-cluster.ts';
import { brokenNodes } from '../state/broken-nodes.ts';
import { overdueInstances } from '../state/unregistered.ts';
import { byPrecedence, displacedPods, gpuIndexes, isExpendable, reasonToIgnore } from './classify-pods.ts';
import { groupPods, type EquivalenceGroup } from './equivalence-groups.ts';
import { grow, type Growth } from './grow.ts';
import { fullHeadroom, limitReached, nodesAllowed, occupy, spend, wholeLimit, type Headroom } from './limits.ts';
import { addComing, placeOnCapacity, type Capacity, type ComingNodes } from './present-capacity.ts';
import { injectPods } from './proactive.ts';
import { createScoring, type Scoring } from './score.ts';
import { closedZones, reasonNotToGrow, reasonNotToTouch, type Standing } from './skip-reasons.ts';
import { makeTemplate, type GroupTemplate } from './template-node.ts';
import { askPlaces } from './live-refusals.ts';
import { findUpcoming } from './upcoming.ts';
import { explainLeftovers } from './verdicts.ts';

const NO_ZONES: ReadonlySet<string> = new Set();

export interface ScaleUpInput {
  readonly observation: Observation;
  readonly state: LoopState;
  readonly policy: Policy;
  readonly names: ResourceNames;
  /** Already synced to the observation's cluster; left as found. Absent: one is made. */
  readonly snapshot?: ClusterSnapshot;
  /** Groups that this loop has tried already. */
  readonly exclude?: ReadonlySet<NodeGroupId>;
  /** Set: this plan is for a request alone, by uid; `granted`: others that were granted in the same loop. */
  readonly request?: RequestTurn;
  /** Whether the time for planning is up; asked before each estimate but the first, with how many were made. Absent: never. */
  readonly isLate?: (made: number) => boolean;
}

/** Which request has its turn. */
export interface RequestTurn {
  readonly uid: string;
  readonly granted: readonly string[];
}

/** Pods that take what room there is and ask for no more. */
interface Claims {
  /** Before anybody else. */
  readonly booked: readonly Pod[];
  /** Before those that ask: whose turn it is not. */
  readonly waiting: readonly Pod[];
  /** After all others. */
  readonly last: readonly Pod[];
}

/** What is settled before any pod is looked at. */
interface Frame {
  readonly input: ScaleUpInput;
  readonly claims: Claims;
  readonly standing: Standing;
  readonly expanders: readonly Expander[];
  readonly scoring: Scoring;
  readonly coming: readonly ComingNodes[];
  readonly minimum: ReadonlyMap<NodeGroupId, number>;
  readonly headroom: Headroom;
}

/**
 * Decides which groups grow, for which pods, and says why for every pending pod and every group.
 * @throws AutoscalerError `config` when the policy's list of expanders is not valid.
 */
export function planScaleUp(input: ScaleUpInput): ScaleUpPlan {
  const { observation, policy } = input;
  const asking: Pod[] = [];
  const verdicts = ignoredPods(input, asking);
  if (input.request !== undefined) return planForRequest(input, input.request, { asking, verdicts });
  const foreseen = injectPods(observation, policy.scaleUp, asking.length);
  const buffers = buffered(input, asking.length + foreseen.pods.length);
  if (policy.scaleUp.proactive !== true && policy.capacity?.bufferInjection !== true) return planByPriority(input, asking, verdicts);
  const plan = yieldingRoom(input, [...asking, ...foreseen.pods], { buffers: buffers.pods, verdicts });
  const injected = foreseen.pods.length + buffers.pods.length;
  return { ...plan, injection: { injected, skipped: foreseen.skipped + buffers.skipped } };
}

/** The plan of a loop that is a request's: pods keep what room they have, and what they lack waits for the next loop. */
function planForRequest(
  input: ScaleUpInput,
  { uid }: RequestTurn,
  { asking, verdicts }: { readonly asking: readonly Pod[]; readonly verdicts: Map<Pod, PodVerdict> },
): ScaleUpPlan {
  const { observation } = input;
  const { capacity = {} } = observation.cluster;
  const request = capacity.requests?.find(({ ref }) => ref.uid === uid);
  const pods = request === undefined ? [] : (requestPods(request, capacity, observation.nowMs) ?? []);
  const waiting = asking.toSorted(byPrecedence);
  return planFor(input, [...pods], verdicts, { waiting, last: buffered(input, 0).pods });
}

/** Priorities for which a plan is tried again, the highest first: what nothing can help should not cost a plan each. */
const MAX_TRIES = 3;
const HIGHER_FIRST = 'pods of higher priority come first, and capacity is short';

/**
 * Packing goes by size. Where that leaves a pod without a place and gives one of lower priority a new node, the plan is made
 * for the higher ones alone, and stands when it helps more of them; the others have their turn in the next loop.
 */
function planByPriority(input: ScaleUpInput, asking: readonly Pod[], verdicts: ReadonlyMap<Pod, PodVerdict>): ScaleUpPlan {
  const plan = planFor(input, [...asking], new Map(verdicts));
  const stuck = asking.filter((pod) => isStuck(plan, pod)).map(priorityOf);
  const lowest = asking.reduce((least, pod) => (isHelped(plan, pod) ? Math.min(least, priorityOf(pod)) : least), Infinity);
  const short = [...new Set(stuck)].filter((priority) => priority > lowest).sort((left, right) => right - left);
  for (const priority of short.slice(0, MAX_TRIES)) {
    const upper = asking.filter((pod) => priorityOf(pod) >= priority);
    const lower = asking.filter((pod) => priorityOf(pod) < priority);
    const first = planFor(input, [...upper], new Map(verdicts), { waiting: [], last: lower.toSorted(byPrecedence) });
    const helped = (of: ScaleUpPlan): number => upper.filter((pod) => !isStuck(of, pod)).length;
    if (helped(first) <= helped(plan)) continue;
    const left = lower.filter((pod) => !first.verdicts.has(pod)).map((pod) => [pod, { kind: 'waiting', detail: HIGHER_FIRST }] as const);
    return { ...first, verdicts: new Map<Pod, PodVerdict>([...first.verdicts, ...left]) };
  }
  return plan;
}

function priorityOf({ shape }: Pod): number {
  return shape.priority ?? 0;
}

function isStuck({ verdicts }: ScaleUpPlan, pod: Pod): boolean {
  const kind = verdicts.get(pod)?.kind;
  return kind === 'helpless' || kind === 'waiting';
}

function isHelped({ verdicts }: ScaleUpPlan, pod: Pod): boolean {
  return verdicts.get(pod)?.kind === 'triggered';
}

/**
 * Packing goes by size, so that where capacity is short a buffer could get the node that a pod needs: then the plan is made
 * again without buffers, and stands when it helps more pods.
 */
function yieldingRoom(
  input: ScaleUpInput,
  asking: readonly Pod[],
  { buffers, verdicts }: { readonly buffers: readonly Pod[]; readonly verdicts: ReadonlyMap<Pod, PodVerdict> },
): ScaleUpPlan {
  const plan = planByPriority(input, [...asking, ...buffers], verdicts);
  if (!buffers.some((pod) => isHelped(plan, pod)) || !asking.some((pod) => isStuck(plan, pod))) return plan;
  const without = planByPriority(input, asking, verdicts);
  return helpedIn(without) > helpedIn(plan) ? { ...without, held: 'unknown' } : plan;
}

function helpedIn({ verdicts }: ScaleUpPlan): number {
  return [...verdicts].filter(([pod, { kind }]) => kind === 'triggered' && !holdsRoom(pod)).length;
}

/** Pods of buffers, as many as may be injected beside the pods that ask already. */
function buffered({ observation, policy }: ScaleUpInput, asking: number): { readonly pods: readonly Pod[]; readonly skipped: number } {
  const { capacity } = observation.cluster;
  if (policy.capacity?.bufferInjection !== true || capacity === undefined) return { pods: [], skipped: 0 };
  const wanted = bufferPods(capacity, observation.nowMs).filter((pod) => !isExpendable(pod, policy.scaleUp));
  const allowed = Math.max(0, (policy.scaleUp.podInjectionLimit ?? Number.POSITIVE_INFINITY) - asking);
  return { pods: wanted.slice(0, allowed), skipped: Math.max(0, wanted.length - allowed) };
}

/** How many pods ask for room of their own accord. */
export function askingPods(input: Pick<ScaleUpInput, 'observation' | 'policy' | 'names'>): number {
  const asking: Pod[] = [];
  ignoredPods(input, asking);
  return asking.length;
}

/** Sorts the pending pods into those that ask for room and the verdicts on the others. */
function ignoredPods(
  { observation, policy, names }: Pick<ScaleUpInput, 'observation' | 'policy' | 'names'>,
  asking: Pod[],
): Map<Pod, PodVerdict> {
  const verdicts = new Map<Pod, PodVerdict>();
  const gpus = gpuIndexes(names);
  for (const pod of observation.cluster.pendingPods) {
    const consumes = policy.capacity?.requests === true && pod.consumes !== undefined;
    const reason = consumes ? 'consumes-request' : reasonToIgnore(pod, observation.nowMs, policy.scaleUp, gpus);
    if (reason === undefined) asking.push(pod);
    else verdicts.set(pod, { kind: 'ignored', reason });
  }
  return verdicts;
}

function planFor(
  input: ScaleUpInput,
  asking: Pod[],
  verdicts: Map<Pod, PodVerdict>,
  others: Omit<Claims, 'booked'> = { waiting: [], last: [] },
): ScaleUpPlan {
  asking.sort(byPrecedence);
  const { observation, policy, request } = input;
  const booked = policy.capacity?.requests === true ? bookedPods(observation, request?.granted) : [];
  const blocked = blockedBecause(input);
  if (blocked !== undefined) {
    for (const pod of asking) verdicts.set(pod, { kind: 'waiting', detail: blocked });
    for (const pod of others.waiting) verdicts.set(pod, { kind: 'waiting', detail: blocked });
    const held = [...asking, ...booked, ...others.last].some(holdsRoom) ? { held: 'unknown' as const } : {};
    return { increases: [], skipped: [], verdicts, options: [], ...held, summary: `no scale-up: ${blocked}` };
  }
  const frame = makeFrame(input, { booked, ...others });
  if (asking.length + booked.length + others.waiting.length + others.last.length === 0 && leavingNodes(input).size === 0)
    return finish(frame, { skips: new Map(), growth: noGrowth(frame), templates: [] }, verdicts);
  const snapshot = input.snapshot ?? freshSnapshot(input);
  snapshot.fork();
  try {
    return planPods(frame, asking, snapshot, verdicts);
  } finally {
    snapshot.revert();
  }
}

/** Why no group may grow at all, or undefined. */
function blockedBecause({ observation, state, policy }: ScaleUpInput): string | undefined {
  const { cloud, cluster } = observation;
  const stale = cloud.scaleUpBlocked ?? tooStale(cluster, policy.scaleUp.maxClusterStalenessMs);
  return stale ?? unfitness(observation, state, policy)?.detail;
}

function makeFrame(input: ScaleUpInput, claims: Claims): Frame {
  const { observation, state, policy } = input;
  const standing = { state, nowMs: observation.nowMs, exclude: input.exclude ?? new Set<NodeGroupId>() };
  const seed = stableHash(`${policy.scaleUp.randomSeed}|${observation.loopId}`);
  const expanders = createExpanders(policy.scaleUp.expanders, seededRandom(seed));
  const scoring = createScoring(policy.scaleUp, input.names, observation.cluster.nodes.size);
  const rooms = emptyRooms(observation.cluster.capacity?.quotas ?? [], input.names);
  let headroom = fullHeadroom(policy.scaleUp, observation.cloud.quotas, rooms);
  for (const node of observation.cluster.nodes.values()) headroom = occupy(headroom, node, 1);
  const coming: ComingNodes[] = [];
  for (const group of observation.cloud.groups) {
    const upcoming = findUpcoming(group, observation, state, policy);
    if (group.template === undefined || upcoming.unregistered.length + upcoming.unready.length === 0) continue;
    coming.push({
      template: makeTemplate(group, attaching(group.template, input.names), observation.cluster.daemonSets, NO_ZONES),
      upcoming,
    });
    headroom = occupy(headroom, group.template, upcoming.unregistered.length);
  }
  const minimum = new Map<NodeGroupId, number>();
  const broken = brokenNodes(observation, state, policy);
  for (const group of policy.scaleUp.enforceMinSize ? observation.cloud.groups : []) {
    const overdue = overdueInstances(group, { state, policy, nowMs: observation.nowMs });
    const missing = missingToMinimum(group, overdue + (broken.get(group.id) ?? 0), standing);
    const room = group.target.known ? paceOf(group, input).ceiling - group.target.value : 0;
    const nodes = Math.min(missing, room, nodesAllowed(headroom, group.template));
    if (nodes < 1 || (isWhole(group) && nodes < missing)) continue;
    minimum.set(group.id, nodes);
    headroom = spend(headroom, group.template, nodes);
  }
  return { input, claims, standing, expanders, scoring, coming, minimum, headroom };
}

function rampFor({ input }: Pick<Frame, 'input'>, group: NodeGroup): Ramp {
  return paceOf(group, input);
}

/** The narrower of how fast the group may grow and what a lack of stock that may be over allows. */
function paceOf(group: NodeGroup, { policy, state, observation }: ScaleUpInput): Ramp {
  const ramp = rampOf(group, policy.scaleUp, state, observation.nowMs);
  const probe = probeOf(group, state, observation.nowMs);
  return probe.ceiling < ramp.ceiling ? probe : ramp;
}

function reachedRamp(frame: Frame, group: NodeGroup, size: number): SkipReason | undefined {
  const { ceiling, reason } = rampFor(frame, group);
  return size >= ceiling ? reason : undefined;
}

/** Instances that never became nodes, or broke, count as missing: a replacement comes first, then they may go. */
function missingToMinimum(group: NodeGroup, lost: number, standing: Standing): number {
  if (!group.target.known || reasonNotToTouch(group, standing) !== undefined) return 0;
  const missing = Math.min(group.minSize + lost, group.maxSize) - group.target.value;
  return missing > 0 && isWhole(group) ? group.maxSize - group.target.value : missing;
}

function planPods(frame: Frame, asking: readonly Pod[], snapshot: ClusterSnapshot, verdicts: Map<Pod, PodVerdict>): ScaleUpPlan {
  const { observation, policy } = frame.input;
  const displaced = displacedPods(observation, leavingNodes(frame.input));
  const isTurn = frame.input.request !== undefined;
  makeRoom(frame, displaced, snapshot);
  const capacity = capacityOf(frame, snapshot);
  addComing(capacity, [...frame.coming, ...minimumNodes(frame)]);
  const { left, tied } = placeInOrder(frame, capacity, { asking, displaced, verdicts });
  const groups = groupPods(left, tied);
  const sizeOf = (id: NodeGroupId): number => sizeWith(frame, id, undefined);
  const skips = new Map<NodeGroupId, SkipReason>();
  const templates: GroupTemplate[] = [];
  for (const group of observation.cloud.groups) {
    const reason =
      reasonNotToGrow(group, frame.standing, sizeOf(group.id), rampFor(frame, group)) ??
      (group.template === undefined
        ? undefined
        : reasonByLimits(frame.headroom, group, group.template, { policy, size: sizeOf(group.id) }));
    if (reason !== undefined) skips.set(group.id, reason);
    else if (group.template !== undefined) {
      const offered = attaching(group.template, frame.input.names);
      templates.push(makeTemplate(group, offered, observation.cluster.daemonSets, closedZones(group, frame.standing)));
    }
  }
  const retry = (waiting: readonly Pod[]): readonly Pod[] => placeOnCapacity(capacity, waiting, tied, verdicts);
  const growth = grow({
    snapshot,
    templates: mayGrow(frame) ? templates : [],
    groups,
    allOrNothing: isTurn,
    scoring: frame.scoring,
    expanders: frame.expanders,
    headroom: frame.headroom,
    sizeOf,
    ceilingOf: (group) => rampFor(frame, group).ceiling,
    retry,
    planned: capacity.planned,
    turn: observation.loopId,
    isLate: frame.input.isLate ?? (() => false),
    likeness: { ignoredLabels: policy.scaleUp.balancingIgnoreLabels ?? [], labels: policy.scaleUp.balancingLabels ?? [] },
    balance: policy.scaleUp.balanceSimilarGroups && !isTurn,
  });
  for (const [group, { pods: helped }] of growth.grown) for (const pod of helped) verdicts.set(pod, { kind: 'triggered', group });
  explain({ frame, snapshot, groups, templates, growth, skips, verdicts });
  return finish(frame, { skips, growth, templates }, verdicts);
}

interface Placing {
  readonly asking: readonly Pod[];
  readonly displaced: readonly Pod[];
  readonly verdicts: Map<Pod, PodVerdict>;
}

/** Booked room first, then whose turn it is not, then those that ask, then who only takes what is left. Answers who needs nodes. */
function placeInOrder({ claims, input }: Frame, capacity: Capacity, { asking, displaced, verdicts }: Placing) {
  const isTurn = input.request !== undefined;
  const pods = isTurn ? asking : [...displaced, ...asking].sort(byPrecedence);
  const waiting = isTurn ? [...displaced, ...claims.waiting] : [];
  const all = [...claims.booked, ...waiting, ...pods, ...claims.last];
  const tied = capacity.snapshot.tiedShapes([...new Set(all.map((pod) => pod.shape))]);
  placeOnCapacity(capacity, claims.booked, tied, verdicts);
  for (const pod of placeOnCapacity(capacity, waiting, tied, verdicts)) verdicts.set(pod, { kind: 'waiting', detail: ANOTHERS_TURN });
  const left = placeOnCapacity(capacity, pods, tied, verdicts);
  placeOnCapacity(capacity, claims.last, tied, verdicts);
  return { left, tied };
}

const ANOTHERS_TURN = 'a request for capacity has its turn';

/** Some requests only ask whether there is room. */
function mayGrow({ input }: Frame): boolean {
  const { request, observation } = input;
  const turn = request === undefined ? undefined : observation.cluster.capacity?.requests?.find(({ ref }) => ref.uid === request.uid);
  return turn === undefined || !isCheck(turn);
}

/** Nodes that we remove and nodes that the platform takes: what runs there needs a place before it turns pending. */
function leavingNodes({ observation, state }: Pick<ScaleUpInput, 'observation' | 'state'>): ReadonlySet<NodeName> {
  return new Set([...state.deleting.keys(), ...preemptedNodes(observation)]);
}

/** Bound pods that may be pushed aside count for nothing; pods that wait for a pushed-aside place have theirs. */
function makeRoom(frame: Frame, displaced: readonly Pod[], snapshot: ClusterSnapshot): void {
  const { observation, policy } = frame.input;
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

function capacityOf(frame: Frame, snapshot: ClusterSnapshot): Capacity {
  const { observation } = frame.input;
  const leaving = leavingNodes(frame.input);
  const isUsable = (name: string): boolean => {
    const node = observation.cluster.nodes.get(name);
    return node !== undefined && node.readiness.ready && node.deletionAtMs === undefined && !leaving.has(name);
  };
  return { snapshot, isUsable, upcoming: new Map(), planned: new Map(), undecided: [] };
}

/** The nodes of an increase to the minimum size serve pods like any other node to come. */
function minimumNodes(frame: Frame): readonly ComingNodes[] {
  const { cloud, cluster } = frame.input.observation;
  return cloud.groups.flatMap((group) => {
    const nodes = frame.minimum.get(group.id) ?? 0;
    if (nodes === 0 || group.template === undefined) return [];
    const offered = attaching(group.template, frame.input.names);
    const template = makeTemplate(group, offered, cluster.daemonSets, closedZones(group, frame.standing));
    return [{ template, upcoming: { unregistered: Array.from({ length: nodes }, () => undefined), unready: [] } }];
  });
}

/** Limits of the cluster, the plan and the cloud that keep the group from growing at all. */
function reasonByLimits(
  headroom: Headroom,
  group: NodeGroup,
  template: NodeTemplate,
  { policy, size }: { readonly policy: Policy; readonly size: number },
): SkipReason | undefined {
  const reached = limitReached(headroom, template, policy.scaleUp);
  return reached ?? (isWhole(group) ? wholeLimit(headroom, template, group.maxSize - size) : undefined);
}

function explain(outcome: {
  readonly frame: Frame;
  readonly snapshot: ClusterSnapshot;
  readonly groups: readonly EquivalenceGroup[];
  readonly templates: readonly GroupTemplate[];
  readonly growth: Growth;
  readonly skips: Map<NodeGroupId, SkipReason>;
  readonly verdicts: Map<Pod, PodVerdict>;
}): void {
  const { frame, snapshot, groups, templates, growth, skips, verdicts } = outcome;
  const { names, policy, observation } = frame.input;
  const stops = new Map(skips);
  for (const { group, template } of templates) {
    const full = sizeWith(frame, group.id, growth) >= group.maxSize;
    const size = sizeWith(frame, group.id, growth);
    const limit = full
      ? ({ kind: 'max-size', max: group.maxSize } as const)
      : (reachedRamp(frame, group, size) ?? reasonByLimits(growth.headroom, group, template, { policy, size }));
    if (limit !== undefined) stops.set(group.id, limit);
  }
  const exhausted = exhaustedBecause(growth, policy.scaleUp.maxNodesPerScaleUp);
  explainLeftovers({ groups, all: observation.cloud.groups, templates, stops, names, ask: askPlaces(snapshot), exhausted }, verdicts);
}

interface Result {
  readonly skips: ReadonlyMap<NodeGroupId, SkipReason>;
  readonly growth: Growth;
  readonly templates: readonly GroupTemplate[];
}

function finish(frame: Frame, { skips, growth, templates }: Result, verdicts: ReadonlyMap<Pod, PodVerdict>): ScaleUpPlan {
  const helped = triggeredBy(verdicts);
  const increases = frame.input.observation.cloud.groups.flatMap((group) => increaseOf(frame, group, growth, helped.get(group.id) ?? []));
  const unchosen = templates
    .filter(({ group }) => !growth.grown.has(group.id))
    .map(({ group }): SkippedGroup => {
      const expander = frame.input.policy.scaleUp.expanders.join(',');
      if (growth.options.has(group.id)) return { group: group.id, reason: { kind: 'not-chosen', expander } };
      const isJudged = growth.cutShortAfter === undefined || growth.judged.has(group.id);
      return { group: group.id, reason: { kind: isJudged ? 'no-pod-fits' : 'not-judged' } };
    });
  const skipped = [...skips].map(([group, reason]): SkippedGroup => ({ group, reason })).concat(unchosen);
  skipped.sort((left, right) => (left.group < right.group ? -1 : 1));
  const notes = frame.scoring.remarks(frame.input.observation.cloud.groups);
  return {
    increases,
    skipped,
    verdicts,
    options: [...growth.options.values()],
    ...(growth.cutShortAfter === undefined ? {} : { cutShortAfter: growth.cutShortAfter }),
    ...(notes.length === 0 ? {} : { notes }),
    ...heldIn(verdicts),
    summary: summarize(increases, growth, verdicts),
  };
}

/** Places of virtual pods on nodes that are there; those on nodes to come hold nothing that could be removed. */
function heldIn(verdicts: ReadonlyMap<Pod, PodVerdict>): Pick<ScaleUpPlan, 'held'> {
  const held = [...verdicts].flatMap(([pod, verdict]): readonly HeldRoom[] =>
    holdsRoom(pod) && verdict.kind === 'fits-present-node' ? [{ pod, node: verdict.node }] : [],
  );
  return held.length === 0 ? {} : { held };
}

function increaseOf(frame: Frame, group: NodeGroup, growth: Growth, pods: readonly Pod[]): readonly Increase[] {
  const to = sizeWith(frame, group.id, growth);
  if (!group.target.known || to <= group.target.value) return [];
  const { value: from, version } = group.target;
  return [{ group: group.id, from, to, version, pods: [...pods].sort(byPrecedence), cause: pods.length > 0 ? 'pods' : 'min-size' }];
}

function triggeredBy(verdicts: ReadonlyMap<Pod, PodVerdict>): ReadonlyMap<NodeGroupId, readonly Pod[]> {
  const helped = new Map<NodeGroupId, Pod[]>();
  for (const [pod, verdict] of verdicts) {
    if (verdict.kind !== 'triggered') continue;
    const pods = helped.get(verdict.group);
    if (pods === undefined) helped.set(verdict.group, [pod]);
    else pods.push(pod);
  }
  return helped;
}

/** The group's target with what the plan adds: to the minimum, and, once known, for pods. */
function sizeWith(frame: Frame, id: NodeGroupId, growth: Growth | undefined): number {
  const target = frame.input.observation.cloud.groups.find((group) => group.id === id)?.target;
  const before = target?.known === true ? target.value : 0;
  return before + (frame.minimum.get(id) ?? 0) + (growth?.grown.get(id)?.nodes ?? 0);
}

function noGrowth(frame: Frame): Growth {
  return { grown: new Map(), options: new Map(), headroom: frame.headroom, unfinished: false, judged: new Set() };
}

/** Why the plan ended early, if it did. */
function exhaustedBecause(growth: Growth, maxNodes: number): string | undefined {
  if (growth.cutShortAfter !== undefined) return 'the time for one plan was up';
  if (growth.headroom.thisPlan < 1) return `the limit of ${maxNodes} new nodes per scale-up is reached`;
  return growth.unfinished ? 'one plan does not take more rounds than this' : undefined;
}

function freshSnapshot({ observation, names }: ScaleUpInput): ClusterSnapshot {
  const snapshot = new ClusterSnapshot({ names });
  snapshot.sync(observation.cluster);
  return snapshot;
}

function summarize(increases: readonly Increase[], growth: Growth, verdicts: ReadonlyMap<Pod, PodVerdict>): string {
  const stuck = [...verdicts].filter(([, verdict]) => verdict.kind === 'helpless' || verdict.kind === 'waiting');
  const rest =
    stuck.length === 0 ? '' : `; ${stuck.length} pods stay pending, first ${podName(stuck[0]?.[0] ?? { namespace: '', name: '' })}`;
  if (increases.length === 0) return `no scale-up${rest}`;
  const parts = increases.map(({ group, from, to, pods, cause }) => {
    const bound = growth.grown.get(group)?.zoneBound ?? 0;
    const zones = bound === 0 ? '' : `, ${bound} nodes only if they land in the right zone`;
    return `${group} ${from} -> ${to} (${cause === 'pods' ? `${pods.length} pods` : 'minimum size'}${zones})`;
  });
  return `${parts.join(', ')}${rest}`;
}
