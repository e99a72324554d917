/** Claims, volumes and classes as the API shows them, to rules about nodes. */
import { describe, expect, it } from 'vitest';
import type {
  ClaimSpecJson,
  ObjectJson,
  PodJson,
  StorageClassJson,
  VolumeClaimJson,
  VolumeObjectJson,
} from '../../../src/kubernetes/api/core-json.ts';
import { NOT_WATCHED } from '../../../src/domain/observation.ts';
import { ReflectedCluster } from '../../../src/kubernetes/views/cluster-tables.ts';
import { AZURE_DISK_DRIVER, AZURE_DISK_ZONE, type ClaimRepair } from '../../../src/domain/volumes.ts';
import type { FitReason } from '../../../src/domain/reasons.ts';
import { attachResource, ResourceNames } from '../../../src/domain/resources.ts';
import { ClusterSnapshot } from '../../../src/scheduling/snapshot/cluster-snapshot.ts';

const CLASSES: readonly StorageClassJson[] = [
  { metadata: { name: 'disk' }, provisioner: AZURE_DISK_DRIVER, volumeBindingMode: 'WaitForFirstConsumer' },
  { metadata: { name: 'now' }, provisioner: AZURE_DISK_DRIVER, volumeBindingMode: 'Immediate' },
  { metadata: { name: 'local' }, provisioner: 'kubernetes.io/no-provisioner', volumeBindingMode: 'WaitForFirstConsumer' },
  {
    metadata: { name: 'zone-1' },
    provisioner: AZURE_DISK_DRIVER,
    volumeBindingMode: 'WaitForFirstConsumer',
    allowedTopologies: [{ matchLabelExpressions: [{ key: AZURE_DISK_ZONE, values: ['we-1'] }] }],
  },
];

function node(name: string, zone: string): ObjectJson {
  const size = { cpu: '4', memory: '16Gi', pods: '110' };
  const labels = { 'kubernetes.io/hostname': name, 'topology.kubernetes.io/zone': zone, [AZURE_DISK_ZONE]: zone };
  return {
    metadata: { name, labels },
    status: { allocatable: size, capacity: size, conditions: [{ type: 'Ready', status: 'True' }] },
  } as ObjectJson;
}

function claim(name: string, spec: ClaimSpecJson, rest: Partial<VolumeClaimJson['metadata']> = {}): VolumeClaimJson {
  const phase = spec.volumeName === undefined ? 'Pending' : 'Bound';
  return { metadata: { name, namespace: 'default', ...rest }, spec: { accessModes: ['ReadWriteOnce'], ...spec }, status: { phase } };
}

const zoned = (...zones: readonly string[]) => ({
  required: { nodeSelectorTerms: zones.map((zone) => ({ matchExpressions: [{ key: AZURE_DISK_ZONE, operator: 'In', values: [zone] }] })) },
});

function volume(name: string, spec: VolumeObjectJson['spec'], labels: Readonly<Record<string, string>> = {}): VolumeObjectJson {
  return {
    metadata: { name, labels },
    spec: { accessModes: ['ReadWriteOnce'], capacity: { storage: '10Gi' }, csi: { driver: AZURE_DISK_DRIVER }, ...spec },
    status: { phase: spec?.claimRef === undefined ? 'Available' : 'Bound' },
  };
}

function pod(name: string, claims: readonly string[], part: { readonly on?: string; readonly volumes?: readonly object[] } = {}): PodJson {
  const volumes = claims.map((claimName, at) => ({ name: `v${at}`, persistentVolumeClaim: { claimName } }));
  return {
    metadata: { name, namespace: 'default', uid: `uid-${name}` },
    spec: {
      containers: [{ name: 'c', resources: { requests: { cpu: '100m' } } }],
      volumes: [...volumes, ...(part.volumes ?? [])] as NonNullable<PodJson['spec']>['volumes'] & object,
      ...(part.on === undefined ? {} : { nodeName: part.on }),
    },
    status: { phase: part.on === undefined ? 'Pending' : 'Running' },
  };
}

type Objects = Readonly<
  Partial<
    Record<'pods' | 'persistentvolumeclaims' | 'persistentvolumes' | 'storageclasses' | 'csinodes' | 'csidrivers', readonly ObjectJson[]>
  >
>;

