/** How well the devices that a group's next node is taken to have are those of its nodes, under the Cluster Autoscaler's name. */
import type { DevicePool, NodeDevices } from '../domain/devices.ts';
import type { Observation } from '../domain/observation.ts';
import type { CompatibleMetrics } from '../telemetry/compatible-metrics.ts';

type Mismatch = 'missing' | 'extra' | 'mismatch' | 'unknown';

/** Ready nodes, by driver and by what is wrong with its devices there; series of drivers that have gone are taken away. */
export function publishDevices({ cluster, cloud }: Observation, { deviceMismatches, drivers }: CompatibleMetrics): void {
  const expected = new Map<string, ReadonlyMap<string, number>>();
  for (const { id, template } of cloud.groups) {
    if (template === undefined) continue;
    const devices = byDriver(template.devicePools ?? []);
    expected.set(id, devices);
    if (devices.size > 0) drivers.set(id, [...devices.keys()].toSorted().join(','));
  }
  deviceMismatches.reset();
  for (const node of cluster.nodes.values()) {
    const wanted = expected.get(cloud.groupOfNode.get(node.name) ?? '');
    if (wanted === undefined || !node.readiness.ready) continue;
    for (const [driver, kind] of mismatches(wanted, node.devices)) deviceMismatches.inc({ driver, mismatch_type: kind });
  }
}

function mismatches(wanted: ReadonlyMap<string, number>, devices: NodeDevices | undefined): readonly (readonly [string, Mismatch])[] {
  const present = byDriver(devices?.pools ?? []);
  const unfinished = new Set((devices?.incomplete ?? []).map((pool) => pool.split('/')[0] ?? ''));
  return [...new Set([...wanted.keys(), ...present.keys(), ...unfinished])].flatMap((driver): readonly (readonly [string, Mismatch])[] => {
    if (unfinished.has(driver)) return [[driver, 'unknown']];
    const [there, here] = [present.get(driver), wanted.get(driver)];
    if (there === here) return [];
    return [[driver, there === undefined ? 'missing' : here === undefined ? 'extra' : 'mismatch']];
  });
}

/** How many devices each driver has in these pools. */
function byDriver(pools: readonly DevicePool[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { driver, devices } of pools) counts.set(driver, (counts.get(driver) ?? 0) + devices.length);
  return counts;
}
