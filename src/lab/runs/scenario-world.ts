/** The simulated world of a scenario: its pools, in a cluster without a past. */
import { configError } from '../../lib/errors.ts';
import { findVmSize, offerVmSize } from '../../simulator/arm/state/vm-sizes.ts';
import type { PoolSpec, WorldSpec } from '../../simulator/base/world-spec.ts';
import { smallWorld } from '../../simulator/sample-worlds.ts';
import type { LoadPool, Scenario } from '../loads/load.ts';

/** @throws AutoscalerError `config` if the simulated Azure does not offer a size. */
export function worldOfScenario(scenario: Scenario, seed: number): WorldSpec {
  return { ...smallWorld(seed), seed, pools: scenario.pools.map(poolSpecOf) };
}

/** A size that is not known by its name is offered as the pool describes it. @throws AutoscalerError `config` if neither is there. */
export function poolSpecOf({ size, pricePerHour: _price, ...pool }: LoadPool): PoolSpec {
  if (size !== undefined) offerVmSize({ ...size, name: pool.vmSize, family: size.family ?? `${pool.vmSize}Family` });
  const offered = findVmSize(pool.vmSize);
  if (offered === undefined)
    throw configError(
      `Pool ${pool.name} has the VM size ${pool.vmSize}, which the simulated Azure does not offer and the scenario does not describe.`,
    );
  return { ...pool, vmSize: offered.name };
}
