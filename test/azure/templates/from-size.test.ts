import { NO_TAINT_RULES, type TaintRules } from '../../../src/domain/taints.ts';
import type { ResourceSku } from '@azure/arm-compute';
import { describe, expect, it } from 'vitest';
import { nodesOfGroups } from '../../../src/azure/templates/nodes-of-groups.ts';
import {
  exemplaryFromMs,
  templateFromFallback,
  templateFromNode,
  withLastingTaints,
  withTaintsOfYoungNode,
} from '../../../src/azure/templates/from-node.ts';
import { quotaDrawsOf } from '../../../src/azure/sizes/core-quotas.ts';
import {
  buildCatalog,
  findSku,
  renewCatalog,
  retirementWarnings,
  unavailableReason,
  type Sku,
} from '../../../src/azure/sizes/sku-catalog.ts';
import { templateFromSize } from '../../../src/azure/templates/from-size.ts';
import type { TemplateSource } from '../../../src/azure/rows/template-source.ts';
import { NOTHING_SHOWN } from '../../../src/domain/node-template.ts';
import { CPU, MEMORY, PODS, ResourceNames } from '../../../src/domain/resources.ts';
import { TO_BE_DELETED_TAINT } from '../../../src/domain/taints.ts';
import { nodeGroupId } from '../../../src/domain/ids.ts';
import type { Node } from '../../../src/domain/node.ts';
import { aCluster, aNode, resourceNames, START_MS } from '../../support/builders.ts';

const EPHEMERAL_STORAGE = new ResourceNames().indexOf('ephemeral-storage');
const GIB = 2 ** 30;
const MIB = 2 ** 20;
const SKU: Sku = {
  name: 'Standard_D4s_v5',
  vcpus: 4,
  quotaVcpus: 4,
  memoryBytes: 16 * GIB,
  gpus: 0,
  arch: 'amd64',
  zones: [],
  quotaFamily: 'f',
};
const SOURCE: TemplateSource = {
  vmSize: 'Standard_D4s_v5',
  location: 'westus',
  zones: [],
  tags: {},
  priority: 'Regular',
  os: 'linux',
  osDisk: { ephemeral: false, tier: 'Premium_LRS', sizeGb: 128 },
};

function template(source: Partial<TemplateSource> = {}, sku: Partial<Sku> = {}) {
  return templateFromSize(
    { ...SOURCE, ...source },
    { sku: { ...SKU, ...sku }, pool: undefined, nodeResourceGroup: 'MC_rg', names: resourceNames },
  );
}

