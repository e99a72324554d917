/** Reads the pools for `doctor` once, through the daemon's own registration. */
import type { DevicePool } from '../../../domain/devices.ts';
import { describeBlock } from '../../../domain/group-blocks.ts';
import type { VirtualMachineScaleSet } from '@azure/arm-compute';
import type { LogicalClock } from '../../../cache/logical-clock.ts';
import type { ArmCalls } from '../../../azure/arm/arm-client.ts';
import type { ArmClients } from '../../../azure/arm/sdk-clients.ts';
import type { AzureOptions } from '../../../azure/arm/options.ts';
import { readPages } from '../../../azure/arm/pages.ts';
import { blockAgainstChange, inputOfRows } from '../../../azure/groups/group-rules.ts';
import { registerGroups, type RegisteredGroup } from '../../../azure/groups/registry.ts';
import { agentPoolPages, type ListedAgentPool } from '../../../azure/rows/agent-pool-list.ts';
import { projectAgentPool, type AgentPoolRow } from '../../../azure/rows/agent-pool.ts';
import { projectScaleSet, type ScaleSetRow } from '../../../azure/rows/scale-set.ts';
import { defined } from '../../../lib/defined.ts';
import { nodeGroupOptionsOf, poolOf, unusedOptionNames, writePathTag } from '../../../azure/rows/tags.ts';
import { AKS_MAY_STOP, reasonAgainstStops } from '../../../azure/stops/stop-rules.ts';
import { readVmsPool, poolSizeRows, type PoolSizeRow, type VmsPool } from '../../../azure/rows/vms-pool.ts';

export interface PoolDiagnosisDeps {
  readonly options: AzureOptions;
  readonly calls: ArmCalls;
  readonly clients: ArmClients;
  readonly order: LogicalClock;
}

export interface DiagnosedPool {
  /** The configured name, or the set's name if a rule found it. */
  readonly name: string;
  /** Whether the scale set exists. A size of a VMs pool is `POOL/SIZE`. */
  readonly found: boolean;
  readonly kind: string;
  readonly min: number;
  readonly max: number;
  readonly capacity: number | undefined;
  readonly vmSize: string;
  /** Zone numbers. Empty means regional. */
  readonly zones: readonly string[];
  readonly priority: 'Regular' | 'Spot';
  readonly agentPool: string | undefined;
  /** AKS runs its own autoscaler over it. */
  readonly managedAutoscaler: boolean;
  /** AKS's own count of the pool of a scale set. Absent if unknown, or if AKS leaves out deallocated instances. */
  readonly aksCount?: number;
  /** Why it is neither increased nor reduced now, if so. */
  readonly frozen: string | undefined;
  readonly subnetId: string | undefined;
  /** Addresses of that subnet that one instance uses: one, and with flat networking one more per possible pod. */
  readonly addressesPerNode: number;
  /** The devices that the configuration or its tags declare for its nodes. If absent, none. */
  readonly devices?: readonly DevicePool[];
  /** The folded ARM id of the capacity reservation group that its instances may use. If absent, none. */
  readonly reservationGroup?: string;
  /** User-assigned identities of its instances. */
  readonly identityIds: readonly string[];
  readonly armId: string;
  /** Effects of its kubelet configuration that planning cannot include, as sentences. */
  readonly warnings: readonly string[];
}

export interface DiagnosedPools {
  readonly pools: readonly DiagnosedPool[];
  /** Reasons why sets that a rule selects cannot be groups. */
  readonly skipped: readonly { readonly name: string; readonly reason: string }[];
  /** Indexes of discovery rules that select nothing, counted from 0. */
  readonly idleRules: readonly number[];
  /** Names in the options that no pool has. */
  readonly unusedOptionNames: readonly string[];
  /** Every scale set of the node resource group. */
  readonly scaleSets: readonly string[];
}

