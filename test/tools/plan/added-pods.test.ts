import { describe, expect, it } from 'vitest';
import { listOf, nodeJson, planOutcome, podJson } from './support.ts';

const POOLS = '- {name: a, vmSize: Standard_D4s_v5, min: 0, max: 9}\n';
const node = nodeJson('n-0', 'a');
const template = { metadata: { labels: { app: 'w' } }, spec: { containers: [{ name: 'c', resources: { requests: { cpu: '4' } } }] } };
const added = async (...objects: readonly Record<string, unknown>[]) =>
  planOutcome(
    { p: POOLS, c: listOf(node, podJson('web-0', '4', { on: 'n-0' })), q: objects.map((object) => JSON.stringify(object)).join('\n---\n') },
    '--add-pods',
    'q',
  );

describe('--add-pods', () => {
  it.each<[string, Record<string, unknown>, readonly string[]]>([
    ['a Deployment', { kind: 'Deployment', spec: { replicas: 2, template } }, ['a 1->3']],
    ['a ReplicationController', { kind: 'ReplicationController', spec: { replicas: 2, template } }, ['a 1->3']],
    ['a Job, which runs so many at a time', { kind: 'Job', spec: { parallelism: 3, completions: 10, template } }, ['a 1->4']],
    ['a Job with fewer to complete', { kind: 'Job', spec: { parallelism: 3, completions: 2, template } }, ['a 1->3']],
    ['a Job that says nothing', { kind: 'Job', spec: { template } }, ['a 1->2']],
    ['a Job that is held', { kind: 'Job', spec: { suspend: true, template } }, []],
    ['one run of a CronJob', { kind: 'CronJob', spec: { jobTemplate: { spec: { parallelism: 2, template } } } }, ['a 1->3']],
    ['a CronJob that is held', { kind: 'CronJob', spec: { suspend: true, jobTemplate: { spec: { template } } } }, []],
    ['a name that the API server ends', { metadata: { generateName: 'w-' }, kind: 'Job', spec: { template } }, ['a 1->2']],
    ['nothing to start', { kind: 'Deployment', spec: { replicas: 0, template } }, []],
    [
      'what makes no pods',
      { kind: 'Widget' },
      [
        '--add-pods: Widget creates no pods; accepted kinds are Pod, Deployment, ReplicaSet, ReplicationController, StatefulSet, Job, CronJob.',
      ],
    ],
    [
      'too many',
      { kind: 'Job', spec: { parallelism: 300_000, template } },
      ['Job w: spec.parallelism is 300000; it must be at most 200000.'],
    ],
  ])('%s', async (_what, object, expected) => {
    expect(await added({ metadata: { name: 'w' }, ...object })).toEqual(expected);
  });

  it('hears what stands beside them: claims, classes of storage, of priority and of runtimes', async () => {
    const storage = {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: { name: 'disk' },
      provisioner: 'x',
      volumeBindingMode: 'WaitForFirstConsumer',
    };
    const claim = {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'data' },
      spec: { storageClassName: 'disk', accessModes: ['ReadWriteOnce'] },
    };
    const mounts = { ...template.spec, volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }] };
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: mounts };
    expect(await added(pod)).toEqual(['p impossible']);
    expect(await added(claim, storage, pod)).toEqual(['a 1->2']);
    const runtime = {
      apiVersion: 'node.k8s.io/v1',
      kind: 'RuntimeClass',
      metadata: { name: 'kata' },
      overhead: { podFixed: { cpu: '64' } },
    };
    expect(await added(runtime, { ...pod, spec: { ...template.spec, runtimeClassName: 'kata' } })).toEqual(['p impossible']);
    const selecting = { ...runtime, overhead: null, scheduling: { nodeSelector: { team: 'x' }, tolerations: [] } };
    expect(await added(selecting, { ...pod, spec: { ...template.spec, runtimeClassName: 'kata' } })).toEqual(['p impossible']);
    const [first, second] = [{ name: 'p' }, { name: 'q' }].map((metadata) => ({
      ...pod,
      metadata,
      spec: { ...template.spec, priorityClassName: 'low' },
    }));
    const low = { apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', metadata: { name: 'low' }, value: -20 };
    expect(await added(low, first ?? {}, second ?? {})).toEqual(['p ignored', 'q ignored']);
  });

  it('leaves alone what stands beside workloads in their manifests', async () => {
    const service = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'w' } };
    expect(await added(service, { kind: 'Deployment', metadata: { name: 'w' }, spec: { template } })).toEqual(['a 1->2']);
  });

  it('never has two pods of one name', async () => {
    expect(await added(podJson('web-0', '1'))).toEqual(['Pod default/web-0: metadata.name is in use already; it must be a new name.']);
    expect(await added(podJson('x', '1'), podJson('x', '1'))).toEqual([
      'Pod default/x: metadata.name is in use already; it must be a new name.',
    ]);
    // One of the name runs: the replicas that are added are others.
    expect(await added({ kind: 'StatefulSet', metadata: { name: 'web' }, spec: { replicas: 2, template } })).toEqual(['a 1->3']);
  });
});

describe('--pools', () => {
  const asked = async (p: string) => planOutcome({ p, c: listOf(podJson('web', '4'), podJson('api', '4')) });
  const pool = (part: Record<string, unknown> = {}) =>
    JSON.stringify([{ name: 'a', vmSize: 'Standard_D4s_v5', min: 0, max: 5, allocatable: { cpu: 4, memory: '9Gi' }, ...part }]);

  it.each<[string, string, readonly string[]]>([
    ['YAML that begins like JSON', '[{name: a, vmSize: Standard_D8s_v5, min: 0, max: 5}]', ['a 0->2']],
    [
      'fields that are null',
      pool({ targetSize: null, zones: null, labels: null, taints: [{ key: 'k', value: null, effect: 'PreferNoSchedule' }], price: null }),
      ['a 0->2'],
    ],
    [
      'a resource that is stated to be none',
      pool({ allocatable: { cpu: 4, memory: '9Gi', pods: 0 } }),
      ['api impossible', 'web impossible'],
    ],
    [
      'several documents',
      '- {name: a, vmSize: Standard_D8s_v5, min: 0, max: 1}\n---\n- {name: b, vmSize: Standard_D8s_v5, min: 0, max: 1}\n',
      ['a 0->1', 'b 0->1'],
    ],
    ['no pools, said so', '[]', ['api impossible', 'web impossible']],
    ['an empty file', '# nothing yet\n', ['p is empty; it must be a list of pools {name, vmSize, min, max}.']],
    ['a pool that is null', '[null]', ['p: pool [0]: it is null; it must be a map {name, vmSize, min, max}.']],
    ['a size as a text', pool({ max: '5' }), ['p: pool a: max is "5"; it must be a whole number of at least 0.']],
    [
      'a size beyond all pools',
      pool({ targetSize: 1e9 }),
      ['p: pool a: targetSize is 1000000000; it must be a whole number from 0 to 10000.'],
    ],
    [
      'more nodes than any cluster',
      JSON.stringify(
        Array.from({ length: 21 }, (_, at) => ({ name: `p${at}`, vmSize: 'Standard_D4s_v5', min: 0, max: 1, targetSize: 10_000 })),
      ),
      ['p: targetSize of all pools together is 210000; it must be at most 200000.'],
    ],
  ])('%s', async (_what, pools, expected) => {
    expect(await asked(pools)).toEqual(expected);
  });
});
