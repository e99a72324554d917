import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { listOf, nodeJson, plan, podJson } from './support.ts';

const term = {
  topologyKey: 'kubernetes.io/hostname',
  labelSelector: { matchLabels: { app: 'x' }, matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }] },
};
const spec = {
  containers: [{ name: 'c', ports: [{ hostPort: 80 }], resources: { requests: { cpu: '1' }, limits: { memory: '1Gi' } } }],
  initContainers: [{ name: 'i', restartPolicy: 'Always', resources: { requests: { cpu: '1' } } }],
  nodeSelector: { a: 'b' },
  tolerations: [{ key: 'k', operator: 'Exists', effect: 'NoSchedule' }],
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }] }],
      },
    },
    podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] },
    podAntiAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [{ ...term, namespaces: ['default'], namespaceSelector: {}, matchLabelKeys: ['v'] }],
    },
  },
  topologySpreadConstraints: [
    { topologyKey: 'zone', maxSkew: 1, whenUnsatisfiable: 'DoNotSchedule', labelSelector: {}, matchLabelKeys: ['v'] },
  ],
  volumes: [
    { name: 'v', emptyDir: {} },
    { name: 'w', persistentVolumeClaim: { claimName: 'x' } },
  ],
  overhead: { cpu: '1m' },
  resources: { requests: { cpu: '2' } },
  resourceClaims: [{ name: 'r' }],
};
const META = { name: 'x', namespace: 'default', labels: { app: 'x' }, annotations: { a: 'b' } };
const CLUSTER = listOf(
  nodeJson('n-0', 'general', { spec: { taints: [{ key: 'k', effect: 'NoSchedule' }] } }),
  podJson('w', '1', { spec }),
  podJson('b', '1', { on: 'n-0' }),
  { kind: 'DaemonSet', metadata: META, spec: { template: { metadata: { labels: { a: 'b' } }, spec } } },
  {
    kind: 'PodDisruptionBudget',
    metadata: META,
    spec: { selector: { matchLabels: { app: 'x' } } },
    status: { disruptionsAllowed: 1, expectedPods: 2 },
  },
  { kind: 'Namespace', metadata: { name: 'default', labels: { a: 'b' } } },
  { kind: 'PriorityClass', metadata: { name: 'high' }, value: 7 },
  { kind: 'ReplicaSet', metadata: META, spec: { replicas: 2, template: { metadata: { labels: { a: 'b' } }, spec } } },
  {
    kind: 'PersistentVolumeClaim',
    metadata: { ...META, annotations: { 'volume.kubernetes.io/selected-node': 'n-0' } },
    spec: {
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'sc',
      volumeName: 'pv',
      volumeMode: 'Filesystem',
      resources: { requests: { storage: '1Gi' } },
      selector: { matchLabels: { a: 'b' } },
    },
    status: { phase: 'Bound' },
  },
  {
    kind: 'PersistentVolume',
    metadata: { name: 'pv', labels: { a: 'b' } },
    spec: {
      csi: { driver: 'disk.csi.azure.com' },
      storageClassName: 'sc',
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      claimRef: { namespace: 'default', name: 'x' },
      nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }] }] } },
    },
    status: { phase: 'Bound' },
  },
  {
    kind: 'StorageClass',
    metadata: { name: 'sc' },
    provisioner: 'disk.csi.azure.com',
    volumeBindingMode: 'WaitForFirstConsumer',
    allowedTopologies: [{ matchLabelExpressions: [{ key: 'a', values: ['b'] }] }],
  },
  {
    kind: 'CSINode',
    metadata: { name: 'n-0' },
    spec: { drivers: [{ name: 'disk.csi.azure.com', topologyKeys: ['a'], allocatable: { count: 2 } }] },
  },
);
const POOLS = JSON.stringify([
  {
    name: 'general',
    vmSize: 'Standard_D4s_v5',
    min: 0,
    max: 3,
    targetSize: 2,
    zones: ['1'],
    labels: { a: 'b' },
    taints: ['k=v:NoSchedule'],
    maxPods: 30,
    allocatable: { cpu: '3' },
    priority: 5,
    price: 0.1,
    tags: { a: 'b' },
  },
]);

