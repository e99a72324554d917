/** Devices that a driver has not published yet on a new node, CSI drivers that it has not registered yet, and groups that never get them. */
import type { DevicePool } from '../../../domain/devices.ts';
import type { NodeGroup } from '../../../domain/node-group.ts';
import type { Node } from '../../../domain/node.ts';
import type { Observation } from '../../../domain/observation.ts';
import type { Pod } from '../../../domain/pod.ts';
import type { Policy } from '../../../domain/policy.ts';
import { factsOfGroups } from '../../facts/group-facts.ts';
import { isStarting } from '../../state/node-counts.ts';
import type { NodeTemplate } from '../../../domain/node-template.ts';

/**
 * Whether a ready node is still upcoming because its devices are missing. Drivers publish some time after the node is ready; the node is
 * complete once each driver has as many complete pools as on earlier nodes. The Cluster Autoscaler's measure.
 */
export function awaitsDevices({ devices }: Pick<Node, 'devices'>, { template }: Pick<NodeGroup, 'template'>): boolean {
  if (template === undefined || template.devicePools.length === 0) return false;
  const published = poolsByDriver(devices.pools);
  return [...poolsByDriver(template.devicePools)].some(([driver, pools]) => (published.get(driver) ?? 0) < pools);
}

/** The CSI drivers that these pods need on their node. */
export function driversNeededBy(pods: readonly Pod[]): ReadonlySet<string> {
  return new Set(pods.flatMap(({ shape }) => shape.volumes.drivers));
}

/** The same for CSI drivers, which register a moment after their node turned ready, if pods need them. */
export function awaitsDrivers(
  { missingDrivers }: Pick<Node, 'missingDrivers'>,
  { template }: Pick<NodeGroup, 'template'>,
  needed: ReadonlySet<string>,
): boolean {
  return missingDrivers.some((driver) => needed.has(driver) && template?.missingDrivers.includes(driver) !== true);
}

function poolsByDriver(pools: readonly DevicePool[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { driver } of pools) counts.set(driver, (counts.get(driver) ?? 0) + 1);
  return counts;
}

interface Seen {
  readonly observation: Observation;
  readonly policy: Policy;
}

/**
 * The template, without devices and CSI drivers that the group's newest node did not get in its time. Otherwise the autoscaler would buy node
 * after node without them.
 */
export function withConfirmedParts(template: NodeTemplate, group: NodeGroup, seen: Seen): NodeTemplate {
  const newest = factsOfGroups(seen.observation).get(group.id)?.newestReady;
  // guard: a node that starts says nothing of the drivers that the next one gets
  if (newest === undefined || isStarting(newest, group, { policy: seen.policy, nowMs: seen.observation.nowMs })) return template;
  return withConfirmedDrivers(withConfirmedDevices(template, group, newest), newest);
}

function withConfirmedDevices(template: NodeTemplate, group: NodeGroup, newest: Node): NodeTemplate {
  if (template.devicePools.length === 0 || !awaitsDevices(newest, group)) return template;
  const which = template.devicesDeclared ? 'the devices that are declared for it' : 'its devices';
  const devicesDoubted = `node ${newest.name}, the newest of its group, has not published ${which}`;
  return { ...template, devicePools: [], devicesDeclared: false, devicesDoubted };
}

function withConfirmedDrivers(template: NodeTemplate, { missingDrivers }: Node): NodeTemplate {
  if (missingDrivers.length === 0) return template;
  return { ...template, missingDrivers: [...new Set([...template.missingDrivers, ...missingDrivers])] };
}