describe('templates from the cloud', () => {
  it('a set without zones has zone 0 and no disk zone', () => {
    expect(template().labels).toMatchObject({ 'topology.kubernetes.io/zone': '0', 'topology.disk.csi.azure.com/zone': '' });
    expect(template().zones).toEqual([]);
  });

  it('several zones are said as zones, one zone as a label', () => {
    expect(template({ zones: ['1', '2'] }).zones).toEqual(['westus-1', 'westus-2']);
    expect(template({ zones: ['1', '2'] }).labels['topology.kubernetes.io/zone']).toBeUndefined();
    expect(template({ zones: ['3'] }).labels['topology.kubernetes.io/zone']).toBe('westus-3');
  });

  it('takes what AKS keeps off the capacity', () => {
    const { capacity, allocatable } = template();
    expect([capacity[CPU], allocatable[CPU], capacity[PODS]]).toEqual([4000, 3860, 110]);
    expect((capacity[MEMORY] ?? 0) - (allocatable[MEMORY] ?? 0)).toBe(2350 * MIB);
    expect(capacity[MEMORY]).toBeLessThan(16 * GIB);
  });

  it('ephemeral storage from the disk, a tenth kept', () => {
    const { capacity, allocatable } = template();
    expect(capacity[EPHEMERAL_STORAGE]).toBe(128 * GIB);
    expect(allocatable[EPHEMERAL_STORAGE]).toBe(Math.floor(128 * GIB * 0.9));
  });

  it('what a tag states is what pods get', () => {
    const { allocatable } = template({ tags: { 'k8s.io_cluster-autoscaler_node-template_resources_memory': '10Gi' } });
    expect(allocatable[MEMORY]).toBe(10 * GIB);
  });

  it('arm64', () => {
    expect(template({}, { arch: 'arm64' }).labels).toMatchObject({ 'kubernetes.io/arch': 'arm64', 'beta.kubernetes.io/arch': 'arm64' });
  });

  it('pool and storage labels in both spellings', () => {
    expect(template({ tags: { poolName: 'user1' } }).labels).toMatchObject({
      agentpool: 'user1',
      'kubernetes.azure.com/agentpool': 'user1',
      storageprofile: 'managed',
      'kubernetes.azure.com/storageprofile': 'managed',
      storagetier: 'Premium_LRS',
    });
    expect(template({ osDisk: { ...SOURCE.osDisk, ephemeral: true } }).labels['storageprofile']).toBe('ephemeral');
  });

  it('Spot has its label and its taint', () => {
    const { labels, taints } = template({ priority: 'Spot' });
    expect(labels['kubernetes.azure.com/scalesetpriority']).toBe('spot');
    expect(taints).toEqual([{ key: 'kubernetes.azure.com/scalesetpriority', value: 'spot', effect: 'NoSchedule' }]);
  });

  it.each([
    ['Standard_NC24ads_A100_v4', { 'nvidia.com/gpu': 2 }, 'nvidia'],
    ['Standard_ND96isr_MI300X_v5', { 'amd.com/gpu': 2 }, undefined],
    ['Standard_NP10s', { 'xilinx.com/fpga-xilinx_u250_gen3x16_xdma_shell_2_1-0': 2 }, undefined],
  ])('devices of %s', (vmSize, devices, accelerator) => {
    const { capacity, labels } = template({ vmSize }, { gpus: 2 });
    expect(resourceNames.toRecord(capacity)).toMatchObject(devices);
    expect(labels['accelerator']).toBe(accelerator);
  });

  it.each([
    { gpus: 0, devices: [] },
    { gpus: 1, devices: ['nvidia.com/gpu'] },
  ])('with $gpus GPUs has no resource of amount zero, and states the source of each', ({ gpus, devices }) => {
    const { capacity, origins } = template({}, { gpus });
    const names = ['cpu', 'memory', 'ephemeral-storage', 'pods', ...devices];
    expect(Object.keys(resourceNames.toRecord(capacity)).toSorted()).toEqual(names.toSorted());
    expect(Object.keys(origins?.capacity ?? {}).toSorted()).toEqual(names.toSorted());
    expect(Object.keys(origins?.allocatable ?? {}).toSorted()).toEqual(names.toSorted());
  });

  it('an agent pool adds its labels, taints, pods and mode', () => {
    const pool = {
      name: 'user1',
      type: 'VirtualMachineScaleSets',
      mode: 'User',
      count: 3,
      provisioningState: 'Succeeded',
      maxPods: 30,
      osDiskSizeGb: 64,
      osSku: 'Ubuntu',
      modelLabels: { 'kubernetes.azure.com/mode': 'user', 'kubernetes.azure.com/os-sku': 'Ubuntu' },
      nodeImageVersion: 'i',
      kubernetesVersion: '1.33.2',
      labels: { team: 'a' },
      taints: [{ key: 'team', value: 'a', effect: 'NoSchedule' as const }],
      tags: {},
      priority: 'Regular' as const,
      zones: [],
      stopped: false,
      managedAutoscaler: false,
      sizes: [],
    };
    const made = templateFromSize(SOURCE, { sku: SKU, pool, nodeResourceGroup: 'MC_rg', names: resourceNames });
    expect(made.labels).toMatchObject({ team: 'a', 'kubernetes.azure.com/mode': 'user', 'kubernetes.azure.com/os-sku': 'Ubuntu' });
    expect(made.taints).toEqual(pool.taints);
    expect(made.capacity[PODS]).toBe(30);
  });
});