type Path = readonly (string | number)[];

function pathsOf(value: unknown, above: Path = []): readonly Path[] {
  if (typeof value !== 'object' || value === null) return [above];
  return [above, ...Object.entries(value).flatMap(([key, part]) => pathsOf(part, [...above, Array.isArray(value) ? Number(key) : key]))];
}

function withAt(value: unknown, [head, ...rest]: Path, put: unknown): unknown {
  if (head === undefined) return put;
  if (Array.isArray(value)) return value.map((part: unknown, at) => (at === head ? withAt(part, rest, put) : part));
  return Object.fromEntries(Object.entries(value ?? {}).map(([key, part]) => [key, key === head ? withAt(part, rest, put) : part]));
}

const ODD: readonly unknown[] = [
  null,
  0,
  -1,
  1.5,
  1e300,
  '',
  'x',
  '12',
  true,
  [],
  {},
  [null],
  [1],
  ['x'],
  { x: 1 },
  { x: null },
  [[]],
  [{}],
  '__proto__',
];
const odd = fc.constantFrom(...ODD);

describe('plan and files in which something is not what it should be', () => {
  it.each([
    ['the cluster', CLUSTER, (text: string) => ({ 'c.json': text, 'p.json': POOLS })],
    ['the pools', POOLS, (text: string) => ({ 'c.json': CLUSTER, 'p.json': text })],
  ])('%s: answers or says one sentence, and never fails by surprise', async (_, whole, filesOf) => {
    const content: unknown = JSON.parse(whole);
    let refused = 0;
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...pathsOf(content)), odd, async (path, put) => {
        const files = filesOf(JSON.stringify(withAt(content, path, put)));
        const { code, out, err } = await plan(['--cluster=c.json', '--pools=p.json', '--json'], files);
        if (code === 0) return void JSON.parse(out);
        refused += 1;
        expect({ code, out }).toEqual({ code: 2, out: '' });
        expect(err).toMatch(/^.+\.\n$/);
      }),
      { numRuns: 150, seed: 9 },
    );
    expect(refused).toBeGreaterThan(40);
  });

  const graft = fc.record({
    from: fc.nat(),
    length: fc.nat(40),
    put: fc.oneof(fc.constant(''), fc.constantFrom('{', ']', '"', '\\u0000', '\u0000', '\uFEFF', '1e999', ': &a *a', '\t'), fc.string()),
  });
  it.each([
    ['the cluster', CLUSTER, (text: string) => ({ 'c.json': text, 'p.json': POOLS })],
    ['the pools', POOLS, (text: string) => ({ 'c.json': CLUSTER, 'p.json': text })],
  ])('%s cut, overwritten or with foreign bytes in it: an answer or one sentence', async (_, whole, filesOf) => {
    await fc.assert(
      fc.asyncProperty(graft, fc.boolean(), async ({ from, length, put }, cut) => {
        const at = from % whole.length;
        const text = whole.slice(0, at) + put + (cut ? '' : whole.slice(at + length));
        const { code, out, err } = await plan(['--cluster=c.json', '--pools=p.json', '--json'], filesOf(text));
        if (code === 0) return void JSON.parse(out);
        expect({ code, out }).toEqual({ code: 2, out: '' });
        expect(err).toMatch(/^[^\n]+\n$/);
      }),
      { numRuns: 100, seed: 9 },
    );
  });

  it('what is nested without end, or is no text at all, is refused in one sentence', async () => {
    for (const text of ['['.repeat(200_000), '{"a":'.repeat(100_000), '\u0000'.repeat(1000), '', ' ', 'null', '"x"', '0']) {
      const { code, out, err } = await plan(['--cluster=c.json', '--pools=p.json'], { 'c.json': text, 'p.json': POOLS });
      expect({ code, out }).toEqual({ code: 2, out: '' });
      expect(err).toMatch(/^[^\n]+\n$/);
    }
  });
});
