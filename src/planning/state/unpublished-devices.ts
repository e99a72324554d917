/** Devices that a driver is about to publish on a new node, and what to think of a group whose drivers do not. */
import type { DevicePool } from '../../domain/devices.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { Node } from '../../domain/node.ts';
import type { Observation } from '../../domain/observation.ts';
import type { Policy } from '../../domain/policy.ts';
import { isStarting } from './node-counts.ts';
import type { NodeTemplate } from '../../domain/node-template.ts';

/**
 * Drivers publish their devices some time after the node turned ready: until each has as many complete pools as on the nodes
 * before, the node is still to come. Upstream's measure.
 */
export function awaitsDevices({ devices }: Pick<Node, 'devices'>, { template }: Pick<NodeGroup, 'template'>): boolean {
  if (template?.devicePools === undefined) return false;
  const published = poolsByDriver(devices?.pools ?? []);
  return [...poolsByDriver(template.devicePools)].some(([driver, pools]) => (published.get(driver) ?? 0) < pools);
}

function poolsByDriver(pools: readonly DevicePool[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { driver } of pools) counts.set(driver, (counts.get(driver) ?? 0) + 1);
  return counts;
}

/**
 * The template, without its devices when the newest node of the group has had its time and has not got them: another one would be
 * bought for the same nothing, and one more after that.
 */
export function withConfirmedDevices(
  template: NodeTemplate,
  group: NodeGroup,
  { observation, policy }: { readonly observation: Observation; readonly policy: Policy },
): NodeTemplate {
  if (template.devicePools === undefined) return template;
  let newest: Node | undefined;
  for (const [name, id] of observation.cloud.groupOfNode) {
    const node = id === group.id ? observation.cluster.nodes.get(name) : undefined;
    if (node === undefined || !node.readiness.ready) continue;
    if (newest === undefined || node.createdAtMs > newest.createdAtMs) newest = node;
  }
  if (newest === undefined || isStarting(newest, group, { policy, nowMs: observation.nowMs }) || !awaitsDevices(newest, group))
    return template;
  const { devicePools: _unproven, ...rest } = template;
  return { ...rest, devicesDoubted: `node ${newest.name}, the newest of its group, has not published its devices` };
}
