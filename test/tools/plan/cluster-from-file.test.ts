import { describe, expect, it } from 'vitest';
import { type Files, listOf, nodeJson, planOutcome, podJson } from './support.ts';

type Json = Readonly<Record<string, unknown>>;
const POOLS = '- {name: a, vmSize: Standard_D4s_v5, min: 0, max: 5}\n';
const outcomeOf = (cluster: string, files: Files = {}, ...argv: readonly string[]) =>
  planOutcome({ p: POOLS, c: cluster, ...files }, ...argv);

const web = podJson('web', '1');
const node = nodeJson('n-0', 'a');
const without = (object: Json, ...fields: readonly string[]): Json =>
  Object.fromEntries(Object.entries(object).filter(([key]) => !fields.includes(key)));

describe('the forms in which objects come', () => {
  const unnamed = (object: Json) => without(object, 'kind', 'apiVersion');
  it.each<[string, unknown, readonly string[]]>([
    [
      'a list of lists',
      {
        kind: 'List',
        items: [
          { kind: 'PodList', items: [web] },
          { kind: 'NodeList', items: [node] },
        ],
      },
      ['web@n-0'],
    ],
    ['what the API answers, where items do not say their kind', { kind: 'PodList', apiVersion: 'v1', items: [unnamed(web)] }, ['a 0->1']],
    [
      'an array of lists',
      [
        { kind: 'List', items: [web] },
        { kind: 'List', items: [node] },
      ],
      ['web@n-0'],
    ],
    ['an empty list that is null', { kind: 'PodList', items: null }, []],
    ['a list without items', { kind: 'List' }, ['c: List: items is not a list of objects.']],
    ['a kind in another letter case', [{ ...web, kind: 'pod' }], ['c: object 0: kind is "pod"; it must be Pod.']],
    ['a kind of another API', [{ apiVersion: 'metal3.io/v1alpha1', kind: 'Node', metadata: { name: 'n' } }, web], ['a 0->1']],
    ['fields that are null', [{ ...web, spec: { ...(web['spec'] as Json), nodeName: null, priority: null }, status: null }], ['a 0->1']],
    ['a node that says only how large it is', [{ ...node, status: without(node['status'] as Json, 'allocatable') }, web], ['web@n-0']],
    [
      'a moment that is none',
      [{ ...web, metadata: { name: 'web', creationTimestamp: 'soon' } }],
      ['c: Pod web: metadata.creationTimestamp is "soon"; it must be a time such as 2026-11-21T10:00:00Z.'],
    ],
    [
      'a cordon in words',
      [{ ...node, spec: { unschedulable: 'true' } }],
      ['c: Node n-0: spec.unschedulable is "true"; it must be true or false.'],
    ],
    [
      'a node without any size',
      [{ ...node, status: {} }],
      ['c: Node n-0: status.allocatable is missing; it must be a map of resources to quantities.'],
    ],
  ])('%s', async (_what, document, expected) => {
    expect(await outcomeOf(JSON.stringify(document))).toEqual(expected);
  });

  it('a text as Windows writes it', async () => {
    expect(await outcomeOf(`\uFEFF${listOf(web)}`)).toEqual(['a 0->1']);
  });

  it('lists without an end are refused, not followed', async () => {
    const deep = `${'{"kind":"List","items":['.repeat(50)}${']}'.repeat(50)}`;
    expect(await outcomeOf(deep)).toEqual(['c: List: items is not a list of objects.']);
  });
});