function clusterOf(objects: Objects) {
  const names = new ResourceNames();
  const cluster = new ReflectedCluster(names);
  const all = { nodes: [node('n-1', 'we-1'), node('n-2', 'we-2')], storageclasses: CLASSES, ...objects };
  const put = (resource: string, object: ObjectJson): void =>
    cluster
      .sources()
      .find((source) => source.resource === resource)
      ?.table.put(object);
  for (const [resource, items] of Object.entries(all)) for (const item of items) put(resource, item);
  const snapshot = new ClusterSnapshot({ names });
  /** Why each node refuses the pod. */
  const refusals = (name: string, trouble?: string): Readonly<Record<string, readonly FitReason[]>> => {
    const view = { ...NOT_WATCHED, ...cluster.views(trouble === undefined ? {} : { volumes: trouble }), stalenessMs: 0 };
    snapshot.sync(view);
    const found = [...view.pendingPods, ...[...view.podsByNode.values()].flat()].find((each) => each.name === name);
    if (found === undefined) throw new Error(`no pod ${name}`);
    return Object.fromEntries([...view.nodes.keys()].map((each) => [each, snapshot.check(found, each)]));
  };
  return { cluster, names, refusals, put };
}

/** Where the pod called `p` may go, and what keeps it off everything else. */
function judged(objects: Objects, trouble?: string) {
  const found = clusterOf({ pods: [pod('p', ['data'])], ...objects }).refusals('p', trouble);
  const messages = Object.values(found)
    .flat()
    .map((reason) => (reason.kind === 'volume' ? reason.message : reason.kind));
  return { fits: Object.keys(found).filter((name) => found[name]?.length === 0), messages: [...new Set(messages)] };
}

const CONFLICT = 'node(s) had volume node affinity conflict';
const NO_ZONE = 'node(s) had no available volume zone';
const IMMEDIATE = 'pod has unbound immediate PersistentVolumeClaims';
const NONE_TO_BIND = "node(s) didn't find available persistent volumes to bind";
const bound = claim('data', { volumeName: 'pv', storageClassName: 'disk' });
const reference = { claimRef: { namespace: 'default', name: 'data' } };

