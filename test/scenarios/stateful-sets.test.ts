/**
 * Pods whose successors are created when they are gone. The simulated cluster has no controller for StatefulSets: the scenario creates the
 * successor, as the controller does, with the same name as soon as the pod is gone.
 */
import { describe, expect, it } from 'vitest';
import { STOP_SECONDS_ANNOTATION } from '../../world/simulator/cluster/controllers/kubelet-pods.ts';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, MINUTE, pending, SECOND, worldOf } from './support.ts';

const FLAGS = ['--scale-down-unneeded-time=1m', '--scale-down-delay-after-add=0s', '--scale-down-delay-after-delete=0s'];

interface Member {
  readonly name: string;
  readonly cpu: string;
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

function applyMember(world: VirtualRun, { name, cpu, spec = {}, annotations = {} }: Member, nodeName?: string): void {
  const uid = world.world.cluster.store.get('statefulsets', 'default', 'db')?.metadata.uid ?? '';
  const owner = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'db', uid, controller: true };
  world.world.cluster.apply({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', labels: { app: name }, annotations, ownerReferences: [owner] },
    spec: {
      containers: [{ name: 'c', image: 'db:1', resources: { requests: { cpu, memory: '256Mi' } } }],
      ...spec,
      ...(nodeName === undefined ? {} : { nodeName }),
    },
  });
}

/** Virtual time passes, and successors of these pods are created. */
async function live(world: VirtualRun, members: readonly Member[], spanMs: number): Promise<void> {
  for (let passedMs = 0; passedMs < spanMs; passedMs += 2 * SECOND) {
    for (const member of members)
      if (world.world.cluster.store.get('pods', 'default', member.name) === undefined) applyMember(world, member);
    await world.advance(2 * SECOND);
  }
}

const nodesOf = (world: VirtualRun): readonly string[] =>
  world.world.cluster.store
    .nodes()
    .filter(({ metadata }) => metadata.labels?.['agentpool'] === 'general')
    .map(({ metadata }) => metadata.name)
    .sort();

const placeOf = (world: VirtualRun, name: string): string | undefined =>
  world.world.cluster.store.boundPods().find(({ metadata }) => metadata.name === name)?.spec.nodeName;

const growths = (world: VirtualRun): number => world.writes().filter(({ method }) => method === 'PUT').length;

function cordon(world: VirtualRun, name: string): void {
  const node = world.world.cluster.store.nodes().find(({ metadata }) => metadata.name === name);
  if (node !== undefined) world.world.cluster.apply({ ...node, spec: { ...node.spec, unschedulable: true } });
}

async function start(): Promise<readonly [world: VirtualRun, first: string, second: string]> {
  const run = await startedWorld({ spec: worldOf([aPool({ name: 'general', count: 2, min: 1 })]), flags: FLAGS });
  run.world.cluster.apply({
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'db', namespace: 'default' },
    spec: {
      replicas: 2,
      serviceName: 'db',
      selector: { matchLabels: { set: 'db' } },
      template: { metadata: { labels: { set: 'db' } }, spec: { containers: [{ name: 'c', image: 'db:1' }] } },
    },
  });
  const [first = '', second = ''] = nodesOf(run);
  return [run, first, second];
}

describe('pods of a StatefulSet', () => {
  const near = {
    requiredDuringSchedulingIgnoredDuringExecution: [
      { labelSelector: { matchLabels: { app: 'db-0' } }, topologyKey: 'kubernetes.io/hostname' },
    ],
  };
  const leader = { name: 'db-0', cpu: '200m' };
  const follower = { name: 'db-1', cpu: '1', spec: { affinity: { podAffinity: near } } };

  it('follow each other to another node, the larger one second, and no node is requested for them', async () => {
    const [world, first, second] = await start();
    world.world.cluster.apply(
      deployment({ name: 'busy', replicas: 1, cpu: '2100m', spec: { nodeSelector: { 'kubernetes.io/hostname': second } } }),
    );
    applyMember(world, leader, first);
    applyMember(world, follower, first);
    await live(world, [leader, follower], 8 * MINUTE);
    expect([placeOf(world, 'db-0'), placeOf(world, 'db-1'), bound(world, 'busy')]).toEqual([second, second, 1]);
    expect([capacity(world, 'general'), growths(world), pending(world)]).toEqual([1, 0, 0]);
    expect(world.world.violations()).toEqual([]);
  });

  it('keep the only node that their successors fit on while they terminate, and no node is requested for these', async () => {
    const [world, first, second] = await start();
    const slow = { ...leader, cpu: '2', spec: { terminationGracePeriodSeconds: 240 }, annotations: { [STOP_SECONDS_ANNOTATION]: '200' } };
    applyMember(world, slow, first);
    await world.advance(20 * SECOND);
    // A person drains the first node.
    cordon(world, first);
    world.world.cluster.remove({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'db-0', namespace: 'default' } });
    await live(world, [slow], 3 * MINUTE);
    expect(nodesOf(world)).toContain(second);
    await live(world, [slow], 3 * MINUTE);
    expect([placeOf(world, 'db-0'), growths(world)]).toEqual([second, 0]);
  });
});
