import { describe, expect, it } from 'vitest';
import { POD_GROUP_DEFINITION } from '../../../simulator/cluster/schemas/pod-groups.ts';
import { conditionOf, type PodObject } from '../../../simulator/cluster/store/objects.ts';
import { aMachine, aPodDraft, setStage } from './stage.ts';

const member = (name: string, cpu = '2') => aPodDraft(name, { cpu, spec: { schedulingGroup: { podGroupName: 'train' } } });
const group = (policy: object) => ({
  apiVersion: 'scheduling.k8s.io/v1alpha2',
  kind: 'PodGroup',
  metadata: { name: 'train', namespace: 'default' },
  spec: { schedulingPolicy: policy },
});

async function clusterOfTwo(serves = true) {
  const stage = await setStage([aMachine('usr-1'), aMachine('usr-2')]);
  if (serves) stage.cluster.apply(POD_GROUP_DEFINITION);
  stage.clock.advance(60_000);
  const pods = () => stage.cluster.store.pods().filter(({ metadata }) => metadata.name.startsWith('train'));
  const states = () =>
    pods().map((pod: PodObject) =>
      pod.spec.nodeName !== undefined ? 'bound' : (conditionOf(pod, 'PodScheduled')?.message ?? 'not tried'),
    );
  const apply = (...objects: readonly Parameters<typeof stage.cluster.apply>[0][]) => {
    for (const object of objects) stage.cluster.apply(object);
    stage.clock.advance(10_000);
  };
  return { apply, states };
}

/** By the code of kube-scheduler v1.36.3; each node has room for one such pod. */
describe('pods of a group with a minimum', () => {
  it('are not tried before the group exists and has so many pods', async () => {
    const { apply, states } = await clusterOfTwo();
    apply(member('train-0'), member('train-1'));
    expect(states()).toEqual(['not tried', 'not tried']);
    apply(group({ gang: { minCount: 3 } }));
    expect(states()).toEqual(['not tried', 'not tried']);
    apply(member('train-2'));
    expect(states().filter((text) => text === 'waiting for minCount pods from a gang to be scheduled')).toHaveLength(2);
    expect(states().filter((text) => text.includes('Insufficient cpu'))).toHaveLength(1);
  });

  it('are bound together, and those beyond the minimum by themselves', async () => {
    const { apply, states } = await clusterOfTwo();
    apply(group({ gang: { minCount: 2 } }), member('train-0'), member('train-1'), member('train-2'));
    expect(states().filter((text) => text === 'bound')).toHaveLength(2);
    apply(member('train-3', '100m'));
    expect(states().filter((text) => text === 'bound')).toHaveLength(3);
  });

  it.each([
    ['the policy is basic', true, { basic: {} }],
    ['the cluster does not serve groups', false, undefined],
  ])('are ordinary pods if %s', async (_name, serves, policy) => {
    const { apply, states } = await clusterOfTwo(serves);
    apply(...(policy === undefined ? [] : [group(policy)]), member('train-0'), member('train-1'), member('train-2'));
    expect(states().filter((text) => text === 'bound')).toHaveLength(2);
  });
});
