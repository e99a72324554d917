/** Agent pools as decisions read them: what AKS knows of a pool and a scale set does not tell. Every optional field is decided here. */
import type { Labels } from '../../domain/labels.ts';
import type { Taint } from '../../domain/taints.ts';
import type { ToldPool } from './agent-pool-list.ts';
import { nameIn } from '../arm/resource-ids.ts';
import { gpuPartsOf, type GpuParts, kubeletCautions } from './gpu-resources.ts';
import { labelsOfPool } from './pool-labels.ts';
import { parseTaint, readTags, type Tags } from './tags.ts';
import { readVmsPool, type VmsPool } from './vms-pool.ts';
import { withoutNulls } from '../../lib/without-nulls.ts';
import type { ListPage } from '../../cache/table/row.ts';
import { defined } from '../../lib/defined.ts';

/** What AKS knows of a pool and a scale set does not tell. */
export interface AgentPoolRow {
  readonly name: string;
  readonly type: string;
  readonly mode: string | undefined;
  /** What AKS aims at, and sets the capacity of a scale set to whenever it works on the pool. */
  readonly count: number | undefined;
  readonly provisioningState: string;
  /** `az aks nodepool stop` was called: its machines are gone, and a size means nothing. */
  readonly stopped: boolean;
  /** AKS deallocates the machines that it scales down, and counts those that are left. Absent: it deletes them. */
  readonly parks?: boolean;
  readonly maxPods: number | undefined;
  readonly osDiskSizeGb: number | undefined;
  /** What pods write goes to the temporary disk of the machine instead of its OS disk. */
  readonly kubeletOnTemporaryDisk?: boolean;
  /** The name of the subnet that it was given. Absent: AKS made one. */
  readonly subnet?: string;
  /** Labels of AKS's own that follow from what the pool is. */
  readonly modelLabels?: Labels;
  readonly osSku: string | undefined;
  readonly nodeImageVersion: string | undefined;
  readonly kubernetesVersion: string | undefined;
  readonly labels: Tags;
  readonly taints: readonly Taint[];
  /** Keys of taints that nodes are born with and that whoever sets them up takes off. Absent: none is told. */
  readonly initializationTaints?: readonly string[];
  /** How its GPUs are cut. Absent: they are whole. */
  readonly gpuParts?: GpuParts;
  /** What its kubelets do that cannot be reckoned with, as sentences. Absent: nothing is known. */
  readonly cautions?: readonly string[];
  readonly priority: 'Regular' | 'Spot';
  readonly zones: readonly string[];
  /** AKS runs an autoscaler of its own over this pool: two would fight. */
  readonly managedAutoscaler: boolean;
  readonly tags: Tags;
  /** Sizes of a pool of type VirtualMachines, with their counts. */
  readonly sizes: readonly { readonly vmSize: string; readonly count: number }[];
  /** What a pool of type VirtualMachines is asked for, size by size. */
  readonly vms?: VmsPool;
}

/** undefined: an item without a name, which nothing can refer to. */
export function projectAgentPool(given: ToldPool): AgentPoolRow | undefined {
  const raw = withoutNulls(given);
  if (raw.name === undefined || raw.name === '') return undefined;
  try {
    return project({ ...raw, name: raw.name });
  } catch (thrown) {
    if (!(thrown instanceof TypeError)) throw thrown;
    // A part of it has not the shape that AKS documents: what it means is not known, and the other pools are.
    return project({ name: raw.name, provisioningState: 'Unreadable' });
  }
}

function project(raw: ToldPool & { readonly name: string }): AgentPoolRow {
  const vms = readVmsPool(raw);
  return {
    ...defined({ vms }),
    name: raw.name,
    type: raw.typePropertiesType ?? '',
    mode: raw.mode,
    count: wholeNumber(raw.count),
    provisioningState: raw.provisioningState ?? '',
    stopped: raw.powerState?.code?.toLowerCase() === 'stopped',
    ...(raw.scaleDownMode?.toLowerCase() === 'deallocate' ? { parks: true } : {}),
    // Zero is AKS's word for its default.
    maxPods: wholeNumber(raw.maxPods) || undefined,
    osDiskSizeGb: wholeNumber(raw.osDiskSizeGB) || undefined,
    kubeletOnTemporaryDisk: raw.kubeletDiskType?.toLowerCase() === 'temporary',
    modelLabels: labelsOfPool(raw),
    osSku: raw.osSKU,
    nodeImageVersion: raw.nodeImageVersion,
    kubernetesVersion: raw.currentOrchestratorVersion ?? raw.orchestratorVersion,
    labels: readTags(raw.nodeLabels),
    taints: taintsOf(raw.nodeTaints),
    ...peculiarities(raw),
    priority: priorityOf(raw),
    zones: (raw.availabilityZones ?? []).map(String).sort(),
    managedAutoscaler: raw.enableAutoScaling === true,
    tags: readTags(raw.tags),
    sizes: (raw.virtualMachineNodesStatus ?? []).map(({ size, count }) => ({ vmSize: size ?? '', count: count ?? 0 })),
  };
}

function priorityOf({ scaleSetPriority }: ToldPool): AgentPoolRow['priority'] {
  return scaleSetPriority?.toLowerCase() === 'spot' ? 'Spot' : 'Regular';
}

/** What few pools have. */
function peculiarities(raw: ToldPool): Pick<AgentPoolRow, 'initializationTaints' | 'gpuParts' | 'cautions' | 'subnet'> {
  const subnet = nameIn(raw.vnetSubnetID);
  const gpuParts = gpuPartsOf(raw);
  const cautions = kubeletCautions(raw);
  // What AKS also keeps on the nodes comes back when it is taken off.
  const kept = new Set(taintsOf(raw.nodeTaints).map(({ key }) => key));
  const passing = taintsOf(raw.nodeInitializationTaints).flatMap(({ key }) => (kept.has(key) ? [] : [key]));
  return {
    ...(passing.length === 0 ? {} : { initializationTaints: [...new Set(passing)] }),
    ...(subnet === '' ? {} : { subnet }),
    ...defined({ gpuParts }),
    ...(cautions.length === 0 ? {} : { cautions }),
  };
}

function taintsOf(texts: readonly string[] | undefined): readonly Taint[] {
  return (Array.isArray(texts) ? texts : []).flatMap((text) => parseTaint(String(text)) ?? []);
}

function wholeNumber(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : undefined;
}

/** Agent pools by folded name, and when they were read. */
export interface AgentPools {
  readonly observedAtMs: number;
  readonly byName: ReadonlyMap<string, AgentPoolRow>;
  /** The same as it was read. */
  readonly pages: readonly ListPage<AgentPoolRow>[];
}
