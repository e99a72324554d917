/** Groups of pods that start together, as the adapter reads them from the simulated cluster. */
import { expect, it } from 'vitest';
import { POD_GROUP_DEFINITION } from '../../world/simulator/cluster/schemas/pod-groups.ts';
import { aPodDraft } from '../../world/test/simulator/cluster/stage.ts';
import { setConnectedStage } from '../kubernetes/connected-stage.ts';

const member = (name: string) => aPodDraft(name, { cpu: '64', spec: { schedulingGroup: { podGroupName: 'train' } } });
const GROUP = {
  apiVersion: 'scheduling.k8s.io/v1alpha2',
  kind: 'PodGroup',
  metadata: { name: 'train', namespace: 'default' },
  spec: { schedulingPolicy: { gang: { minCount: 2 } } },
};

it('are asked for from the first pod on that names one, and not before', async () => {
  const stage = await setConnectedStage();
  const { kubernetes } = await stage.connect();
  await kubernetes.reader.start(stage.signal);
  const view = () => kubernetes.reader.observe(stage.clock.now());
  stage.clock.advance(60_000);
  expect(view().podGroups).toBeUndefined();
  expect([...stage.asked('watch', 'podgroups'), ...stage.asked('list', 'podgroups'), ...stage.asked('watch', 'workloads')]).toEqual([]);
  stage.cluster.apply(POD_GROUP_DEFINITION);
  stage.clock.advance(10_000);
  stage.cluster.apply(GROUP);
  stage.cluster.apply(member('train-0'));
  await stage.until(() => view().pendingPods.length === 1);
  await stage.until(() => view().podGroups?.groups.get('default/pod group train')?.minCount === 2);
  expect(view().podGroups?.unread).toBe(false);
  expect(view().podGroups).toBe(view().podGroups);
});

it('are there in the first view that has their pods', async () => {
  const stage = await setConnectedStage();
  stage.cluster.apply(POD_GROUP_DEFINITION);
  stage.clock.advance(10_000);
  stage.cluster.apply(GROUP);
  stage.cluster.apply(member('train-0'));
  stage.clock.advance(10_000);
  const { kubernetes } = await stage.connect();
  await kubernetes.reader.start(stage.signal);
  const { pendingPods, podGroups } = kubernetes.reader.observe(stage.clock.now());
  expect(pendingPods.map(({ shape }) => shape.gang)).toEqual(['pod group train']);
  expect(podGroups?.groups.get('default/pod group train')).toMatchObject({ kind: 'PodGroup', minCount: 2 });
});

it('are unknown in a cluster that does not serve them: their pods are ordinary pods', async () => {
  const stage = await setConnectedStage();
  stage.cluster.apply(member('train-0'));
  stage.clock.advance(10_000);
  const { kubernetes } = await stage.connect();
  await kubernetes.reader.start(stage.signal);
  const { pendingPods, podGroups } = kubernetes.reader.observe(stage.clock.now());
  expect(pendingPods[0]?.unschedulable).toBeDefined();
  expect(podGroups).toBeUndefined();
});
