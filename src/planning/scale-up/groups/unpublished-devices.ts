/** Devices that a driver has not published yet on a new node, and groups whose drivers do not publish any. */
import type { DevicePool } from '../../../domain/devices.ts';
import type { NodeGroup } from '../../../domain/node-group.ts';
import type { Node } from '../../../domain/node.ts';
import type { Observation } from '../../../domain/observation.ts';
import type { Policy } from '../../../domain/policy.ts';
import { isStarting } from '../../state/node-counts.ts';
import type { NodeTemplate } from '../../../domain/node-template.ts';

/**
 * Whether a ready node is still upcoming because its devices are missing. Drivers publish some time after the node is ready; the node is
 * complete once each driver has as many complete pools as on earlier nodes. The Cluster Autoscaler's measure.
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
 * The template, without devices if the group's newest node had its time and did not publish them. Otherwise the autoscaler would buy node
 * after node without devices.
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
