/** `plan` on files that hold claims, volumes, classes and CSINodes. */
import { describe, expect, it } from 'vitest';
import { AZURE_DISK_DRIVER, AZURE_DISK_ZONE } from '../../../src/domain/volumes.ts';
import { listOf, nodeJson, plan, planAnswer, podJson, type PlanAnswer } from './support.ts';

type Json = Readonly<Record<string, unknown>>;

const ZONE = 'topology.kubernetes.io/zone';
const POOLS = ['1', '2']
  .map(
    (zone) =>
      `- {name: zone${zone}, vmSize: Standard_D4s_v5, min: 0, max: 5, zones: ["westeurope-${zone}"], allocatable: {cpu: "4", memory: 16Gi}}\n`,
  )
  .join('');
async function answerOf(cluster: readonly Json[], options: { readonly pools?: string; readonly add?: readonly Json[] } = {}) {
  const files = { 'c.json': listOf(...cluster), 'p.yaml': options.pools ?? POOLS, 'add.json': listOf(...(options.add ?? [])) };
  const add = options.add === undefined ? [] : ['--add-pods=add.json'];
  return planAnswer(['--cluster=c.json', '--pools=p.yaml', ...add], files);
}

const mounting = (name: string, claimName: string, part: Parameters<typeof podJson>[2] = {}): Json =>
  podJson(name, '3', { ...part, spec: { ...part.spec, volumes: [{ name: 'data', persistentVolumeClaim: { claimName } }] } });
const storageClass = (name: string, part: Json = {}): Json => ({
  kind: 'StorageClass',
  metadata: { name },
  provisioner: AZURE_DISK_DRIVER,
  volumeBindingMode: 'WaitForFirstConsumer',
  ...part,
});
const claim = (name: string, spec: Json): Json => ({
  kind: 'PersistentVolumeClaim',
  metadata: { name, namespace: 'default' },
  spec: { accessModes: ['ReadWriteOnce'], ...spec },
  status: { phase: spec['volumeName'] === undefined ? 'Pending' : 'Bound' },
});
const disk = (name: string, zone: string): Json => ({
  kind: 'PersistentVolume',
  metadata: { name },
  spec: {
    csi: { driver: AZURE_DISK_DRIVER },
    claimRef: { namespace: 'default', name: 'data' },
    nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [{ key: AZURE_DISK_ZONE, operator: 'In', values: [zone] }] }] } },
  },
});
const grown = ({ scaleUp }: PlanAnswer) => scaleUp.increases.map(({ group, from, to }) => `${group} ${from}->${to}`);
const whys = ({ scaleUp }: PlanAnswer) => scaleUp.helpless[0]?.groups.map(({ group, detail }) => `${group}: ${detail}`);

