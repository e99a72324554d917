import type { InstanceKey, NodeGroupId, NodeName } from '../../domain/ids.ts';
import type { LoopState } from '../../domain/loop-state.ts';
import type { Instance, InstanceState, NodeGroup } from '../../domain/node-group.ts';
import type { Node } from '../../domain/node.ts';
import type { Observation } from '../../domain/observation.ts';
import { statedDrain, policyForDrains } from '../../scheduling/drainability/group-drain-options.ts';
import type { Policy } from '../../domain/policy.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import { instanceListFacts, membershipFacts } from '../facts/instance-facts.ts';
import { nodeListFacts } from '../facts/node-list-facts.ts';
import { isPreempted } from '../state/node-counts.ts';
import { isTaintedForDeletion } from '../state/deletions.ts';
import { familyOfGroups, siblingFamilies, type SiblingFamily } from '../scale-up/groups/sibling-groups.ts';
import { zoneOutages, type ZoneOutage } from '../state/cluster-health.ts';
import type { FullGroups } from './full-groups.ts';
import { ReservedNodes, stayingInstances } from '../facts/reserved-nodes.ts';
import { nodesWithOldImage } from '../facts/node-images.ts';
import { GPU_RESOURCES } from './utilization.ts';
import { drainContext, drainRulesOf, type DrainContext } from '../../scheduling/drainability/drain-rule.ts';
import type { Snapshot } from '../../scheduling/snapshot/snapshot.ts';
import { repackedNodes, type RepackedNodes } from './repacked-nodes.ts';

/** What all parts of one plan read, indexed once per plan. */
export interface ScaleDownContext {
  readonly observation: Observation;
  readonly state: LoopState;
  readonly policy: Policy;
  readonly snapshot: Snapshot;
  /** Indexes of GPU resources in a resource vector. */
  readonly gpuIndexes: readonly number[];
  /** The rules for the pods of a node: those of its group where it has its own. */
  readonly drainOn: (node: NodeName) => DrainContext;
  readonly budgetsOf: DrainContext['budgetsOf'];
  readonly gangs: DrainContext['gangs'];
  readonly groups: ReadonlyMap<NodeGroupId, NodeGroup>;
  /** By group, nodes whose removal has begun and that Azure still counts in the target size. */
  readonly draining: ReadonlyMap<NodeGroupId, readonly NodeName[]>;
  /** Instances that Azure is deleting, whatever requested it. */
  readonly instancesBeingDeleted: ReadonlySet<InstanceKey>;
  /** Nodes that are being removed, by us, by Azure or by another program. */
  readonly leaving: ReadonlySet<NodeName>;
  readonly fullGroups: FullGroups;
  /** What capacity reservations can lose. Not counted on: a plan that removes several nodes counts in one of its own. */
  readonly reserved: ReservedNodes;
  /** Whether the node has an older image than its group has. */
  readonly hasOldImage: (node: NodeName) => boolean;
  readonly repack: RepackedNodes;
  /** See {@link ScaleDownContextInput}. */
  readonly inSequence: boolean;
  /** See {@link ScaleDownContextInput}. */
  readonly only: ReadonlySet<NodeName> | undefined;
  /** See {@link ScaleDownContextInput}. */
  readonly cancellable: ReadonlySet<InstanceKey>;
  /** Instances that more than one node names as its own: it is unknown whose pods a deletion would end. */
  readonly disputedInstances: ReadonlySet<InstanceKey>;
  /** Instances that their owners protect, and from what. */
  readonly protectedInstances: ReadonlyMap<InstanceKey, NonNullable<Instance['protectedFrom']>>;
  /** Groups that are one group per zone. Empty unless similar groups are balanced, or outages of zones are heeded. */
  readonly families: ReadonlyMap<NodeGroupId, SiblingFamily>;
  /** By the last part of the zone. Empty unless outages of zones are heeded. */
  readonly outages: ReadonlyMap<string, ZoneOutage>;
}

export interface ScaleDownContextInput {
  readonly observation: Observation;
  readonly state: LoopState;
  readonly policy: Policy;
  readonly names: ResourceNames;
  /** Has the registered nodes with their pods; left as found. */
  readonly snapshot: Snapshot;
  /** Groups at their maximum for which pods wait, by the scale-up plan of the same loop. */
  readonly fullGroups: FullGroups;
  /** Instances on their way that nothing needs any more. */
  readonly cancellable: ReadonlySet<InstanceKey>;
  /**
   * Plans what is removed in time, one node after the other: neither drains nor disruption budgets limit each other then. False: the plan
   * is one that can begin now.
   */
  readonly inSequence: boolean;
  /** If set, all other nodes stay and take pods: the plan has no word on them. */
  readonly only: ReadonlySet<NodeName> | undefined;
}

/** Of every node, to begin now, with no scale-up plan before and without a limit of time. */
export const REMOVALS_ALONE = {
  fullGroups: new Map(),
  cancellable: new Set<InstanceKey>(),
  inSequence: false,
  only: undefined,
  isLate: () => false,
} satisfies Partial<ScaleDownContextInput> & { readonly isLate: () => boolean };

