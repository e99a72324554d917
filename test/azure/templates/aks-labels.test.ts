/** Every label that AKS gives a node, of a pool that has none: from its documents, and from nodes of other pools. */
import type { VirtualMachineScaleSet } from '@azure/arm-compute';
import type { AgentPool } from '@azure/arm-containerservice';
import { describe, expect, it } from 'vitest';
import type { ListedAgentPool } from '../../../src/azure/rows/agent-pool-list.ts';
import { ClusterLabels } from '../../../src/azure/templates/aks-labels.ts';
import { projectAgentPool } from '../../../src/azure/rows/agent-pool.ts';
import { projectScaleSet } from '../../../src/azure/rows/scale-set.ts';
import { buildCatalog, findSku, type Sku } from '../../../src/azure/sizes/sku-catalog.ts';
import { templateFromSize } from '../../../src/azure/templates/from-size.ts';
import { ResourceNames } from '../../../src/domain/resources.ts';
import type { Node } from '../../../src/domain/node.ts';
import { aNode, resourceNames } from '../../support/builders.ts';

const MIB = 2 ** 20;
const SKU: Sku = {
  name: 'Standard_D4s_v5',
  vcpus: 4,
  quotaVcpus: 4,
  memoryBytes: 16 * 1024 * MIB,
  gpus: 0,
  arch: 'amd64',
  zones: [],
  quotaFamily: 'f',
};
const ARM = '/subscriptions/s/resourceGroups/rg/providers/Microsoft.Compute';
const LONG_GROUP = `MC_${'a'.repeat(70)}_eastus2`;

const SET: VirtualMachineScaleSet = {
  name: 'aks-user1-12345678-vmss',
  location: 'EastUS2',
  sku: { name: 'Standard_D4s_v5', tier: 'Standard', capacity: 0 },
  zones: ['2'],
  tags: {
    'aks-managed-poolName': 'user1',
    'aks-managed-kubeletIdentityClientID': '11111111-2222-3333-4444-555555555555',
    'aks-managed-consolidated-additional-properties': 'abc-123',
    'aks-managed-azure-cni-overlay': 'true',
    'aks-managed-orchestrator': 'Kubernetes:1.33.2',
  },
  virtualMachineProfile: {
    storageProfile: { osDisk: { createOption: 'FromImage', managedDisk: { storageAccountType: 'Premium_LRS' } } },
  },
};

const POOL: AgentPool = {
  name: 'user1',
  mode: 'User',
  typePropertiesType: 'VirtualMachineScaleSets',
  osSKU: 'Ubuntu',
  nodeImageVersion: 'AKSUbuntu-2204gen2containerd-202601.01.0',
  nodeLabels: { team: 'a' },
};

interface Given {
  readonly set?: Partial<VirtualMachineScaleSet>;
  readonly pool?: Partial<ListedAgentPool> | undefined;
  readonly sku?: Partial<Sku>;
  readonly group?: string;
}

function made({ set = {}, pool = {}, sku = {}, group = 'MC_rg_aks_eastus2' }: Given = {}) {
  const source = projectScaleSet({ ...SET, ...set });
  if (source === undefined) throw new Error('the set has a name');
  const row = projectAgentPool({ ...POOL, ...pool });
  return templateFromSize(source, { sku: { ...SKU, ...sku }, pool: row, nodeResourceGroup: group, names: resourceNames });
}

const aks = (name: string): string => `kubernetes.azure.com/${name}`;