/** @throws AutoscalerError of the first list that could not be read. */
export async function readPools(deps: PoolDiagnosisDeps, signal: AbortSignal): Promise<DiagnosedPools> {
  const { options, clients, calls } = deps;
  const { nodeResourceGroup, clusterName, clusterResourceGroup } = options;
  const sets = await readRows(deps, {
    call: { operation: 'listScaleSets', resource: nodeResourceGroup },
    signal,
    open: () => clients.compute.virtualMachineScaleSets.list(nodeResourceGroup).byPage(),
    project: (raw: VirtualMachineScaleSet) => {
      const value = projectScaleSet(raw);
      return value === undefined
        ? undefined
        : {
            key: value.name.toLowerCase(),
            value: { row: value, ...subnetOf(raw), identityIds: identitiesOf(raw), hasEtag: !options.enableVmssEtag || hasEtag(raw) },
            etag: undefined,
          };
    },
  });
  const agentPools =
    clusterName === undefined || clusterResourceGroup === undefined
      ? new Map<string, ListedPool>()
      : await readRows(
          { ...deps, calls },
          {
            call: { operation: 'listAgentPools', resource: clusterName },
            signal,
            open: () => agentPoolPages(deps, { resourceGroup: clusterResourceGroup, name: clusterName }),
            project: (raw: ListedAgentPool) => {
              const row = projectAgentPool(raw);
              return row === undefined
                ? undefined
                : { key: row.name.toLowerCase(), value: { row, vms: readVmsPool(raw) }, etag: undefined };
            },
          },
        );
  return diagnosePools(options, sets, agentPools);
}

async function readRows<Raw, Value>(
  deps: PoolDiagnosisDeps,
  read: Parameters<typeof readPages<Raw, Value>>[1],
): Promise<ReadonlyMap<string, Value>> {
  const { pages, error } = await readPages(deps, read);
  if (error !== undefined) throw error;
  return new Map(pages.flatMap(({ rows }) => rows.map(({ key, value }) => [key, value] as const)));
}

interface ListedScaleSet extends Pick<DiagnosedPool, 'subnetId' | 'addressesPerNode' | 'identityIds'> {
  readonly row: ScaleSetRow;
  /** Whether writes of it can be conditional. */
  readonly hasEtag: boolean;
}

const NO_ETAG =
  'Azure listed it without an entity tag; while a read of the set has none either, it is not increased, and is read again every minute';

const NO_POOL_ETAG =
  'AKS listed its agent pool without an entity tag, as it did until 2025; while a read of the pool has none either, it is not increased, since it is written through AKS';

/** Why an increase of a scale set would be refused for want of a condition. */
function conditionWarnings(
  { row, hasEtag }: ListedScaleSet,
  pool: AgentPoolRow | undefined,
  { writePath }: AzureOptions,
): readonly string[] {
  const throughAks = (writePathTag(row.tags) ?? writePath) === 'agentPool';
  return [...(hasEtag ? [] : [NO_ETAG]), ...(throughAks ? tagWarnings(pool) : [])];
}

/** That nodes are deleted although the configuration or a tag says that they are stopped. */
function stopWarnings(
  group: RegisteredGroup,
  { set, pool }: { readonly set: ScaleSetRow; readonly pool: AgentPoolRow | undefined },
  { deallocate, writePath, nodeGroupOptions }: AzureOptions,
): readonly string[] {
  const own = nodeGroupOptionsOf(group.key, set.tags, nodeGroupOptions);
  // With the setting for all pools, the mode of each is how people choose among them.
  const isChosen = own.deallocate ?? (deallocate && pool?.deallocates === true);
  if (!isChosen) return [];
  const throughAks = (writePathTag(set.tags) ?? writePath) === 'agentPool';
  const why = reasonAgainstStops({ set, pool, throughAks });
  return why === undefined ? [] : [`its nodes are deleted, not stopped: ${why}`];
}

function tagWarnings(pool: AgentPoolRow | undefined): readonly string[] {
  return pool === undefined || pool.etag !== undefined ? [] : [NO_POOL_ETAG];
}

