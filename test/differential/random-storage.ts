/** Random claims, volumes, classes and attach limits, as the API spells them: a small world, so that rules meet each other often. */
import * as fc from 'fast-check';
import type { KubeObject, NodeObject, PodObject, PodVolume } from '../../world/simulator/cluster/store/objects.ts';
import { nodeObject, podObject, ZONE, type NodeDraft, type PodDraft } from './random-cluster.ts';

const DISKS = 'disk.csi.azure.com';
const META = { uid: 'u', resourceVersion: '1', creationTimestamp: '2026-11-20T23:00:00Z' };
const CLAIMS = ['c-0', 'c-1', 'c-2', 'c-3'] as const;

const terms = (zone: string) => ({ nodeSelectorTerms: [{ matchExpressions: [{ key: ZONE, operator: 'In', values: [zone] }] }] });
const waiting = { provisioner: DISKS, volumeBindingMode: 'WaitForFirstConsumer' };
const CLASSES: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  wait: waiting,
  'wait-1': { ...waiting, allowedTopologies: [{ matchLabelExpressions: [{ key: ZONE, values: ['we-1', 'we-3'] }] }] },
  now: { provisioner: DISKS, volumeBindingMode: 'Immediate' },
  none: { provisioner: 'kubernetes.io/no-provisioner', volumeBindingMode: 'WaitForFirstConsumer' },
};

const zone = fc.constantFrom('we-1', 'we-2');
const bytes = fc.constantFrom('1Gi', '5Gi');
const mode = fc.constantFrom('ReadWriteOnce', 'ReadWriteOnce', 'ReadWriteOncePod');
const claim = fc.oneof(
  { weight: 1, arbitrary: fc.constant({ kind: 'missing' as const }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('unbound' as const),
      className: fc.constantFrom('wait', 'wait', 'wait-1', 'now', 'none', 'none', 'gone', ''),
      selected: fc.constantFrom(undefined, undefined, undefined, 'n-0', 'n-9'),
      bytes,
      mode,
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('bound' as const),
      reach: fc.constantFrom('anywhere' as const, 'affinity' as const, 'label' as const, 'lost' as const),
      zone: fc.constantFrom('we-1', 'we-2', 'we-1__we-3'),
      deleting: fc.constantFrom(false, false, false, true),
      /** Of before the drivers; two such volumes may be of one disk, and pods may name that disk themselves. */
      disk: fc.constantFrom(undefined, undefined, undefined, 'disk-a', 'disk-b'),
      mode,
    }),
  },
);
type Claim = typeof claim extends fc.Arbitrary<infer Value> ? Value : never;

function azureDisk(diskName: string): NonNullable<PodVolume['azureDisk']> {
  return {
    diskName,
    diskURI: `/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/disks/${diskName}`,
    kind: 'Managed',
  };
}

const node = fc.record({
  zone: fc.option(fc.constantFrom('we-1', 'we-2', 'we-3'), { nil: undefined }),
  slots: fc.constantFrom(undefined, 0, 1, 2, 3),
});
export const mounts = fc.uniqueArray(fc.constantFrom(...CLAIMS, 'private'), { maxLength: 3 });
const mountsOrDisks = fc.uniqueArray(fc.constantFrom(...CLAIMS, ...CLAIMS, 'private', 'private', 'disk-a', 'disk-b'), { maxLength: 3 });
export const storageStory = fc.record({
  nodes: fc.array(node, { minLength: 1, maxLength: 4 }),
  claims: fc.tuple(claim, claim, claim, claim),
  free: fc.array(fc.record({ zone, bytes, kept: fc.constantFrom(false, false, true) }), { maxLength: 2 }),
  bound: fc.array(fc.record({ mounts: mountsOrDisks, on: fc.nat(3) }), { maxLength: 4 }),
  pending: mountsOrDisks.filter((names) => names.length > 0),
  /** Whether no pod with a disk may run where the driver is not registered. */
  demands: fc.constantFrom(false, false, true),
});
export type StorageStory = typeof storageStory extends fc.Arbitrary<infer Value> ? Value : never;

