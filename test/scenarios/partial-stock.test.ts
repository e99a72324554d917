/** A pool that gets only a part of its increase: the next pool is asked as soon as Azure shows it, and for nothing but the rest. */
import { describe, expect, it } from 'vitest';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, MINUTE, SECOND, worldOf } from './support.ts';

const SIZE = 'Standard_D4s_v5';

const fixed = (ms: number) => ({ p50: ms, p95: ms });

/** Two pools; the first, which least-waste prefers, gets one node more. Refusals come after so many seconds. */
async function start(refusedAfter: number, pool = {}): Promise<VirtualRun> {
  const refusedMs = refusedAfter * SECOND;
  return startedWorld({
    spec: worldOf(
      [aPool({ name: 'short', vmSize: SIZE, count: 0, ...pool }), aPool({ name: 'other', vmSize: 'Standard_E4s_v5', count: 0 })],
      {
        stock: { [`${SIZE}/0`]: 1 },
      },
    ),
    flags: ['--scale-down-enabled=false', '--expander=least-waste', '--scan-interval=30s'],
    // The looks at instances begin with the answer.
    knobs: { allocationRefused: fixed(refusedMs), instanceVisible: fixed(3 * SECOND), aksAnswerLatency: fixed(0) },
  });
}

const hasFailedInstance = (world: VirtualRun): boolean =>
  world.world.arm.control.state().sets.some(({ instances }) => instances.some(({ provisioningState }) => provisioningState === 'Failed'));

const readsSince = (world: VirtualRun, atMs: number) =>
  world.world.arm.control.journal().filter(({ at, method, path }) => at >= atMs && method === 'GET' && /aks-short/i.test(path));

const isList = ({ path }: { readonly path: string }): boolean => /\/virtualMachines(?:\?|$)/.test(path);

/** The requested size of a pool of any kind. */
const requested = (world: VirtualRun, name: string): number => {
  const { sets, agentPools } = world.world.arm.control.state();
  const sizes = agentPools.find((pool) => pool.name === name)?.sizes ?? {};
  return sets.find(({ pool }) => pool === name)?.capacity ?? Object.values(sizes).reduce((sum, count) => sum + count, 0);
};

/** Lists of virtual machines with ids of their own. */
const listsSince = (world: VirtualRun, atMs: number): number =>
  world.world.arm.control
    .journal()
    .filter(({ at, method, path }) => at >= atMs && method === 'GET' && /Microsoft.Compute\/virtualMachines(?:\?|$)/i.test(path)).length;

describe('partial stock', () => {
  it.each([
    [4, 5],
    [8, 10],
    [12, 20],
  ])('refused after %i s: Azure is looked at after %i s, and the next pool is asked within a second', async (refusedAfter, lookAt) => {
    const world = await start(refusedAfter);
    world.world.cluster.apply(deployment({ name: 'web', replicas: 4, cpu: '3' }));
    await world.until('the increase', () => capacity(world, 'short') === 4, MINUTE);
    const increasedAt = world.clock.now();
    await world.until('a failed instance', () => hasFailedInstance(world), MINUTE);
    await world.until('the next pool', () => capacity(world, 'other') > 0, 2 * MINUTE);
    const waited = (world.clock.now() - increasedAt) / SECOND;
    expect(waited).toBeGreaterThanOrEqual(lookAt);
    expect(waited).toBeLessThan(lookAt + 1);
    // The reads of one set in that time are few, and at most two of them are lists.
    const reads = readsSince(world, increasedAt);
    expect(reads.filter(isList).length).toBeLessThanOrEqual(2);
    expect(reads.length).toBeLessThanOrEqual(6);
    await world.until('all bound', () => bound(world, 'web') === 4, 8 * MINUTE);
    await world.advance(5 * MINUTE);
    expect(capacity(world, 'other')).toBe(3);
    expect(world.world.arm.control.state().sets.find(({ pool }) => pool === 'short')?.instances.length).toBe(1);
    expect(world.world.violations()).toEqual([]);
  });

  it.each([
    ['instances fail one after the other', { p50: 15 * SECOND, p95: 60 * SECOND }, { p50: 3 * SECOND, p95: 8 * SECOND }],
    [
      'some instances are not listed yet when the first has failed',
      { p50: 4 * SECOND, p95: 4 * SECOND },
      { p50: 3 * SECOND, p95: 12 * SECOND },
    ],
  ])('%s: exactly the nodes that did not come are requested elsewhere', async (_name, allocationRefused, instanceVisible) => {
    const pools = [aPool({ name: 'short', vmSize: SIZE, count: 0 }), aPool({ name: 'other', vmSize: 'Standard_E4s_v5', count: 0 })];
    const world = await startedWorld({
      spec: worldOf(pools, { stock: { [`${SIZE}/0`]: 4 } }),
      flags: ['--scale-down-enabled=false', '--expander=least-waste', '--scan-interval=30s'],
      knobs: { allocationRefused, instanceVisible },
    });
    world.world.cluster.apply(deployment({ name: 'web', replicas: 8, cpu: '3' }));
    await world.until('all bound', () => bound(world, 'web') === 8, 12 * MINUTE);
    await world.advance(5 * MINUTE);
    expect(capacity(world, 'other')).toBe(4);
    expect(world.world.violations()).toEqual([]);
  });

  it.each([
    ['vmss-flexible', 8, 10],
    ['vms-pool', 4, 5],
    ['vms-pool', 12, 20],
  ] as const)('of a %s, refused after %i s: the next pool is asked within a second of %i s', async (kind, refusedAfter, lookAt) => {
    const world = await start(refusedAfter, { kind });
    world.world.cluster.apply(deployment({ name: 'web', replicas: 4, cpu: '3' }));
    await world.until('the increase', () => requested(world, 'short') === 4, MINUTE);
    const increasedAt = world.clock.now();
    await world.until('the next pool', () => capacity(world, 'other') > 0, 2 * MINUTE);
    const waited = (world.clock.now() - increasedAt) / SECOND;
    expect(waited).toBeGreaterThanOrEqual(lookAt);
    expect(waited).toBeLessThan(lookAt + 1);
    const lists = listsSince(world, increasedAt);
    await world.until('all bound', () => bound(world, 'web') === 4, 8 * MINUTE);
    expect(lists).toBeLessThanOrEqual(2);
    await world.advance(5 * MINUTE);
    expect(capacity(world, 'other')).toBe(3);
    expect(requested(world, 'short')).toBe(1);
    expect(world.world.violations()).toEqual([]);
  });
});
