import { describe, expect, it } from 'vitest';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, events, MINUTE, pending, SECOND, worldOf } from './support.ts';

const FLAGS = ['--scale-down-unneeded-time=1m', '--scale-down-delay-after-add=1m'];
const KRUISE = { apiVersion: 'apps.kruise.io/v1alpha1', kind: 'DaemonSet', name: 'agent', uid: 'kruise-agent', controller: true };
const ANNOTATION = { 'cluster-autoscaler.kubernetes.io/daemonset-pod': 'true' };

const OWNERS = [
  { owner: 'a DaemonSet of OpenKruise', metadata: { ownerReferences: [KRUISE] } },
  { owner: 'an annotation', metadata: { annotations: ANNOTATION } },
];

/** A controller beside the simulated ones: it gives every node of the pool a daemon pod of 1 CPU, as soon as the node is there. */
function coverNodes(world: VirtualRun, metadata: object): void {
  const { store } = world.world.cluster;
  const covered = new Set(store.boundPods().map((pod) => pod.metadata.name));
  for (const node of store.nodes()) {
    const name = `agent-${node.metadata.name}`;
    if (node.metadata.labels?.['agentpool'] !== 'general' || covered.has(name)) continue;
    world.world.cluster.apply({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { ...metadata, name, namespace: 'kube-system' },
      spec: {
        nodeName: node.metadata.name,
        tolerations: [{ operator: 'Exists' }],
        containers: [{ name: 'c', image: 'agent:1', resources: { requests: { cpu: '1', memory: '64Mi' } } }],
      },
    });
  }
}

describe.each(OWNERS)('a daemon pod of 1 CPU by $owner on each node of 4 cores', ({ metadata }) => {
  const started = async (count: number, min: number): Promise<VirtualRun> => {
    const run = await startedWorld({ spec: worldOf([aPool({ name: 'general', count, min })]), flags: FLAGS });
    await covered(run, MINUTE);
    return run;
  };
  const covered = async (world: VirtualRun, spanMs: number): Promise<void> => {
    for (let passedMs = 0; passedMs < spanMs; passedMs += SECOND) {
      coverNodes(world, metadata);
      await world.advance(SECOND);
    }
  };

  it('a pending pod of 3.2 CPU requests no node that cannot take it', async () => {
    const world = await started(1, 1);
    world.world.cluster.apply(deployment({ name: 'wide', replicas: 1, cpu: '3200m' }));
    await covered(world, 10 * MINUTE);
    expect([pending(world), capacity(world, 'general')]).toEqual([1, 1]);
    expect(events(world, 'NotTriggerScaleUp').join()).toContain('needs 3.2 CPU, the node offers 2.');
    expect(world.world.violations()).toEqual([]);
  });

  it('an empty pool requests one node, learns from it, and requests no other; a pod that fits gets its node', async () => {
    const world = await started(0, 0);
    world.world.cluster.apply(deployment({ name: 'wide', replicas: 1, cpu: '3200m' }));
    await covered(world, 20 * MINUTE);
    const writes = events(world, 'TriggeredScaleUp').length;
    expect([pending(world), writes]).toEqual([1, 1]);
    world.world.cluster.apply(deployment({ name: 'narrow', replicas: 1, cpu: '2500m' }));
    await covered(world, 5 * MINUTE);
    expect(bound(world, 'narrow')).toBe(1);
  });

  it('does not keep an idle node', async () => {
    const world = await started(2, 0);
    await covered(world, 15 * MINUTE);
    expect(capacity(world, 'general')).toBe(0);
  });
});
