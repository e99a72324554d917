/** The simulated world of a scenario: its pools, in a cluster without a past. */
import { configError } from '../../../src/lib/errors.ts';
import { findVmSize, offerVmSize } from '../../simulator/arm/state/vm-sizes.ts';
import type { PoolSpec, WorldSpec } from '../../simulator/base/world-spec.ts';
import { smallWorld } from '../../simulator/sample-worlds.ts';
import type { LoadPool, Scenario } from '../loads/load.ts';

/** A zone as nodes are labelled: `westeurope-1`. Azure calls it `1`. */
const ZONE_LABEL = /^(.+)-(\d+)$/;
const SYSTEM_TAINT = 'CriticalAddonsOnly=true:NoSchedule';

/** @throws AutoscalerError `config` if the simulated Azure does not offer a size. */
export function worldOfScenario(scenario: Scenario, seed: number): WorldSpec {
  const world = smallWorld(seed);
  return {
    ...world,
    seed,
    location: locationOf(scenario) ?? world.location,
    pools: scenario.pools.map(poolSpecOf),
    listPrices: listPricesOf(scenario),
  };
}

/** A size that is not known by its name is offered as the pool describes it. @throws AutoscalerError `config` if neither is there. */
export function poolSpecOf({ size, pricePerHour: _price, zones, mode, ...pool }: LoadPool): PoolSpec {
  if (size !== undefined) offerVmSize({ ...size, name: pool.vmSize, family: size.family ?? `${pool.vmSize}Family` });
  const offered = findVmSize(pool.vmSize);
  if (offered === undefined)
    throw configError(
      `Pool ${pool.name} has the VM size ${pool.vmSize}, which the simulated Azure does not offer and the scenario does not describe.`,
    );
  return {
    ...pool,
    vmSize: offered.name,
    ...(zones === undefined ? {} : { zones: zones.map(azureZone) }),
    // AKS's system pods run on system pools only, and these are the pools with its taint.
    mode: mode ?? (pool.taints?.includes(SYSTEM_TAINT) === true ? 'System' : 'User'),
  };
}

/** Policies that read the price list find the prices of the scenario. */
function listPricesOf({ pools }: Scenario): Readonly<Record<string, number>> {
  return Object.fromEntries(
    pools.flatMap(({ vmSize, priority, pricePerHour }) =>
      pricePerHour === undefined ? [] : [[`${findVmSize(vmSize)?.name ?? vmSize}${priority === 'Spot' ? '/spot' : ''}`, pricePerHour]],
    ),
  );
}

/** The zone as Azure names it. */
export function azureZone(zone: string): string {
  return ZONE_LABEL.exec(zone)?.[2] ?? zone;
}

/** The region by the labels of zones: pods may select them. undefined: no label shows it. */
function locationOf({ pools }: Scenario): string | undefined {
  return pools.flatMap(({ zones = [] }) => zones).flatMap((zone) => ZONE_LABEL.exec(zone)?.[1] ?? [])[0];
}