function hasEtag({ etag = '' }: VirtualMachineScaleSet): boolean {
  return etag !== '';
}

interface ListedPool {
  readonly row: AgentPoolRow;
  /** undefined: another type of pool. */
  readonly vms: VmsPool | undefined;
}

function diagnosePools(
  options: AzureOptions,
  sets: ReadonlyMap<string, ListedScaleSet>,
  listed: ReadonlyMap<string, ListedPool>,
): DiagnosedPools {
  const scaleSets = new Map([...sets].map(([key, { row }]) => [key, { value: row }]));
  const agentPools = new Map([...listed].map(([key, { row }]) => [key, row]));
  const poolSizes = sizesOf(options, listed);
  const registration = registerGroups({ options, scaleSets, agentPools, poolSizes });
  const pools = [...registration.groups.values()].map((group) =>
    group.kind === 'vms-pool'
      ? diagnoseVmsPoolSize(group, { agentPools, options }, poolSizes)
      : diagnoseScaleSet(group, sets.get(group.key), { agentPools, options }),
  );
  const tagged = [...registration.groups.keys()].map((key) => ({
    key,
    tags: (sets.get(key)?.row ?? poolSizes.get(key)?.value)?.tags ?? {},
  }));
  const unused = unusedOptionNames(options.nodeGroupOptions, tagged);
  const skipped = [...registration.skipped].map(([name, reason]) => ({ name, reason }));
  return {
    pools,
    skipped,
    idleRules: registration.idleRules,
    unusedOptionNames: unused,
    scaleSets: [...sets.values()].map(({ row }) => row.name),
  };
}

function diagnoseScaleSet(
  group: RegisteredGroup,
  set: ListedScaleSet | undefined,
  { agentPools, options }: { readonly agentPools: ReadonlyMap<string, AgentPoolRow>; readonly options: AzureOptions },
): DiagnosedPool {
  const limits = { name: group.id, min: group.min, max: group.max };
  if (set === undefined) return { ...limits, ...NOT_FOUND };
  const { row, subnetId, addressesPerNode, identityIds } = set;
  const named = poolOf(row.tags);
  const pool = named === undefined ? undefined : agentPools.get(named.toLowerCase());
  return {
    ...limits,
    found: true,
    kind: `${row.orchestration} scale set`,
    capacity: row.capacity,
    vmSize: row.vmSize,
    zones: row.zones,
    priority: row.priority,
    agentPool: pool?.name ?? named,
    managedAutoscaler: pool?.managedAutoscaler ?? false,
    ...defined({ aksCount: pool?.deallocates === true || pool?.managedAutoscaler === true ? undefined : pool?.count }),
    frozen: describeBlock(blockAgainstChange('doctor', inputOfRows(group, { row, pool, adopted: options.adoptsManagedPools === true }))),
    subnetId,
    addressesPerNode,
    identityIds,
    ...reservationGroupOf(row, pool),
    ...defined({ devices: nodeGroupOptionsOf(group.key, row.tags, options.nodeGroupOptions).devices }),
    armId: row.armId,
    warnings: [...(pool?.warnings ?? []), ...conditionWarnings(set, pool, options), ...stopWarnings(group, { set: row, pool }, options)],
  };
}

/** Without the cluster's name no agent pools were read, so the pool is assumed to exist. */
function diagnoseVmsPoolSize(
  group: RegisteredGroup,
  { agentPools, options }: { readonly agentPools: ReadonlyMap<string, AgentPoolRow>; readonly options: AzureOptions },
  poolSizes: PoolSizes,
): DiagnosedPool {
  const [name = ''] = group.key.split('/');
  const size = poolSizes.get(group.key)?.value;
  const pool = agentPools.get(name.toLowerCase());
  return {
    name: group.id,
    min: group.min,
    max: group.max,
    ...NOT_FOUND,
    found: agentPools.size === 0 || pool !== undefined,
    kind: 'VirtualMachines pool',
    vmSize: size?.vmSize ?? '',
    capacity: size?.count,
    agentPool: name,
    ...defined({ devices: nodeGroupOptionsOf(group.key, size?.tags ?? {}, options.nodeGroupOptions).devices }),
    ...(pool === undefined ? {} : agentPoolPart(pool, machineStopWarnings(group, { size, pool }, options))),
  };
}

