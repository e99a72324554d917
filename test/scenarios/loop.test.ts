import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startedWorld, VirtualRun, type VirtualRunOptions } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, MINUTE, pending, SECOND, worldOf } from './support.ts';

async function start(options: VirtualRunOptions): Promise<VirtualRun> {
  const run = await startedWorld(options);
  await run.advance(15 * SECOND);
  return run;
}
const ports = [{ containerPort: 5555, hostPort: 5555 }];
const apart = (name: string) => ({
  podAntiAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: [
      { labelSelector: { matchLabels: { app: name } }, topologyKey: 'kubernetes.io/hostname' },
    ],
  },
});

describe('pods that cannot share a node', () => {
  it.each([
    {
      name: 'a host port',
      spec: { containers: [{ name: 'app', image: 'app:1', ports, resources: { requests: { cpu: '100m' } } }] },
    },
    { name: 'anti-affinity', spec: { affinity: apart('web') } },
  ])('five pods with $name and two nodes there: three are added, not one more', async ({ spec }) => {
    const world = await start({ spec: worldOf([aPool({ name: 'general', count: 2 })]) });
    world.world.cluster.apply(deployment({ name: 'web', replicas: 5, cpu: '100m', spec }));
    await world.until('all bound', () => bound(world, 'web') === 5, 8 * MINUTE);
    await world.advance(2 * MINUTE);
    expect(capacity(world, 'general')).toBe(5);
    const nodes = world.world.cluster.store
      .boundPods()
      .filter((pod) => pod.metadata.labels?.['app'] === 'web')
      .map((pod) => pod.spec?.nodeName);
    expect(new Set(nodes).size).toBe(5);
    expect(world.world.violations()).toEqual([]);
  });
});

describe('pods that may be pushed aside', () => {
  it('a pod that has their room coming causes no scale-up, nor do they when they are pushed out', async () => {
    const world = await start({ spec: worldOf([aPool({ name: 'general', count: 1 })]), flags: ['--scale-down-enabled=false'] });
    const { cluster } = world.world;
    cluster.apply(deployment({ name: 'filler', replicas: 1, cpu: '3500m', spec: { priority: -20 } }));
    await world.until('the filler runs', () => bound(world, 'filler') === 1, MINUTE);
    cluster.apply(deployment({ name: 'web', replicas: 1, cpu: '2' }));
    await world.advance(MINUTE);
    // The toy scheduler pushes nobody aside; what the real one does then is done by hand.
    expect([bound(world, 'web'), pending(world)]).toEqual([0, 1]);
    const [victim] = cluster.store.boundPods().filter((pod) => pod.metadata.labels?.['app'] === 'filler');
    cluster.remove({ apiVersion: 'v1', kind: 'Pod', metadata: { name: victim?.metadata.name ?? '', namespace: 'default' } });
    await world.until('the pod runs', () => bound(world, 'web') === 1, 2 * MINUTE);
    await world.advance(2 * MINUTE);
    expect([bound(world, 'filler'), pending(world)]).toEqual([0, 1]);
    expect(world.writes()).toEqual([]);
    expect(capacity(world, 'general')).toBe(1);
  });
});

describe('a restart in the middle of a scale-up', () => {
  it('what is on its way is read from Azure and the nodes: nothing is asked for twice', async () => {
    const world = await start({ spec: worldOf([aPool({ name: 'general', count: 1 })]) });
    world.world.cluster.apply(deployment({ name: 'web', replicas: 20, cpu: '700m' }));
    await world.until('asked for', () => world.writes().length > 0, MINUTE);
    const before = world.writes().length;
    world.killDaemon();
    await world.startDaemon();
    await world.until('all bound', () => bound(world, 'web') === 20, 8 * MINUTE);
    await world.advance(MINUTE);
    expect(world.writes().slice(before)).toEqual([]);
    expect(capacity(world, 'general')).toBe(4);
    expect(world.world.violations()).toEqual([]);
  });
});

/** Pods on every node, as a cluster holds them that has stood for long. The daemon is away meanwhile: time runs without the network. */
async function settle(world: VirtualRun, podsPerNode: number): Promise<void> {
  await world.stopDaemon();
  const { cluster } = world.world;
  const containers = [{ name: 'app', image: 'app:1', resources: { requests: { cpu: '80m', memory: '100Mi' } } }];
  for (const { metadata } of cluster.store.nodes())
    for (let index = 0; index < podsPerNode; index++) {
      const name = `${metadata.name}-${index}`;
      cluster.apply({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name, namespace: 'default' },
        spec: { nodeName: metadata.name, containers },
      });
    }
  world.clock.advance(MINUTE);
  await world.startDaemon();
}

describe('four hundred nodes and eight thousand pods', () => {
  let world: VirtualRun;

  beforeAll(async () => {
    const pools = ['a', 'b'].map((name) => aPool({ name, count: 200, min: 200, max: 210 }));
    world = await VirtualRun.start({ spec: worldOf(pools) });
    await settle(world, 20);
  });

  afterAll(() => world.stop());

  it('a minute of loops asks for nothing that grows with them', async () => {
    expect(world.world.cluster.store.boundPods().filter(({ status }) => status.phase === 'Running').length).toBeGreaterThanOrEqual(8_000);
    await world.advance(MINUTE);
    const { arm, cluster } = world.world;
    const [loops, asked, called] = [world.reports.length, arm.control.journal().length, cluster.journal().length];
    await world.advance(MINUTE);
    expect(world.reports.length - loops).toBeGreaterThanOrEqual(6);
    expect(world.reports.every(({ outcome }) => outcome === 'completed')).toBe(true);
    expect(arm.control.journal().length - asked).toBeLessThanOrEqual(6);
    // The status once a minute, a watch that is opened anew: two calls a loop at the very most.
    expect(cluster.journal().length - called).toBeLessThanOrEqual(12);
  });

  it('a burst is served without a refused call', async () => {
    const { arm, cluster } = world.world;
    cluster.apply(deployment({ name: 'web', replicas: 5, cpu: '3' }));
    await world.until('the burst runs', () => bound(world, 'web') === 5, 8 * MINUTE);
    expect(capacity(world, 'a') + capacity(world, 'b')).toBe(405);
    expect(world.writes().length).toBeLessThanOrEqual(2);
    expect(arm.control.journal().filter(({ status }) => status >= 400)).toEqual([]);
    expect(world.world.violations()).toEqual([]);
  });
});
