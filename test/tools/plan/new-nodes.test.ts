import { describe, expect, it } from 'vitest';
import { listOf, nodeJson, plan, planOutcome, podJson } from './support.ts';

type Json = Readonly<Record<string, unknown>>;
const POOLS = '- {name: a, vmSize: Standard_D4s_v5, min: 0, max: 5}\n';

describe('a new node runs what the one runs that speaks for its pool', () => {
  const node = nodeJson('n-0', 'a');
  const full = podJson('full', '3', { on: 'n-0' });
  const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'agent', uid: 'd', controller: true };
  const pinned = {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n-0'] }] }],
    },
  };
  const agent = (cpu: string) =>
    podJson('agent-x', cpu, { on: 'n-0', spec: { affinity: { nodeAffinity: pinned } }, metadata: { ownerReferences: [owner] } });
  const daemonSet = (cpu: string): Json => ({
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name: 'agent', namespace: 'default', uid: 'd' },
    spec: { template: { spec: { containers: [{ name: 'c', resources: { requests: { cpu } } }] } } },
  });
  const kruise = { apiVersion: 'apps.kruise.io/v1alpha1', kind: 'DaemonSet', name: 'agent', uid: 'k', controller: true };
  const custom = podJson('agent-y', '1', { on: 'n-0', metadata: { ownerReferences: [kruise] } });
  const annotations = { 'cluster-autoscaler.kubernetes.io/daemonset-pod': 'true' };
  const annotated = podJson('agent-n-0', '1', { on: 'n-0', metadata: { ownerReferences: [], annotations } });
  const fixed = podJson('static-x', '1', {
    on: 'n-0',
    metadata: { ownerReferences: [], annotations: { 'kubernetes.io/config.mirror': 'x' } },
  });

  it.each<[string, readonly Json[], boolean]>([
    ['nothing', [], true],
    ['a DaemonSet that the file holds', [daemonSet('1'), agent('1')], false],
    ['a DaemonSet of which the file holds only the pods', [agent('1')], false],
    ['pods of a DaemonSet that were made larger', [daemonSet('100m'), agent('1')], false],
    ['a DaemonSet that has been made larger', [daemonSet('1'), agent('100m')], false],
    ['a DaemonSet of OpenKruise', [custom], false],
    ['a DaemonSet of OpenKruise beside a built-in one', [daemonSet('0'), custom], false],
    ['a pod with the daemonset-pod annotation', [annotated], false],
    ['a pod of the node itself', [fixed], false],
    ['a pod that is over', [{ ...fixed, status: { phase: 'Succeeded' } }], true],
  ])('%s', async (_what, objects, fits) => {
    const web = podJson('web', '3500m');
    expect(await planOutcome({ p: POOLS, c: listOf(node, full, web, ...objects) })).toEqual(fits ? ['a 1->2'] : ['web impossible']);
  });

  it('but not a daemon of another API group that one of its ready nodes lacks', async () => {
    const other = nodeJson('n-1', 'a');
    const taken = podJson('taken', '3', { on: 'n-1' });
    const objects = [node, full, other, taken, custom, podJson('web', '3500m')];
    expect(await planOutcome({ p: POOLS, c: listOf(...objects) })).toEqual(['a 2->3']);
  });

  it('and a new node of another pool does not', async () => {
    const pools = `${POOLS}- {name: b, vmSize: Standard_D4s_v5, min: 0, max: 5, allocatable: {cpu: 4, memory: 9Gi}}\n`;
    expect(await planOutcome({ p: pools, c: listOf(node, full, agent('1'), podJson('web', '3500m')) })).toEqual(['b 0->1']);
  });
});

describe('nodes that are starting', () => {
  it.each<[string, Json, string, readonly string[]]>([
    ['not ready yet', { conditions: [{ type: 'Ready', status: 'False' }] }, '2026-11-21T07:59:00Z', ['web@(coming in a)']],
    [
      'not ready, and long in coming',
      { conditions: [{ type: 'Ready', status: 'False' }] },
      '2026-11-21T07:00:00Z',
      ['a 1->2', 'web@(coming in a)'],
    ],
  ])('%s: it is not replaced before its time is up', async (_what, status, creationTimestamp, expected) => {
    const node = nodeJson('n-0', 'a');
    const size = { cpu: '4', memory: '16Gi', pods: '110' };
    const young = {
      ...node,
      metadata: { ...Object(node['metadata']), creationTimestamp },
      status: { capacity: size, allocatable: size, ...status },
    };
    expect(await planOutcome({ p: POOLS.replace('min: 0', 'min: 1'), c: listOf(young, podJson('web', '1')) })).toEqual(expected);
  });
});