export function makeScaleDownContext(input: ScaleDownContextInput): ScaleDownContext {
  const { observation, state, policy } = input;
  const groups = new Map(observation.cloud.groups.map((group) => [group.id, group]));
  const instancesBeingDeleted = new Set(
    observation.cloud.groups.flatMap((group) => instanceListFacts(group).deleting.map(({ key }) => key)),
  );
  const leaving = leavingNodes(observation, state, instancesBeingDeleted);
  return {
    observation,
    state,
    policy,
    snapshot: input.snapshot,
    gpuIndexes: GPU_RESOURCES.map((name) => input.names.indexOf(name)),
    ...drainRules(observation, policy, groups),
    groups,
    draining: drainingByGroup(observation, state),
    fullGroups: input.fullGroups,
    reserved: reservedNodes(input, leaving),
    hasOldImage: oldImages(observation),
    repack: repackedNodes(input),
    inSequence: input.inSequence,
    only: input.only,
    cancellable: input.cancellable,
    instancesBeingDeleted,
    leaving,
    families:
      policy.scaleUp.balanceSimilarGroups || policy.cluster.avoidDownZones
        ? familyOfGroups(siblingFamilies(observation, policy.scaleUp))
        : new Map(),
    outages: zoneOutages({ observation, state, policy }),
    disputedInstances: membershipFacts(observation.cloud).disputed,
    protectedInstances: new Map(
      observation.cloud.groups.flatMap((group) =>
        instanceListFacts(group).guarded.flatMap(({ key, protectedFrom }) => (protectedFrom === undefined ? [] : [[key, protectedFrom]])),
      ),
    ),
  };
}

export function reservedNodes(
  { observation, policy }: Pick<ScaleDownContext, 'observation' | 'policy'>,
  leaving: ScaleDownContext['leaving'],
): ReservedNodes {
  const { cloud } = observation;
  if (!policy.scaleDown.keepReserved || cloud.reservations.length === 0) return new ReservedNodes({ reservations: [] }, () => false);
  const staying = stayingInstances(observation);
  const gone = new Set([...leaving].flatMap((name) => cloud.instanceOfNode.get(name) ?? []));
  return new ReservedNodes(cloud, (instance) => gone.has(instance) || !staying.has(instance));
}

/** Looks at all nodes, so only once something asks: most plans compare no two nodes. */
function oldImages(observation: Observation): ScaleDownContext['hasOldImage'] {
  let found: ReadonlySet<NodeName> | undefined;
  return (node) => (found ??= nodesWithOldImage(observation)).has(node);
}

function drainRules(
  { cluster, cloud, nowMs }: Observation,
  policy: Policy,
  groups: ReadonlyMap<NodeGroupId, NodeGroup>,
): Pick<ScaleDownContext, 'drainOn' | 'budgetsOf' | 'gangs'> {
  const usual = drainContext(cluster, drainRulesOf(policy), nowMs);
  const own = new Map<NodeGroupId, DrainContext>();
  for (const [id, { options }] of groups) {
    const drain = statedDrain(options);
    if (drain !== undefined) own.set(id, { ...usual, policy: drainRulesOf(policyForDrains(policy, drain)) });
  }
  const drainOn = (node: NodeName): DrainContext => {
    const group = own.size === 0 ? undefined : cloud.groupOfNode.get(node);
    return (group === undefined ? undefined : own.get(group)) ?? usual;
  };
  return { drainOn, budgetsOf: (pod) => usual.budgetsOf(pod), gangs: usual.gangs };
}

/**
 * Once Azure has accepted a deletion, the target size no longer counts the node, and neither does this. Nodes that another daemon is removing
 * count as our own: its deletions and ours together must not go below the minimum.
 */
function drainingByGroup(observation: Observation, state: LoopState): ReadonlyMap<NodeGroupId, readonly NodeName[]> {
  const draining = new Map<NodeGroupId, NodeName[]>();
  const removed = nodesInRemoval(observation, state);
  if (removed.length === 0) return draining;
  const listed = new Set<NodeGroupId>();
  const states = new Map<InstanceKey, InstanceState>();
  for (const group of observation.cloud.groups) {
    if (group.instances !== undefined) listed.add(group.id);
    for (const instance of group.instances ?? []) states.set(instance.key, instance.state);
  }
  for (const { name, group, instance } of removed) {
    const instanceState = states.get(instance);
    const hasLeftTarget = instanceState === 'deleting' || (instanceState === undefined && listed.has(group));
    if (hasLeftTarget) continue;
    const names = draining.get(group);
    if (names === undefined) draining.set(group, [name]);
    else names.push(name);
  }
  return draining;
}

interface NodeInRemoval {
  readonly name: NodeName;
  readonly group: NodeGroupId;
  readonly instance: InstanceKey;
}

function nodesInRemoval({ cluster, cloud, nowMs }: Observation, state: LoopState): readonly NodeInRemoval[] {
  const ours = [...state.deleting].map(([name, { group, instance }]) => ({ name, group, instance }));
  const others = nodeListFacts(cluster.nodes).deletionTainted.flatMap((node): readonly NodeInRemoval[] => {
    const { name } = node;
    // guard: removals of another daemon count for the minimum
    if (state.deleting.has(name) || !isTaintedForDeletion(node, nowMs)) return [];
    const [group, instance] = [cloud.groupOfNode.get(name), cloud.instanceOfNode.get(name)];
    return group === undefined || instance === undefined ? [] : [{ name, group, instance }];
  });
  return [...ours, ...others];
}

function leavingNodes({ cluster, cloud, nowMs }: Observation, state: LoopState, deleted: ReadonlySet<InstanceKey>): ReadonlySet<NodeName> {
  const departing = nodeListFacts(cluster.nodes).departing.filter(
    (node) => node.deletionAtMs !== undefined || isPreempted(node, nowMs) || isTaintedForDeletion(node, nowMs),
  );
  const leaving = new Set([...state.deleting.keys(), ...departing.map(({ name }) => name)]);
  if (deleted.size > 0) for (const [name, key] of cloud.instanceOfNode) if (deleted.has(key)) leaving.add(name);
  return leaving;
}

/** Whether the node is being removed, by us, by Azure or by another program. */
export function isLeaving({ name }: Pick<Node, 'name'>, { leaving }: Pick<ScaleDownContext, 'leaving'>): boolean {
  return leaving.has(name);
}
