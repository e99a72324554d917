/**
 * Agent pools as decisions need them: what AKS knows of a pool and its scale set does not have. Every optional field is
 * decided here.
 */
import type { Labels } from '../../domain/labels.ts';
import type { Taint } from '../../domain/taints.ts';
import { parseAgentPool, type ListedAgentPool } from './agent-pool-list.ts';
import { resourceNameOf } from '../arm/resource-ids.ts';
import { gpuPartitioningOf, type GpuPartitioning, gpuDriverWarnings, kubeletConfigWarnings } from './gpu-resources.ts';
import { reservationGroupIdOf } from './capacity-reservation.ts';
import { labelsFromAgentPool } from './pool-labels.ts';
import { parseTaint, readTags, type Tags } from './tags.ts';
import { poolLimitsOf, readVmsPool, type PoolLimits, type VmsPool } from './vms-pool.ts';
import { placementOfPool, zoneNumbers, type ZonePlacement } from './zone-placement.ts';
import { withoutNulls } from '../../lib/json.ts';
import type { ListPage } from '../../cache/table/row.ts';
import { defined } from '../../lib/defined.ts';
import { groupSizeOf, MAX_DISK_GIB, MAX_NODE_PODS, MAX_ZONES, wholeNumberUpTo } from '../../domain/platform-limits.ts';

/** What AKS knows of a pool and its scale set does not have. */
export interface AgentPoolRow {
  readonly name: string;
  readonly type: string;
  /** If absent, AKS returned none. */
  readonly etag?: string;
  readonly mode: string | undefined;
  /** The target count of AKS. AKS sets the capacity of the scale set to it whenever it works on the pool. */
  readonly count: number | undefined;
  readonly provisioningState: string;
  /** Stopped by `az aks nodepool stop`: its instances are gone, and its size means nothing. */
  readonly stopped: boolean;
  /** On scale-down, AKS deallocates instances and counts those that remain. If absent, AKS deletes them. */
  readonly deallocates?: boolean;
  readonly maxPods: number | undefined;
  readonly osDiskSizeGb: number | undefined;
  /** The data of pods is on the temporary disk of the instance instead of its OS disk. */
  readonly kubeletOnTemporaryDisk?: boolean;
  /** The name of the configured subnet. If absent, AKS created one. */
  readonly subnet?: string;
  /** Its id, as Azure spells it. */
  readonly subnetId?: string;
  /** AKS's own labels that follow from the pool's configuration. */
  readonly modelLabels?: Labels;
  /** The folded ARM id of the capacity reservation group that its nodes may use. If absent, none. */
  readonly reservationGroup?: string;
  readonly osSku: string | undefined;
  readonly nodeImageVersion: string | undefined;
  readonly kubernetesVersion: string | undefined;
  readonly labels: Tags;
  readonly taints: readonly Taint[];
  /** Keys of taints that nodes start with and that are removed during their set-up. */
  readonly initializationTaints?: readonly string[];
  /** How its GPUs are partitioned. If absent, they are whole. */
  readonly gpuPartitioning?: GpuPartitioning;
  /** Effects of its kubelet and GPU settings that planning cannot include, as sentences. */
  readonly warnings?: readonly string[];
  readonly priority: 'Regular' | 'Spot';
  /** Zone numbers, sorted. Empty if it is regional, or if Azure chooses the zones. */
  readonly zones: readonly string[];
  /** If set, Azure chooses the zone of each instance. */
  readonly placement?: ZonePlacement;
  /** AKS runs its own autoscaler over this pool; two autoscalers would conflict. */
  readonly managedAutoscaler: boolean;
  /** The limits that AKS's own autoscaler has in this pool. If absent, it has none or they are unusable. */
  readonly managedLimits?: PoolLimits;
  readonly tags: Tags;
  /** The sizes of a pool of type VirtualMachines, with their counts. */
  readonly sizes: readonly { readonly vmSize: string; readonly count: number }[];
  /** The target counts of a pool of type VirtualMachines, by size. */
  readonly vms?: VmsPool;
}

/** undefined: an item without a name, which cannot be referenced. */
export function projectAgentPool(given: ListedAgentPool): AgentPoolRow | undefined {
  const raw = withoutNulls(given);
  if (raw.name === undefined || raw.name === '') return undefined;
  try {
    return agentPoolRow({ ...raw, name: raw.name });
  } catch (thrown) {
    // guard: one agent pool in an undocumented form does not keep the others unread
    if (!(thrown instanceof TypeError)) throw thrown;
    // A field does not have the documented form, so the pool's meaning is unknown. The other pools stay readable.
    return agentPoolRow({ name: raw.name, provisioningState: 'Unreadable' });
  }
}

