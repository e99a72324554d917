import { describe, expect, it } from 'vitest';
import { membershipOf } from '../../../src/domain/workloads.ts';
import { projectPodGroup, projectWorkloadGroups } from '../../../src/kubernetes/projection/pod-groups.ts';
import { aPod } from '../../support/builders.ts';

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
    ['that is disrupted pod by pod', { schedulingPolicy: { gang: { minCount: 2 } }, disruptionMode: { single: {} } }, { minCount: 2 }],
  ])('%s', (_name, spec, expected) => {
    const common = { kind: 'PodGroup', namespace: 'ml', name: 'train', uid: 'u' };
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
    const of = (gang: string) => membershipOf({ ...aPod({ shape: { gang } }), namespace: 'ml' }, { groups });
    const ids = ['workload train/workers/0', 'workload train/workers/1']
      .map(of)
      .map((one) => (one.kind === 'gang' ? one.gang.id : one.kind));
    expect(ids).toEqual(['ml/workload train/workers/0', 'ml/workload train/workers/1']);
    expect(of('workload train/driver').kind).toBe('alone');
    expect(of('workload train/other')).toEqual({ kind: 'unknown', why: 'its workload train/other does not exist' });
  });
});