describe('pools of one zone each, one of them with nodes', () => {
  it('are planned together, however little a node of the file says of itself', async () => {
    const pools = [1, 2, 3]
      .map((zone) => `- {name: z${zone}, vmSize: Standard_D4s_v5, min: 0, max: 5, zones: [westeurope-${zone}]}\n`)
      .join('');
    const labels = { app: 'web' };
    const constraint = {
      maxSkew: 1,
      topologyKey: 'topology.kubernetes.io/zone',
      whenUnsatisfiable: 'DoNotSchedule',
      labelSelector: { matchLabels: labels },
    };
    const spread = (name: string, on?: string) =>
      podJson(name, '3', {
        ...(on === undefined ? {} : { on }),
        spec: { topologySpreadConstraints: [constraint] },
        metadata: { labels, name, namespace: 'default' },
      });
    const node = nodeJson('n-0', 'z1', {
      labels: { 'topology.kubernetes.io/zone': 'westeurope-1', 'topology.kubernetes.io/region': 'westeurope' },
    });
    const waiting = ['a', 'b', 'c', 'd', 'e'].map((name) => spread(name));
    expect(await planOutcome({ p: pools, c: listOf(node, spread('first', 'n-0'), ...waiting) })).toEqual(['z1 1->2', 'z2 0->2', 'z3 0->2']);
  });
});

describe('the region of zones that are only numbers', () => {
  const pools =
    '- {name: one, vmSize: Standard_D4s_v5, min: 0, max: 5, zones: [1]}\n- {name: two, vmSize: Standard_D4s_v5, min: 0, max: 5, zones: [2]}\n';
  const picky = podJson('web', '1', { spec: { nodeSelector: { 'topology.kubernetes.io/zone': 'eastus-2' } } });
  const node = (labels: Record<string, string>) => nodeJson('o', 'other', { labels, spec: { unschedulable: true } });
  const required = (zone: string) => ({
    nodeSelectorTerms: [{ matchExpressions: [{ key: 'topology.disk.csi.azure.com/zone', operator: 'In', values: [zone] }] }],
  });
  const volume = (name: string, zone: string): Json => ({
    kind: 'PersistentVolume',
    metadata: { name },
    spec: { nodeAffinity: { required: required(zone) } },
  });
  const storageClass = {
    kind: 'StorageClass',
    metadata: { name: 'c' },
    provisioner: 'disk.csi.azure.com',
    allowedTopologies: [{ matchLabelExpressions: [{ key: 'topology.kubernetes.io/zone', values: ['eastus-1'] }] }],
  };

  it.each<[string, readonly Json[], string, readonly string[]]>([
    ['a node says', [node({ 'topology.kubernetes.io/region': 'eastus' })], '', ['two 0->1']],
    ['the zone of a node says', [node({ 'topology.kubernetes.io/zone': 'eastus-3' })], '', ['two 0->1']],
    ['another pool says', [], '- {name: six, vmSize: Standard_D4s_v5, min: 0, max: 0, zones: [eastus-3]}\n', ['two 0->1']],
    ['a volume says', [volume('v', 'eastus-1')], '', ['two 0->1']],
    ['a storage class says', [storageClass], '', ['two 0->1']],
    ['is not known where volumes differ', [volume('v', 'eastus-1'), volume('w', 'westus-1')], '', ['web impossible']],
    ['is not known where nothing says it', [], '', ['web impossible']],
  ])('%s', async (_what, objects, more, expected) => {
    expect(await planOutcome({ p: pools + more, c: listOf(picky, ...objects) })).toEqual(expected);
  });
});

describe('a pool that no pod needs', () => {
  const reason = { group: 'a', reason: 'no-pod-fits', detail: 'none of the remaining pods fits' };
  it.each<[string, string, Json]>([
    ['is passed over, and said to be', POOLS, { increases: [], skipped: [reason] }],
    [
      'is not passed over when it grows to its minimum',
      POOLS.replace('min: 0', 'min: 2'),
      { increases: [{ group: 'a', from: 1, to: 2 }], skipped: [] },
    ],
  ])('%s', async (_what, pools, scaleUp) => {
    const files = { p: pools, c: listOf(nodeJson('n-0', 'a'), podJson('web', '1')) };
    const { out } = await plan(['--cluster=c', '--pools=p', '--json'], files);
    expect(JSON.parse(out)).toMatchObject({ scaleUp: { ...scaleUp, fits: [{ pod: 'default/web', node: 'n-0' }] } });
  });
});

describe('a pool that is named as its scale set', () => {
  const SET = 'aks-general-12345678-vmss';
  const pools = (name: string): string => JSON.stringify([{ name, vmSize: 'Standard_D4s_v5', min: 0, max: 5 }]);
  const providerID = `azure:///subscriptions/s/resourceGroups/mc/providers/Microsoft.Compute/virtualMachineScaleSets/${SET}/virtualMachines/0`;
  const there = nodeJson('n-0', 'general', { spec: { providerID } });
  const waiting = podJson('w', '3', { spec: { nodeSelector: { 'kubernetes.azure.com/agentpool': 'general' } } });
  const busy = podJson('a', '3500m', { on: 'n-0' });

  it.each([SET, SET.toUpperCase(), 'general', 'General'])(
    'has the nodes of its scale set, and gives new ones their labels: %s',
    async (name) => {
      expect(await planOutcome({ c: listOf(there, busy, waiting), p: pools(name) })).toEqual([`${name} 1->2`]);
    },
  );

  it('without a node gives the label that AKS would', async () => {
    expect(await planOutcome({ c: listOf(waiting), p: pools(SET) })).toEqual([`${SET} 0->1`]);
  });
});
