/** Drivers that say where they have room: CSIDriver with `storageCapacity`, and CSIStorageCapacity objects. */
import { describe, expect, it } from 'vitest';
import { NOT_WATCHED } from '../../../src/domain/observation.ts';
import { ReflectedCluster, type Troubles } from '../../../src/kubernetes/views/cluster-tables.ts';
import { projectStorageClass } from '../../../src/kubernetes/projection/storage.ts';
import { ResourceNames } from '../../../src/domain/resources.ts';
import { ClusterSnapshot } from '../../../src/scheduling/snapshot/cluster-snapshot.ts';
import { describeFit } from '../../../src/planning/explain/describe-reasons.ts';

const DRIVER = 'localdisk.example.com';
const NODE_LABEL = 'topology.localdisk.example.com/node';
type Json = Readonly<Record<string, unknown>>;

const node = (name: string): Json => ({
  metadata: { name, labels: { [NODE_LABEL]: name, zone: name === 'n-3' ? 'b' : 'a' } },
  status: { allocatable: { cpu: '4', memory: '8Gi', pods: '10' }, conditions: [{ type: 'Ready', status: 'True' }] },
});
const claim = {
  metadata: { name: 'data', namespace: 'default' },
  spec: { storageClassName: 'local', accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '100Gi' } } },
};
const pod = {
  metadata: { name: 'p', namespace: 'default', uid: 'p' },
  spec: { containers: [{ name: 'c' }], volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }] },
};
const driver = (storageCapacity: boolean): Json => ({ metadata: { name: DRIVER }, spec: { storageCapacity } });
const storageClass = (part: Json = {}): Json => ({
  metadata: { name: 'local' },
  provisioner: DRIVER,
  volumeBindingMode: 'WaitForFirstConsumer',
  ...part,
});
const on = (name: string, part: Json): Json => ({
  metadata: { name: `on-${name}`, namespace: 'kube-system' },
  storageClassName: 'local',
  nodeTopology: { matchLabels: { [NODE_LABEL]: name } },
  ...part,
});

/** Where the pod fits, and the words of those that refuse it. */
function judged(objects: Readonly<Record<string, readonly Json[]>>, troubles: Troubles = {}) {
  const names = new ResourceNames();
  const cluster = new ReflectedCluster(names);
  const all = {
    nodes: ['n-1', 'n-2', 'n-3'].map(node),
    pods: [pod],
    persistentvolumeclaims: [claim],
    storageclasses: [storageClass()],
    csidrivers: [driver(true)],
    ...objects,
  };
  for (const [resource, items] of Object.entries(all)) {
    const table = cluster.sources().find((source) => source.resource === resource)?.table;
    for (const item of items) table?.put(item);
  }
  const view = { ...NOT_WATCHED, ...cluster.views(troubles), stalenessMs: 0 };
  const snapshot = new ClusterSnapshot({ names });
  snapshot.sync(view);
  const [waiting] = view.pendingPods;
  const found = [...view.nodes.keys()].map((name) => [name, waiting === undefined ? [] : snapshot.check(waiting, name)] as const);
  return {
    fits: found.filter(([, reasons]) => reasons.length === 0).map(([name]) => name),
    why: [...new Set(found.flatMap(([, reasons]) => reasons.map(describeFit)))],
  };
}

const NONE = 'node(s) did not have enough free storage';

