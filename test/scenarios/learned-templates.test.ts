import { describe, expect, it } from 'vitest';
import { valueOf } from '../loop/support.ts';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, events, MINUTE, pending, worldOf } from './support.ts';

/** More than the formula for a size of 16 GiB leaves, less than its real nodes have. */
const NEARLY_ALL = '13500Mi';
const big = (replicas: number) => deployment({ name: 'big', replicas, cpu: '1', memory: NEARLY_ALL });
const FLAGS = ['--scale-down-unneeded-time=1m', '--scale-down-delay-after-add=1m'];

interface ConfigMap {
  readonly metadata: { readonly resourceVersion?: string };
  readonly data: Readonly<Record<string, string>>;
}
const kept = (world: VirtualRun): ConfigMap | undefined =>
  world.world.cluster.store.get('configmaps', 'kube-system', 'aks-autoscaler-templates') as ConfigMap | undefined;

const templateOf = (world: VirtualRun) => world.daemon.cloud.templateReports().find(({ group }) => group.includes('general'));

/** A pool that had one node, which has gone. */
async function scaledToZero(): Promise<VirtualRun> {
  const world = await startedWorld({ spec: worldOf([aPool({ name: 'general', count: 1 })]), flags: FLAGS });
  await world.advance(MINUTE);
  expect(templateOf(world)).toMatchObject({ source: 'live-node', allocatable: { memory: { from: 'live' } } });
  expect(await valueOf(world.metrics.templates.estimateError, { resource: 'memory' })).toBeLessThan(-0.01);
  expect(await valueOf(world.metrics.templates.estimateError, { resource: 'cpu' })).toBe(0);
  await world.until('an empty pool', () => capacity(world, 'general') === 0, 15 * MINUTE);
  await world.advance(5 * MINUTE);
  return world;
}

describe('a pool without nodes', () => {
  it('is what its last node was, after a restart too', async () => {
    const world = await scaledToZero();
    const versionBefore = kept(world)?.metadata.resourceVersion;
    expect(kept(world)?.data['templates.json']).toContain('"version":1');
    world.killDaemon();
    await world.startDaemon();
    await world.advance(2 * MINUTE);
    expect(templateOf(world)).toMatchObject({ source: 'learned', labels: { agentpool: { from: 'learned' } } });
    world.world.cluster.apply(big(1));
    await world.until('bound', () => bound(world, 'big') === 1, 5 * MINUTE);
    expect(world.world.violations()).toEqual([]);
    expect(versionBefore).toBeDefined();
  });

  it('has the static pods of its last node', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general', count: 1 })]), flags: FLAGS });
    const [node] = world.world.cluster.store.nodes().filter(({ metadata }) => metadata.labels?.['agentpool'] === 'general');
    world.world.cluster.apply({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: `proxy-${node?.metadata.name}`,
        namespace: 'kube-system',
        annotations: { 'kubernetes.io/config.mirror': 'x', 'kubernetes.io/config.source': 'file' },
      },
      spec: {
        nodeName: node?.metadata.name ?? '',
        containers: [{ name: 'c', image: 'proxy:1', resources: { requests: { cpu: '1500m', memory: '64Mi' } } }],
      },
    });
    await world.until('an empty pool', () => capacity(world, 'general') === 0, 20 * MINUTE);
    world.world.cluster.apply(deployment({ name: 'wide', replicas: 1, cpu: '3' }));
    await world.advance(2 * MINUTE);
    expect([pending(world), capacity(world, 'general')]).toEqual([1, 0]);
    expect(events(world, 'NotTriggerScaleUp').join()).toContain('CPU, the node offers');
    world.world.cluster.apply(deployment({ name: 'narrow', replicas: 1, cpu: '1' }));
    await world.until('bound', () => bound(world, 'narrow') === 1, 5 * MINUTE);
    expect(world.world.violations()).toEqual([]);
  });

  it('is only what its size promises when the text was edited, and says so', async () => {
    const world = await scaledToZero();
    world.killDaemon();
    const text = kept(world)?.data['templates.json'] ?? '';
    world.world.cluster.apply({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'aks-autoscaler-templates', namespace: 'kube-system' },
      data: { 'templates.json': text.replace('"memory":', '"memory":9') },
    });
    await world.startDaemon();
    await world.advance(MINUTE);
    expect(templateOf(world)).toMatchObject({ source: 'cloud', allocatable: { memory: { from: 'aks' } } });
    world.world.cluster.apply(big(1));
    await world.advance(2 * MINUTE);
    expect([bound(world, 'big'), capacity(world, 'general')]).toEqual([0, 0]);
    expect(events(world, 'NotTriggerScaleUp').join()).toContain('memory, the node offers');
  });

  it('writes once, and no more while nothing is new', async () => {
    const world = await scaledToZero();
    const before = kept(world)?.metadata.resourceVersion;
    await world.advance(10 * MINUTE);
    expect(kept(world)?.metadata.resourceVersion).toBe(before);
    expect(await valueOf(world.metrics.cluster.kubeCalls, { operation: 'config-map', outcome: 'conflict' })).toBe(0);
  });
});