describe('labels of a pool without nodes', () => {
  it('are all labels of AKS, except those that only a node shows', () => {
    expect(made().labels).toEqual({
      agentpool: 'user1',
      [aks('agentpool')]: 'user1',
      [aks('cluster')]: 'MC_rg_aks_eastus2',
      [aks('mode')]: 'user',
      [aks('role')]: 'agent',
      'kubernetes.io/role': 'agent',
      [aks('node-image-version')]: 'AKSUbuntu-2204gen2containerd-202601.01.0',
      [aks('nodepool-type')]: 'VirtualMachineScaleSets',
      [aks('os-sku')]: 'Ubuntu',
      [aks('os-sku-effective')]: 'Ubuntu2204',
      [aks('os-sku-requested')]: 'Ubuntu',
      [aks('sku-cpu')]: '4',
      [aks('sku-memory')]: '16384',
      [aks('storageprofile')]: 'managed',
      [aks('storagetier')]: 'Premium_LRS',
      storageprofile: 'managed',
      storagetier: 'Premium_LRS',
      [aks('kubelet-identity-client-id')]: '11111111-2222-3333-4444-555555555555',
      [aks('consolidated-additional-properties')]: 'abc-123',
      [aks('azure-cni-overlay')]: 'true',
      'kubernetes.io/arch': 'amd64',
      'kubernetes.io/os': 'linux',
      'beta.kubernetes.io/arch': 'amd64',
      'beta.kubernetes.io/os': 'linux',
      'beta.kubernetes.io/instance-type': 'Standard_D4s_v5',
      'node.kubernetes.io/instance-type': 'Standard_D4s_v5',
      'topology.kubernetes.io/region': 'eastus2',
      'failure-domain.beta.kubernetes.io/region': 'eastus2',
      'topology.kubernetes.io/zone': 'eastus2-2',
      'failure-domain.beta.kubernetes.io/zone': 'eastus2-2',
      'topology.disk.csi.azure.com/zone': 'eastus2-2',
      team: 'a',
    });
  });

  const gpu = { gpus: 1 };
  const security = { virtualMachineProfile: { ...SET.virtualMachineProfile, securityProfile: { securityType: 'TrustedLaunch' } } };
  const encrypted = {
    virtualMachineProfile: {
      storageProfile: {
        osDisk: { createOption: 'FromImage', managedDisk: { diskEncryptionSet: { id: `${ARM}/diskEncryptionSets/keys` } } },
      },
    },
  };
  const ephemeral = {
    virtualMachineProfile: { storageProfile: { osDisk: { createOption: 'FromImage', diffDiskSettings: { option: 'Local' } } } },
  };
  const noZones = { zones: [] };

  it.each<[string, Given, Readonly<Record<string, string | undefined>>]>([
    ['its DNS', { pool: { localDNSProfile: { mode: 'Preferred', state: 'Disabled' } } }, { [aks('localdns-state')]: 'disabled' }],
    ['own certificate authorities', { pool: { enableCustomCATrust: true } }, { [aks('custom-ca-trust-enabled')]: 'true' }],
    ['the build of Windows', { pool: { osType: 'Windows', osSKU: 'Windows2022' } }, { 'node.kubernetes.io/windows-build': '10.0.20348' }],
    ['but not of one that has no name yet', { pool: { osSKU: 'Windows2031' } }, { 'node.kubernetes.io/windows-build': undefined }],
    ['the name of a long node resource group is cut to 63', { group: LONG_GROUP }, { [aks('cluster')]: LONG_GROUP.slice(0, 63) }],
    ['and never ends in what no label may end in', { group: `${'a'.repeat(62)}_b` }, { [aks('cluster')]: `${'a'.repeat(62)}z` }],
    ['nor has parentheses', { group: 'MC_(rg)_x)' }, { [aks('cluster')]: 'MC_-rg-_x-z' }],
    ['memory is in MiB, without a fraction', { sku: { memoryBytes: 3.5 * 1024 * MIB } }, { [aks('sku-memory')]: '3584' }],
    ['cores of a constrained size are those that are left', { sku: { vcpus: 2, quotaVcpus: 8 } }, { [aks('sku-cpu')]: '2' }],
    [
      'Spot',
      { set: { virtualMachineProfile: { ...SET.virtualMachineProfile, priority: 'Spot' } } },
      { [aks('scalesetpriority')]: 'spot', [aks('priority')]: 'spot' },
    ],
    [
      'a GPU of NVIDIA',
      { set: { sku: { name: 'Standard_NC6s_v3', capacity: 0 } }, sku: gpu },
      { accelerator: 'nvidia', [aks('accelerator')]: 'nvidia' },
    ],
    [
      'a GPU of AMD',
      { set: { sku: { name: 'Standard_NV8as_v4', capacity: 0 } }, sku: gpu },
      { accelerator: undefined, [aks('accelerator')]: undefined },
    ],
    ['FIPS', { pool: { enableFips: true } }, { [aks('fips_enabled')]: 'true' }],
    ['no FIPS', { pool: { enableFips: false } }, { [aks('fips_enabled')]: undefined }],
    [
      'pod sandboxes',
      { pool: { workloadRuntime: 'KataVmIsolation' } },
      { [aks('kata-vm-isolation')]: 'true', [aks('kata-mshv-vm-isolation')]: undefined },
    ],
    ['pod sandboxes of old', { pool: { workloadRuntime: 'KataMshvVmIsolation' } }, { [aks('kata-mshv-vm-isolation')]: 'true' }],
    ['a system pool', { pool: { mode: 'System' } }, { [aks('mode')]: 'system' }],
    [
      'Azure Linux with its version',
      { pool: { osSKU: 'AzureLinux3' } },
      { [aks('os-sku')]: 'AzureLinux3', [aks('os-sku-effective')]: 'AzureLinux3' },
    ],
    [
      'Azure Linux, whose version nobody tells',
      { pool: { osSKU: 'AzureLinux', nodeImageVersion: 'AKSAzureLinux-V3gen2-202601.01.0' } },
      { [aks('os-sku-requested')]: 'AzureLinux', [aks('os-sku-effective')]: undefined },
    ],
    ['trusted launch', { set: security }, { [aks('security-type')]: 'TrustedLaunch' }],
    ['disks with keys of one’s own', { set: encrypted }, { [aks('encrypted-set')]: 'keys', [aks('storagetier')]: undefined }],
    ['a placement group', { set: { proximityPlacementGroup: { id: `${ARM}/proximityPlacementGroups/near` } } }, { [aks('ppg')]: 'near' }],
    [
      'an ephemeral disk',
      { set: ephemeral },
      { storageprofile: 'ephemeral', [aks('storageprofile')]: 'ephemeral', storagetier: undefined },
    ],
    [
      'no zones',
      { set: noZones },
      { 'topology.kubernetes.io/zone': '0', 'failure-domain.beta.kubernetes.io/zone': '0', 'topology.disk.csi.azure.com/zone': '' },
    ],
    [
      'several zones',
      { set: { zones: ['1', '2'] } },
      { 'topology.kubernetes.io/zone': undefined, 'topology.disk.csi.azure.com/zone': undefined },
    ],
    ['an Arm size', { sku: { arch: 'arm64' } }, { 'kubernetes.io/arch': 'arm64', 'beta.kubernetes.io/arch': 'arm64' }],
    ['the pool’s own label before ours', { pool: { nodeLabels: { [aks('mode')]: 'other' } } }, { [aks('mode')]: 'other' }],
    [
      'a tag before everything',
      { set: { tags: { ...SET.tags, 'k8s.io_cluster-autoscaler_node-template_label_kubernetes.azure.com_mode': 'tagged' } } },
      { [aks('mode')]: 'tagged' },
    ],
  ])('%s', (_what, given, labels) => {
    const found = made(given).labels;
    for (const [key, value] of Object.entries(labels)) expect([key, found[key]]).toEqual([key, value]);
  });

  it('no label has a value that none may have', () => {
    const { labels } = made({ group: LONG_GROUP });
    for (const [key, value] of Object.entries(labels)) expect(value, key).toMatch(/^(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/);
  });
});

describe('what pods write', () => {
  const GIB = 1024 * MIB;
  const sizes = (capabilities: Readonly<Record<string, string>>): Sku | undefined =>
    findSku(
      buildCatalog(
        [
          {
            resourceType: 'virtualMachines',
            name: 'S',
            capabilities: Object.entries({ vCPUs: '4', MemoryGB: '16', ...capabilities }).map(([name, value]) => ({ name, value })),
          },
        ],
        'eastus2',
        1,
      ),
      's',
    );

  it.each<[string, Partial<AgentPool>, Readonly<Record<string, string>>, number]>([
    ['goes to the OS disk', { osDiskSizeGB: 64 }, { MaxResourceVolumeMB: '153600' }, 64],
    [
      'goes to the temporary disk when the pool says so',
      { osDiskSizeGB: 64, kubeletDiskType: 'Temporary' },
      { MaxResourceVolumeMB: '153600' },
      150,
    ],
    ['goes to the OS disk of a size without a temporary one', { osDiskSizeGB: 64, kubeletDiskType: 'Temporary' }, {}, 64],
    ['goes to a disk of AKS’s usual size when the pool says zero', { osDiskSizeGB: 0 }, {}, 128],
  ])('%s', (_what, pool, capabilities, gib) => {
    expect(made({ pool, sku: sizes(capabilities) ?? {} }).capacity[new ResourceNames().indexOf('ephemeral-storage')]).toBe(gib * GIB);
  });

  it('a part of a GPU is one', () => {
    const sku = sizes({ GPUs: '0.167' }) ?? {};
    const { capacity } = made({ set: { sku: { name: 'Standard_NV6ads_A10_v5', capacity: 0 } }, sku });
    expect(resourceNames.toRecord(capacity)).toMatchObject({ 'nvidia.com/gpu': 1 });
  });
});

describe('facts from nodes of other pools', () => {
  const node = (name: string, labels: Readonly<Record<string, string>>, os = 'linux'): Node =>
    aNode({ name, labels: { 'kubernetes.io/os': os, [aks('cluster')]: 'MC_rg_aks_eastus2', ...labels } });
  const cilium = {
    [aks('ebpf-dataplane')]: 'cilium',
    [aks('podnetwork-type')]: 'overlay',
    [aks('mode')]: 'system',
    [aks('localdns-state')]: 'x',
  };
  const see = (labels: ClusterLabels, nodes: readonly Node[]): void =>
    labels.observe(new Map(nodes.map((each) => [each.name, each])), 'MC_rg_aks_eastus2');

  it('is what is one for all of the cluster, and nothing of their own', () => {
    const labels = new ClusterLabels();
    see(labels, [node('b', cilium), node('a', cilium)]);
    expect(labels.labelsFor('linux')).toEqual({ [aks('ebpf-dataplane')]: 'cilium', [aks('podnetwork-type')]: 'overlay' });
  });

  it('comes from a node of the same operating system, the first by name', () => {
    const labels = new ClusterLabels();
    see(labels, [node('b', cilium), node('a', { [aks('network-policy')]: 'none' }, 'windows')]);
    expect(Object.keys(labels.labelsFor('linux'))).toContain(aks('ebpf-dataplane'));
    expect(labels.labelsFor('windows')).toEqual({ [aks('network-policy')]: 'none' });
    see(labels, [node('b', cilium), node('a', {})]);
    expect(labels.labelsFor()).toEqual({});
  });

  it('is nothing without nodes, or of nodes that AKS does not know', () => {
    const labels = new ClusterLabels();
    see(labels, []);
    expect(labels.labelsFor('linux')).toEqual({});
    see(labels, [aNode({ name: 'a', labels: cilium })]);
    expect(labels.labelsFor('linux')).toEqual({});
  });

  it('is the same object while it is the same', () => {
    const labels = new ClusterLabels();
    see(labels, [node('a', cilium)]);
    const before = labels.labelsFor('linux');
    see(labels, [node('a', { ...cilium, more: 'x' })]);
    expect(labels.labelsFor('linux')).toBe(before);
  });

  const inSubnet = (...names: readonly (readonly [string, boolean])[]) => ({
    virtualMachineProfile: {
      ...SET.virtualMachineProfile,
      networkProfile: {
        networkInterfaceConfigurations: names.map(([name, primary]) => ({
          name,
          primary,
          ipConfigurations: [{ name, subnet: { id: `${ARM}/virtualNetworks/v/subnets/${name}` } }],
        })),
      },
    },
  });

  it.each<[string, Partial<VirtualMachineScaleSet>, string | undefined]>([
    ['is its own subnet if other nodes show theirs', inSubnet(['Pods', false], ['Nodes-b', true]), 'Nodes-b'],
    ['is unknown where its own is', {}, undefined],
  ])('%s', (_what, set, expected) => {
    const labels = new ClusterLabels();
    see(labels, [node('a', { ...cilium, [aks('network-subnet')]: 'nodes-a' })]);
    const source = projectScaleSet({ ...SET, ...set });
    if (source === undefined) throw new Error('the set has a name');
    const clusterLabels = labels.labelsFor('linux');
    const made = templateFromSize(source, { sku: SKU, pool: undefined, nodeResourceGroup: 'g', names: resourceNames, clusterLabels });
    expect(made.labels[aks('network-subnet')]).toBe(expected);
    expect(made.unknowns?.labels.includes(aks('network-subnet'))).toBe(expected === undefined);
    expect(made.unknowns?.labels).not.toContain(aks('ebpf-dataplane'));
  });

  it('goes behind what the pool’s own documents say', () => {
    const source = projectScaleSet(SET);
    const clusterLabels = { [aks('kubelet-identity-client-id')]: 'other', [aks('ebpf-dataplane')]: 'cilium' };
    if (source === undefined) throw new Error('the set has a name');
    const { labels, origins } = templateFromSize(source, {
      sku: SKU,
      pool: undefined,
      nodeResourceGroup: 'g',
      names: resourceNames,
      clusterLabels,
    });
    expect(labels[aks('kubelet-identity-client-id')]).toBe('11111111-2222-3333-4444-555555555555');
    expect([labels[aks('ebpf-dataplane')], origins?.labels[aks('ebpf-dataplane')]]).toEqual(['cilium', 'live']);
  });
});
