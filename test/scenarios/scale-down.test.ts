import { describe, expect, it } from 'vitest';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, budget, capacity, deployment, MINUTE, SECOND, worldOf } from './support.ts';

/** Short timers, so that a scenario tells its story in minutes. */
const FLAGS = ['--scale-down-unneeded-time=1m', '--scale-down-delay-after-add=30s', '--scan-interval=20s'];

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
    { name: 'a clean stop', end: async (world: VirtualRun) => world.stopDaemon() },
    { name: 'a kill', end: async (world: VirtualRun) => world.killDaemon() },
  ])('$name: the next process goes on with the timer, without the time in which no process ran', async ({ end }) => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general', count: 2, min: 1 })]), flags: TIMED });
    await world.until('marks', () => marks(world).size > 0, MINUTE);
    const before = [...marks(world)];
    const beganMs = Number(before[0]?.[1]) * SECOND;
    await world.advance(2 * MINUTE);
    await end(world);
    await world.advance(MINUTE);
    await world.startDaemon();
    await world.advance(20 * SECOND);
    expect([...marks(world).keys()]).toEqual(before.map(([name]) => name));
    const movedMs = Number([...marks(world).values()][0]) * SECOND - beganMs;
    expect(movedMs).toBeGreaterThanOrEqual(MINUTE);
    expect(movedMs).toBeLessThan(100 * SECOND);
    expect(capacity(world, 'general')).toBe(2);
    await world.until('the removal', () => capacity(world, 'general') === 1, 3 * MINUTE);
    const tookMs = world.clock.now() - beganMs;
    expect(tookMs).toBeGreaterThan(5 * MINUTE);
    expect(tookMs).toBeLessThan(6 * MINUTE);
    expect(world.world.violations()).toEqual([]);
  });

  it('soft taints turned off by the next configuration disappear when they are older than deletionCandidateTtl', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general', count: 3, min: 1 })]), flags: TIMED });
    await world.until('marks', () => marks(world).size > 0, MINUTE);
    await world.stopDaemon();
    await world.startDaemon(['--max-bulk-soft-taint-count=0']);
    await world.advance(30 * SECOND);
    expect(marks(world).size).toBe(3);
    await world.advance(2 * MINUTE);
    expect(marks(world).size).toBe(0);
  });
});