describe('templates from a live node', () => {
  it('drop what is particular to the node and what passes', () => {
    const node = aNode({
      name: 'n0',
      labels: { team: 'a', 'topology.kubernetes.io/zone': 'westus-2' },
      taints: [
        { key: 'team', value: 'a', effect: 'NoSchedule' },
        { key: TO_BE_DELETED_TAINT, value: '1', effect: 'NoSchedule' },
        { key: 'node.kubernetes.io/disk-pressure', value: '', effect: 'NoSchedule' },
        { key: 'startup-taint.cluster-autoscaler.kubernetes.io/x', value: '', effect: 'NoSchedule' },
        { key: 'NodeWithImpairedVolumes', value: 'true', effect: 'NoSchedule' },
        { key: 'cloud.google.com/impending-node-termination', value: '', effect: 'NoSchedule' },
      ],
    });
    expect(withLastingTaints(templateFromNode(node, { ...SOURCE, zones: ['1', '2'] }), NO_TAINT_RULES)).toEqual({
      ...NOTHING_SHOWN,
      labels: { team: 'a' },
      taints: [{ key: 'team', value: 'a', effect: 'NoSchedule' }],
      capacity: node.capacity,
      allocatable: node.allocatable,
      zones: ['westus-1', 'westus-2'],
      source: 'live-node',
    });
  });

  const gpu = resourceNames.indexOf('nvidia.com/gpu');
  it.each([
    ['a ready one', aNode(), [], true],
    ['one that is not ready', aNode({ readiness: { ready: false, sinceMs: 0, reason: 'x' } }), [], false],
    ['a cordoned one', aNode({ unschedulable: true }), [], false],
    ['one that goes', aNode({ taints: [{ key: TO_BE_DELETED_TAINT, value: '', effect: 'NoSchedule' }] }), [], false],
    ['one whose devices are not up yet', aNode(), [gpu], false],
    ['one whose devices are up', aNode({ resources: { 'nvidia.com/gpu': '1' } }), [gpu], true],
  ])('%s can be the exemplary node of the group: %s', (_name, node, devices, expected) => {
    expect(exemplaryFromMs(node, devices) !== undefined).toBe(expected);
  });
});

describe('the exemplary node of a group', () => {
  const A = nodeGroupId('a');
  const readySince = (ageMs: number) => ({ ready: true, sinceMs: START_MS - ageMs, reason: '' });
  const find = (nodes: readonly Node[], nowMs = START_MS) => {
    const ownership = { groupOfNode: new Map(nodes.map(({ name }) => [name, A])), instanceOfNode: new Map() };
    const found = nodesOfGroups(undefined, { cluster: aCluster({ nodes }), ownership, devicesOf: () => [], catalog: undefined, nowMs });
    return { exemplar: undefined, fallback: undefined, ...found.groups.get(A), validUntilMs: found.validUntilMs };
  };

  it('a node that is ready for 30 s does not, and is asked again when it has settled', () => {
    const young = aNode({ name: 'n0', readiness: readySince(30_000) });
    const { exemplar, validUntilMs } = find([young]);
    expect(exemplar).toBeUndefined();
    expect(validUntilMs).toBe(START_MS + 30_000);
    expect(find([young], validUntilMs).exemplar).toBe(young);
  });

  it('a settled node is chosen although another comes first by name', () => {
    const old = aNode({ name: 'n9' });
    expect(find([aNode({ name: 'n0', readiness: readySince(30_000) }), old]).exemplar).toBe(old);
  });

  it.each([
    { name: 'cordoned', node: aNode({ name: 'n0', unschedulable: true }) },
    { name: 'not ready', node: aNode({ name: 'n0', readiness: { ready: false, sinceMs: START_MS, reason: 'x' } }) },
  ])('a node that is $name is kept for want of a better', ({ node }) => {
    expect(find([node]).fallback).toBe(node);
    expect(find([node, aNode({ name: 'n1' })]).fallback).toBeUndefined();
  });

  it('a node that is leaving is not even that', () => {
    const going = aNode({ taints: [{ key: TO_BE_DELETED_TAINT, value: '1', effect: 'NoSchedule' }] });
    expect(find([going])).toMatchObject({ exemplar: undefined, fallback: undefined });
  });

  it.each([
    [false, true],
    [true, false],
  ])('what a cordoned node says is cordoned, too, unless that is taken off (%s)', (uncordon, unschedulable) => {
    expect(templateFromFallback(aNode({ unschedulable: true }), SOURCE, { uncordon }).unschedulable).toBe(unschedulable);
  });
});

