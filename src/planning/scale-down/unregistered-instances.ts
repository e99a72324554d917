import { keepsNodesAlone } from '../../domain/group-blocks.ts';
import type { InstanceKey } from '../../domain/ids.ts';
import { compareText } from '../../lib/comparison.ts';
import { isWhole, type Instance, type NodeGroup } from '../../domain/node-group.ts';
import type { InstanceRemoval } from '../../domain/plan.ts';
import { NOT_READY_TAINT } from '../../domain/taints.ts';
import { checkNodeDrain } from '../../scheduling/drainability/drainability.ts';
import { absentInstances, membershipFacts } from '../facts/instance-facts.ts';
import type { RemovalAllowance, GroupMinimums } from './budgets.ts';
import { isStarting } from '../state/node-counts.ts';
import { isOverdue, mayHaveBeenNode, mayJoin } from '../state/unregistered.ts';
import type { ScaleDownContext } from './plan-context.ts';

/**
 * Plans the deletion of instances without a node. Instances that failed to be created are no capacity: they are deleted at
 * once, below the minimum size too. Instances that never registered are deleted after `maxProvisionMs`, but not below the
 * minimum size: there the group first grows by a replacement, since scale-up counts an overdue instance as missing. Instances on their way
 * that nothing needs any more are deleted within the minimum size, too.
 */
export function planInstanceRemovals(
  context: ScaleDownContext,
  groupMinimums: GroupMinimums,
  allowance: RemovalAllowance,
): readonly InstanceRemoval[] {
  const { cluster, cloud } = context.observation;
  const registered = membershipFacts(cloud).joined;
  // If no node matches an instance, ids do not compare; it does not mean that every instance is lost.
  const idsCompare = registered.size > 0 || cluster.nodes.size === 0;
  const removals: InstanceRemoval[] = [];
  for (const group of cloud.groups) {
    const found = absentInstances(group, cloud).flatMap((instance) => {
      const cause = removalCause(instance, group, { context, idsCompare });
      return cause === undefined ? [] : [{ instance, cause }];
    });
    const toRemove = withStartingSiblings(found, group, { context, registered });
    const wanted = toRemove.filter(({ cause }) => cause !== 'failed').length;
    // All or nothing: within the minimum size and the removal window.
    if (isWhole(group) && (allowance.window < toRemove.length || (wanted > 0 && !groupMinimums.allows(group, wanted)))) continue;
    for (const { instance, cause } of toRemove.sort((left, right) => compareText(left.instance.key, right.instance.key))) {
      // guard: instances that are not needed are not deleted below the minimum size
      if (allowance.window < 1 || (cause !== 'failed' && !groupMinimums.allows(group))) continue;
      groupMinimums.countRemoval(group);
      allowance.window -= 1;
      removals.push({ group: group.id, instance: instance.key, cause });
    }
  }
  return removals;
}

interface InstanceToRemove {
  readonly instance: Instance;
  readonly cause: InstanceRemoval['cause'];
}

/**
 * In a zero-or-max group, instances that are still joining are deleted with those that never will, so that the whole group can
 * be tried again. So are nodes that joined a moment ago and take no pods yet. While pods use the group's nodes, only the failed
 * instances are deleted: no pod loses its place.
 */
function withStartingSiblings(
  found: readonly InstanceToRemove[],
  group: NodeGroup,
  known: Pick<Registration, 'context' | 'registered'>,
): InstanceToRemove[] {
  const [first] = found;
  if (first === undefined || !isWhole(group) || group.options.keepsPartOfMax === true || isInUse(group, known.context)) return [...found];
  const cause = found.some((entry) => entry.cause === 'failed') ? 'failed' : first.cause;
  const listed = new Set(found.map(({ instance }) => instance.key));
  const closed = instancesClosedToPods(group, known.context);
  const coming = (group.instances ?? []).filter(
    (instance) => mayJoin(instance) && !listed.has(instance.key) && (!known.registered.has(instance.key) || closed.has(instance.key)),
  );
  return [...found, ...coming.map((instance) => ({ instance, cause }))];
}

/** Instances whose nodes still start and are closed to pods until they are ready: no pod can arrive before the deletion. */
function instancesClosedToPods(group: NodeGroup, { observation, policy }: ScaleDownContext): ReadonlySet<InstanceKey> {
  const { cloud, cluster, nowMs } = observation;
  const closed = new Set<InstanceKey>();
  for (const [name, key] of cloud.instanceOfNode) {
    const node = cloud.groupOfNode.get(name) === group.id ? cluster.nodes.get(name) : undefined;
    if (node === undefined || node.readiness.ready || !isStarting(node, group, { policy, nowMs })) continue;
    if (node.taints.some((taint) => taint.key === NOT_READY_TAINT && taint.effect === 'NoSchedule')) closed.add(key);
  }
  return closed;
}

function isInUse(group: NodeGroup, { observation, drainOn }: ScaleDownContext): boolean {
  return [...observation.cloud.groupOfNode].some(([name, id]) => {
    if (id !== group.id) return false;
    const { movable, waiting, blocker } = checkNodeDrain(observation.cluster.podsByNode.get(name) ?? [], drainOn(name));
    return movable.length > 0 || waiting.length > 0 || blocker !== undefined;
  });
}

interface Registration {
  readonly context: ScaleDownContext;
  readonly registered: ReadonlySet<InstanceKey>;
  readonly idsCompare: boolean;
}

/**
 * Whether the instance may run pods although no node names it: a node has its name, whatever instance that names, or the list of nodes is
 * empty, which may be wrong, and the instance is older than a node takes to join.
 */
function isKnownAsNode(instance: Instance, group: NodeGroup, context: ScaleDownContext): boolean {
  const { nodes } = context.observation.cluster;
  if (nodes.size > 0) return nodes.has(instance.hostName?.toLowerCase() ?? '');
  return instance.state !== 'failed' && mayHaveBeenNode(instance, group, context);
}

/** Whether a block against removals is against that of the instance. */
function isKept({ state }: Instance, group: NodeGroup): boolean {
  const { removal } = group.blocks;
  if (removal === undefined) return false;
  // With a failed instance of an atomic group, all others go.
  return state !== 'failed' || isWhole(group) || !keepsNodesAlone(removal);
}

/** Call it for instances that no node runs on. */
function removalCause(
  instance: Instance,
  group: NodeGroup,
  registration: Omit<Registration, 'registered'>,
): InstanceRemoval['cause'] | undefined {
  const { context } = registration;
  // guard: an instance whose node is known by name is not deleted
  if (isKnownAsNode(instance, group, context)) return undefined;
  // guard: instances without a node of a group whose removals are blocked are kept
  if (group.blocks.change !== undefined || isKept(instance, group)) return undefined;
  // Azure refuses a whole batch for one protected instance.
  if (instance.protectedFrom === 'actions') return undefined;
  if (instance.state === 'failed') return 'failed';
  const confirmed = group.target.known && group.target.confirmed;
  if (instance.protectedFrom !== undefined || !mayJoin(instance) || !confirmed || !registration.idsCompare) return undefined;
  if (isOverdue(instance, group, { ...context, nowMs: context.observation.nowMs })) return 'never-registered';
  return context.cancellable.has(instance.key) ? 'not-needed' : undefined;
}
