import type { InstanceKey } from '../../domain/ids.ts';
import type { Instance, NodeGroup } from '../../domain/node-group.ts';
import type { InstanceRemoval } from '../../domain/plan.ts';
import type { Allowance, Headroom } from './budgets.ts';
import { isOverdue, mayJoin } from '../state/unregistered.ts';
import { byName, type Scope } from './scope.ts';

/**
 * Instances that are no nodes and should not stay: those that failed to be created go at once, whatever the minimum (they
 * are no capacity); those that never registered go after `maxProvisionMs`, never below the minimum: there the
 * group grows by a replacement first (scale-up counts an overdue instance as missing).
 */
export function planInstanceRemovals(scope: Scope, headroom: Headroom, allowance: Allowance): readonly InstanceRemoval[] {
  const { cluster, cloud } = scope.observation;
  const registered = new Set(cloud.instanceOfNode.values());
  // Nodes without a single match mean that ids do not compare, not that every instance is lost.
  const idsCompare = registered.size > 0 || cluster.nodes.size === 0;
  const removals: InstanceRemoval[] = [];
  for (const group of cloud.groups) {
    const found = (group.instances ?? []).flatMap((instance) => {
      const cause = causeOf(instance, group, { scope, registered, idsCompare });
      return cause === undefined ? [] : [{ instance, cause }];
    });
    for (const { instance, cause } of found.sort((left, right) => byName(left.instance.key, right.instance.key))) {
      if (allowance.window < 1 || (cause === 'never-registered' && !headroom.has(group))) continue;
      headroom.take(group);
      allowance.window -= 1;
      removals.push({ group: group.id, instance: instance.key, cause });
    }
  }
  return removals;
}

interface Registration {
  readonly scope: Scope;
  readonly registered: ReadonlySet<InstanceKey>;
  readonly idsCompare: boolean;
}

function causeOf(instance: Instance, group: NodeGroup, registration: Registration): InstanceRemoval['cause'] | undefined {
  const { scope, registered } = registration;
  if (group.frozen !== undefined || registered.has(instance.key)) return undefined;
  if (instance.state === 'failed') return 'failed';
  const confirmed = group.target.known && group.target.confirmed;
  if (!mayJoin(instance) || !confirmed || !registration.idsCompare) return undefined;
  return isOverdue(instance, group, { ...scope, nowMs: scope.observation.nowMs }) ? 'never-registered' : undefined;
}
