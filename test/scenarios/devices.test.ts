/**
 * Devices that drivers publish, through the whole loop. The scheduler of this world allocates none, so that pods with claims wait
 * for ever: what counts is what is ordered for them, and how often.
 */
import { describe, expect, it } from 'vitest';
import type { ObjectDraft } from '../../world/simulator/cluster/store/objects.ts';
import { claimTemplate, deviceClass, gpus, gpuSlice, ownClaim } from '../support/device-objects.ts';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, capacity, deployment, events, MINUTE, worldOf } from './support.ts';

/** A pool of one node with four GPUs, and two pods that ask for three each. */
const TAG = 'k8s.io_cluster-autoscaler_node-template_devices_';

/** Two claims for 30Gi have 40Gi each of it. */
const DIVIDED = {
  allowMultipleAllocations: true,
  capacity: { memory: { value: '80Gi', requestPolicy: { default: '20Gi', validRange: { min: '20Gi', step: '20Gi' } } } },
};

async function start(more: readonly ReturnType<typeof aPool>[] = []): Promise<VirtualRun> {
  const world = await startedWorld({
    spec: worldOf([aPool({ name: 'gpu' }), aPool({ name: 'nic', count: 0, tags: { [`${TAG}nic.example.com`]: '{"count": 2}' } }), ...more]),
    flags: ['--scan-interval=30s', '--scale-down-enabled=false'],
  });
  await world.until('the node is there', () => nodesOf(world).length === 1, 5 * MINUTE);
  world.world.cluster.apply(deviceClass() as ObjectDraft);
  world.world.cluster.apply(claimTemplate('three', [gpus(3)]) as ObjectDraft);
  publish(world, 0);
  // A node speaks for its pool a minute after it turned ready.
  await world.advance(2 * MINUTE);
  world.world.cluster.apply(deployment({ name: 'train', replicas: 2, cpu: '1', spec: ownClaim('three') }));
  await world.until('a second node is ordered', () => capacity(world, 'gpu') === 2, 5 * MINUTE);
  await world.until('it is there', () => nodesOf(world).length === 2, 10 * MINUTE);
  return world;
}

function nodesOf(world: VirtualRun): readonly string[] {
  return world.world.cluster.store
    .nodes()
    .map(({ metadata }) => metadata.name)
    .filter((name) => name.includes('-gpu-'));
}

function publish(world: VirtualRun, at: number): void {
  world.world.cluster.apply(gpuSlice(nodesOf(world)[at] ?? '', 4) as ObjectDraft);
}

function claiming(
  world: VirtualRun,
  { driver, pods, ask = {} }: { readonly driver: string; readonly pods: number; readonly ask?: Readonly<Record<string, unknown>> },
): void {
  const [name = ''] = driver.split('.');
  world.world.cluster.apply(deviceClass(`device.driver == "${driver}"`, name) as ObjectDraft);
  world.world.cluster.apply(claimTemplate(name, [gpus(1, { deviceClassName: name, ...ask })]) as ObjectDraft);
  world.world.cluster.apply(deployment({ name, replicas: pods, cpu: '1', spec: ownClaim(name) }));
}

describe('devices of new nodes', () => {
  it('one node is ordered for what does not fit, and no other while its driver takes its time', async () => {
    const world = await start();
    await world.advance(8 * MINUTE);
    expect(world.writes()).toHaveLength(1);
    publish(world, 1);
    await world.advance(10 * MINUTE);
    expect([world.writes().length, capacity(world, 'gpu')]).toEqual([1, 2]);
    expect(world.world.violations()).toEqual([]);
  });

  it('a driver that never publishes costs one node and not one after the other', async () => {
    const tags = { [`${TAG}part.example.com`]: JSON.stringify(DIVIDED) };
    const world = await start([aPool({ name: 'part', count: 0, tags }), aPool({ name: 'fabric', count: 0 })]);
    // A pool without any node, whose devices only its tag declares.
    const wants = { name: 'nic', exactly: { deviceClassName: 'nic', allocationMode: 'ExactCount', count: 2 } };
    world.world.cluster.apply(deviceClass('device.driver == "nic.example.com"', 'nic') as ObjectDraft);
    world.world.cluster.apply(claimTemplate('nics', [wants]) as ObjectDraft);
    world.world.cluster.apply(deployment({ name: 'send', replicas: 1, cpu: '1', spec: ownClaim('nics') }));
    // One that declares a device for several claims, and one whose nodes will reach two devices that no node has for itself.
    claiming(world, { driver: 'part.example.com', pods: 3, ask: { capacity: { requests: { memory: '30Gi' } } } });
    const fabric = [{ matchExpressions: [{ key: 'kubernetes.azure.com/agentpool', operator: 'In', values: ['fabric'] }] }];
    const reach = { nodeName: undefined, nodeSelector: { nodeSelectorTerms: fabric }, driver: 'fabric.example.com' };
    const shared = gpuSlice('fabric', 2, {
      name: 'fabric',
      spec: { ...reach, pool: { name: 'fabric', generation: 1, resourceSliceCount: 1 } },
    });
    world.world.cluster.apply(JSON.parse(JSON.stringify(shared)) as ObjectDraft);
    claiming(world, { driver: 'fabric.example.com', pods: 3 });
    await world.advance(40 * MINUTE);
    const grown = world.writes().filter(({ capacityAfter = 0, capacityBefore = 0 }) => capacityAfter > capacityBefore);
    expect([grown.length, ...['gpu', 'nic', 'part', 'fabric'].map((pool) => capacity(world, pool))]).toEqual([4, 2, 1, 2, 1]);
    const told = events(world, 'NotTriggerScaleUp').join();
    expect(told).toContain('cannot allocate all claims');
    expect(told).toContain('Template promised 2 devices of nic.example.com');
    expect(told).toContain('needs 1 devices, 0 of 2 that match are free');
  });
});
