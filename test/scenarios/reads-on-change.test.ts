/** Lists that are skipped while nothing moves (`azure.cache.readOnChange`): what is read, how late a change is seen, and what comes of it. */
import { describe, expect, it } from 'vitest';
import type { WorldEvent } from '../../world/simulator/arm/faults/world-event.ts';
import type { PoolSpec } from '../../world/simulator/base/world-spec.ts';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { seededStreams, streamFor } from '../../src/lib/random.ts';
import { aPool, bound, capacity, deployment, MINUTE, SECOND, worldOf } from './support.ts';

const ON = { AZURE_CACHE_READ_ON_CHANGE: 'true' };
/** Few loops make a long rest cheap. What nodes show is then seen a minute later at most. */
const SLOW = ['--scan-interval=60s', '--scale-down-enabled=false'];
const LISTS = /(virtualMachineScaleSets\/[^/]+|Microsoft\.Compute)\/virtualMachines$/i;

async function resting(pools: readonly PoolSpec[], flags = SLOW): Promise<VirtualRun> {
  const run = await startedWorld({ spec: worldOf(pools), flags, env: ON });
  // Lists of the start are older than their usual interval then, and half as old as a rest may be.
  await run.advance(7 * MINUTE);
  return run;
}

/** The daemon's reads of this kind since then, oldest first. */
function reads(world: VirtualRun, sinceMs: number, path = /^\/subscriptions\//) {
  const entries = world.world.arm.control.journal();
  return entries.filter((entry) => entry.at >= sinceMs && entry.principal !== '' && entry.method === 'GET' && path.test(entry.path));
}

/** The running instances of the pool that the last loop knew. */
function known(world: VirtualRun, pool: string): readonly string[] {
  const group = world.reports.at(-1)?.observation?.cloud.groups.find(({ id }) => id.includes(pool));
  return (group?.instances ?? []).filter(({ state }) => state === 'running').map(({ instanceId }) => instanceId);
}

/** The instances of the pool that run in the world. */
function running(world: VirtualRun, pool: string): readonly string[] {
  const { sets, agentPools } = world.world.arm.control.state();
  const all = sets.find((set) => set.pool === pool)?.instances ?? agentPools.find(({ name }) => name === pool)?.machines ?? [];
  return all
    .filter(({ power, provisioningState }) => power === 'running' && provisioningState === 'Succeeded')
    .map(({ id }) => id)
    .sort();
}

describe('reads at rest', () => {
  it('six pools cost less than 1.6 calls a minute, and each list is at most 15 minutes old', async () => {
    const world = await resting(
      ['a', 'b', 'c', 'd', 'e'].map((name) => aPool({ name })),
      ['--scan-interval=150s', '--scale-down-enabled=false'],
    );
    const since = world.clock.now();
    await world.advance(45 * MINUTE);
    expect(reads(world, since).length / 45).toBeLessThan(1.6);
    const lists = reads(world, 0, LISTS);
    for (const path of new Set(lists.map((entry) => entry.path))) {
      const times = [...lists.filter((entry) => entry.path === path).map(({ at }) => at), world.clock.now()];
      const gaps = times.slice(1).map((at, index) => at - (times[index] ?? 0));
      expect(Math.max(...gaps), path).toBeLessThanOrEqual(15 * MINUTE + SECOND);
    }
  });
});

