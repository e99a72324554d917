/** The limits of a scenario's pools, where the recording does not have them. Pure. */
import type { LoadPool, Scenario } from './load.ts';

export interface PoolLimits {
  readonly min: number;
  readonly max: number;
}

/** By pool. Limits that are given count more than recorded ones. */
export type LimitsByPool = Readonly<Record<string, PoolLimits>>;

/** The scenario with these limits, from its start to its end. */
export function withLimits(scenario: Scenario, limits: LimitsByPool): Scenario {
  const limited = (pool: LoadPool): LoadPool => {
    const given = Object.hasOwn(limits, pool.name) ? limits[pool.name] : undefined;
    if (given === undefined) return pool;
    const { limitsUnknown: _, ...known } = pool;
    return { ...known, ...given };
  };
  return {
    ...scenario,
    pools: scenario.pools.map(limited),
    events: scenario.events.map((event) => (event.kind === 'pool' ? { ...event, pool: limited(event.pool) } : event)),
  };
}

/** Every pool that the scenario has at some time. */
export function poolsOf({ pools, events }: Scenario): readonly LoadPool[] {
  return [...pools, ...events.flatMap((event) => (event.kind === 'pool' ? [event.pool] : []))];
}

/** As a person recognises it, although its name may be hashed: `general (Standard_D4s_v5, 3 nodes)`. */
export function describePool({ name, vmSize, count }: LoadPool): string {
  return `${name} (${vmSize}, ${count} ${count === 1 ? 'node' : 'nodes'})`;
}