function reservationGroupOf(row: ScaleSetRow, pool: AgentPoolRow | undefined): Pick<DiagnosedPool, 'reservationGroup'> {
  return defined({ reservationGroup: row.reservationGroup ?? pool?.reservationGroup });
}

/** What AKS does with removed machines of a pool of type VirtualMachines, if that is not what the configuration says. */
function machineStopWarnings(
  group: RegisteredGroup,
  { size, pool }: { readonly size: PoolSizeRow | undefined; readonly pool: AgentPoolRow },
  { deallocate, nodeGroupOptions }: AzureOptions,
): readonly string[] {
  const own = nodeGroupOptionsOf(group.key, size?.tags ?? {}, nodeGroupOptions);
  const isChosen = own.deallocate ?? (deallocate && pool.deallocates === true);
  if (!isChosen) return pool.deallocates === true ? [AKS_MAY_STOP] : [];
  const why = reasonAgainstStops({ set: undefined, pool, throughAks: false, ephemeralDisk: size?.ephemeralDisk });
  return why === undefined ? [] : [`its nodes are not to be stopped: ${why}`];
}

function agentPoolPart(pool: AgentPoolRow, stopWarnings: readonly string[]) {
  const { name, zones, priority, managedAutoscaler, reservationGroup, warnings = [] } = pool;
  return {
    agentPool: name,
    zones,
    priority,
    managedAutoscaler,
    warnings: [...warnings, ...tagWarnings(pool), ...stopWarnings],
    ...defined({ reservationGroup }),
  };
}

const NOT_FOUND = {
  found: false,
  kind: 'scale set',
  capacity: undefined,
  vmSize: '',
  zones: [],
  priority: 'Regular',
  agentPool: undefined,
  managedAutoscaler: false,
  frozen: undefined,
  subnetId: undefined,
  addressesPerNode: 1,
  identityIds: [],
  armId: '',
  warnings: [],
} as const;

/** The primary subnet and the addresses that one node uses. Flat networking reserves an address for every pod that a node may have. */
function subnetOf({ virtualMachineProfile }: VirtualMachineScaleSet): Pick<DiagnosedPool, 'subnetId' | 'addressesPerNode'> {
  const nics = virtualMachineProfile?.networkProfile?.networkInterfaceConfigurations ?? [];
  const subnets = nics.flatMap((nic) => (nic.ipConfigurations ?? []).flatMap(({ subnet }) => subnet?.id ?? []));
  const [subnetId] = subnets;
  const same = subnets.filter((id) => id.toLowerCase() === subnetId?.toLowerCase());
  return { subnetId, addressesPerNode: Math.max(1, same.length) };
}

function identitiesOf({ identity }: VirtualMachineScaleSet): readonly string[] {
  return Object.keys(identity?.userAssignedIdentities ?? {});
}

type PoolSizes = NonNullable<Parameters<typeof registerGroups>[0]['poolSizes']>;

/** The sizes that AKS lists, and configured sizes without an instance. */
function sizesOf({ nodeGroups }: AzureOptions, pools: ReadonlyMap<string, ListedPool>): PoolSizes {
  return new Map(
    [...pools].flatMap(([key, { vms }]) => {
      if (vms === undefined) return [];
      const named = nodeGroups.flatMap(({ name }) => {
        const [pool = '', vmSize] = name.split('/');
        return vmSize !== undefined && pool.toLowerCase() === key ? [vmSize] : [];
      });
      return poolSizeRows(vms, named).map((row) => [row.key, { value: row.value }] as const);
    }),
  );
}