describe('what a file does not say', () => {
  it('a namespace without an object has its name for a label', async () => {
    const term = {
      topologyKey: 'kubernetes.io/hostname',
      labelSelector: {},
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'default' } },
    };
    const affinity = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } };
    const loner = podJson('loner', '1', { on: 'n-0', spec: { affinity }, metadata: { namespace: 'other' } });
    expect(await outcomeOf(listOf(node, loner, web))).toEqual(['a 1->2']);
    expect(await outcomeOf(listOf(node, loner, web, { kind: 'Namespace', metadata: { name: 'default', labels: {} } }))).toEqual(['a 1->2']);
  });

  it('system priority classes, and the class of pods that name none', async () => {
    const room = nodeJson('n-0', 'a', { allocatable: { cpu: '1' } });
    const named = (name: string, priorityClassName?: string) =>
      podJson(name, '1', { spec: priorityClassName === undefined ? {} : { priorityClassName } });
    const usual = { kind: 'PriorityClass', metadata: { name: 'usual' }, value: 5, globalDefault: true };
    const low = { kind: 'PriorityClass', metadata: { name: 'low' }, value: 1 };
    expect(await outcomeOf(listOf(room, named('web'), named('zz', 'system-cluster-critical')))).toContain('zz@n-0');
    expect(await outcomeOf(listOf(room, usual, low, named('aa', 'low'), named('web')))).toContain('web@n-0');
    expect(await outcomeOf(listOf(room, usual, low, named('aa', 'usual'), named('web')))).toContain('aa@n-0');
  });

  it('a namespace that is empty is the default one', async () => {
    expect(await outcomeOf(listOf(podJson('web', '1', { metadata: { namespace: '' } })), {})).toEqual(['a 0->1']);
    expect(await outcomeOf(listOf(web, podJson('web', '1', { metadata: { namespace: '' } })), {})).toEqual([
      'Pod default/web: metadata.name is used twice; names must be unique.',
    ]);
  });

  it('a node that is ready has its disks, however young it is', async () => {
    const volumes = [{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }];
    const claim = {
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'data', namespace: 'default' },
      spec: { storageClassName: 'disk', accessModes: ['ReadWriteOnce'] },
    };
    const disk = {
      kind: 'StorageClass',
      metadata: { name: 'disk' },
      provisioner: 'disk.csi.azure.com',
      volumeBindingMode: 'WaitForFirstConsumer',
    };
    expect(await outcomeOf(listOf(node, claim, disk, podJson('db', '1', { spec: { volumes } })))).toEqual(['db@n-0']);
  });

  it('plans room for pods of a node with the deletion taint, and ignores an expired taint', async () => {
    const marked = (value: string) =>
      nodeJson('n-0', 'a', { spec: { taints: [{ key: 'ToBeDeletedByClusterAutoscaler', value, effect: 'NoSchedule' }] } });
    const running = podJson('running', '1', { on: 'n-0' });
    const now = ['--now', '2026-11-21T10:00:00Z'];
    const seconds = Date.parse('2026-11-21T10:00:00Z') / 1000;
    expect(await outcomeOf(listOf(marked(`${seconds - 60}`), running), {}, ...now)).toEqual(['a 1->2']);
    expect(await outcomeOf(listOf(marked(`${seconds - 3600}`), running), {}, ...now)).toEqual([]);
  });

  it('a time without a zone is UTC', async () => {
    const seconds = Date.parse('2026-11-21T10:00:00Z') / 1000;
    const taints = [{ key: 'ToBeDeletedByClusterAutoscaler', value: `${seconds}`, effect: 'NoSchedule' }];
    const objects = listOf(nodeJson('n-0', 'a', { spec: { taints } }), podJson('running', '1', { on: 'n-0' }));
    expect(await outcomeOf(objects, {}, '--now', '2026-11-21T10:09:59')).toEqual(['a 1->2']);
    expect(await outcomeOf(objects, {}, '--now', '2026-11-21T10:10:00')).toEqual([]);
  });
});

describe('taints', () => {
  it('that a new node will not keep are not part of its pool, known ones and configured ones', async () => {
    const pool = (taint: string) => ({ p: `[{name: a, vmSize: Standard_D4s_v5, min: 0, max: 5, taints: ["${taint}"]}]` });
    const config = { k: 'cluster: {startupTaints: [example.com/starting], statusTaints: [example.com/tired]}' };
    expect(await outcomeOf(listOf(web), pool('startup-taint.cluster-autoscaler.kubernetes.io/x:NoSchedule'))).toEqual(['a 0->1']);
    expect(await outcomeOf(listOf(web), pool('example.com/starting:NoSchedule'))).toEqual(['web impossible']);
    expect(await outcomeOf(listOf(web), { ...config, ...pool('example.com/starting:NoSchedule') }, '--config', 'k')).toEqual(['a 0->1']);
    const tired = nodeJson('n-0', 'a', { spec: { taints: [{ key: 'example.com/tired', effect: 'NoSchedule' }] } });
    expect(await outcomeOf(listOf(tired, web))).toEqual(['web impossible']);
    expect(await outcomeOf(listOf(tired, web), config, '--config', 'k')).toEqual(['a 1->2']);
    const starting = nodeJson('n-0', 'a', { spec: { taints: [{ key: 'example.com/starting', effect: 'NoSchedule' }] } });
    expect(await outcomeOf(listOf(starting, web), config, '--config', 'k')).toEqual(['web@(coming in a)']);
  });

  it('a cordon is one, as spread constraints that honour taints see it', async () => {
    const zoned = (name: string) => nodeJson(name, 'other', { labels: { 'topology.kubernetes.io/zone': 'we-2' } });
    const constraint = {
      maxSkew: 1,
      topologyKey: 'topology.kubernetes.io/zone',
      whenUnsatisfiable: 'DoNotSchedule',
      nodeTaintsPolicy: 'Honor',
      labelSelector: {},
    };
    const spread = (name: string) => podJson(name, '1', { spec: { topologySpreadConstraints: [constraint] } });
    const pools = { p: '[{name: a, vmSize: Standard_D4s_v5, min: 0, max: 5, zones: [we-1]}]' };
    expect(await outcomeOf(listOf(zoned('n-0'), spread('one'), spread('two')), pools, '--cordon', 'n-0')).toEqual(['a 0->1']);
  });
});
