/**
 * Makes the template of a new node from the group's size, tags and agent pool. It is used while the group has no node; a
 * running node is more exact (from-node.ts). Pure.
 * Idea: template.
 */
import type { Labels } from '../../domain/labels.ts';
import { minus, type ResourceNames, type Resources } from '../../domain/resources.ts';
import type { Taint } from '../../domain/taints.ts';
import { AZURE_DISK_DRIVER, type AttachLimits } from '../../domain/volumes.ts';
import { aksLabels, generalLabels, labelsFromOtherNodes, unknownLabels, zoneLabels } from './aks-labels.ts';
import { gpuResourceOf } from '../rows/gpu-resources.ts';
import { kernelMemoryBytes, reservedCpuMillis, reservedMemoryBytes } from './aks-reservations.ts';
import type { AgentPoolRow } from '../rows/agent-pool.ts';
import { zoneName } from '../rows/scale-set.ts';
import type { Sku } from '../sizes/sku-catalog.ts';
import type { TemplateSource } from '../rows/template-source.ts';
import { kubernetesVersionOf, poolOf, templateLabels, templateResources, templateTaints } from '../rows/tags.ts';
import { type TemplateOrigin, type TemplateOrigins, type NodeTemplate, NOTHING_SHOWN } from '../../domain/node-template.ts';

interface SizeTemplateInput {
  readonly sku: Sku;
  readonly pool: AgentPoolRow | undefined;
  readonly nodeResourceGroup: string;
  readonly names: ResourceNames;
  /** Cluster-wide labels from current nodes. */
  readonly clusterLabels?: Labels;
}

/** The Cluster Autoscaler's default, and AKS's with kubenet. Only an agent pool or a tag is more exact. */
const DEFAULT_MAX_PODS = 110;
const GIB = 2 ** 30;
const NVIDIA = 'nvidia.com/';
const SPOT_TAINT: Taint = { key: 'kubernetes.azure.com/scalesetpriority', value: 'spot', effect: 'NoSchedule' };

export function templateFromSize(source: TemplateSource, context: SizeTemplateInput): NodeTemplate {
  const capacity = capacityOf(source, context);
  const layers = labelLayers(source, context);
  const labels = Object.assign({}, ...layers.map(([, part]) => part)) as Labels;
  return {
    ...NOTHING_SHOWN,
    labels,
    taints: taintsOf(source, context.pool),
    capacity,
    allocatable: allocatableOf(capacity, source, context),
    zones: source.zones.map((zone) => zoneName(source.location, zone)),
    attachLimits: attachLimits(context.sku, {}),
    source: 'cloud',
    origins: originsOf(source, context, layers),
    unknowns: { labels: unknownLabels(labels, source, context), resources: unknownResources(source, context) },
  };
}

/** The attach limit that AKS's disk driver will report for this size. Limits of a running node win, and may include more drivers. */
export function attachLimits(sku: Sku | undefined, ofNode: AttachLimits): AttachLimits {
  const ofSize = sku?.maxDataDisks === undefined ? {} : { [AZURE_DISK_DRIVER]: sku.maxDataDisks };
  return { ...ofSize, ...ofNode };
}

function capacityOf(source: TemplateSource, { sku, pool, names }: SizeTemplateInput): Resources {
  const quantities: Record<string, string | number> = {
    cpu: sku.vcpus,
    memory: kernelMemoryBytes(sku.memoryBytes),
    pods: pool?.maxPods ?? DEFAULT_MAX_PODS,
    'ephemeral-storage': kubeletDiskBytes(source, sku, pool),
  };
  // A resource with amount zero would make an empty group differ from an equal group with nodes.
  const devices = gpuResourceOf(source.vmSize, sku.gpus, pool?.gpuPartitioning);
  if (devices !== undefined) quantities[devices.name] = devices.amount;
  return names.parse({ ...quantities, ...templateResources(source.tags) });
}

/** Only the device plugin knows the resource names of partitioned GPUs, unless a tag states them. */
function unknownResources({ vmSize, tags }: TemplateSource, { sku, pool }: SizeTemplateInput): readonly string[] {
  if (sku.gpus <= 0 || pool?.gpuPartitioning === undefined || gpuResourceOf(vmSize, sku.gpus, pool.gpuPartitioning) !== undefined)
    return [];
  return Object.keys(templateResources(tags)).some((name) => name.startsWith(NVIDIA)) ? [] : [`${NVIDIA}*`];
}

/** The disk with the data of pods: the OS disk, unless the pool uses the temporary disk of the instance. */
function kubeletDiskBytes(source: TemplateSource, sku: Sku, pool: AgentPoolRow | undefined): number {
  const temporary = pool?.kubeletOnTemporaryDisk === true ? sku.tempDiskBytes : undefined;
  return temporary ?? osDiskBytes(source, sku, pool);
}