describe('a change during a rest', () => {
  it.each<[string, Partial<PoolSpec>, (world: VirtualRun) => WorldEvent]>([
    ['another writer adds instances', {}, () => ({ foreignScale: { pool: 'general', to: 4 } })],
    [
      'another writer deletes an instance',
      {},
      (world) => ({ foreignDelete: { pool: 'general', instanceIds: known(world, 'general').slice(0, 1) } }),
    ],
    ['Azure evicts an instance', { priority: 'Spot' }, () => ({ evict: { pool: 'general' } })],
    ['Azure evicts and keeps an instance', { priority: 'Spot', evictionPolicy: 'Deallocate' }, () => ({ evict: { pool: 'general' } })],
    ['Azure repairs an instance', {}, () => ({ repair: { pool: 'general' } })],
    ['another writer grows a pool of type VirtualMachines', { kind: 'vms-pool' }, () => ({ foreignScale: { pool: 'general', to: 4 } })],
  ])('%s: the daemon knows the instances of the world five minutes later', async (_, pool, event) => {
    const world = await resting([aPool({ name: 'general', count: 2, ...pool })]);
    const before = known(world, 'general');
    world.world.arm.control.raise(event(world));
    await world.advance(5 * MINUTE);
    expect([...known(world, 'general')].sort()).toEqual(running(world, 'general'));
    expect(known(world, 'general')).not.toEqual(before);
  });

  it('a tag that lies: with a frozen list of the scale sets, the missing node of a deleted instance is the sign', async () => {
    const world = await resting([aPool({ name: 'general', count: 2 })]);
    const [gone = ''] = known(world, 'general');
    const since = world.clock.now();
    world.world.arm.control.addFault({ id: 'frozen', match: { pathGlob: '**/virtualMachineScaleSets' }, effect: { kind: 'stale-list' } });
    world.world.arm.control.raise({ foreignDelete: { pool: 'general', instanceIds: [gone] } });
    await world.advance(5 * MINUTE);
    expect(known(world, 'general')).not.toContain(gone);
    expect(reads(world, since, /-general-.*virtualMachines$/i).length).toBeGreaterThan(0);
  });

  it('a restart reads every list again, and rests only after its first loops', async () => {
    const world = await resting([aPool({ name: 'general' }), aPool({ name: 'other' })]);
    world.world.arm.control.raise({ foreignScale: { pool: 'general', to: 3 } });
    world.killDaemon();
    const since = world.clock.now();
    await world.advance(3 * MINUTE);
    await world.startDaemon();
    expect(new Set(reads(world, since, LISTS).map(({ path }) => path)).size).toBe(3);
    await world.advance(MINUTE);
    expect(known(world, 'general')).toEqual(running(world, 'general'));
  });
});

describe('a removal during a rest', () => {
  it('reads its instance right before the deletion, however old the list is', async () => {
    const flags = ['--scale-down-unneeded-time=12m', '--scale-down-delay-after-add=10s', '--scan-interval=30s'];
    const world = await resting([aPool({ name: 'general', count: 1 })], flags);
    await world.until('the node is gone', () => capacity(world, 'general') === 0, 10 * MINUTE);
    const write = world.writes().find(({ path }) => path.includes('-general-'));
    const before = reads(world, 0).filter(({ seq, path }) => seq < (write?.seq ?? 0) && path.includes('-general-'));
    const list = before.findLast(({ path }) => LISTS.test(path));
    const read = before.findLast(({ path }) => /virtualMachines\/\d+$/i.test(path));
    expect((write?.at ?? 0) - (list?.at ?? 0)).toBeGreaterThan(5 * MINUTE);
    expect((write?.at ?? 0) - (read?.at ?? 0)).toBeLessThan(5 * SECOND);
  });
});

const KINDS = ['vmss-uniform', 'vmss-flexible', 'vms-pool'] as const;
const EAGER = ['--scan-interval=20s', '--scale-down-unneeded-time=2m', '--scale-down-delay-after-add=1m'];

/** Seeded load, evictions and other writers, and what the world looks like at the end. */
async function lifeOf(seed: number, env: Readonly<Record<string, string>>) {
  const draw = streamFor(seededStreams(seed), 'life');
  const kind = KINDS[seed % KINDS.length] ?? 'vmss-uniform';
  const general = aPool({ name: 'general', count: 2, kind });
  const world = await startedWorld({
    spec: { ...worldOf([general, aPool({ name: 'spot', priority: 'Spot', count: 2, min: 2 })]), seed },
    flags: EAGER,
    env,
  });
  const { control } = world.world.arm;
  const acts = [
    () => world.world.cluster.apply(deployment({ name: 'web', replicas: Math.floor(draw() * 12), cpu: '1' })),
    () => control.raise({ evict: { pool: 'spot' } }),
    () => control.raise({ foreignScale: { pool: 'general', to: 1 + Math.floor(draw() * 4) } }),
  ];
  for (let turn = 0; turn < 2; turn++) {
    await world.advance((5 + draw() * 3) * MINUTE);
    acts[Math.floor(draw() * acts.length)]?.();
  }
  await world.advance(12 * MINUTE);
  const pools = ['general', 'spot'].map((pool) => running(world, pool).length);
  const end = { pools, web: bound(world, 'web'), violations: world.world.violations() };
  const calls = reads(world, 0).length;
  return { end, calls };
}

describe('a life with rests', () => {
  it('ends as without rests, with fewer calls', async () => {
    const seed = 3;
    const [off, on] = [await lifeOf(seed, {}), await lifeOf(seed, ON)];
    expect(on.end).toEqual(off.end);
    expect(on.calls).toBeLessThan(off.calls);
  });
});
