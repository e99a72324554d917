/** Resizes in place: what the subresource takes, what the kubelet makes of it, and in which order. */
import { expect, it } from 'vitest';
import { conditionOf, type PodObject } from '../../../simulator/cluster/store/objects.ts';
import { aMachine, aPodDraft, setStage, type Stage } from './stage.ts';

// 3.86 CPU are allocatable on each node.
const podOf = ({ cluster }: Stage, name: string): PodObject => cluster.store.get('pods', 'default', name) as PodObject;

function sizesOf(stage: Stage, name: string): unknown {
  const pod = podOf(stage, name);
  const [status] = pod.status['containerStatuses'] as readonly { readonly [field: string]: { readonly [field: string]: unknown } }[];
  const cpuOf = (requests: unknown): unknown => (requests as { readonly cpu?: string } | undefined)?.cpu;
  return {
    allocated: cpuOf(status?.['allocatedResources']),
    actual: cpuOf(status?.['resources']?.['requests']),
    pending: conditionOf(pod, 'PodResizePending')?.reason,
    running: conditionOf(pod, 'PodResizeInProgress') !== undefined,
  };
}

async function stageWith(pods: readonly (readonly [string, string, number?])[], version = '1.33.2'): Promise<Stage> {
  const stage = await setStage([aMachine('n', { kubernetesVersion: version })]);
  stage.clock.advance(30_000);
  for (const [name, cpu, priority] of pods) stage.cluster.apply(aPodDraft(name, { cpu, spec: priority === undefined ? {} : { priority } }));
  stage.clock.advance(10_000);
  return stage;
}

it('a new size is allocated at once where there is room, and the containers have it a moment later', async () => {
  const stage = await stageWith([['p', '1']]);
  expect(sizesOf(stage, 'p')).toEqual({ allocated: '1', actual: '1', pending: undefined, running: false });
  stage.cluster.resize(podOf(stage, 'p'), { cpu: '2' });
  stage.clock.advance(1);
  expect(sizesOf(stage, 'p')).toEqual({ allocated: '2', actual: '1', pending: undefined, running: true });
  stage.clock.advance(2_000);
  expect(sizesOf(stage, 'p')).toEqual({ allocated: '2', actual: '2', pending: undefined, running: false });
  const reasons = stage.cluster.store.events().flatMap(({ reason = '' }) => (reason.startsWith('Resize') ? [reason] : []));
  expect(new Set(reasons)).toEqual(new Set(['ResizeStarted', 'ResizeCompleted']));
});

it('a size without room is deferred, counts for the scheduler, and is made once pods leave: by priority', async () => {
  const stage = await stageWith([
    ['low', '500m'],
    ['high', '500m', 9],
    ['other', '2'],
  ]);
  stage.cluster.resize(podOf(stage, 'low'), { cpu: '1500m' });
  stage.clock.advance(2_000);
  expect(sizesOf(stage, 'low')).toMatchObject({ allocated: '500m', pending: 'Deferred' });
  stage.cluster.resize(podOf(stage, 'high'), { cpu: '2500m' });
  stage.clock.advance(2_000);
  stage.cluster.apply(aPodDraft('new', { cpu: '100m' }));
  stage.clock.advance(2_000);
  expect(podOf(stage, 'new').spec.nodeName).toBe(undefined);
  stage.cluster.remove(podOf(stage, 'other'));
  stage.clock.advance(5_000);
  expect(['high', 'low'].map((name) => sizesOf(stage, name))).toMatchObject([
    { actual: '2500m', pending: undefined },
    { actual: '500m', pending: 'Deferred' },
  ]);
  // It wants less: the scheduler hears of it.
  stage.cluster.resize(podOf(stage, 'low'), { cpu: '600m' });
  stage.clock.advance(5_000);
  expect(sizesOf(stage, 'low')).toMatchObject({ actual: '600m', pending: undefined });
  expect(podOf(stage, 'new').spec.nodeName).toBe('n');
});

it('a size that comes before the pod runs is a resize, too', async () => {
  const stage = await stageWith([['other', '3']]);
  stage.cluster.apply(aPodDraft('p', { cpu: '100m' }));
  stage.clock.advance(500);
  stage.cluster.resize(podOf(stage, 'p'), { cpu: '1' });
  stage.clock.advance(5_000);
  expect(sizesOf(stage, 'p')).toMatchObject({ allocated: '100m', actual: '100m', pending: 'Deferred' });
});

it.each([
  ['1.35.1', 'Infeasible', "Node didn't have enough capacity: cpu, requested: 5000, capacity: 3860"],
  ['1.36.3', 'Deferred', "Node didn't have enough resource: cpu, requested: 5000, used: 100, capacity: 3860"],
])('a size above that of the node is said by %s to be %s', async (version, reason, message) => {
  const stage = await stageWith([['p', '1']], version);
  stage.cluster.resize(podOf(stage, 'p'), { cpu: '5' });
  stage.clock.advance(2_000);
  expect(conditionOf(podOf(stage, 'p'), 'PodResizePending')).toMatchObject({ reason, message });
  stage.cluster.resize(podOf(stage, 'p'), { cpu: '2' });
  stage.clock.advance(2_000);
  expect(sizesOf(stage, 'p')).toMatchObject({ actual: '2', pending: undefined });
});

it('the subresource takes sizes alone, and an update takes none', async () => {
  const stage = await stageWith([['p', '1']]);
  const path = '/api/v1/namespaces/default/pods/p';
  const patch = (url: string, container: object) =>
    stage.client.call(
      'PATCH',
      url,
      { metadata: { labels: { added: 'x' } }, spec: { containers: [{ name: 'main', ...container }] } },
      { contentType: 'application/strategic-merge-patch+json' },
    );
  const refusals = [
    await patch(path, { resources: { requests: { cpu: '2' } } }),
    await patch(`${path}/resize`, { resources: { requests: { 'example.com/gpu': '1' } } }),
    await patch(`${path}/resize`, { resources: { limits: { cpu: '2', memory: '64Mi' }, requests: { cpu: '2' } } }),
    await patch(`${path}/resize`, { resources: { requests: { cpu: null } } }),
  ];
  expect(refusals.map(({ status }) => status)).toEqual([422, 422, 422, 422]);
  const taken = await patch(`${path}/resize`, { image: 'other:1', resources: { requests: { cpu: '2' } } });
  expect(taken.status).toBe(200);
  const { metadata, spec } = podOf(stage, 'p');
  expect([metadata.labels?.['added'], spec.containers[0]?.image, spec.containers[0]?.resources?.requests]).toEqual([
    undefined,
    'test:1',
    { cpu: '2', memory: '64Mi' },
  ]);
});