describe('an estimate beside a node that is too young to be exemplary', () => {
  const taint = { key: 'team', value: 'a', effect: 'NoSchedule' } as const;
  const stated = { key: 'dedicated', value: 'x', effect: 'NoSchedule' } as const;
  const estimate = { ...template(), taints: [stated] };
  const keys = (young: Partial<Node>) => withTaintsOfYoungNode(estimate, aNode({ taints: [taint], ...young })).taints.map(({ key }) => key);

  it.each<[string, Partial<Node>, readonly string[]]>([
    ['ready: its taints count', {}, ['dedicated', 'team']],
    ['not ready: it may lose them', { readiness: { ready: false, sinceMs: START_MS, reason: 'x' } }, ['dedicated']],
    ['cordoned for maintenance', { unschedulable: true }, ['dedicated']],
    ['with what is known already', { taints: [stated] }, ['dedicated']],
  ])('%s', (_name, young, expected) => {
    expect(keys(young)).toEqual(expected);
  });

  it('is unchanged without a young node', () => {
    expect(withTaintsOfYoungNode(estimate, undefined)).toBe(estimate);
  });
});

describe('taints that pass', () => {
  const keep = (key: string, rules: Partial<TaintRules> = {}) =>
    withLastingTaints({ ...template(), taints: [{ key, value: '', effect: 'NoSchedule' as const }] }, { ...NO_TAINT_RULES, ...rules })
      .taints.length === 1;
  it.each([
    ['team', {}, true],
    ['startup-taint.cluster-autoscaler.kubernetes.io/x', {}, false],
    ['readiness.k8s.io/acme.com/gpu-driver', {}, false],
    ['ignore-taint.cluster-autoscaler.kubernetes.io/x', {}, false],
    ['status-taint.cluster-autoscaler.kubernetes.io/x', {}, false],
    ['node.cilium.io/agent-not-ready', {}, false],
    ['node.kubernetes.io/unreachable', {}, false],
    ['node.cloudprovider.kubernetes.io/uninitialized', {}, false],
    ['disk.csi.azure.com/agent-not-ready', {}, false],
    ['acme.io/warming-up', {}, true],
    ['acme.io/warming-up', { startup: ['acme.io/warming-up'] }, false],
    ['acme.io/warming-up', { startupPrefixes: ['acme.io/warm'] }, false],
    ['acme.io/repair', { status: ['acme.io/repair'] }, false],
  ])('%s with %j is kept: %s', (key, rules, kept) => {
    expect(keep(key, rules)).toBe(kept);
  });
});

