/** What agent pool models say of new nodes: startup taints, GPU partitions, and effects that planning cannot include. */
import { describe, expect, it } from 'vitest';
import { parseAgentPool } from '../../src/azure/rows/agent-pool-list.ts';
import { projectAgentPool, type AgentPoolRow } from '../../src/azure/rows/agent-pool.ts';
import { gpuResourceOf } from '../../src/azure/rows/gpu-resources.ts';
import { buildGroupTemplate, type GroupTemplateInput } from '../../src/azure/templates/group-template.ts';
import { learnFrom, fingerprintOf } from '../../src/azure/templates/learned-templates.ts';
import { StartupTaints } from '../../src/azure/templates/startup-taints.ts';
import type { Sku } from '../../src/azure/sizes/sku-catalog.ts';
import { NodeEvidence, type Evidence } from '../../src/azure/templates/evidence.ts';
import type { TemplateSource } from '../../src/azure/rows/template-source.ts';
import { templateFromSize } from '../../src/azure/templates/from-size.ts';
import { nodeGroupId } from '../../src/domain/ids.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { aNode, resourceNames, START_MS } from '../support/builders.ts';
import { refusal, ScriptedArm, type ArmReply } from './scripted-arm.ts';
import { options, rig, USER_POOL, type Rig } from './rig.ts';

const SKU: Sku = {
  name: 'Standard_ND96asr_v4',
  vcpus: 96,
  quotaVcpus: 96,
  memoryBytes: 900 * 2 ** 30,
  gpus: 8,
  arch: 'amd64',
  zones: [],
  quotaFamily: 'f',
};
const SOURCE: TemplateSource = {
  vmSize: 'Standard_ND96asr_v4',
  location: 'westeurope',
  zones: [],
  tags: {},
  priority: 'Regular',
  os: 'linux',
  osDisk: { ephemeral: false, tier: 'Premium_LRS', sizeGb: 128 },
};

function pool(properties: Readonly<Record<string, unknown>> = {}): AgentPoolRow {
  const raw = parseAgentPool({ name: 'user1', properties: { type: 'VirtualMachineScaleSets', mode: 'User', ...properties } });
  const row = raw === undefined ? undefined : projectAgentPool(raw);
  if (row === undefined) throw new Error('it has a name');
  return row;
}

const made = (row: AgentPoolRow, source: Partial<TemplateSource> = {}) =>
  templateFromSize({ ...SOURCE, ...source }, { sku: SKU, pool: row, nodeResourceGroup: 'MC_rg', names: resourceNames });

describe('the document of a pool', () => {
  it('is read with everything optional left out, null, or of another type', () => {
    expect(pool()).toMatchObject({ maxPods: undefined, osDiskSizeGb: undefined, count: undefined, taints: [], labels: {}, zones: [] });
    const nothing = { maxPods: null, osDiskSizeGB: null, nodeTaints: null, nodeLabels: null, availabilityZones: null, powerState: null };
    expect(pool({ ...nothing, count: '3', kubeletConfig: null, gpuProfile: null, nodeInitializationTaints: null })).toEqual(pool());
    expect(pool({ maxPods: 0, osDiskSizeGB: 0 })).toEqual(pool());
    expect(parseAgentPool('x')).toBeUndefined();
    expect(projectAgentPool({ name: '' })).toBeUndefined();
  });
});

describe('a pool of another shape than AKS documents', () => {
  it.each([
    ['numbers for zones', { availabilityZones: [2, 1] }, { zones: ['1', '2'], provisioningState: '' }],
    ['a word for a truth', { enableAutoScaling: 'True' }, { managedAutoscaler: true }],
    ['a text for a list', { nodeTaints: 'a=b:NoSchedule' }, { taints: [] }],
    ['a list for an object', { virtualMachineNodesStatus: {} }, { provisioningState: 'Unreadable' }],
    ['a number for a text', { scaleSetPriority: 7 }, { provisioningState: 'Unreadable' }],
  ])('%s: is read if possible, and otherwise kept unchanged', (_what, properties, expected) => {
    expect(pool(properties)).toMatchObject(expected);
  });
});

