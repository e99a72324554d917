import { expect, it } from 'vitest';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, MINUTE, SECOND, worldOf } from './support.ts';

const FLAGS = ['--scale-down-unneeded-time=1m', '--scale-down-delay-after-add=1m', '--scan-interval=30s'];
const KRUISE = { apiVersion: 'apps.kruise.io/v1alpha1', kind: 'DaemonSet', name: 'agent', uid: 'kruise-agent', controller: true };
const ANNOTATION = { 'cluster-autoscaler.kubernetes.io/daemonset-pod': 'true' };

/** Three pools each: `a-full` has a node that must stay, `a-empty` none, `a-idle` two that nobody needs. */
const OWNERS = [
  { owner: 'a DaemonSet of OpenKruise', initial: 'a', metadata: { ownerReferences: [KRUISE] } },
  { owner: 'an annotation', initial: 'b', metadata: { annotations: ANNOTATION } },
];

/** Controllers beside the simulated ones: they give every node of their pools a daemon pod of 1 CPU, as soon as the node is there. */
function coverNodes(world: VirtualRun): void {
  const { store } = world.world.cluster;
  const covered = new Set(store.boundPods().map((pod) => pod.metadata.name));
  for (const node of store.nodes()) {
    const name = `agent-${node.metadata.name}`;
    const owner = OWNERS.find(({ initial }) => node.metadata.labels?.['agentpool']?.startsWith(initial) === true);
    if (owner === undefined || covered.has(name)) continue;
    world.world.cluster.apply({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { ...owner.metadata, name, namespace: 'kube-system' },
      spec: {
        nodeName: node.metadata.name,
        tolerations: [{ operator: 'Exists' }],
        containers: [{ name: 'c', image: 'agent:1', resources: { requests: { cpu: '1', memory: '64Mi' } } }],
      },
    });
  }
}

async function covered(world: VirtualRun, spanMs: number): Promise<void> {
  for (let passedMs = 0; passedMs < spanMs; passedMs += SECOND) {
    coverNodes(world);
    await world.advance(SECOND);
  }
}

function addPod(world: VirtualRun, pool: string, name: string, cpu: string): void {
  world.world.cluster.apply(deployment({ name: `${pool}-${name}`, replicas: 1, cpu, spec: { nodeSelector: { agentpool: pool } } }));
}

/** What pods of this workload were told. */
function refusals(world: VirtualRun, app: string): string {
  const told = world.world.cluster.store.events().filter(({ reason }) => reason === 'NotTriggerScaleUp');
  return told.flatMap(({ involvedObject, message }) => (involvedObject.name?.startsWith(app) === true ? [message] : [])).join();
}

it('a daemon pod of a DaemonSet of OpenKruise, or with the annotation, is a part of each node', async () => {
  const pools = OWNERS.flatMap(({ initial }) => [
    aPool({ name: `${initial}full`, count: 1, min: 1 }),
    aPool({ name: `${initial}empty`, count: 0 }),
    aPool({ name: `${initial}idle`, count: 2 }),
  ]);
  const world = await startedWorld({ spec: worldOf(pools), flags: FLAGS });
  await covered(world, MINUTE);
  for (const { initial } of OWNERS) for (const pool of [`${initial}full`, `${initial}empty`]) addPod(world, pool, 'wide', '3200m');
  await covered(world, 15 * MINUTE);
  const puts = (pool: string) => world.writes().filter(({ method, path }) => method === 'PUT' && path.includes(`-${pool}-`)).length;
  for (const { owner, initial } of OWNERS) {
    // A pod that no node can take requests none.
    expect([bound(world, `${initial}full-wide`), capacity(world, `${initial}full`)], owner).toEqual([0, 1]);
    expect(refusals(world, `${initial}full-wide`), owner).toContain('needs 3.2 CPU, the node offers 2.');
    // An empty pool learns that from the one node that it requests.
    expect([bound(world, `${initial}empty-wide`), puts(`${initial}empty`)], owner).toEqual([0, 1]);
    // The pod keeps no idle node.
    expect(capacity(world, `${initial}idle`), owner).toBe(0);
    addPod(world, `${initial}empty`, 'narrow', '2500m');
  }
  await covered(world, 5 * MINUTE);
  for (const { owner, initial } of OWNERS) expect(bound(world, `${initial}empty-narrow`), owner).toBe(1);
  // The world takes such a pod for one that must not be lost; that it goes with its node is what is meant.
  expect(world.world.violations().filter(({ rule }) => rule !== 'node-deleted-with-pods')).toEqual([]);
});
