import { describe, expect, it } from 'vitest';
import { membershipOf } from '../../../src/domain/workloads.ts';
import { PodGroupShapes } from '../../../src/kubernetes/views/pod-group-shapes.ts';
import { projectPodGroup, projectWorkloadGroups } from '../../../src/kubernetes/projection/pod-groups.ts';
import { aCluster, aPod, somePodGroups } from '../../support/builders.ts';

const metadata = { namespace: 'ml', name: 'train', uid: 'u' };

describe('a group of pods', () => {
  it.each([
    ['with a gang policy', { schedulingPolicy: { gang: { minCount: 8 } } }, { minCount: 8 }],
    ['with the basic policy', { schedulingPolicy: { basic: {} } }, {}],
    ['with a policy that cannot be read', { schedulingPolicy: { gang: { minCount: 1.5 } } }, { minCount: 1 }],
    ['without a policy', {}, {}],
    [
      'that is disrupted as a whole, in 1.36',
      { schedulingPolicy: { gang: { minCount: 2 } }, disruptionMode: 'PodGroup' },
      { minCount: 2, disruptedAsWhole: true },
    ],
    [
      'that is disrupted as a whole, from 1.37 on',
      { schedulingPolicy: { gang: { minCount: 2 } }, disruptionMode: { all: {} } },
      { minCount: 2, disruptedAsWhole: true },
    ],
    [
      'whose nodes share a label',
      { schedulingPolicy: { gang: { minCount: 2 } }, schedulingConstraints: { topology: [{ key: 'rack' }] } },
      { minCount: 2, topologyKey: 'rack' },
    ],
    ['that is disrupted pod by pod', { schedulingPolicy: { gang: { minCount: 2 } }, disruptionMode: { single: {} } }, { minCount: 2 }],
  ])('%s', (_name, spec, expected) => {
    const common = { kind: 'PodGroup', namespace: 'ml', name: 'train', uid: 'u', disruptedAsWhole: false };
    expect(projectPodGroup({ metadata, spec })).toEqual([['ml/pod group train', { ...common, ...expected }]]);
  });

  it('of a Workload of 1.35 has its own policy, and each replica of it starts by itself', () => {
    const spec = {
      podGroups: [
        { name: 'driver', policy: { basic: {} } },
        { name: 'workers', policy: { gang: { minCount: 4 } } },
      ],
    };
    const groups = new Map(projectWorkloadGroups({ metadata, spec }));
    expect([...groups].map(([key, { kind, minCount }]) => [key, kind, minCount])).toEqual([
      ['ml/workload train/driver', 'Workload', undefined],
      ['ml/workload train/workers', 'Workload', 4],
    ]);
    const of = (gang: string) => membershipOf({ ...aPod({ shape: { gang } }), namespace: 'ml' }, { groups, unread: false });
    const ids = ['workload train/workers/0', 'workload train/workers/1']
      .map(of)
      .map((one) => (one.kind === 'gang' ? one.gang.id : one.kind));
    expect(ids).toEqual(['ml/workload train/workers/0', 'ml/workload train/workers/1']);
    expect(of('workload train/driver').kind).toBe('alone');
    expect(of('workload train/other')).toEqual({ kind: 'unknown', why: 'its workload train/other does not exist' });
  });
});

it('pods of a group whose nodes share a label require to be near each other, and only they change', () => {
  const gang = [aPod({ nodeName: 'a', shape: { gang: 'pod group train' } }), aPod({ shape: { gang: 'pod group train' } })];
  const others = [aPod({ nodeName: 'a', shape: { gang: 'pod group other' } }), aPod({ nodeName: 'b' })];
  const cluster = aCluster({ pods: [...gang, ...others] });
  const groups = {
    groups: new Map([...somePodGroups({ train: 2 }, { topologyKey: 'rack' }).groups, ...somePodGroups({ other: 2 }).groups]),
    unread: false,
  };
  const shapes = new PodGroupShapes();
  const seen = shapes.resolve(cluster, groups);
  expect(seen.pendingPods[0]?.shape.podAffinity).toMatchObject([{ topologyKey: 'rack', namespaces: ['default'] }]);
  expect(seen.podsByNode.get('a')?.map(({ shape }) => shape.podAffinity.length)).toEqual([1, 0]);
  expect(seen.podsByNode.get('a')?.[1]).toBe(others[0]);
  expect(seen.podsByNode.get('b')).toBe(cluster.podsByNode.get('b'));
  expect(shapes.resolve(cluster, groups).pendingPods).toBe(seen.pendingPods);
  expect(shapes.resolve(cluster, somePodGroups({ train: 2 }))).toBe(cluster);
});