describe('GPUs that are cut', () => {
  const managed = (migStrategy?: string) => ({ gpuProfile: { nvidia: { managementMode: 'Managed', migStrategy } } });

  it.each([
    ['one name for all parts', 'Standard_ND96asr_v4', 8, 'MIG1g', 'Single', { name: 'nvidia.com/gpu', amount: 56 }],
    ['a name for each kind of part', 'Standard_ND96asr_v4', 8, 'MIG1g', 'Mixed', { name: 'nvidia.com/mig-1g.5gb', amount: 56 }],
    ['of twice the memory', 'Standard_NC24ads_A100_v4', 1, 'MIG2g', 'mixed', { name: 'nvidia.com/mig-2g.20gb', amount: 3 }],
    ['in other letter case', 'standard_nd96isr_h100_v5', 8, 'mig3G', 'MIXED', { name: 'nvidia.com/mig-3g.40gb', amount: 16 }],
    ['not cut after all', 'Standard_NC40ads_H100_v5', 1, 'MIG4g', 'None', { name: 'nvidia.com/gpu', amount: 1 }],
    ['of a GPU without documented partition names', 'Standard_ND128isr_GB300_v6', 4, 'MIG1g', 'Mixed', undefined],
    ['into unknown partitions', 'Standard_ND96asr_v4', 8, 'MIG9g', 'Single', undefined],
  ])('%s', (_what, vmSize, gpus, gpuInstanceProfile, strategy, expected) => {
    expect(gpuResourceOf(vmSize, gpus, pool({ gpuInstanceProfile, ...managed(strategy) }).gpuPartitioning)).toEqual(expected);
  });

  it('are not guessed where the owner of the cluster chooses their names, and said to be unknown', () => {
    const { capacity, unknowns } = made(pool({ gpuInstanceProfile: 'MIG1g', gpuProfile: { nvidia: { migStrategy: 'Single' } } }));
    expect(Object.keys(resourceNames.toRecord(capacity)).filter((name) => name.startsWith('nvidia'))).toEqual([]);
    expect(unknowns?.resources).toEqual(['nvidia.com/*']);
  });

  it('are what a tag of the pool says', () => {
    const tags = { 'k8s.io_cluster-autoscaler_node-template_resources_nvidia.com_mig-1g.5gb': '56' };
    const { capacity, origins, unknowns } = made(pool({ gpuInstanceProfile: 'MIG1g' }), { tags });
    expect(resourceNames.toRecord(capacity)).toMatchObject({ 'nvidia.com/mig-1g.5gb': 56 });
    expect([origins?.capacity['nvidia.com/mig-1g.5gb'], unknowns?.resources]).toEqual(['tag', []]);
  });

  it('are not guessed where AKS installs no driver, and the warning names the tag that states them', () => {
    const bare = (more: object = {}) => pool({ vmSize: 'Standard_NC24ads_A100_v4', gpuProfile: { driver: 'None' }, ...more });
    const { capacity, unknowns } = made(bare());
    expect([resourceNames.toRecord(capacity)['nvidia.com/gpu'], unknowns?.resources]).toEqual([undefined, ['nvidia.com/*']]);
    expect(bare().warnings).toEqual([expect.stringContaining('AKS installs no GPU driver on its nodes (gpuProfile.driver: None)')]);
    const tags = { 'k8s.io_cluster-autoscaler_node-template_resources_nvidia.com_gpu': '1' };
    expect(made(bare({ tags }), { tags }).unknowns?.resources).toEqual([]);
    expect(bare({ tags }).warnings).toBeUndefined();
    for (const gpuProfile of [{ driver: 'Install' }, { driver: 'None', nvidia: { managementMode: 'Managed' } }])
      expect([made(bare({ gpuProfile })).unknowns?.resources, bare({ gpuProfile }).warnings]).toEqual([[], undefined]);
    expect(pool({ vmSize: 'Standard_D4s_v5', gpuProfile: { driver: 'None' } }).warnings).toBeUndefined();
  });

  it('say where they are known from', () => {
    const whole = made(pool());
    const cut = made(pool({ gpuInstanceProfile: 'MIG7g', ...managed('Single') }));
    expect([whole.origins?.capacity['nvidia.com/gpu'], cut.origins?.capacity['nvidia.com/gpu']]).toEqual(['sku', 'agent-pool']);
  });
});

