/** Pods that start together, in a cluster that serves PodGroups. The pools do not interact: each has a taint of its own. */
import { expect, it } from 'vitest';
import { POD_GROUP_DEFINITION } from '../../world/simulator/cluster/schemas/pod-groups.ts';
import { startedWorld } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, events, MINUTE, worldOf } from './support.ts';

const podGroup = (name: string, minCount: number) => ({
  apiVersion: 'scheduling.k8s.io/v1alpha2',
  kind: 'PodGroup',
  metadata: { name, namespace: 'default' },
  spec: { schedulingPolicy: { gang: { minCount } } },
});

/** Pods for the nodes with the taint of this name. */
function members(name: string, replicas: number, cpu = '3') {
  const spec = {
    schedulingGroup: { podGroupName: name },
    tolerations: [{ key: 'for', operator: 'Equal', value: name, effect: 'NoSchedule' }],
    nodeSelector: { for: name },
  };
  return deployment({ name, replicas, cpu, spec });
}

const only = (name: string) => ({ taints: [`for=${name}:NoSchedule`], labels: { for: name } });

it('a group gets all of its nodes at once or none, and a running one keeps its pods', async () => {
  const world = await startedWorld({
    spec: worldOf([
      aPool({ name: 'wide1', count: 0, max: 2, ...only('wide') }),
      aPool({ name: 'wide2', count: 0, max: 2, vmSize: 'Standard_E4s_v5', ...only('wide') }),
      aPool({ name: 'short', count: 0, max: 3, ...only('short') }),
      aPool({ name: 'runs', count: 3, max: 3, ...only('runs') }),
    ]),
    flags: ['--scale-down-unneeded-time=2m', '--scale-down-delay-after-add=1m', '--scan-interval=30s'],
  });
  const { cluster } = world.world;
  cluster.apply(POD_GROUP_DEFINITION);
  await world.advance(MINUTE);
  for (const [name, minCount] of [
    ['wide', 4],
    ['short', 4],
    ['runs', 2],
  ] as const)
    cluster.apply(podGroup(name, minCount));
  // Two of the three nodes of this pool are enough for its pods, and one would be, but not while they run together.
  cluster.apply(members('runs', 2, '1700m'));
  await world.until('the small group runs', () => bound(world, 'runs') === 2, MINUTE);
  cluster.apply(members('wide', 4));
  cluster.apply(members('short', 4));
  await world.until('the group over two pools runs', () => bound(world, 'wide') === 4, 10 * MINUTE);
  await world.advance(15 * MINUTE);

  expect([capacity(world, 'wide1'), capacity(world, 'wide2')]).toEqual([2, 2]);
  expect(world.writes().map(({ pool, capacityBefore, capacityAfter }) => `${pool} ${capacityBefore} -> ${capacityAfter}`)).toEqual(
    expect.arrayContaining(['wide1 0 -> 2', 'wide2 0 -> 2']),
  );
  const ordered = world.reports.filter(({ rounds }) => rounds.some(({ increases }) => increases.length > 0));
  expect(ordered.map(({ rounds }) => rounds.flatMap(({ increases }) => increases).length)).toEqual([2]);

  expect([capacity(world, 'short'), bound(world, 'short')]).toEqual([0, 0]);
  const refusals = cluster.store.events().filter(({ reason, message = '' }) => reason === 'NotTriggerScaleUp' && message.includes('short'));
  expect(refusals.length).toBeGreaterThan(0);
  expect(
    new Set(refusals.map((event) => JSON.stringify([event['involvedObject'] ?? event['regarding']]).includes('"kind":"PodGroup"'))),
  ).toEqual(new Set([true]));
  expect(refusals[0]?.message).toContain('pod group short starts with 4 pods together, and 3 have a place');
  expect(events(world, 'TriggeredScaleUp').filter((text) => text.includes('pod group wide starts with 4 pods together'))).toHaveLength(4);

  expect([capacity(world, 'runs'), bound(world, 'runs')]).toEqual([2, 2]);
  expect(world.world.violations()).toEqual([]);
});

it('what Azure cannot give of a group comes from another pool, and a group that cannot start leaves no node behind', async () => {
  const [first, none] = ['Standard_D4s_v5', 'Standard_E4s_v5'];
  const world = await startedWorld({
    spec: worldOf(
      [
        aPool({ name: 'first', count: 0, max: 4, vmSize: first, ...only('moves') }),
        aPool({ name: 'second', count: 0, max: 4, vmSize: 'Standard_F4s_v2', ...only('moves') }),
        aPool({ name: 'none', count: 0, max: 4, vmSize: none, ...only('fails') }),
      ],
      { stock: { [`${first}/0`]: 3, [`${none}/0`]: 2 } },
    ),
    flags: [
      '--scale-down-unneeded-time=2m',
      '--scale-down-delay-after-add=1m',
      '--initial-node-group-backoff-duration=30m',
      '--scan-interval=30s',
    ],
  });
  const { cluster } = world.world;
  cluster.apply(POD_GROUP_DEFINITION);
  await world.advance(MINUTE);
  for (const name of ['moves', 'fails']) cluster.apply(podGroup(name, 4));
  for (const name of ['moves', 'fails']) cluster.apply(members(name, 4));
  await world.until('the first group runs', () => bound(world, 'moves') === 4, 20 * MINUTE);
  expect(capacity(world, 'second')).toBeGreaterThan(0);
  await world.until('nothing is left of the other', () => capacity(world, 'none') === 0, 20 * MINUTE);
  await world.advance(5 * MINUTE);
  expect([capacity(world, 'none'), bound(world, 'fails'), bound(world, 'moves')]).toEqual([0, 0, 4]);
  expect(world.world.violations()).toEqual([]);
});
