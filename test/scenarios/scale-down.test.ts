import { afterEach, describe, expect, it } from 'vitest';
import { VirtualRun, type VirtualRunOptions } from '../support/virtual-world.ts';
import { aPool, bound, budget, capacity, deployment, MINUTE, SECOND, worldOf } from './support.ts';

let run: VirtualRun | undefined;
async function start(options: VirtualRunOptions): Promise<VirtualRun> {
  run = await VirtualRun.start(options);
  return run;
}
afterEach(async () => {
  await run?.stop();
  run = undefined;
});

/** Short timers, so that a scenario tells its story in minutes. */
const FLAGS = ['--scale-down-unneeded-time=1m', '--scale-down-delay-after-add=30s'];

function taints(world: VirtualRun): readonly string[] {
  return world.world.cluster.store.nodes().flatMap((node) => (node.spec.taints ?? []).map((taint) => `${node.metadata.name} ${taint.key}`));
}

const SOFT = 'DeletionCandidateOfClusterAutoscaler';
const TIMED = ['--scale-down-unneeded-time=4m', '--scale-down-delay-after-add=0s'];

/** When the soft taint says that the node became unneeded, by node; seconds since the epoch. */
function marks(world: VirtualRun): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const node of world.world.cluster.store.nodes()) {
    const mark = node.spec.taints?.find((taint) => taint.key === SOFT);
    if (mark !== undefined) found.set(node.metadata.name, mark.value ?? '');
  }
  return found;
}

describe('timers over a restart', () => {
  it.each([
    { name: 'PL12: a clean stop', end: async (world: VirtualRun) => world.stopDaemon() },
    { name: 'PL12: a kill', end: async (world: VirtualRun) => world.killDaemon() },
  ])('$name: the next process goes on with the timer where the taint says it began', async ({ end }) => {
    const world = await start({ spec: worldOf([aPool({ name: 'general', count: 2, min: 1 })]), flags: TIMED });
    await world.until('marks', () => marks(world).size > 0, MINUTE);
    const before = [...marks(world)];
    const beganMs = Number(before[0]?.[1]) * SECOND;
    await world.advance(2 * MINUTE);
    await end(world);
    await world.advance(MINUTE);
    await world.startDaemon();
    await world.advance(20 * SECOND);
    expect([...marks(world)]).toEqual(before);
    expect(capacity(world, 'general')).toBe(2);
    await world.until('the removal', () => capacity(world, 'general') === 1, 2 * MINUTE);
    const tookMs = world.clock.now() - beganMs;
    expect(tookMs).toBeGreaterThan(4 * MINUTE);
    expect(tookMs).toBeLessThan(5 * MINUTE);
    expect(world.world.violations()).toEqual([]);
  });

  it('soft taints turned off by the next configuration disappear', async () => {
    const world = await start({ spec: worldOf([aPool({ name: 'general', count: 3, min: 1 })]), flags: TIMED });
    await world.until('marks', () => marks(world).size > 0, MINUTE);
    await world.stopDaemon();
    await world.startDaemon(['--max-bulk-soft-taint-count=0']);
    await world.advance(30 * SECOND);
    expect(marks(world).size).toBe(0);
  });
});

describe('scale-down', () => {
  it('empty nodes go after their time, down to the minimum and not below', async () => {
    const world = await start({ spec: worldOf([aPool({ name: 'general', count: 4, min: 1 })]), flags: FLAGS });
    await world.advance(50 * SECOND);
    expect(capacity(world, 'general')).toBe(4);
    await world.until('the minimum', () => capacity(world, 'general') === 1, 5 * MINUTE);
    await world.advance(10 * MINUTE);
    expect(capacity(world, 'general')).toBe(1);
    expect(world.writes().every((write) => write.route.startsWith('POST'))).toBe(true);
    expect(world.world.violations()).toEqual([]);
  });

  it('E4: pods are evicted within their budget, and never lost', async () => {
    const world = await start({ spec: worldOf([aPool({ name: 'general', count: 3, min: 0 })]), flags: FLAGS });
    world.world.cluster.apply(budget('web', 1));
    world.world.cluster.apply(deployment({ name: 'web', replicas: 9, cpu: '300m' }));
    await world.until('all bound', () => bound(world, 'web') === 9, MINUTE);
    let fewest = 9;
    const watch = (): boolean => {
      const ready = world.world.cluster.store
        .boundPods()
        .filter((pod) => pod.metadata.labels?.['app'] === 'web' && pod.status.phase === 'Running');
      if (world.reports.length > 3) fewest = Math.min(fewest, ready.length);
      return capacity(world, 'general') === 1 && bound(world, 'web') === 9;
    };
    await world.until('one node carries all', watch, 20 * MINUTE);
    expect(fewest).toBeGreaterThanOrEqual(8);
    expect(world.world.violations()).toEqual([]);
  });

  it('a pod that must not be evicted keeps its node, with the reason', async () => {
    const world = await start({ spec: worldOf([aPool({ name: 'general', count: 2, min: 0 })]), flags: FLAGS });
    const annotations = { 'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false' };
    world.world.cluster.apply(deployment({ name: 'pinned', replicas: 1, cpu: '100m', annotations }));
    await world.until('one node left', () => capacity(world, 'general') === 1, 10 * MINUTE);
    await world.advance(5 * MINUTE);
    expect(capacity(world, 'general')).toBe(1);
    expect(bound(world, 'pinned')).toBe(1);
    const kept = world.reports.flatMap((report) => report.scaleDown?.kept ?? []);
    expect(kept.find((entry) => entry.blocker?.reason === 'NotSafeToEvictAnnotation')).toBeDefined();
  });

  it('E8: a daemon that dies in the middle of a drain leaves nothing behind that the next one does not put right', async () => {
    const world = await start({ spec: worldOf([aPool({ name: 'general', count: 2, min: 0 })]), flags: FLAGS });
    world.world.cluster.apply(deployment({ name: 'web', replicas: 4, cpu: '300m', spec: { terminationGracePeriodSeconds: 30 } }));
    await world.until('all bound', () => bound(world, 'web') === 4, MINUTE);
    await world.until('a drain', () => taints(world).some((taint) => taint.includes('ToBeDeleted')), 10 * MINUTE);
    await world.stopDaemon();
    await world.startDaemon();
    await world.until('one node carries all', () => capacity(world, 'general') === 1 && bound(world, 'web') === 4, 15 * MINUTE);
    await world.advance(3 * MINUTE);
    expect(taints(world).filter((taint) => taint.includes('ToBeDeleted'))).toEqual([]);
    expect(world.world.violations()).toEqual([]);
  });
});
