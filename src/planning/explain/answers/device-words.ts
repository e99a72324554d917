/** The devices of a pool's next node, as a part of a sentence. */
import { heldDeviceId, deviceId, type DevicePool } from '../../../domain/devices.ts';
import type { NodeGroup } from '../../../domain/node-group.ts';
import type { ClusterView } from '../../../domain/observation.ts';
import { CommonDevices } from '../../../scheduling/devices/common-devices.ts';
import { makeTemplate } from '../../scale-up/groups/template-node.ts';

/** undefined: none are known. */
export function describeNextDevices(group: NodeGroup, cluster: Pick<ClusterView, 'daemonSets' | 'commonDevices'>): string | undefined {
  const { template } = group;
  if (template === undefined) return undefined;
  const { devicePools: own, devicesDeclared } = template;
  const common = CommonDevices.of(cluster.commonDevices);
  const { variants } = makeTemplate(group, template, cluster, new Set());
  const reached = new Map(variants.flatMap((node) => common.poolsOf(node, []).map((pool) => [`${pool.driver}/${pool.name}`, pool])));
  const taken = new Set(common.all.flatMap(({ allocated }) => allocated.map(heldDeviceId)));
  const texts = [
    ...(own.length === 0 ? [] : [`${countsOf(own)}${devicesDeclared ? ' (declared; no node has shown any)' : ''}`]),
    ...(reached.size === 0
      ? []
      : [`${countsOf([...reached.values()])} that several nodes reach (${claimed([...reached.values()], taken)} with claims)`]),
  ];
  return texts.length === 0 ? undefined : texts.join(', ');
}

function countsOf(pools: readonly DevicePool[]): string {
  const counts = new Map<string, number>();
  for (const { driver, devices } of pools) counts.set(driver, (counts.get(driver) ?? 0) + devices.length);
  return [...counts].map(([driver, count]) => `${count} ${count === 1 ? 'device' : 'devices'} of ${driver}`).join(', ');
}

function claimed(pools: readonly DevicePool[], taken: ReadonlySet<string>): number {
  return pools.flatMap(({ devices }) => devices).filter((device) => taken.has(deviceId(device))).length;
}