/** The same from the untouched response to a GET. undefined: not an agent pool. */
export function readAgentPool(json: unknown): AgentPoolRow | undefined {
  const pool = parseAgentPool(json);
  return pool === undefined ? undefined : projectAgentPool(pool);
}

function agentPoolRow(raw: ListedAgentPool & { readonly name: string }): AgentPoolRow {
  const vms = readVmsPool(raw);
  return {
    ...defined({ vms }),
    name: raw.name,
    type: raw.typePropertiesType ?? '',
    ...(typeof raw.eTag === 'string' && raw.eTag !== '' ? { etag: raw.eTag } : {}),
    mode: raw.mode,
    count: groupSizeOf(raw.count),
    provisioningState: raw.provisioningState ?? '',
    stopped: raw.powerState?.code?.toLowerCase() === 'stopped',
    ...(raw.scaleDownMode?.toLowerCase() === 'deallocate' ? { deallocates: true } : {}),
    // Zero means AKS's default.
    maxPods: wholeNumberUpTo(raw.maxPods, MAX_NODE_PODS) || undefined,
    osDiskSizeGb: wholeNumberUpTo(raw.osDiskSizeGB, MAX_DISK_GIB) || undefined,
    kubeletOnTemporaryDisk: raw.kubeletDiskType?.toLowerCase() === 'temporary',
    modelLabels: labelsFromAgentPool(raw),
    osSku: raw.osSKU,
    nodeImageVersion: raw.nodeImageVersion,
    kubernetesVersion: raw.currentOrchestratorVersion ?? raw.orchestratorVersion,
    labels: readTags(raw.nodeLabels),
    taints: parseTaints(raw.nodeTaints),
    ...optionalFields(raw),
    ...zonesOf(raw),
    priority: priorityOf(raw),
    managedAutoscaler: raw.enableAutoScaling === true,
    tags: readTags(raw.tags),
    sizes: (raw.virtualMachineNodesStatus ?? []).map(({ size, count }) => ({ vmSize: size ?? '', count: groupSizeOf(count) ?? 0 })),
  };
}

function priorityOf({ scaleSetPriority }: ListedAgentPool): AgentPoolRow['priority'] {
  return scaleSetPriority?.toLowerCase() === 'spot' ? 'Spot' : 'Regular';
}

/** As many zones as a region can have. */
function zonesOf({ availabilityZones }: ListedAgentPool): Pick<AgentPoolRow, 'zones' | 'placement'> {
  const given = availabilityZones?.slice(0, MAX_ZONES);
  return { zones: zoneNumbers(given), ...defined({ placement: placementOfPool(given) }) };
}

/** The fields that few pools have. */
function optionalFields(
  raw: ListedAgentPool,
): Pick<
  AgentPoolRow,
  'initializationTaints' | 'gpuPartitioning' | 'warnings' | 'subnet' | 'subnetId' | 'managedLimits' | 'reservationGroup'
> {
  const managedLimits = raw.enableAutoScaling === true ? poolLimitsOf(raw) : undefined;
  const subnet = resourceNameOf(raw.vnetSubnetID);
  const gpuPartitioning = gpuPartitioningOf(raw);
  const warnings = [...kubeletConfigWarnings(raw), ...gpuDriverWarnings(raw)];
  // AKS restores a taint that is also one of the pool's node taints.
  const permanent = new Set(parseTaints(raw.nodeTaints).map(({ key }) => key));
  const startupOnly = parseTaints(raw.nodeInitializationTaints).flatMap(({ key }) => (permanent.has(key) ? [] : [key]));
  return {
    ...(startupOnly.length === 0 ? {} : { initializationTaints: [...new Set(startupOnly)] }),
    ...(subnet === '' ? {} : { subnet, ...defined({ subnetId: raw.vnetSubnetID }) }),
    ...defined({ gpuPartitioning, managedLimits, reservationGroup: reservationGroupIdOf(raw.capacityReservationGroupID) }),
    ...(warnings.length === 0 ? {} : { warnings }),
  };
}

function parseTaints(texts: readonly string[] | undefined): readonly Taint[] {
  return (Array.isArray(texts) ? texts : []).flatMap((text) => parseTaint(String(text)) ?? []);
}

/** Agent pools by folded name, and when they were read. */
export interface AgentPools {
  readonly observedAtMs: number;
  readonly byName: ReadonlyMap<string, AgentPoolRow>;
  /** The pages as they were read. */
  readonly pages: readonly ListPage<AgentPoolRow>[];
}

const SETTLED_STATES = new Set(['', 'succeeded', 'failed', 'canceled']);

/**
 * Whether no operation of AKS runs in the pool. A failed or cancelled pool is settled too: AKS accepts the next write, and only
 * a successful write repairs it.
 */
export function isSettled(provisioningState: string): boolean {
  return SETTLED_STATES.has(provisioningState.toLowerCase());
}
