/** The simulated world of a scenario: its pools, in a cluster without a past. Pure. */
import { configError } from '../../lib/errors.ts';
import { findVmSize } from '../../simulator/arm/state/vm-sizes.ts';
import type { PoolSpec, WorldSpec } from '../../simulator/base/world-spec.ts';
import { smallWorld } from '../../simulator/sample-worlds.ts';
import type { LoadPool, Scenario } from '../loads/load.ts';

/** @throws AutoscalerError `config` if the simulated Azure does not offer a size. */
export function worldOfScenario(scenario: Scenario, seed: number): WorldSpec {
  return { ...smallWorld(seed), seed, pools: scenario.pools.map(poolSpecOf) };
}

/** @throws AutoscalerError `config` if the simulated Azure does not offer its size. */
export function poolSpecOf({ size: _size, pricePerHour: _price, ...pool }: LoadPool): PoolSpec {
  const offered = findVmSize(pool.vmSize);
  if (offered === undefined)
    throw configError(`Pool ${pool.name} has the VM size ${pool.vmSize}, which the simulated Azure does not offer.`);
  return { ...pool, vmSize: offered.name };
}