describe('what a claim means for nodes', () => {
  it.each<[string, Objects, readonly string[], readonly string[]]>([
    [
      'a bound disk keeps to its zone',
      { persistentvolumeclaims: [bound], persistentvolumes: [volume('pv', { ...reference, nodeAffinity: zoned('we-1') })] },
      ['n-1'],
      [CONFLICT],
    ],
    [
      'a disk of all zones goes anywhere',
      { persistentvolumeclaims: [bound], persistentvolumes: [volume('pv', { ...reference, nodeAffinity: zoned('we-1', 'we-2', '') })] },
      ['n-1', 'n-2'],
      [],
    ],
    [
      'a regional disk does not go into zones',
      { persistentvolumeclaims: [bound], persistentvolumes: [volume('pv', { ...reference, nodeAffinity: zoned('') })] },
      [],
      [CONFLICT],
    ],
    [
      'the zone label of a volume',
      { persistentvolumeclaims: [bound], persistentvolumes: [volume('pv', reference, { 'topology.kubernetes.io/zone': 'we-2' })] },
      ['n-2'],
      [NO_ZONE],
    ],
    [
      'a zone label of several zones',
      { persistentvolumeclaims: [bound], persistentvolumes: [volume('pv', reference, { 'topology.kubernetes.io/zone': 'we-2__we-1' })] },
      ['n-1', 'n-2'],
      [],
    ],
    [
      'a volume without restrictions, such as a file share',
      { persistentvolumeclaims: [bound], persistentvolumes: [volume('pv', reference)] },
      ['n-1', 'n-2'],
      [],
    ],
    [
      'a volume that is gone',
      { persistentvolumeclaims: [bound] },
      [],
      ['node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)'],
    ],
    ['a claim that is missing', {}, [], ['persistentvolumeclaim "data" not found']],
    [
      'a claim on its way out',
      { persistentvolumeclaims: [claim('data', { storageClassName: 'disk' }, { deletionTimestamp: '2026-11-21T00:00:00Z' })] },
      [],
      ['persistentvolumeclaim "data" is being deleted'],
    ],
    [
      'a claim that waits for its first consumer',
      { persistentvolumeclaims: [claim('data', { storageClassName: 'disk' })] },
      ['n-1', 'n-2'],
      [],
    ],
    [
      'a class that makes volumes in one zone only',
      { persistentvolumeclaims: [claim('data', { storageClassName: 'zone-1' })] },
      ['n-1'],
      [NONE_TO_BIND],
    ],
    [
      'an unbound claim of a class that binds at once',
      { persistentvolumeclaims: [claim('data', { storageClassName: 'now' })] },
      [],
      [IMMEDIATE],
    ],
    ['a claim of no class at all', { persistentvolumeclaims: [claim('data', { storageClassName: '' })] }, [], [IMMEDIATE]],
    [
      'a claim that names a volume and is not bound to it',
      { persistentvolumeclaims: [{ ...claim('data', { storageClassName: 'disk', volumeName: 'pv' }), status: { phase: 'Pending' } }] },
      [],
      [IMMEDIATE],
    ],
    [
      'a class that is missing',
      { persistentvolumeclaims: [claim('data', { storageClassName: 'gone' })] },
      [],
      ['storageclass.storage.k8s.io "gone" not found'],
    ],
    [
      'a local volume that is free',
      {
        persistentvolumeclaims: [claim('data', { storageClassName: 'local' })],
        persistentvolumes: [volume('pv', { storageClassName: 'local', nodeAffinity: zoned('we-2') })],
      },
      ['n-2'],
      [NONE_TO_BIND],
    ],
    [
      'a local volume that is too small',
      {
        persistentvolumeclaims: [claim('data', { storageClassName: 'local', resources: { requests: { storage: '20Gi' } } })],
        persistentvolumes: [volume('pv', { storageClassName: 'local' })],
      },
      [],
      [NONE_TO_BIND],
    ],
    [
      'a local volume that is kept for another claim',
      {
        persistentvolumeclaims: [claim('data', { storageClassName: 'local' })],
        persistentvolumes: [
          {
            ...volume('pv', { storageClassName: 'local', claimRef: { namespace: 'default', name: 'other' } }),
            status: { phase: 'Available' },
          },
        ],
      },
      [],
      [NONE_TO_BIND],
    ],
    [
      'no volume of a class that makes none',
      { persistentvolumeclaims: [claim('data', { storageClassName: 'local' })] },
      [],
      [NONE_TO_BIND],
    ],
    [
      'a volume that is being made for a node',
      {
        persistentvolumeclaims: [
          claim('data', { storageClassName: 'disk' }, { annotations: { 'volume.kubernetes.io/selected-node': 'n-2' } }),
        ],
      },
      ['n-2'],
      [NONE_TO_BIND],
    ],
    [
      'a volume that was to be made for a node that is gone',
      {
        persistentvolumeclaims: [
          claim('data', { storageClassName: 'disk' }, { annotations: { 'volume.kubernetes.io/selected-node': 'n-9' } }),
        ],
      },
      ['n-1', 'n-2'],
      [],
    ],
  ])('%s', (_what, objects, fits, messages) => {
    expect(judged(objects)).toEqual({ fits, messages });
  });

  it('a claim that names no class is of the default class', () => {
    const standard: StorageClassJson = {
      ...CLASSES[3],
      metadata: { name: 'std', annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
    };
    const objects = { persistentvolumeclaims: [claim('data', {})], storageclasses: [...CLASSES, standard] };
    expect(judged(objects).fits).toEqual(['n-1']);
  });

  it('each refusal says what is wanted and what is there', () => {
    const objects = { persistentvolumeclaims: [bound], persistentvolumes: [volume('pv', { ...reference, nodeAffinity: zoned('we-1') })] };
    expect(clusterOf({ pods: [pod('p', ['data'])], ...objects }).refusals('p')['n-2']).toEqual([
      { kind: 'volume', message: CONFLICT, detail: `wants ${AZURE_DISK_ZONE} In [we-1]; the node has ${AZURE_DISK_ZONE}=we-2` },
    ]);
    expect(clusterOf({ pods: [pod('p', ['data'])] }).refusals('p')['n-2']).toEqual([
      { kind: 'volume', message: 'persistentvolumeclaim "data" not found', detail: 'in namespace default' },
    ]);
  });

  it.each<[string, Objects, ClaimRepair]>([
    ['a missing claim', {}, { kind: 'create', object: 'PersistentVolumeClaim', name: 'data' }],
    [
      'a missing class',
      { persistentvolumeclaims: [claim('data', { storageClassName: 'gone' })] },
      { kind: 'create', object: 'StorageClass', name: 'gone' },
    ],
    ['a missing volume', { persistentvolumeclaims: [bound] }, { kind: 'restore-volume' }],
    [
      'a claim on its way out',
      { persistentvolumeclaims: [claim('data', { storageClassName: 'disk' }, { deletionTimestamp: '2026-11-21T00:00:00Z' })] },
      { kind: 'await-deletion' },
    ],
    ['a claim that is never bound', { persistentvolumeclaims: [claim('data', { storageClassName: 'now' })] }, { kind: 'bind-volume' }],
    [
      'a claim for one pod only, in use elsewhere',
      {
        pods: [pod('p', ['data']), pod('user', ['data'], { on: 'n-1' })],
        persistentvolumeclaims: [claim('data', { storageClassName: 'disk', accessModes: ['ReadWriteOncePod'] })],
      },
      { kind: 'stop-other-pod' },
    ],
  ])('%s blocks the pod with what would repair it', (_what, objects, repair) => {
    const { pendingPods } = clusterOf({ pods: [pod('p', ['data'])], ...objects }).cluster.views();
    expect(pendingPods[0]?.shape.volumes.blockers).toMatchObject([{ repair }]);
  });

  it('a claim for one pod only, in use elsewhere, keeps every other pod waiting until it is free', () => {
    const claims = { persistentvolumeclaims: [claim('data', { storageClassName: 'disk', accessModes: ['ReadWriteOncePod'] })] };
    const user = pod('user', ['data'], { on: 'n-1' });
    const { refusals, cluster } = clusterOf({ pods: [pod('p', ['data']), user], ...claims });
    const inUse = {
      kind: 'volume',
      message: 'node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode',
      detail: 'claim data is used by pod default/user',
    };
    expect(refusals('p')).toEqual({ 'n-1': [inUse], 'n-2': [inUse] });
    expect(refusals('user')['n-2']).toEqual([]);
    cluster
      .sources()
      .find(({ resource }) => resource === 'pods')
      ?.table.remove(user);
    expect(refusals('p')).toEqual({ 'n-1': [], 'n-2': [] });
  });

  it('of two pods that wait for such a claim one may go', () => {
    const claims = { persistentvolumeclaims: [claim('data', { storageClassName: 'disk', accessModes: ['ReadWriteOncePod'] })] };
    const { refusals } = clusterOf({ pods: [pod('a', ['data']), pod('b', ['data'])], ...claims });
    expect([refusals('a')['n-1'], refusals('b')['n-1']?.length]).toEqual([[], 1]);
  });

  it("a generic ephemeral volume is judged by its claim, by its template while that is missing, and never by another pod's", () => {
    const scratch = { name: 'scratch', ephemeral: { volumeClaimTemplate: { spec: { storageClassName: 'zone-1' } } } };
    const waiting = pod('p', [], { volumes: [scratch] });
    const owned = { ownerReferences: [{ kind: 'Pod', name: 'p', uid: 'uid-p', controller: true }] };
    expect(judged({ pods: [waiting] }).fits).toEqual(['n-1']);
    const made = claim('p-scratch', { storageClassName: 'zone-1', volumeName: 'pv' }, owned);
    const pv = volume('pv', { claimRef: { namespace: 'default', name: 'p-scratch' }, nodeAffinity: zoned('we-2') });
    expect(judged({ pods: [waiting], persistentvolumeclaims: [made], persistentvolumes: [pv] }).fits).toEqual(['n-2']);
    // A pod that is moved comes back under another name, with a volume of its own.
    const running = pod('p', [], { volumes: [scratch], on: 'n-2' });
    expect(judged({ pods: [running], persistentvolumeclaims: [made], persistentvolumes: [pv] }).fits).toEqual(['n-1']);
    const foreign = claim('p-scratch', { storageClassName: 'disk' });
    expect(judged({ pods: [waiting], persistentvolumeclaims: [foreign] }).messages).toEqual([
      'PVC default/p-scratch was not created for pod default/p (pod is not owner)',
    ]);
  });
});

describe('a CSI driver that must be registered', () => {
  const OTHER = 'other.csi.example.com';
  const MISSING = `${AZURE_DISK_DRIVER} CSI driver is not installed on the node`;
  const demand = (name: string, preventPodSchedulingIfMissing?: boolean): ObjectJson =>
    ({ metadata: { name }, spec: { attachRequired: true, preventPodSchedulingIfMissing } }) as ObjectJson;
  const csiNode = (name: string, ...drivers: readonly string[]): ObjectJson =>
    ({ metadata: { name }, spec: { drivers: drivers.map((driver) => ({ name: driver })) } }) as ObjectJson;
  const disk = {
    persistentvolumeclaims: [bound],
    persistentvolumes: [volume('pv', reference)],
    csinodes: [csiNode('n-1', AZURE_DISK_DRIVER, OTHER)],
  };

  it.each<[string, Objects, readonly string[], readonly string[]]>([
    ['keeps its volumes to nodes that have it', { ...disk, csidrivers: [demand(AZURE_DISK_DRIVER, true)] }, ['n-1'], [MISSING]],
    [
      'keeps them off a node whose CSINode names others',
      { ...disk, csinodes: [csiNode('n-1', OTHER)], csidrivers: [demand(AZURE_DISK_DRIVER, true)] },
      [],
      [MISSING],
    ],
    [
      'counts for volumes that its class creates',
      { ...disk, persistentvolumeclaims: [claim('data', { storageClassName: 'disk' })], csidrivers: [demand(AZURE_DISK_DRIVER, true)] },
      ['n-1'],
      [MISSING],
    ],
    [
      'counts for disks in the spec of a pod',
      {
        ...disk,
        pods: [pod('p', [], { volumes: [{ name: 'd', azureDisk: { diskName: 'd', diskURI: '/disks/d' } }] })],
        csidrivers: [demand(AZURE_DISK_DRIVER, true)],
      },
      ['n-1'],
      [MISSING],
    ],
    ['is not asked for by pods without its volumes', { ...disk, csidrivers: [demand(OTHER, true)] }, ['n-1', 'n-2'], []],
    ['is any other driver, unless it says so', { ...disk, csidrivers: [demand(AZURE_DISK_DRIVER)] }, ['n-1', 'n-2'], []],
    ['is unknown without its object', disk, ['n-1', 'n-2'], []],
  ])('%s', (_name, objects, fits, messages) => {
    expect(judged(objects)).toEqual({ fits, messages });
  });

  it('counts from the moment that it registers, and nodes without changes stay the same objects', () => {
    const { cluster, put, refusals } = clusterOf({ pods: [pod('p', ['data'])], ...disk, csidrivers: [demand(AZURE_DISK_DRIVER, true)] });
    const before = cluster.views().nodes;
    expect(refusals('p')['n-2']).toHaveLength(1);
    put('csinodes', csiNode('n-2', AZURE_DISK_DRIVER));
    expect(refusals('p')['n-2']).toEqual([]);
    expect(cluster.views().nodes.get('n-1')).toBe(before.get('n-1'));
  });

  it('is asked for as long as its object says so', () => {
    const { put, refusals } = clusterOf({ pods: [pod('p', ['data'])], ...disk, csidrivers: [demand(AZURE_DISK_DRIVER, true)] });
    const counts: number[] = [];
    for (const each of [true, false, true]) {
      put('csidrivers', demand(AZURE_DISK_DRIVER, each));
      counts.push(refusals('p')['n-2']?.length ?? 0);
    }
    expect(counts).toEqual([1, 0, 1]);
  });
});

describe('attach limits', () => {
  const csi = (name: string, count: number | undefined) => ({
    metadata: { name },
    spec: { drivers: [{ name: AZURE_DISK_DRIVER, ...(count === undefined ? {} : { allocatable: { count } }) }] },
  });
  const disks = (count: number, prefix: string) => ({
    claims: Array.from({ length: count }, (_, at) => claim(`${prefix}-${at}`, { storageClassName: 'disk', volumeName: `${prefix}-${at}` })),
    volumes: Array.from({ length: count }, (_, at) =>
      volume(`${prefix}-${at}`, { claimRef: { namespace: 'default', name: `${prefix}-${at}` } }),
    ),
  });

  it('a node with every slot taken refuses one more disk, with the numbers', () => {
    const taken = disks(8, 'd');
    const residents = taken.claims.map((each, at) => pod(`r-${at}`, [each.metadata?.name ?? ''], { on: 'n-1' }));
    const { refusals } = clusterOf({
      pods: [...residents, pod('p', ['data'])],
      persistentvolumeclaims: [...taken.claims, claim('data', { storageClassName: 'disk' })],
      persistentvolumes: taken.volumes,
      csinodes: [csi('n-1', 8), csi('n-2', undefined)],
    });
    expect(refusals('p')).toEqual({
      'n-1': [{ kind: 'insufficient-resource', resource: attachResource(AZURE_DISK_DRIVER), requested: 1, free: 0 }],
      'n-2': [],
    });
  });

  it('a disk that several pods of one node share takes one slot', () => {
    const one = disks(1, 'd');
    const { refusals } = clusterOf({
      pods: [pod('r-0', ['d-0'], { on: 'n-1' }), pod('r-1', ['d-0'], { on: 'n-1' }), pod('p', ['data'])],
      persistentvolumeclaims: [...one.claims, claim('data', { storageClassName: 'disk' })],
      persistentvolumes: one.volumes,
      csinodes: [csi('n-1', 2)],
    });
    expect(refusals('p')['n-1']).toEqual([]);
  });

  it('a disk whose claim is on its way out is attached until its pod ends', () => {
    const one = disks(1, 'd');
    const leaving = one.claims.map((each) => ({ ...each, metadata: { ...each.metadata, deletionTimestamp: '2026-11-21T00:00:00Z' } }));
    const { refusals } = clusterOf({
      pods: [pod('r', ['d-0'], { on: 'n-1' }), pod('p', ['data'])],
      persistentvolumeclaims: [...leaving, claim('data', { storageClassName: 'disk' })],
      persistentvolumes: one.volumes,
      csinodes: [csi('n-1', 1)],
    });
    expect(refusals('p')['n-1']).toMatchObject([{ kind: 'insufficient-resource', requested: 1, free: 0 }]);
  });

  it('a limit that becomes known later counts what is there', () => {
    const { refusals, put } = clusterOf({
      pods: [pod('r', ['d-0'], { on: 'n-1' }), pod('p', ['data'])],
      persistentvolumeclaims: [...disks(1, 'd').claims, claim('data', { storageClassName: 'disk' })],
      persistentvolumes: disks(1, 'd').volumes,
    });
    expect(refusals('p')['n-1']).toEqual([]);
    put('csinodes', csi('n-1', 1));
    expect(refusals('p')['n-1']).toMatchObject([{ kind: 'insufficient-resource', requested: 1, free: 0 }]);
    put('csinodes', csi('n-1', 2));
    expect(refusals('p')['n-1']).toEqual([]);
  });
});

describe('views', () => {
  const objects = {
    persistentvolumeclaims: [claim('data', { storageClassName: 'disk' })],
    pods: [pod('p', ['data']), pod('q', [], { on: 'n-1' })],
  };

  it('storage that cannot be read keeps only pods with claims waiting, with the reason', () => {
    const { refusals } = clusterOf(objects);
    const trouble = 'persistentvolumeclaims cannot be read: forbidden';
    expect(refusals('p', trouble)['n-1']).toEqual([
      { kind: 'volume', message: 'volumes cannot be judged', detail: `claims data: ${trouble}` },
    ]);
    expect(refusals('q', trouble)['n-1']).toEqual([]);
    expect(refusals('p')['n-1']).toEqual([]);
  });

  it('keep what did not change, pod by pod', () => {
    const { cluster, put } = clusterOf({ ...objects, pods: [...objects.pods, pod('r', ['data'], { on: 'n-2' })] });
    const first = cluster.views();
    expect(cluster.views().podsByNode).toBe(first.podsByNode);
    put('persistentvolumeclaims', claim('other', { storageClassName: 'disk' }));
    const second = cluster.views();
    expect(second.podsByNode.get('n-1')).toBe(first.podsByNode.get('n-1'));
    expect(second.podsByNode.get('n-2')?.[0]).toBe(first.podsByNode.get('n-2')?.[0]);
    expect(second.pendingPods[0]).toBe(first.pendingPods[0]);
  });

  it('of a cluster without claims are handed through as they are', () => {
    const { cluster } = clusterOf({ pods: [pod('q', [], { on: 'n-1' })] });
    const [before, again] = [cluster.views(), cluster.views()];
    expect(again.podsByNode).toBe(before.podsByNode);
    expect(again.nodes).toBe(before.nodes);
  });

  it('pods whose volumes say the same share one shape', () => {
    const { cluster } = clusterOf({
      pods: [pod('a', ['d-0']), pod('b', ['d-1'])],
      persistentvolumeclaims: ['d-0', 'd-1'].map((name) => claim(name, { storageClassName: 'zone-1' })),
    });
    const [left, right] = cluster.views().pendingPods;
    expect(left?.shape).toBe(right?.shape);
  });
});