describe('labels that no document states', () => {
  const aks = (name: string): string => `kubernetes.azure.com/${name}`;
  it.each<[string, Partial<TemplateSource>, string, boolean]>([
    ['of a set: its security type is known', { modelLabels: {} }, aks('security-type'), false],
    ['of a size of a VMs pool: it is not', {}, aks('security-type'), true],
    ['its tier of storage is, where its disk says so', {}, aks('storagetier'), false],
    ['and is not, where it does not', { osDisk: { ephemeral: false, tier: undefined, sizeGb: undefined } }, 'storagetier', true],
    ['the build of an unnamed Windows', { os: 'windows' }, 'node.kubernetes.io/windows-build', true],
    ['which Linux has not', {}, 'node.kubernetes.io/windows-build', false],
  ])('%s', (_what, source, label, expected) => {
    expect(made(pool(), source).unknowns?.labels.includes(label)).toBe(expected);
  });
});

describe('kubelets that do what no sum foretells', () => {
  it.each([
    ['nothing stated', {}, 0],
    ['a policy that refuses nothing', { kubeletConfig: { topologyManagerPolicy: 'best-effort', cpuManagerPolicy: 'static' } }, 0],
    ['room that does not change', { kubeletConfig: { podMaxPids: 100, imageGcHighThreshold: 90, containerLogMaxSizeMB: 50 } }, 0],
    ['swap that is allowed', { linuxOSConfig: { swapFileSizeMB: 1500 }, kubeletConfig: { failSwapOn: false } }, 0],
    ['a policy that may refuse', { kubeletConfig: { topologyManagerPolicy: 'single-numa-node', cpuManagerPolicy: 'static' } }, 1],
    ['the other one', { kubeletConfig: { topologyManagerPolicy: 'Restricted' } }, 1],
    ['swap that is forbidden', { linuxOSConfig: { swapFileSizeMB: 1500 }, kubeletConfig: { failSwapOn: true } }, 1],
  ])('%s', (_what, properties, sentences) => {
    expect(pool(properties).warnings ?? []).toHaveLength(sentences);
  });
});