describe('sizes of the region', () => {
  const raw = (name: string, capabilities: Readonly<Record<string, string>>, rest: Partial<ResourceSku> = {}): ResourceSku => ({
    resourceType: 'virtualMachines',
    name,
    capabilities: Object.entries(capabilities).map(([key, value]) => ({ name: key, value })),
    ...rest,
  });

  it('a size with an unknown feature letter can be used', () => {
    const sku = findSku(buildCatalog([raw('Standard_D2zs_v9', { vCPUs: '2', MemoryGB: '8' })], 'eastus', 1), 'standard_d2zs_V9');
    expect(sku).toMatchObject({ vcpus: 2, unknownFeatures: ['z'] });
    expect(template({ vmSize: 'Standard_D2zs_v9' }, sku).capacity[CPU]).toBe(2_000);
  });

  it('of a constrained size the node has what is left, and the quota counts all', () => {
    const capabilities = { vCPUs: '8', vCPUsAvailable: '2', MemoryGB: '218.75' };
    const sku = findSku(buildCatalog([raw('Standard_M8-2ms', capabilities)], 'eastus', 1), 'Standard_M8-2ms');
    expect(sku === undefined ? [] : quotaDrawsOf(sku, 'Regular').map(({ cores }) => cores)).toEqual([8]);
    expect(template({ vmSize: 'Standard_M8-2ms' }, sku).capacity[CPU]).toBe(2_000);
  });

  const yes = { vCPUs: '4', MemoryGB: '16', EphemeralOSDiskSupported: 'True' };
  it.each<[string, Readonly<Record<string, string>>, number | undefined]>([
    ['Standard_D4s_v3: its cache, in bytes', { ...yes, CachedDiskBytes: '107374182400', MaxResourceVolumeMB: '32768' }, 100],
    ['no cache: its temporary disk, in MiB', { ...yes, MaxResourceVolumeMB: '32768' }, 32],
    [
      'Standard_NC24ads_A100_v4: both places, and no NVMe',
      {
        ...yes,
        CachedDiskBytes: '274877906944',
        NvmeDiskSizeInMiB: '915527',
        SupportedEphemeralOSDiskPlacements: 'ResourceDisk,CacheDisk',
      },
      256,
    ],
    [
      'Standard_D128ds_v6: NVMe only',
      { ...yes, MaxResourceVolumeMB: '0', NvmeDiskSizeInMiB: '7208960', SupportedEphemeralOSDiskPlacements: 'NvmeDisk' },
      7_040,
    ],
    [
      'all three places: NVMe first',
      {
        ...yes,
        CachedDiskBytes: '107374182400',
        MaxResourceVolumeMB: '32768',
        NvmeDiskSizeInMiB: '65536',
        SupportedEphemeralOSDiskPlacements: 'CacheDisk,ResourceDisk,NvmeDisk',
      },
      64,
    ],
    ['no placements listed, and NVMe disks: not there', { ...yes, MaxResourceVolumeMB: '32768', NvmeDiskSizeInMiB: '65536' }, 32],
    [
      'a cache that is no place for it',
      { ...yes, CachedDiskBytes: '107374182400', SupportedEphemeralOSDiskPlacements: 'ResourceDisk' },
      undefined,
    ],
    ['Standard_D2_v2: none', { ...yes, EphemeralOSDiskSupported: 'False', MaxResourceVolumeMB: '102400' }, undefined],
    ['a size that does not say', { vCPUs: '4', MemoryGB: '16', MaxResourceVolumeMB: '32768' }, undefined],
  ])('room for an ephemeral OS disk: %s', (_what, capabilities, gib) => {
    const sku = findSku(buildCatalog([raw('Standard_X', capabilities)], 'eastus', 1), 'Standard_X');
    expect(sku?.ephemeralOsDiskBytes).toBe(gib === undefined ? undefined : gib * GIB);
  });

  it.each([
    ['stated: as stated', { ephemeral: true, tier: undefined, sizeGb: 48 }, 48],
    ['not stated: no more than its place holds', { ephemeral: true, tier: undefined, sizeGb: undefined }, 32],
    [
      'not stated: no more than the place that it was given',
      { ephemeral: true, tier: undefined, sizeGb: undefined, placement: 'ResourceDisk' },
      16,
    ],
    ['not stated: nor the other', { ephemeral: true, tier: undefined, sizeGb: undefined, placement: 'NvmeDisk' }, 64],
    ['managed: what AKS takes', { ephemeral: false, tier: undefined, sizeGb: undefined }, 128],
  ])('an OS disk whose size is %s', (_what, osDisk, gib) => {
    const sizes = { ephemeralOsDiskBytes: 32 * GIB, tempDiskBytes: 16 * GIB, nvmeDiskBytes: 64 * GIB };
    expect(template({ osDisk }, sizes).capacity[EPHEMERAL_STORAGE]).toBe(gib * GIB);
  });

  it.each([
    ['its only zone is closed', [{ type: 'Zone', zones: ['1', '2', '3'] }], ['2'], /in zone 2 \(NotAvailableForSubscription\)/],
    ['all its zones are closed', [{ type: 'Zone', zones: ['1', '2'] }], ['1', '2'], /in zone 1, 2 /],
    ['one of its zones is open', [{ type: 'Zone', zones: ['1', '2'] }], ['2', '3'], undefined],
    ['it is regional', [{ type: 'Zone', zones: ['1', '2', '3'] }], [], undefined],
    ['the region is closed', [{ type: 'Location', locations: ['East US'] }], [], /whole region \(NotAvailableForSubscription\)/],
    ['another region is closed', [{ type: 'Location', locations: ['westus'] }], [], undefined],
    ['nothing is closed', [], ['1'], undefined],
    [
      'its zones are closed one by one',
      [
        { type: 'Zone', zones: ['1'] },
        { type: 'Zone', zones: ['2'] },
      ],
      ['1', '2'],
      /in zone 1, 2 /,
    ],
  ])('a size when %s', (_what, rules, zones, expected) => {
    const restrictions = rules.map(({ type, ...restrictionInfo }) => ({
      type: type as 'Zone' | 'Location',
      restrictionInfo,
      reasonCode: 'NotAvailableForSubscription' as const,
    }));
    const catalog = buildCatalog([raw('Standard_NV6', { vCPUs: '6', MemoryGB: '56' }, { restrictions })], 'eastus', 1);
    const reason = unavailableReason(findSku(catalog, 'Standard_NV6'), zones);
    if (expected === undefined) expect(reason).toBeUndefined();
    else expect(reason).toMatch(expected);
  });

  it.each<[string, Readonly<Record<string, string>>, readonly string[], 'Regular' | 'Spot', string | undefined]>([
    ['is not sold as Spot', { LowPriorityCapable: 'False' }, [], 'Spot', 'Azure does not offer Standard_X as Spot'],
    ['is, as a regular one', { LowPriorityCapable: 'False' }, [], 'Regular', undefined],
    ['is sold as Spot', { LowPriorityCapable: 'True' }, [], 'Spot', undefined],
    ['does not say so', {}, [], 'Spot', undefined],
    ['is not sold in the zone', {}, ['3'], 'Regular', 'Azure offers Standard_X not in zone 3, only in 1, 2'],
    ['is sold in one of the zones', {}, ['2', '3'], 'Regular', undefined],
    ['is to be retired', { RetirementDateUtc: '08/31/2023' }, [], 'Regular', undefined],
  ])('a size that %s', (_what, capabilities, zones, priority, expected) => {
    const locationInfo = [{ location: 'eastus', zones: ['2', '1'] }];
    const listed = raw('Standard_X', { vCPUs: '2', MemoryGB: '4', ...capabilities }, { locationInfo });
    expect(unavailableReason(findSku(buildCatalog([listed], 'eastus', 1), 'Standard_X'), zones, priority)).toBe(expected);
  });

  it.each([
    ['08/31/2023', ['Azure retires Standard_X on 2023-08-31']],
    ['2028-11-15T00:00:00Z', ['Azure retires Standard_X on 2028-11-15']],
    ['soon', []],
    ['', []],
  ])('the end of a size, given as %j', (text, expected) => {
    const listed = raw('Standard_X', { vCPUs: '2', MemoryGB: '4', RetirementDateUtc: text });
    expect(retirementWarnings(findSku(buildCatalog([listed], 'eastus', 1), 'Standard_X'))).toEqual(expected);
  });

  it('what did not change is the same object, whatever the order of the list', () => {
    const sizes = [raw('Standard_A', { vCPUs: '2', MemoryGB: '4' }), raw('Standard_B', { vCPUs: '4', MemoryGB: '8' })];
    const first = buildCatalog(sizes, 'eastus', 1);
    const same = renewCatalog(first, buildCatalog(sizes.toReversed(), 'eastus', 2));
    expect([same.observedAtMs, same.version]).toEqual([2, first.version]);
    expect(same.byName).toBe(first.byName);
    const other = renewCatalog(first, buildCatalog([sizes[0] ?? {}, raw('Standard_B', { vCPUs: '4', MemoryGB: '9' })], 'eastus', 3));
    expect(other.version).not.toBe(first.version);
    expect(findSku(other, 'Standard_A')).toBe(findSku(first, 'Standard_A'));
    expect(findSku(other, 'Standard_B')).not.toBe(findSku(first, 'Standard_B'));
  });

  it('are projected, indexed in any letter case, and found under their promoted name', () => {
    const catalog = buildCatalog(
      [
        raw('Standard_M8-2ms', { vCPUs: '8', vCPUsAvailable: '2', MemoryGB: '218.75' }),
        raw(
          'Standard_NV6',
          { vCPUs: '6', MemoryGB: '56', GPUs: '1' },
          {
            locationInfo: [{ location: 'East US', zones: ['3', '2'] }],
            restrictions: [{ type: 'Zone', restrictionInfo: { zones: ['2'] } }],
          },
        ),
        raw('Standard_D16plds_v5', { vCPUs: '16', MemoryGB: '32', CpuArchitectureType: 'Arm64' }),
        raw('broken', { MemoryGB: 'much' }),
        { resourceType: 'disks', name: 'Premium_LRS' },
      ],
      'eastus',
      1,
    );
    expect(catalog.byName.size).toBe(3);
    expect(findSku(catalog, 'STANDARD_m8-2MS')).toMatchObject({ vcpus: 2, memoryBytes: 218.75 * GIB, arch: 'amd64' });
    expect(findSku(catalog, 'Standard_NV6_Promo')).toMatchObject({ gpus: 1, zones: ['3'] });
    expect(findSku(catalog, 'Standard_D16plds_v5')?.arch).toBe('arm64');
    expect(findSku(catalog, 'Standard_X')).toBeUndefined();
    expect(findSku(undefined, 'Standard_NV6')).toBeUndefined();
  });
});
