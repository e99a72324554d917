/** Attach slots of volumes that pods share, and of the disks that pods name without a claim. */
import { describe, expect, it } from 'vitest';
import type { ObjectJson } from '../../../src/kubernetes/api/core-json.ts';
import { ReflectedCluster } from '../../../src/kubernetes/views/cluster-tables.ts';
import { NOT_WATCHED } from '../../../src/domain/observation.ts';
import type { FitReason } from '../../../src/domain/reasons.ts';
import { attachResource, ResourceNames } from '../../../src/domain/resources.ts';
import { AZURE_DISK_DRIVER } from '../../../src/domain/volumes.ts';
import { ClusterSnapshot } from '../../../src/scheduling/snapshot/cluster-snapshot.ts';

const SLOTS = attachResource(AZURE_DISK_DRIVER);
const uri = (name: string): string => `/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/disks/${name}`;
const disk = (name: string) => ({ name: `inline-${name}`, azureDisk: { diskName: name, diskURI: uri(name), kind: 'Managed' } });
const mount = (claimName: string) => ({ name: claimName, persistentVolumeClaim: { claimName } });

function nodes(): ObjectJson[] {
  const size = { cpu: '4', memory: '16Gi', pods: '110' };
  return ['n-1', 'n-2'].map((name) => ({
    metadata: { name, labels: { 'topology.kubernetes.io/zone': 'we-1' } },
    status: { allocatable: size, capacity: size, conditions: [{ type: 'Ready', status: 'True' }] },
  }));
}

function pod(name: string, volumes: readonly object[], on?: string, phase = on === undefined ? 'Pending' : 'Running'): ObjectJson {
  const spec = { containers: [{ name: 'c' }], volumes, ...(on === undefined ? {} : { nodeName: on }) };
  return { metadata: { name, namespace: 'default', uid: `uid-${name}` }, spec, status: { phase } } as ObjectJson;
}

/** A bound claim with its volume, of a driver or of before the drivers. */
function bound(name: string, source: object = { csi: { driver: AZURE_DISK_DRIVER, volumeHandle: uri(name) } }, labels = {}) {
  const claimRef = { namespace: 'default', name };
  return {
    persistentvolumeclaims: {
      metadata: { name, namespace: 'default' },
      spec: { volumeName: `pv-${name}`, accessModes: ['ReadWriteOnce'] },
      status: { phase: 'Bound' },
    },
    persistentvolumes: { metadata: { name: `pv-${name}`, labels }, spec: { claimRef, ...source }, status: { phase: 'Bound' } },
  };
}

function worldWith(slots: number, stored: readonly ReturnType<typeof bound>[], pods: readonly ObjectJson[]) {
  const names = new ResourceNames();
  const cluster = new ReflectedCluster(names);
  const tableOf = (resource: string) => cluster.sources().find((source) => source.resource === resource)?.table;
  const limits = ['n-1', 'n-2'].map((name) => ({
    metadata: { name },
    spec: { drivers: [{ name: AZURE_DISK_DRIVER, allocatable: { count: slots } }] },
  }));
  for (const each of nodes()) tableOf('nodes')?.put(each);
  for (const each of limits) tableOf('csinodes')?.put(each);
  for (const each of stored) for (const [resource, object] of Object.entries(each)) tableOf(resource)?.put(object);
  for (const each of pods) tableOf('pods')?.put(each);
  const snapshot = new ClusterSnapshot({ names });
  const view = (trouble?: string) => ({
    ...NOT_WATCHED,
    ...cluster.views(trouble === undefined ? {} : { volumes: trouble }),
    stalenessMs: 0,
  });
  const check = (name: string, node: string, trouble?: string): readonly FitReason[] => {
    const seen = view(trouble);
    snapshot.sync(seen);
    const found = seen.pendingPods.find((each) => each.name === name);
    if (found === undefined) throw new Error(`no pod ${name}`);
    return snapshot.check(found, node);
  };
  return { check, view, snapshot, tableOf };
}

const full = (requested: number, free: number): FitReason => ({ kind: 'insufficient-resource', resource: SLOTS, requested, free });