describe('taints that a pool states for the start of its nodes', () => {
  const G = nodeGroupId('g');
  const row = pool({
    nodeTaints: ['team=a:NoSchedule'],
    nodeInitializationTaints: ['example.com/agent=missing:NoSchedule', 'broken', 'example.com/agent:NoExecute', 'team=b:NoExecute'],
  });
  const taint = (key: string) => ({ key, value: '', effect: 'NoSchedule' }) as const;
  const inputs = (rest: Partial<Evidence> = {}): GroupTemplateInput => ({
    group: { id: G, key: 'g', kind: 'scale-set', min: 0, max: 9, explicit: true },
    row: undefined,
    size: undefined,
    pool: row,
    sku: SKU,
    placedZones: undefined,
    clusterLabels: {},
    namedOptions: [],
    evidence: {
      exemplar: undefined,
      fallback: undefined,
      learned: undefined,
      customDaemons: [],
      startupTaints: 'example.com/agent',
      ...rest,
    },
  });
  const evidence = () => new NodeEvidence(resourceNames, createMetrics().templates);
  const template = (rest: Partial<Evidence>) =>
    buildGroupTemplate({ options: options(new ScriptedArm()), names: resourceNames, evidence: evidence() }, inputs(rest), SOURCE);

  it('are reported by their keys, each once', () => {
    expect(row.initializationTaints).toEqual(['example.com/agent']);
    expect(row.taints.map(({ key }) => key)).toEqual(['team']);
  });

  it.each([
    ['a pool without nodes', {}],
    ['one whose node still carries it', { exemplar: aNode({ name: 'n', taints: [taint('team'), taint('example.com/agent')] }) }],
    ['one whose only node is new', { fallback: aNode({ name: 'n', taints: [taint('team'), taint('example.com/agent')] }) }],
  ])('keep no pod off a new node, and a node that carries them is starting: %s', (_what, rest) => {
    const found = template(rest);
    expect(found?.taints.map(({ key }) => key)).toEqual(['team']);
    expect(found?.startupTaints).toEqual(['example.com/agent']);
  });

  it('are not kept as lasting ones for the next process', () => {
    const node = aNode({ name: 'n', taints: [taint('team'), taint('example.com/agent')] });
    const sample = {
      node,
      pods: [],
      daemonSets: [],
      customDaemons: [],
      source: SOURCE,
      fingerprint: fingerprintOf(SOURCE, row),
      startupTaints: [],
    };
    const record = learnFrom(
      undefined,
      { ...sample, declaredStartupTaints: ['example.com/agent'], bootMs: undefined, nowMs: START_MS },
      resourceNames,
    );
    expect([record.taints.map(({ key }) => key), record.startupTaints]).toEqual([['team'], ['example.com/agent']]);
  });

  it.each([
    [5, ['example.com/agent']],
    [20, []],
  ])('last if a node of %d minutes still carries one', (minutes, expected) => {
    const watch = new StartupTaints();
    const node = aNode({ name: 'n', createdAtMs: START_MS, taints: [taint('example.com/agent')] });
    watch.observe([node], START_MS + minutes * 60_000);
    expect(watch.confirm(row.initializationTaints)).toEqual(expected);
  });
});

describe('the list of pools', () => {
  const cluster = { clusterName: 'aks', clusterResourceGroup: 'rg' };
  const listed = (name: string, more: object = {}) => ({ name, properties: { type: 'VirtualMachineScaleSets', ...more } });

  async function started(answer: (page: number, link: string) => ArmReply): Promise<Rig> {
    const r = await rig(cluster);
    r.arm.addSet(USER_POOL, 0, { tags: { 'aks-managed-poolName': 'user1' } });
    const link = `${r.arm.url}/subscriptions/s/providers/next?page=1`;
    r.arm.intercept = ({ path }) =>
      path.endsWith('/agentpools') ? answer(0, link) : path.endsWith('/providers/next') ? answer(1, link) : undefined;
    await r.azure.start(r.signal);
    return r;
  }

  it('is read to its last page, with what the typed model does not know', async () => {
    const policy = { kubeletConfig: { topologyManagerPolicy: 'restricted' } };
    const taints = { nodeInitializationTaints: ['example.com/agent=x:NoSchedule'], nodeTaints: ['team=a:NoSchedule'], ...policy };
    const r = await started((page, nextLink) =>
      page === 0
        ? { status: 200, body: { value: [listed('other')], nextLink } }
        : { status: 200, body: { value: [listed('user1', { ...taints, enableAutoScaling: true })] } },
    );
    const { frozen, template } = r.group(USER_POOL);
    expect(frozen).toContain('autoscaler');
    expect(template).toMatchObject({
      taints: [{ key: 'team', value: 'a', effect: 'NoSchedule' }],
      startupTaints: ['example.com/agent'],
      cautions: [expect.stringContaining('TopologyAffinityError')],
    });
    const [report] = r.azure.templateReports();
    expect(report).toMatchObject({ cautions: template?.cautions, unknowns: template?.unknowns });
  });

  it.each([
    [
      'half of it',
      (page: number, nextLink: string): ArmReply => (page === 0 ? { status: 200, body: { value: [], nextLink } } : refusal(500, 'x', 'm')),
    ],
    ['no list', (): ArmReply => ({ status: 200, body: { properties: {} } })],
  ])('is not known by %s', async (_what, answer) => {
    const r = await started(answer);
    expect(r.azure.agentStatus().find(({ id }) => id === 'agentPools')).toMatchObject({ lastSuccessMs: undefined, lastOutcome: 'failed' });
  });
});
