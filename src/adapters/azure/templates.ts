/**
 * The node a group would add, said from what Azure and AKS tell of the group: its size, its tags, its agent pool. Used while
 * no node of the group lives; a live node knows better (live-template.ts). Pure.
 */
import type { NodeTemplate, TemplateOrigin, TemplateOrigins } from '../../domain/node-group.ts';
import { minus, type ResourceNames, type Resources } from '../../domain/resources.ts';
import type { Taint } from '../../domain/taint.ts';
import { AZURE_DISK_DRIVER, type AttachLimits } from '../../domain/volumes.ts';
import { kernelMemoryBytes, reservedCpuMillis, reservedMemoryBytes } from './reservations.ts';
import { zoneName, type AgentPoolRow } from './rows.ts';
import type { Sku } from './skus.ts';
import { kubernetesVersionOf, poolOf, templateLabels, templateResources, templateTaints, type Tags } from './tags.ts';

/** The part of a scale set, or of one size of a VMs pool, that a template is made from. */
export interface TemplateSource {
  readonly vmSize: string;
  readonly location: string;
  readonly zones: readonly string[];
  readonly tags: Tags;
  readonly priority: 'Regular' | 'Spot';
  readonly os: 'linux' | 'windows';
  readonly osDisk: { readonly ephemeral: boolean; readonly tier: string | undefined; readonly sizeGb: number | undefined };
}

export interface TemplateContext {
  readonly sku: Sku;
  readonly pool: AgentPoolRow | undefined;
  readonly nodeResourceGroup: string;
  readonly names: ResourceNames;
}

/** The Cluster Autoscaler's number, and AKS's with kubenet; only an agent pool or a tag knows better. */
const DEFAULT_MAX_PODS = 110;
const GIB = 2 ** 30;
const SPOT_TAINT: Taint = { key: 'kubernetes.azure.com/scalesetpriority', value: 'spot', effect: 'NoSchedule' };

export function cloudTemplate(source: TemplateSource, context: TemplateContext): NodeTemplate {
  const capacity = capacityOf(source, context);
  const layers = labelLayers(source, context);
  return {
    labels: Object.assign({}, ...layers.map(([, labels]) => labels)) as Tags,
    taints: taintsOf(source, context.pool),
    capacity,
    allocatable: allocatableOf(capacity, source, context),
    zones: source.zones.map((zone) => zoneName(source.location, zone)),
    ...attachLimits(context.sku),
    source: 'cloud',
    origins: originsOf(source, context, layers),
  };
}

/** What the disk driver of AKS will say of a node of this size. A living node may know of more drivers, and knows better. */
export function attachLimits(sku: Sku | undefined, living: AttachLimits = {}): Pick<NodeTemplate, 'attachLimits'> {
  const ofSize = sku?.maxDataDisks === undefined ? {} : { [AZURE_DISK_DRIVER]: sku.maxDataDisks };
  const all = { ...ofSize, ...living };
  return Object.keys(all).length === 0 ? {} : { attachLimits: all };
}

function capacityOf(source: TemplateSource, { sku, pool, names }: TemplateContext): Resources {
  const quantities: Record<string, string | number> = {
    cpu: sku.vcpus,
    memory: kernelMemoryBytes(sku.memoryBytes),
    pods: pool?.maxPods ?? DEFAULT_MAX_PODS,
    'ephemeral-storage': osDiskBytes(source, sku, pool),
  };
  // A resource of amount zero would make an empty group differ from its living twin.
  if (sku.gpus > 0) quantities[deviceOf(source.vmSize)] = sku.gpus;
  return names.parse({ ...quantities, ...templateResources(source.tags) });
}

/** What nobody states is AKS's default, and never more than the place of an ephemeral disk holds. */
function osDiskBytes({ osDisk }: TemplateSource, sku: Sku, pool: AgentPoolRow | undefined): number {
  const stated = osDisk.sizeGb ?? pool?.osDiskSizeGb;
  if (stated !== undefined) return stated * GIB;
  const usual = defaultDiskGb(sku.vcpus) * GIB;
  return osDisk.ephemeral ? Math.min(usual, sku.ephemeralOsDiskBytes ?? usual) : usual;
}

/** What AKS takes for an OS disk when nobody says: it grows with the size. */
function defaultDiskGb(vcpus: number): number {
  if (vcpus < 8) return 128;
  if (vcpus < 16) return 256;
  return vcpus < 32 ? 512 : 1024;
}

/** The resource name of a size's devices. The SKU list counts field-programmable arrays as GPUs. */
export function deviceOf(vmSize: string): string {
  if (/^standard_np/i.test(vmSize)) return 'xilinx.com/fpga-xilinx_u250_gen3x16_xdma_shell_2_1-0';
  return isAmdGpu(vmSize) ? 'amd.com/gpu' : 'nvidia.com/gpu';
}

function isAmdGpu(vmSize: string): boolean {
  return /mi300x|^standard_nv\d+as_v4$|^standard_ng/i.test(vmSize);
}

function allocatableOf(capacity: Resources, source: TemplateSource, { sku, pool, names }: TemplateContext): Resources {
  const given = templateResources(source.tags);
  const recorded = names.toRecord(capacity);
  const reserved = {
    cpu: reservedCpuMillis(sku.vcpus),
    memory: reservedMemoryBytes({
      memoryBytes: recorded['memory'] ?? 0,
      maxPods: recorded['pods'] ?? DEFAULT_MAX_PODS,
      kubernetesVersion: pool?.kubernetesVersion ?? kubernetesVersionOf(source.tags),
      os: source.os,
    }),
    // The kubelet evicts when a tenth of the disk is left.
    'ephemeral-storage': Math.ceil((recorded['ephemeral-storage'] ?? 0) * 0.1),
  };
  // What a tag states is what a node will have for pods; nothing is taken off again.
  const due = Object.fromEntries(Object.entries(reserved).filter(([name]) => !Object.hasOwn(given, name)));
  return minus(capacity, names.fromRecord(due));
}