/** The size of the OS disk. Without a stated size it is AKS's default, but at most the room of an ephemeral disk's placement. */
function osDiskBytes({ osDisk }: TemplateSource, sku: Sku, pool: AgentPoolRow | undefined): number {
  const stated = osDisk.sizeGb ?? pool?.osDiskSizeGb;
  if (stated !== undefined) return stated * GIB;
  const usual = defaultDiskGb(sku.vcpus) * GIB;
  return osDisk.ephemeral ? Math.min(usual, placementBytes(osDisk.placement, sku) ?? usual) : usual;
}

/** The room of an ephemeral disk's placement; without one, of the size's first placement. */
function placementBytes(place: string | undefined, sku: Sku): number | undefined {
  const wanted = place?.toLowerCase();
  if (wanted === 'resourcedisk') return sku.tempDiskBytes;
  return wanted === 'nvmedisk' ? sku.nvmeDiskBytes : sku.ephemeralOsDiskBytes;
}

/** AKS's default size of an OS disk. It grows with the VM size. */
function defaultDiskGb(vcpus: number): number {
  if (vcpus < 8) return 128;
  if (vcpus < 16) return 256;
  return vcpus < 32 ? 512 : 1024;
}

function allocatableOf(capacity: Resources, source: TemplateSource, { sku, pool, names }: SizeTemplateInput): Resources {
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
    // The kubelet evicts when only a tenth of the disk is free.
    'ephemeral-storage': Math.ceil((recorded['ephemeral-storage'] ?? 0) * 0.1),
  };
  // A quantity from a tag is the allocatable amount; nothing is subtracted from it.
  const due = Object.fromEntries(Object.entries(reserved).filter(([name]) => !Object.hasOwn(given, name)));
  return minus(capacity, names.fromRecord(due));
}

type LabelLayer = readonly [origin: TemplateOrigin, labels: Labels];

/** Later layers win. */
function labelLayers(source: TemplateSource, context: SizeTemplateInput): readonly LabelLayer[] {
  const { sku, pool } = context;
  const poolName = poolOf(source.tags) ?? pool?.name;
  return [
    [sizeOrigin(sku), { 'kubernetes.io/arch': sku.arch, 'beta.kubernetes.io/arch': sku.arch }],
    ['aks', { ...generalLabels(source), ...zoneLabels(source) }],
    ['aks', poolName === undefined ? {} : { agentpool: poolName, 'kubernetes.azure.com/agentpool': poolName }],
    ['live', labelsFromOtherNodes(context.clusterLabels ?? {}, source)],
    ['aks', aksLabels(source, context)],
    ['agent-pool', pool?.labels ?? {}],
    ['tag', templateLabels(source.tags)],
  ];
}

function sizeOrigin({ isKnownByName }: Sku): TemplateOrigin {
  return isKnownByName === true ? 'size-name' : 'sku';
}

function originsOf(source: TemplateSource, { pool, sku }: SizeTemplateInput, layers: readonly LabelLayer[]): TemplateOrigins {
  const from = (origin: TemplateOrigin, keys: readonly string[]) => Object.fromEntries(keys.map((key) => [key, origin]));
  const given = from('tag', Object.keys(templateResources(source.tags)));
  const disk = diskOrigin(source, { pool, sku });
  const pods = pool?.maxPods === undefined ? 'aks' : 'agent-pool';
  const devices = gpuResourceOf(source.vmSize, sku.gpus, pool?.gpuPartitioning)?.name;
  const shared = {
    ...from(sizeOrigin(sku), ['cpu', 'memory']),
    pods,
    'ephemeral-storage': disk,
    ...(devices === undefined ? {} : { [devices]: pool?.gpuPartitioning === undefined ? sizeOrigin(sku) : 'agent-pool' }),
  } as const;
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
    // AKS's reservations are subtracted by AKS's rules.
    allocatable: { ...shared, ...from('aks', ['cpu', 'memory', 'ephemeral-storage']), ...given },
  };
}

function diskOrigin({ osDisk }: TemplateSource, { pool, sku }: Pick<SizeTemplateInput, 'pool' | 'sku'>): TemplateOrigin {
  if (pool?.kubeletOnTemporaryDisk === true && sku.tempDiskBytes !== undefined) return 'sku';
  return osDisk.sizeGb === undefined && pool?.osDiskSizeGb !== undefined ? 'agent-pool' : 'aks';
}

function taintsOf(source: TemplateSource, pool: AgentPoolRow | undefined): readonly Taint[] {
  const wanted = [...templateTaints(source.tags), ...(pool?.taints ?? []), ...(source.priority === 'Spot' ? [SPOT_TAINT] : [])];
  const unique = new Map(wanted.map((taint) => [`${taint.key}|${taint.value}|${taint.effect}`, taint]));
  return [...unique.values()];
}