/** Everything but nodes and pods, by storage and key. */
export function storageOf({ nodes, claims, free, bound, demands }: StorageStory): ReadonlyMap<string, KubeObject> {
  const stored = new Map<string, KubeObject>();
  const put = (storage: string, namespace: string, name: string, rest: Readonly<Record<string, unknown>>): void => {
    const given = rest['metadata'] ?? {};
    const metadata = { ...META, name, ...(namespace === '' ? {} : { namespace }), ...given };
    stored.set(`${storage} ${namespace}/${name}`, { apiVersion: 'v1', kind: storage, ...rest, metadata });
  };
  for (const [name, rest] of Object.entries(CLASSES)) put('storageclasses', '', name, rest);
  nodes.forEach(({ slots }, at) => {
    if (slots !== undefined) put('csinodes', '', `n-${at}`, { spec: { drivers: [{ name: DISKS, allocatable: { count: slots } }] } });
    // Of a node without any CSINode, kube-scheduler judges in-tree disks as before their drivers: no node of today is like that for long.
    else if (demands) put('csinodes', '', `n-${at}`, { spec: { drivers: [{ name: 'other.example.com' }] } });
  });
  if (demands) put('csidrivers', '', DISKS, { spec: { attachRequired: true, preventPodSchedulingIfMissing: true } });
  free.forEach((volume, at) =>
    put('persistentvolumes', '', `free-${at}`, {
      spec: {
        storageClassName: 'none',
        accessModes: ['ReadWriteOnce', 'ReadWriteOncePod'],
        volumeMode: 'Filesystem',
        capacity: { storage: volume.bytes },
        nodeAffinity: { required: terms(volume.zone) },
        ...(volume.kept ? { claimRef: { namespace: 'default', name: 'c-1' } } : {}),
      },
      status: { phase: 'Available' },
    }),
  );
  const putBound = (name: string, given: Extract<Claim, { kind: 'bound' }>): void => {
    const annotations = { 'pv.kubernetes.io/bind-completed': 'yes' };
    const deleting = given.deleting ? { deletionTimestamp: META.creationTimestamp } : {};
    put('persistentvolumeclaims', 'default', name, {
      metadata: { annotations, ...deleting },
      spec: { storageClassName: 'wait', volumeName: `pv-${name}`, volumeMode: 'Filesystem', accessModes: [given.mode] },
      status: { phase: 'Bound' },
    });
    if (given.reach === 'lost') return;
    put('persistentvolumes', '', `pv-${name}`, {
      metadata: given.reach === 'label' ? { labels: { [ZONE]: given.zone } } : {},
      spec: {
        ...(given.disk === undefined ? { csi: { driver: DISKS, volumeHandle: `pv-${name}` } } : { azureDisk: azureDisk(given.disk) }),
        claimRef: { namespace: 'default', name },
        ...(given.reach === 'affinity' ? { nodeAffinity: { required: terms(given.zone.slice(0, 4)) } } : {}),
      },
      status: { phase: 'Bound' },
    });
  };
  claims.forEach((given, at) => {
    const name = `c-${at}`;
    if (given.kind === 'bound') putBound(name, given);
    if (given.kind !== 'unbound') return;
    const annotations = given.selected === undefined ? {} : { 'volume.kubernetes.io/selected-node': given.selected };
    put('persistentvolumeclaims', 'default', name, {
      metadata: { annotations },
      spec: {
        storageClassName: given.className,
        volumeMode: 'Filesystem',
        accessModes: [given.mode],
        resources: { requests: { storage: given.bytes } },
      },
      status: { phase: 'Pending' },
    });
  });
  // A claim of its own for each resident: what runs has its volumes.
  bound.forEach((_, at) =>
    putBound(`own-${at}`, { kind: 'bound', reach: 'anywhere', zone: 'we-1', deleting: false, disk: undefined, mode: 'ReadWriteOnce' }),
  );
  return stored;
}

const DRAFT: PodDraft = { namespace: 'default', labels: {}, terminating: false, spec: { containers: [{ name: 'c' }] } };

export function mounting(name: string, names: readonly string[], on?: string): PodObject {
  const volumes = names.map((given) =>
    given.startsWith('disk-') ? { name: given, azureDisk: azureDisk(given) } : { name: given, persistentVolumeClaim: { claimName: given } },
  );
  return podObject(name, { ...DRAFT, spec: { ...DRAFT.spec, volumes } }, on);
}

/** The nodes, and the pods that run there. */
export function peopleOf(given: StorageStory): { readonly nodes: readonly NodeObject[]; readonly residents: readonly PodObject[] } {
  const nodes = given.nodes.map(({ zone: place }, at) => {
    const labels = place === undefined ? {} : { [ZONE]: place };
    const draft: NodeDraft = { labels, taints: [], unschedulable: false, allocatable: { cpu: '4', memory: '16Gi', pods: '110' } };
    return nodeObject(`n-${at}`, draft);
  });
  const residents = given.bound.map((pod, at) =>
    mounting(`r-${at}`, [...new Set(pod.mounts.map((name) => (name === 'private' ? `own-${at}` : name)))], `n-${pod.on % nodes.length}`),
  );
  return { nodes, residents };
}