type LabelLayer = readonly [origin: TemplateOrigin, labels: Tags];

/** Later ones win. */
function labelLayers(source: TemplateSource, context: TemplateContext): readonly LabelLayer[] {
  const { sku, pool } = context;
  const poolName = poolOf(source.tags) ?? pool?.name;
  return [
    ['sku', { 'kubernetes.io/arch': sku.arch, 'beta.kubernetes.io/arch': sku.arch }],
    ['aks', { ...generalLabels(source), ...zoneLabels(source) }],
    ['aks', poolName === undefined ? {} : { agentpool: poolName, 'kubernetes.azure.com/agentpool': poolName }],
    ['aks', aksLabels(source, context)],
    ['agent-pool', pool?.labels ?? {}],
    ['tag', templateLabels(source.tags)],
  ];
}

function originsOf(source: TemplateSource, { pool }: TemplateContext, layers: readonly LabelLayer[]): TemplateOrigins {
  const from = (origin: TemplateOrigin, keys: readonly string[]) => Object.fromEntries(keys.map((key) => [key, origin]));
  const given = from('tag', Object.keys(templateResources(source.tags)));
  const disk = source.osDisk.sizeGb === undefined && pool?.osDiskSizeGb !== undefined ? 'agent-pool' : 'aks';
  const pods = pool?.maxPods === undefined ? 'aks' : 'agent-pool';
  const shared = { ...from('sku', ['cpu', 'memory', deviceOf(source.vmSize)]), pods, 'ephemeral-storage': disk } as const;
  return {
    labels: Object.assign({}, ...layers.map(([origin, labels]) => from(origin, Object.keys(labels)))) as TemplateOrigins['labels'],
    taints: {
      ...from('aks', [SPOT_TAINT.key]),
      ...from(
        'agent-pool',
        (pool?.taints ?? []).map(({ key }) => key),
      ),
      ...from(
        'tag',
        templateTaints(source.tags).map(({ key }) => key),
      ),
    },
    capacity: { ...shared, ...given },
    // What AKS keeps for itself is taken off by its rules.
    allocatable: { ...shared, ...from('aks', ['cpu', 'memory', 'ephemeral-storage']), ...given },
  };
}

function generalLabels(source: TemplateSource): Tags {
  const region = source.location.toLowerCase();
  return {
    'kubernetes.io/os': source.os,
    'beta.kubernetes.io/os': source.os,
    'node.kubernetes.io/instance-type': source.vmSize,
    'beta.kubernetes.io/instance-type': source.vmSize,
    'topology.kubernetes.io/region': region,
    'failure-domain.beta.kubernetes.io/region': region,
  };
}

/**
 * A set of one zone, or of none, has nodes of one known value. Of a set of several zones only `zones` is said: naming one
 * of them here would be a guess that a pod bound to another zone suffers from.
 */
export function zoneLabels(source: Pick<TemplateSource, 'zones' | 'location'>): Tags {
  const [first, ...others] = source.zones;
  if (others.length > 0) return {};
  const zone = first === undefined ? '0' : zoneName(source.location, first);
  return {
    'topology.kubernetes.io/zone': zone,
    'failure-domain.beta.kubernetes.io/zone': zone,
    'topology.disk.csi.azure.com/zone': first === undefined ? '' : zone,
  };
}

function aksLabels(source: TemplateSource, { sku, pool, nodeResourceGroup }: TemplateContext): Tags {
  const storage = source.osDisk.ephemeral ? 'ephemeral' : 'managed';
  return {
    'kubernetes.azure.com/cluster': nodeResourceGroup.slice(0, 63),
    'kubernetes.azure.com/role': 'agent',
    'kubernetes.azure.com/sku-cpu': String(sku.vcpus),
    'kubernetes.azure.com/sku-memory': String(Math.floor(sku.memoryBytes / 2 ** 20)),
    'kubernetes.azure.com/storageprofile': storage,
    storageprofile: storage,
    ...optional(source.osDisk.tier, (tier) => ({ 'kubernetes.azure.com/storagetier': tier, storagetier: tier })),
    ...optional(pool?.mode, (mode) => ({ 'kubernetes.azure.com/mode': mode.toLowerCase() })),
    ...optional(pool?.type, (type) => ({ 'kubernetes.azure.com/nodepool-type': type })),
    ...optional(pool?.osSku, (osSku) => ({ 'kubernetes.azure.com/os-sku': osSku })),
    ...optional(pool?.nodeImageVersion, (image) => ({ 'kubernetes.azure.com/node-image-version': image })),
    ...(source.priority === 'Spot' ? { [SPOT_TAINT.key]: SPOT_TAINT.value } : {}),
    ...(sku.gpus > 0 && deviceOf(source.vmSize) === 'nvidia.com/gpu'
      ? { accelerator: 'nvidia', 'kubernetes.azure.com/accelerator': 'nvidia' }
      : {}),
  };
}

function optional(value: string | undefined, labels: (value: string) => Tags): Tags {
  return value === undefined || value === '' ? {} : labels(value);
}

function taintsOf(source: TemplateSource, pool: AgentPoolRow | undefined): readonly Taint[] {
  const wanted = [...templateTaints(source.tags), ...(pool?.taints ?? []), ...(source.priority === 'Spot' ? [SPOT_TAINT] : [])];
  const unique = new Map(wanted.map((taint) => [`${taint.key}|${taint.value}|${taint.effect}`, taint]));
  return [...unique.values()];
}