describe('scale-down', () => {
  it('empty nodes go after their time, down to the minimum and not below', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general', count: 4, min: 1 })]), flags: FLAGS });
    await world.advance(50 * SECOND);
    expect(capacity(world, 'general')).toBe(4);
    await world.until('the minimum', () => capacity(world, 'general') === 1, 5 * MINUTE);
    await world.advance(10 * MINUTE);
    expect(capacity(world, 'general')).toBe(1);
    expect(world.writes().every((write) => write.route.startsWith('POST'))).toBe(true);
    expect(world.world.violations()).toEqual([]);
  });

  it('pods are evicted within their budget, and never lost', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general', count: 3, min: 0 })]), flags: FLAGS });
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
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general', count: 2, min: 0 })]), flags: FLAGS });
    const annotations = { 'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false' };
    world.world.cluster.apply(deployment({ name: 'pinned', replicas: 1, cpu: '100m', annotations }));
    await world.until('one node left', () => capacity(world, 'general') === 1, 10 * MINUTE);
    await world.advance(5 * MINUTE);
    expect(capacity(world, 'general')).toBe(1);
    expect(bound(world, 'pinned')).toBe(1);
    const kept = world.reports.flatMap((report) => report.scaleDown?.kept ?? []);
    expect(kept.find((entry) => entry.blocker?.reason === 'NotSafeToEvictAnnotation')).toBeDefined();
  });

  it('a budget that can never be satisfied keeps its node and is named', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general', count: 2, min: 0 })]), flags: FLAGS });
    world.world.cluster.apply(budget('web', 0));
    world.world.cluster.apply(deployment({ name: 'web', replicas: 1, cpu: '100m' }));
    await world.until('one node left', () => capacity(world, 'general') === 1, 10 * MINUTE);
    await world.advance(5 * MINUTE);
    expect(capacity(world, 'general')).toBe(1);
    const blocker = world.reports.flatMap((report) => report.scaleDown?.kept ?? []).find((kept) => kept.blocker !== undefined)?.blocker;
    expect(blocker).toMatchObject({ reason: 'NotEnoughPdb', detail: expect.stringMatching(/^default\/web: it can never allow/) });
    expect(world.world.cluster.store.events().filter((event) => event.reason === 'ScaleDownFailed')).toEqual([]);
  });

  it('a pod without a controller keeps its node until it is gone', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general', count: 2, min: 0 })]), flags: FLAGS });
    const pet = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'pet-0', namespace: 'default' },
      spec: { containers: [{ name: 'app', image: 'app:1', resources: { requests: { cpu: '100m', memory: '64Mi' } } }] },
    };
    world.world.cluster.apply(pet);
    await world.until('one node left', () => capacity(world, 'general') === 1, 10 * MINUTE);
    await world.advance(5 * MINUTE);
    expect(world.world.cluster.store.boundPods().some((pod) => pod.metadata.name === 'pet-0')).toBe(true);
    const last = world.reports.flatMap((report) => report.scaleDown?.kept ?? []).filter((kept) => kept.blocker !== undefined);
    expect(last.at(-1)?.blocker).toMatchObject({ pod: 'default/pet-0', reason: 'NotReplicated' });
    world.world.cluster.remove(pet);
    await world.until('no node left', () => capacity(world, 'general') === 0, 10 * MINUTE);
    expect(world.world.violations()).toEqual([]);
  });

  it('a node that is not ready goes by its own timer, with its pods', async () => {
    const flags = [...FLAGS, '--scale-down-unready-time=3m'];
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general', count: 2, min: 0 })]), flags });
    world.world.cluster.apply(deployment({ name: 'web', replicas: 8, cpu: '300m' }));
    await world.until('all bound', () => bound(world, 'web') === 8, MINUTE);
    const store = world.world.cluster.store;
    const sick = store.nodes().find((node) => node.metadata.name.includes('general'));
    if (sick === undefined) throw new Error('no node');
    const began = world.clock.now();
    const broken = { key: 'node.kubernetes.io/network-unavailable', effect: 'NoSchedule' };
    world.world.cluster.apply({ ...sick, spec: { ...sick.spec, taints: [...(sick.spec.taints ?? []), broken] } });
    const removals = () => world.reports.flatMap((report) => report.scaleDown?.removals ?? []);
    await world.until('its removal', () => removals().some((removal) => removal.node === sick.metadata.name), 10 * MINUTE);
    expect(removals().find((removal) => removal.node === sick.metadata.name)).toMatchObject({ cause: 'unready' });
    expect(world.clock.now() - began).toBeGreaterThan(3 * MINUTE);
    await world.until('all bound again', () => bound(world, 'web') === 8 && capacity(world, 'general') === 1, 10 * MINUTE);
    expect(world.world.violations()).toEqual([]);
  });

  it('an instance whose node is gone for good is replaced first and then removed; the minimum holds throughout', async () => {
    const world = await startedWorld({
      spec: worldOf([aPool({ name: 'general', count: 2, min: 2 })]),
      flags: [...FLAGS, '--max-node-provision-time=4m', '--enforce-node-group-min-size=true'],
    });
    const lost = world.world.cluster.store.nodes().find((node) => node.metadata.name.includes('general'));
    if (lost === undefined) throw new Error('no node');
    world.world.cluster.remove(lost);
    const began = world.clock.now();
    await world.advance(3 * MINUTE);
    expect(world.writes()).toEqual([]);
    await world.until('a replacement', () => capacity(world, 'general') === 3, 4 * MINUTE);
    expect(world.clock.now() - began).toBeGreaterThan(4 * MINUTE);
    const nodes = () => world.world.cluster.store.nodes().filter((node) => node.metadata.name.includes('general'));
    await world.until('the old one gone', () => capacity(world, 'general') === 2 && nodes().length === 2, 10 * MINUTE);
    await world.advance(10 * MINUTE);
    expect(capacity(world, 'general')).toBe(2);
    expect(nodes().map((node) => node.metadata.name)).not.toContain(lost.metadata.name);
    expect(world.writes()).toHaveLength(2);
    expect(world.world.violations()).toEqual([]);
  });

  it('a node that stays unready in a pool at its minimum is replaced first and then removed', async () => {
    const flags = [...FLAGS, '--scale-down-unready-time=3m'];
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general', count: 2, min: 2 })]), flags });
    const nodes = () => world.world.cluster.store.nodes().filter((node) => node.metadata.name.includes('general'));
    const sick = nodes()[0];
    if (sick === undefined) throw new Error('no node');
    const broken = { key: 'node.kubernetes.io/network-unavailable', effect: 'NoSchedule' };
    await world.advance(MINUTE);
    const began = world.clock.now();
    world.world.cluster.apply({ ...sick, spec: { ...sick.spec, taints: [...(sick.spec.taints ?? []), broken] } });
    let least = 9;
    const working = () => nodes().filter((node) => !(node.spec.taints ?? []).some(({ key }) => key === broken.key)).length;
    await world.until('a replacement', () => capacity(world, 'general') === 3, 10 * MINUTE);
    expect(world.clock.now() - began).toBeGreaterThan(3 * MINUTE);
    const isDone = () => {
      least = Math.min(least, capacity(world, 'general'));
      return capacity(world, 'general') === 2 && nodes().every((node) => node.metadata.name !== sick.metadata.name);
    };
    await world.until('the sick one gone', isDone, 10 * MINUTE);
    await world.advance(15 * MINUTE);
    expect({ least, left: nodes().length, working: working() }).toEqual({ least: 2, left: 2, working: 2 });
    expect(world.writes()).toHaveLength(2);
    expect(world.world.violations()).toEqual([]);
  });

  it('a pool that is of use only as a whole comes in one write and goes in one', async () => {
    const tags = { 'k8s.io_cluster-autoscaler_node-template_autoscaling-options_zeroormaxnodescaling': 'true' };
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'gang', count: 0, min: 0, max: 4, tags })]), flags: FLAGS });
    const job = deployment({ name: 'job', replicas: 2, cpu: '2500m' });
    world.world.cluster.apply(job);
    await world.until('all bound', () => bound(world, 'job') === 2, 10 * MINUTE);
    expect(capacity(world, 'gang')).toBe(4);
    await world.advance(10 * MINUTE);
    expect(capacity(world, 'gang')).toBe(4);
    const kept = world.reports.at(-1)?.scaleDown?.kept ?? [];
    expect(kept.filter(({ reason }) => reason === 'AtomicScaleDownFailed')).toHaveLength(2);
    world.world.cluster.remove(job);
    const sizes = new Set<number>();
    const isGone = () => {
      sizes.add(capacity(world, 'gang'));
      return capacity(world, 'gang') === 0;
    };
    await world.until('all gone', isGone, 10 * MINUTE);
    expect([...sizes]).toEqual([4, 0]);
    expect(world.writes()).toHaveLength(2);
    expect(world.world.violations()).toEqual([]);
  });

  it('a daemon that dies in the middle of a drain leaves nothing behind that the next one does not put right', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general', count: 2, min: 0 })]), flags: FLAGS });
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
