/** AKS's own count of a pool, which its operations set the size to: what happens by default, and with `azure.syncAgentPoolCount`. */
import { describe, expect, it } from 'vitest';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, MINUTE, SECOND, worldOf } from './support.ts';

/** These scenarios last for hours, and no time in them is shorter than a minute. Waiting pods start a loop at once all the same. */
const FLAGS = ['--scan-interval=1m'];
const SYNC = { AZURE_SYNC_AGENT_POOL_COUNT: 'true' };
const POOL = aPool({ name: 'general', count: 1, min: 1, max: 20 });

/** 20 pods of 1.5 CPU on nodes of 4: the pool grows from 1 to 10. */
async function grown(env: Readonly<Record<string, string>>, knobs: object = {}): Promise<VirtualRun> {
  const world = await startedWorld({ spec: worldOf([POOL]), env, knobs, flags: FLAGS });
  world.world.cluster.apply(deployment({ name: 'web', replicas: 20, cpu: '1500m' }));
  await world.until('20 pods that run', () => bound(world, 'web') === 20, 10 * MINUTE);
  expect([capacity(world, 'general'), aksCount(world)]).toEqual([10, 1]);
  return world;
}

const aksCount = (world: VirtualRun): number | undefined =>
  world.world.arm.control.state().agentPools.find(({ name }) => name === 'general')?.size;

const status = (world: VirtualRun): string =>
  JSON.stringify(world.world.cluster.store.list('configmaps').filter(({ metadata }) => metadata.name === 'cluster-autoscaler-status'));

/** Deletions that the daemon asked for. */
const deletions = (world: VirtualRun): number => world.writes().filter(({ route }) => route.includes('delete')).length;

const poolWrites = (world: VirtualRun) =>
  world
    .writes()
    .filter(({ route, pool }) => pool === 'general' && route.startsWith('PUT'))
    .map(({ route }) => (route.includes('agentPools') ? 'AKS' : 'scale set'));

describe('a pool that grew from 1 to 10 by writes to its scale set', () => {
  it('loses nine nodes with their pods to one operation of AKS, and the status names the danger before', async () => {
    const world = await grown({});
    await world.until('a warning', () => status(world).includes('AKS counts 1, the size is 10'), 5 * MINUTE);
    // Long enough for the count to be brought in step, if that were wished.
    await world.advance(15 * MINUTE);
    expect(aksCount(world)).toBe(1);
    world.world.arm.control.raise({ rpReconcile: { pool: 'general' } });
    await world.until('lost pods', () => bound(world, 'web') <= 2, 10 * MINUTE);
    expect(deletions(world)).toBe(0);
  });

  it('keeps every pod if its count was brought in step', async () => {
    const world = await grown(SYNC);
    await world.until('a count in step', () => aksCount(world) === 10, 20 * MINUTE);
    await world.advance(5 * MINUTE);
    world.world.arm.control.raise({ rpReconcile: { pool: 'general' } });
    await world.advance(15 * MINUTE);
    expect([bound(world, 'web'), capacity(world, 'general'), aksCount(world)]).toEqual([20, 10, 10]);
    expect(status(world)).not.toContain('AKS counts');
    expect(world.world.violations()).toEqual([]);
  });

  it('waits ten minutes of rest, and a pool that never rests is not touched', async () => {
    const world = await grown(SYNC);
    for (let more = 1; more <= 3; more++) {
      world.world.cluster.apply(deployment({ name: `more-${more}`, replicas: 2, cpu: '1500m' }));
      await world.advance(8 * MINUTE);
      expect(aksCount(world)).toBe(1);
    }
    await world.until('a count in step', () => aksCount(world) === 13, 20 * MINUTE);
    expect(world.world.violations()).toEqual([]);
  });
});

describe('an operation of AKS that takes ten minutes while pods wait', () => {
  it('holds the writes of the scale set; then the growth goes through AKS, and no pod is lost', async () => {
    const world = await grown(SYNC, { aksModelUpdate: { p50: 10 * MINUTE, p95: 10 * MINUTE }, aksRestoresAtEnd: true });
    await world.until('a count in step', () => aksCount(world) === 10, 20 * MINUTE);
    world.world.cluster.apply(deployment({ name: 'late', replicas: 4, cpu: '1500m' }));
    await world.advance(5 * MINUTE);
    expect([bound(world, 'late'), capacity(world, 'general')]).toEqual([0, 10]);
    await world.until('late pods that run', () => bound(world, 'late') === 4, 15 * MINUTE);
    await world.until('a count in step again', () => aksCount(world) === 12, 20 * MINUTE);
    await world.advance(12 * MINUTE);
    expect([bound(world, 'web'), bound(world, 'late'), capacity(world, 'general'), aksCount(world)]).toEqual([20, 4, 12, 12]);
    const writes = poolWrites(world);
    expect(writes.slice(writes.indexOf('AKS'))).toEqual(['AKS', 'AKS']);
    expect(world.world.violations()).toEqual([]);
  });

  it('and another pool that fits grows at once', async () => {
    const other = aPool({ name: 'spare', count: 0, min: 0, max: 5, vmSize: 'Standard_D8s_v5' });
    const knobs = { aksModelUpdate: { p50: 10 * MINUTE, p95: 10 * MINUTE }, aksRestoresAtEnd: true };
    const world = await startedWorld({ spec: worldOf([POOL, other]), env: SYNC, knobs, flags: [...FLAGS, '--expander=least-waste'] });
    world.world.cluster.apply(deployment({ name: 'web', replicas: 8, cpu: '1500m' }));
    await world.until('a count in step', () => (aksCount(world) ?? 0) > 1, 30 * MINUTE);
    const before = capacity(world, 'spare');
    world.world.cluster.apply(deployment({ name: 'late', replicas: 4, cpu: '1500m' }));
    await world.until('another pool', () => capacity(world, 'spare') > before, 30 * SECOND);
    expect(world.world.violations()).toEqual([]);
  });

  it('and a foreign write in that window is undone by AKS, not by the daemon', async () => {
    const world = await grown(SYNC, { aksModelUpdate: { p50: 10 * MINUTE, p95: 10 * MINUTE }, aksRestoresAtEnd: true });
    await world.until('a count in step', () => aksCount(world) === 10, 20 * MINUTE);
    world.world.arm.control.raise({ foreignScale: { pool: 'general', to: 12 } });
    await world.advance(15 * MINUTE);
    expect([bound(world, 'web'), aksCount(world)]).toEqual([20, 10]);
    const last = poolWrites(world);
    expect(last.slice(last.indexOf('AKS'))).toEqual(['AKS']);
    expect(world.world.violations()).toEqual([]);
  });

  it('and a process that dies meanwhile is followed by one that leaves the pool to AKS until it is done', async () => {
    const world = await grown(SYNC, { aksModelUpdate: { p50: 10 * MINUTE, p95: 10 * MINUTE }, aksRestoresAtEnd: true });
    await world.until('a count in step', () => aksCount(world) === 10, 20 * MINUTE);
    world.killDaemon();
    await world.startDaemon();
    world.world.cluster.apply(deployment({ name: 'late', replicas: 4, cpu: '1500m' }));
    await world.advance(5 * MINUTE);
    expect([bound(world, 'late'), capacity(world, 'general')]).toEqual([0, 10]);
    await world.until('late pods that run', () => bound(world, 'late') === 4, 20 * MINUTE);
    await world.advance(5 * MINUTE);
    expect([bound(world, 'web'), bound(world, 'late'), capacity(world, 'general')]).toEqual([20, 4, 12]);
    expect(world.world.violations()).toEqual([]);
  });
});
