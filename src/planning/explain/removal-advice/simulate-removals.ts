/** Tries changes on the planner of removals itself: which nodes are removed in time, once every timer has passed? */
import type { NodeGroupId, NodeName } from '../../../domain/ids.ts';
import type { LoopState } from '../../../domain/loop-state.ts';
import type { NodeGroup } from '../../../domain/node-group.ts';
import type { Observation } from '../../../domain/observation.ts';
import type { Removal, ScaleDownPlan, UnremovableNode } from '../../../domain/plan.ts';
import type { Pod } from '../../../domain/pod.ts';
import type { Policy } from '../../../domain/policy.ts';
import { CPU, MEMORY } from '../../../domain/resources.ts';
import { compareText } from '../../../lib/comparison.ts';
import { defined } from '../../../lib/defined.ts';
import { withFork, type Snapshot } from '../../../scheduling/snapshot/snapshot.ts';
import { ClusterSnapshot } from '../../../scheduling/snapshot/cluster-snapshot.ts';
import { priceOf } from '../../expanders/node-price.ts';
import { REMOVALS_ALONE } from '../../scale-down/plan-context.ts';
import { type PlanScaleDownInput, planScaleDownInSlices } from '../../scale-down/plan.ts';
import { allRecreated } from '../../facts/recreated-pods.ts';
import { placementOrder } from '../../scale-down/simulate-removal.ts';
import type { SlicedWork } from '../../../lib/slices.ts';
import type { RemovalProof } from '../advice/fix.ts';

/** Long before any timer that a person sets. */
const PASSED_MS = 365 * 24 * 3_600_000;
const GIB = 2 ** 30;
const UNLIMITED = Number.MAX_SAFE_INTEGER;

/** What a plan of removals was made from. */
export type RemovalInput = Pick<PlanScaleDownInput, 'observation' | 'state' | 'policy' | 'names' | 'fullGroups'>;

/** What is removed once every timer has passed, and why all other nodes are not. */
export interface RemovalsInTime extends Pick<ScaleDownPlan, 'removals' | 'kept' | 'inhibited'> {
  /** The cluster after these removals, with their pods on other nodes. */
  readonly left: RemovalInput;
}

/** Up to so many nodes, removals are planned as loops do, a few at a time: which node goes first decides what is left for others. */
const EXACT_UP_TO_NODES = 100;
const MOST_ROUNDS = 60;
/** In larger clusters, all that can be removed one after the other is planned at once. A removal may make room for another. */
const MOST_ROUNDS_AT_ONCE = 4;

/** Plans on one model of the cluster, which is filled once; each simulation changes only what differs. */
export class RemovalSimulator {
  readonly #snapshot: ClusterSnapshot;
  readonly #isExact: boolean;

  constructor({ names, observation }: Pick<RemovalInput, 'names' | 'observation'>, exactUpToNodes = EXACT_UP_TO_NODES) {
    this.#snapshot = new ClusterSnapshot({ names });
    this.#isExact = observation.cluster.nodes.size <= exactUpToNodes;
  }

  /** `only`: all other nodes stay. If absent, each may be removed. */
  *plan(input: RemovalInput, only?: ReadonlySet<NodeName>): SlicedWork<RemovalsInTime> {
    let left = input;
    const removals: Removal[] = [];
    for (let round = 1; ; round++) {
      const plan = yield* this.#planOnce(left, only);
      removals.push(...plan.removals);
      if (plan.removals.length === 0 || round === this.#mostRounds) return { removals, kept: plan.kept, inhibited: plan.inhibited, left };
      left = withoutNodes(left, plan.removals, this.modelOf(left));
    }
  }

  get #mostRounds(): number {
    return this.#isExact ? MOST_ROUNDS : MOST_ROUNDS_AT_ONCE;
  }

  *#planOnce(input: RemovalInput, only: ReadonlySet<NodeName> | undefined): SlicedWork<ScaleDownPlan> {
    const { observation, state, policy } = input;
    yield* this.#snapshot.syncInSlices(observation.cluster);
    return yield* planScaleDownInSlices({
      ...REMOVALS_ALONE,
      ...input,
      state: withPassedTimers(state, observation),
      policy: this.#isExact ? policy : withoutRates(policy),
      snapshot: this.modelOf(input),
      scaleUpPlanned: false,
      inSequence: !this.#isExact,
      only,
    });
  }

  /** The model, as the cluster of the input is. */
  modelOf({ observation }: Pick<RemovalInput, 'observation'>): ClusterSnapshot {
    this.#snapshot.sync(observation.cluster);
    return this.#snapshot;
  }
}

/** `model` is as the cluster of the input is, and is left as found. A pod without a place is left out: it would be pending. */
function withoutNodes(input: RemovalInput, removals: readonly Removal[], model: Snapshot): RemovalInput {
  const { observation } = input;
  const { cluster, cloud } = observation;
  const gone = new Set(removals.map(({ node }) => node));
  const podsByNode = new Map([...cluster.podsByNode].filter(([name]) => !gone.has(name)));
  for (const { pod, place } of placesOf(removals, input, model)) {
    podsByNode.set(place, [...(podsByNode.get(place) ?? []), { ...pod, nodeName: place }]);
  }
  const nodes = new Map([...cluster.nodes].filter(([name]) => !gone.has(name)));
  const groups = cloud.groups.map((group) => without(group, removals));
  return { ...input, observation: { ...observation, cluster: { ...cluster, nodes, podsByNode }, cloud: { ...cloud, groups } } };
}