describe('plan and volumes', () => {
  it('a pod whose disk is in a zone asks the pool of that zone, and no other', async () => {
    const cluster = [mounting('p', 'data'), claim('data', { volumeName: 'pv' }), disk('pv', 'westeurope-1'), storageClass('disk')];
    expect(grown(await answerOf(cluster))).toEqual(['zone1 0->1']);
    const other = await answerOf(cluster, { pools: POOLS.split('\n')[1] ?? '' });
    expect(whys(other)).toEqual([
      `zone2: node(s) had volume node affinity conflict: wants ${AZURE_DISK_ZONE} In [westeurope-1], the node has ${AZURE_DISK_ZONE}=westeurope-2`,
    ]);
  });

  it('a pool of several zones is an option where it may land in the right one', async () => {
    const cluster = [mounting('p', 'data'), claim('data', { volumeName: 'pv' }), disk('pv', 'westeurope-2')];
    const pools = '- {name: wide, vmSize: Standard_D4s_v5, min: 0, max: 5, zones: ["westeurope-1", "westeurope-2"]}\n';
    expect(grown(await answerOf(cluster, { pools }))).toEqual(['wide 0->1']);
  });

  it('disks are the bottleneck: a node with 8 of 8 attached is not enough, and a new node takes 8 more', async () => {
    const pools = '- {name: zone1, vmSize: Standard_D4s_v5, min: 1, max: 9, zones: ["westeurope-1"]}\n';
    const labels = { [ZONE]: 'westeurope-1', [AZURE_DISK_ZONE]: 'westeurope-1' };
    const small = { containers: [{ name: 'c', resources: { requests: { cpu: '10m' } } }] };
    const names = Array.from({ length: 25 }, (_, at) => `d-${at}`);
    const cluster = [
      nodeJson('n-0', 'zone1', { labels }),
      { kind: 'CSINode', metadata: { name: 'n-0' }, spec: { drivers: [{ name: AZURE_DISK_DRIVER, allocatable: { count: 8 } }] } },
      storageClass('disk'),
      ...names.map((name, at) => mounting(`p-${String(at).padStart(2, '0')}`, name, { spec: small, ...(at < 8 ? { on: 'n-0' } : {}) })),
      ...names.map((name, at) => claim(name, { storageClassName: 'disk', ...(at < 8 ? { volumeName: name } : {}) })),
      ...names.slice(0, 8).map((name) => disk(name, 'westeurope-1')),
    ];
    const answer = await answerOf(cluster, { pools });
    expect(grown(answer)).toEqual(['zone1 1->4']);
    expect(answer.scaleUp.fits).toEqual([]);
  });

  it('a pool without a living node has the data disks of its size', async () => {
    const pools = '- {name: zone1, vmSize: Standard_D2s_v5, min: 0, max: 1, zones: ["westeurope-1"]}\n';
    const volumes = Array.from({ length: 5 }, (_, at) => ({ name: `v${at}`, persistentVolumeClaim: { claimName: `d-${at}` } }));
    const cluster = [
      storageClass('disk'),
      podJson('many', '100m', { spec: { volumes } }),
      ...volumes.map((_, at) => claim(`d-${at}`, { storageClassName: 'disk' })),
    ];
    const answer = await answerOf(cluster, { pools });
    expect(answer.scaleUp.helpless[0]?.groups).toEqual([
      {
        group: 'zone1',
        reason: 'insufficient-resource',
        detail: 'needs 5 volumes attached, the node has room for 4',
        fix: 'add a pool like zone1 whose nodes have at least 5 data disks allocatable',
      },
    ]);
  });

  it('a pod whose disk is in the zone of its node is not moved into another zone', async () => {
    const at = (zone: string) => ({ labels: { [ZONE]: zone, [AZURE_DISK_ZONE]: zone } });
    const cluster = [
      nodeJson('n-1', 'zone1', at('westeurope-1')),
      nodeJson('n-2', 'zone2', at('westeurope-2')),
      podJson('mover', '100m', { on: 'n-1', spec: { volumes: [{ name: 'd', persistentVolumeClaim: { claimName: 'data' } }] } }),
      podJson('stays', '3500m', { on: 'n-2' }),
      claim('data', { volumeName: 'pv' }),
      disk('pv', 'westeurope-1'),
    ];
    const answer = await answerOf(cluster);
    expect(answer.scaleDown.removals).toEqual([]);
    expect(answer.scaleDown.unremovable.find(({ node }) => node === 'n-1')?.reason).toBe('NoPlaceToMovePods');
  });

  it('pods of a StatefulSet that is not there yet bring the claims that it would make', async () => {
    const template = { metadata: { labels: { app: 'db' } }, spec: { containers: [{ name: 'c', resources: { requests: { cpu: '3' } } }] } };
    const volumeClaimTemplates = [{ metadata: { name: 'data' }, spec: { storageClassName: 'one', accessModes: ['ReadWriteOnce'] } }];
    const set = { kind: 'StatefulSet', metadata: { name: 'db' }, spec: { replicas: 2, template, volumeClaimTemplates } };
    const allowedTopologies = [{ matchLabelExpressions: [{ key: ZONE, values: ['westeurope-2'] }] }];
    expect(grown(await answerOf([storageClass('one', { allowedTopologies })], { add: [set] }))).toEqual(['zone2 0->2']);
  });

  it.each<[string, Json, string]>([
    [
      'a volume',
      { kind: 'Pod', metadata: { name: 'p' }, spec: { containers: [], volumes: [{ persistentVolumeClaim: {} }] } },
      'Pod p: spec.volumes[0].persistentVolumeClaim.claimName',
    ],
    ['a class', { kind: 'StorageClass', metadata: { name: 's' } }, 'StorageClass s: provisioner'],
    [
      'a limit',
      { kind: 'CSINode', metadata: { name: 'n' }, spec: { drivers: [{ name: 'd', allocatable: { count: 'many' } }] } },
      'CSINode n: spec.drivers[0].allocatable.count',
    ],
  ])('%s that is malformed gets one sentence with object and field', async (_what, object, sentence) => {
    const { code, err } = await plan(['--cluster=c.json', '--pools=p.yaml'], { 'c.json': listOf(object), 'p.yaml': POOLS });
    expect(code).toBe(2);
    expect(err).toContain(sentence);
  });
});