describe('capacity that drivers publish', () => {
  it.each<[string, Readonly<Record<string, readonly Json[]>>, readonly string[]]>([
    ['a driver that does not say', { csidrivers: [driver(false)] }, ['n-1', 'n-2', 'n-3']],
    ['an unknown driver', { csidrivers: [] }, ['n-1', 'n-2', 'n-3']],
    ['nothing said yet', {}, []],
    ['room on one node', { csistoragecapacities: [on('n-1', { capacity: '100Gi' }), on('n-2', { capacity: '99Gi' })] }, ['n-1']],
    ['enough in all, but not in one piece', { csistoragecapacities: [on('n-1', { capacity: '500Gi', maximumVolumeSize: '50Gi' })] }, []],
    ['a largest volume alone', { csistoragecapacities: [on('n-2', { maximumVolumeSize: '100Gi' })] }, ['n-2']],
    ['no number at all', { csistoragecapacities: [on('n-1', {})] }, []],
    ['of another class', { csistoragecapacities: [on('n-1', { capacity: '1Ti', storageClassName: 'other' })] }, []],
    ['reached by no node', { csistoragecapacities: [on('n-1', { capacity: '1Ti', nodeTopology: null })] }, []],
    ['reached by every node', { csistoragecapacities: [on('n-1', { capacity: '1Ti', nodeTopology: {} })] }, ['n-1', 'n-2', 'n-3']],
    [
      'within the topologies of the class',
      {
        storageclasses: [storageClass({ allowedTopologies: [{ matchLabelExpressions: [{ key: 'zone', values: ['a'] }] }] })],
        csistoragecapacities: [on('n-2', { capacity: '1Ti' }), on('n-3', { capacity: '1Ti' })],
      },
      ['n-2'],
    ],
  ])('%s', (_, objects, fits) => {
    const found = judged(objects);
    expect(found.fits).toEqual(fits);
    expect(found.why).toEqual(fits.length === 3 ? [] : [NONE]);
  });

  it('a volume that is there is taken all the same', () => {
    const local = { required: { nodeSelectorTerms: [{ matchExpressions: [{ key: NODE_LABEL, operator: 'In', values: ['n-3'] }] }] } };
    const volume = {
      metadata: { name: 'pv' },
      spec: { storageClassName: 'local', accessModes: ['ReadWriteOnce'], capacity: { storage: '200Gi' }, nodeAffinity: local },
      status: { phase: 'Available' },
    };
    const found = judged({ persistentvolumes: [volume], csistoragecapacities: [on('n-1', { capacity: '1Ti' })] });
    expect(found).toEqual({ fits: ['n-1', 'n-3'], why: ["node(s) didn't find available persistent volumes to bind"] });
  });

  const ALL = ['n-1', 'n-2', 'n-3'];
  const BLIND = 'volumes cannot be judged';
  it.each<[string, Readonly<Record<string, readonly Json[]>>, readonly string[]]>([
    ['an unknown driver waits', { csidrivers: [] }, []],
    ['a driver that says where it has room waits', { csistoragecapacities: [on('n-1', { capacity: '1Ti' })] }, []],
    ['a driver that has said that it does not is judged', { csidrivers: [driver(false)] }, ALL],
    ['the disks of AKS are judged', { csidrivers: [], storageclasses: [storageClass({ provisioner: 'disk.csi.azure.com' })] }, ALL],
    ['and by their former name', { csidrivers: [], storageclasses: [storageClass({ provisioner: 'kubernetes.io/azure-disk' })] }, ALL],
    ['so is a class whose volumes people make', { storageclasses: [storageClass({ provisioner: 'kubernetes.io/no-provisioner' })] }, []],
  ])('where it may not be read, %s', (what, objects, fits) => {
    const found = judged(objects, { room: 'csistoragecapacities cannot be read: forbidden' });
    expect(found.fits).toEqual(fits);
    const why = what.includes('people make') ? ["node(s) didn't find available persistent volumes to bind"] : [BLIND];
    expect(found.why).toEqual(fits.length > 0 ? [] : why);
  });

  it('classes of old go by the driver that does their work today, whose attach slots their volumes take', () => {
    const provisionerOf = (provisioner: string) => projectStorageClass({ metadata: { name: 'c' }, provisioner }).provisioner;
    expect(
      ['kubernetes.io/azure-disk', 'kubernetes.io/azure-file', 'kubernetes.io/no-provisioner', 'constructor'].map(provisionerOf),
    ).toEqual(['disk.csi.azure.com', 'file.csi.azure.com', 'kubernetes.io/no-provisioner', 'constructor']);
  });
});