interface PlacedPod {
  readonly pod: Pod;
  readonly place: NodeName;
}

function placesOf(removals: readonly Removal[], { observation: { cluster } }: RemovalInput, model: Snapshot): readonly PlacedPod[] {
  const isOpen = (name: NodeName): boolean =>
    cluster.nodes.get(name)?.unschedulable === false && cluster.nodes.get(name)?.readiness.ready === true;
  const moving = allRecreated(
    removals.flatMap(({ pods }) => pods),
    cluster,
  ).toSorted(placementOrder);
  return withFork(model, () => {
    for (const { node } of removals) model.removeNode(node);
    return moving.flatMap((pod) => {
      const place = model.findNode(pod, isOpen);
      if (place === undefined) return [];
      model.addPod({ ...pod, nodeName: place }, place);
      return [{ pod, place }];
    });
  });
}

function without(group: NodeGroup, removals: readonly Removal[]): NodeGroup {
  const { target, instances } = group;
  const gone = new Set(removals.flatMap((removal) => (removal.group === group.id ? [removal.instance] : [])));
  if (gone.size === 0 || !target.known) return group;
  return {
    ...group,
    target: { ...target, value: target.value - gone.size },
    instances: instances?.filter(({ key }) => !gone.has(key)),
  };
}

/** Nodes that are unneeded already keep their turn; cooldowns and earlier failures are over. */
function withPassedTimers(state: LoopState, { cluster, nowMs }: Observation): LoopState {
  const sinceOf = (name: NodeName): number => (state.unneededSince.get(name) ?? nowMs) - PASSED_MS;
  return {
    ...state,
    unneededSince: new Map([...cluster.nodes.keys()].map((name) => [name, sinceOf(name)])),
    unremovable: new Map(),
    removals: [],
    emptyRemovals: [],
    budgetedRemovals: [],
    repacks: { ...state.repacks, moved: [] },
    groupTimes: new Map(),
    lastScaleUpMs: nowMs - PASSED_MS,
    lastScaleDownMs: nowMs - PASSED_MS,
    lastScaleDownFailureMs: nowMs - PASSED_MS,
  };
}

/** Limits of how much is removed at once, not of what is removed. */
function withoutRates(policy: Policy): Policy {
  const most = {
    maxParallel: UNLIMITED,
    maxParallelDrains: UNLIMITED,
    maxRemovalsPerWindow: UNLIMITED,
    maxEmptyRemovalsPerWindow: undefined,
    // A budget of no nodes is no rate: it never allows a removal.
    budgets: policy.scaleDown.budgets.filter(({ amount }) => amount === 0),
  };
  return { ...policy, scaleDown: { ...policy.scaleDown, ...most } };
}

/** Why the node is not removed; undefined if it is. An inhibited plan has no reason of a single node. */
export function obstacleOf(node: NodeName, plan: Pick<ScaleDownPlan, 'removals' | 'kept'>): UnremovableNode | 'inhibited' | undefined {
  if (plan.removals.some((removal) => removal.node === node)) return undefined;
  return plan.kept.find((kept) => kept.node === node) ?? 'inhibited';
}

/** What the second plan removes beyond the first. */
export function compareRemovals(before: RemovalsInTime, after: RemovalsInTime, { observation, policy }: RemovalInput): RemovalProof {
  const groups = new Map(observation.cloud.groups.map((group) => [group.id, group]));
  const removedBefore = new Map(before.removals.map(({ node, group }) => [node, group]));
  const removedAfter = new Map(after.removals.map(({ node, group }) => [node, group]));
  const more = [...removedAfter].filter(([node]) => !removedBefore.has(node));
  const less = [...removedBefore].filter(([node]) => !removedAfter.has(node));
  const sumOf = (measure: (node: NodeName, group: NodeGroupId) => number): number =>
    more.reduce((sum, entry) => sum + measure(...entry), 0) - less.reduce((sum, entry) => sum + measure(...entry), 0);
  const capacityOf = (node: NodeName, index: number): number => observation.cluster.nodes.get(node)?.capacity[index] ?? 0;
  const prices = new Map([...groups].map(([id, group]) => [id, priceOf(policy.scaleUp, group)]));
  const isPriced = [...more, ...less].every(([, group]) => prices.get(group) !== undefined);
  return {
    nodes: more.length - less.length,
    groups: [...new Set(more.map(([, group]) => group))].sort(compareText),
    cores: sumOf((node) => capacityOf(node, CPU) / 1000),
    memoryGib: sumOf((node) => capacityOf(node, MEMORY) / GIB),
    ...defined({ perHour: isPriced ? sumOf((_, group) => prices.get(group) ?? 0) : undefined }),
  };
}