describe('attach slots', () => {
  it.each<[string, readonly ReturnType<typeof bound>[], readonly object[], readonly object[], boolean]>([
    ['a disk that the spec names takes one', [], [disk('a')], [disk('b')], false],
    ['the same disk takes none again', [], [disk('a')], [disk('a')], true],
    ['the same disk by a claim, in whatever form', [bound('a')], [mount('a')], [disk('a')], true],
    ['a volume of before the drivers takes one', [bound('a', { azureDisk: { diskURI: uri('a') } })], [mount('a')], [disk('b')], false],
    ['and none where its disk is', [bound('a', { azureDisk: { diskURI: uri('a') } })], [disk('a')], [mount('a')], true],
    ['a claim that a pod of the node mounts takes none again', [bound('a')], [mount('a')], [mount('a')], true],
    ['of two volumes the one that is not there takes one', [bound('a'), bound('b')], [mount('a')], [mount('a'), mount('b')], false],
    ['a file share takes none', [], [disk('a')], [{ name: 'f', azureFile: { secretName: 's', shareName: 'f' } }], true],
  ])('%s', (_what, stored, there, wanted, fits) => {
    const { check } = worldWith(1, stored, [pod('r', there, 'n-1'), pod('p', wanted)]);
    expect(check('p', 'n-1')).toEqual(fits ? [] : [full(1, 0)]);
  });

  it('a disk named twice by one pod takes one slot, and a shortage is reported in numbers', () => {
    const { check } = worldWith(1, [], [pod('p', [disk('a'), disk('a')]), pod('q', [disk('a'), disk('b')])]);
    expect(check('p', 'n-1')).toEqual([]);
    expect(check('q', 'n-1')).toEqual([full(2, 1)]);
  });

  it('a node whose pods share a volume has it until the last of them goes', () => {
    const { view, snapshot, check } = worldWith(
      1,
      [bound('a')],
      [pod('r-1', [mount('a')], 'n-1'), pod('r-2', [mount('a')], 'n-1'), pod('p', [disk('b')])],
    );
    expect(check('p', 'n-1')).toEqual([full(1, 0)]);
    const [pending] = view().pendingPods;
    const residents = view().podsByNode.get('n-1') ?? [];
    if (pending === undefined) throw new Error('nothing is pending');
    snapshot.fork();
    snapshot.removePod(residents[0]!, 'n-1');
    expect(snapshot.check(pending, 'n-1')).toEqual([full(1, 0)]);
    snapshot.removePod(residents[1]!, 'n-1');
    expect(snapshot.check(pending, 'n-1')).toEqual([]);
    snapshot.revert();
    expect(snapshot.check(pending, 'n-1')).toEqual([full(1, 0)]);
    snapshot.removeNode('n-1');
    expect(snapshot.get('n-1')).toBeUndefined();
  });

  it('a volume begins to be shared, and ends, with the pods that mount it', () => {
    const { check, tableOf, view } = worldWith(1, [bound('a')], [pod('r', [mount('a')], 'n-1'), pod('p', [disk('b')])]);
    const sharedBy = () => (view().podsByNode.get('n-1') ?? []).map(({ shape }) => shape.sharedVolumes.length);
    expect(sharedBy()).toEqual([0]);
    tableOf('pods')?.put(pod('q', [mount('a')]));
    expect(sharedBy()).toEqual([1]);
    expect(check('q', 'n-1')).toEqual([]);
    tableOf('pods')?.put(pod('q', [mount('a')], 'n-2', 'Succeeded'));
    expect(sharedBy()).toEqual([0]);
    expect(check('p', 'n-1')).toEqual([full(1, 0)]);
  });

  it('a disk is not judged while volumes cannot be read', () => {
    const { check } = worldWith(1, [], [pod('p', [disk('a')])]);
    expect(check('p', 'n-1', 'CSINodes are forbidden')).toEqual([
      { kind: 'volume', message: 'volumes cannot be judged', detail: `disks ${uri('a')}: CSINodes are forbidden` },
    ]);
  });

  it("a volume's zone label of old is met by the node's of today", () => {
    const old = { 'failure-domain.beta.kubernetes.io/zone': 'we-1' };
    const far = { 'failure-domain.beta.kubernetes.io/zone': 'we-2' };
    const source = { azureDisk: { diskURI: uri('a') } };
    expect(worldWith(1, [bound('a', source, old)], [pod('p', [mount('a')])]).check('p', 'n-1')).toEqual([]);
    expect(worldWith(1, [bound('a', source, far)], [pod('p', [mount('a')])]).check('p', 'n-1')).toEqual([
      expect.objectContaining({ kind: 'volume', message: 'node(s) had no available volume zone' }),
    ]);
  });
});
