/**
 * What exists in the emulated Azure: scale sets, VMs, agent pools, operations, stock and quota. Plain mutable records that other
 * rooms change; this file only has identity and look-up. Must not know requests.
 */
import type { SimClock } from '../../base/sim-clock.ts';
import type { ViolationLog } from '../../base/write-safety.ts';
import type { PoolSpec, WorldSpec } from '../../base/world-spec.ts';
import type { SeededRandom } from './seeded-random.ts';
import type { OperationFailure } from '../http/errors.ts';
import type { FaultTable } from './fault-rules.ts';
import type { Journal } from '../http/journal.ts';
import { pick, pickText, type JsonObject } from '../http/json.ts';
import type { ArmLatencies } from './latencies.ts';
import type { VmFeedPublisher } from './vm-feed-publisher.ts';
import type { Throttle } from '../http/throttling.ts';
import type { Disk, ProvisioningState, Vm } from './vm.ts';

/** The last change of a capacity was one increase of a client, or several in a row. */
export interface OwnIncrease {
  readonly clientId: string;
  /** The capacity before the first increase. */
  readonly from: number;
  /** The revision of the last increase. */
  readonly revision: number;
}

/** The changes of a value by other writers, and which principals have read them. */
export interface CapacityHistory {
  /** Number of capacity changes. */
  revision: number;
  /** Revision of the last change made by a foreign writer. */
  foreignRevision: number;
  /** By how much foreign writers have decreased the value in total. */
  foreignLowered: number;
  /** Last revision that each principal has read. */
  readonly seen: Map<string, number>;
  /** `foreignLowered` at each principal's last read. */
  readonly seenLowered: Map<string, number>;
  increase?: OwnIncrease | undefined;
}

export interface ScaleSet {
  readonly name: string;
  readonly resourceId: string;
  pool: PoolSpec;
  readonly kind: 'uniform' | 'flexible';
  /** The resource as clients wrote it, `sku.capacity` included. Etag and provisioning state are separate. */
  document: JsonObject;
  etag: number;
  provisioningState: ProvisioningState;
  nextInstanceId: number;
  readonly vms: Map<string, Vm>;
  readonly history: CapacityHistory;
  /** Instances of accepted deletions that the capacity and the etag do not show yet: the capacity still counts them. */
  lagging: number;
  /** How long the capacity lags behind the next deletion, milliseconds of the world. If undefined, the knob applies. */
  nextLagMs: number | undefined;
  /** A change that another writer will make just before the client's next write is handled. */
  pendingForeignWrite: { readonly to: number } | { readonly delta: number } | undefined;
}

export interface AgentPool {
  readonly name: string;
  spec: PoolSpec;
  /** `properties` without eTag and provisioning state. */
  properties: JsonObject;
  etagCounter: number;
  provisioningState: string;
  /** VMs of a pool of type VirtualMachines. */
  readonly vms: Map<string, Vm>;
  nextVm: number;
  /** The history of its counts, for pools of type VirtualMachines. */
  readonly history: CapacityHistory;
  /** The same as for a scale set, for one size of a pool of type VirtualMachines. */
  pendingForeignWrite: (({ readonly to: number } | { readonly delta: number }) & { readonly vmSize?: string }) | undefined;
  /** Its scale set's key, for pools of type VirtualMachineScaleSets. */
  readonly setKey: string | undefined;
}

export interface Operation {
  readonly id: string;
  readonly kind: 'scale' | 'delete' | 'deallocate' | 'start' | 'model' | 'agent-pool' | 'remove-set' | 'disk';
  readonly provider: 'compute' | 'aks' | 'disks';
  readonly pool: string;
  readonly setKey: string | undefined;
  readonly principal: string;
  readonly startMs: number;
  endMs: number | undefined;
  status: 'InProgress' | 'Succeeded' | 'Failed' | 'Canceled';
  failures: OperationFailure[];
  /** What the end of an operation on a disk shows beside its status. */
  readonly output: (() => JsonObject) | undefined;
  /** Resource ids of VMs that are not idle yet. */
  readonly pending: Set<string>;
  readonly retryAfterSeconds: number;
  /** Runs when the operation has ended in any way, before its document shows the end. */
  /** From the end of the wait for VMs to its own end, simulated milliseconds. */
  readonly settlesMs: number;
  readonly onEnd: ((operation: Operation) => void) | undefined;
}

/** One VM's pending event, as its metadata service shows it. */
interface ScheduledEvent {
  readonly id: string;
  readonly vm: Vm;
  readonly notBeforeMs: number;
}

/** A row of a list at some past time. */
export interface Listed {
  readonly name: string;
  readonly shown: JsonObject;
}

/** Past states of the lists of a resource group. */
export interface ListHistory {
  /** The list that this request shows. undefined: the current one. */
  sets(occasion: string): readonly Listed[] | undefined;
  vms(occasion: string): readonly Listed[] | undefined;
}

/** How a client reaches an API server and signs in there. */
export interface ApiServerAccess {
  readonly url: string;
  readonly caPem: string;
  readonly token: string;
}

/**
 * What all clusters of one subscription share in a region: Azure's limits of calls, its stock of sizes and the usage of quotas. Limits are
 * "per region, per subscription, shared with every other client in it" (caching 2.1).
 */
export interface Subscription {
  readonly throttle: Throttle;
  /** `size/zone` in lower case -> VMs left. */
  readonly stock: Map<string, number>;
  readonly clusters: Set<ArmWorld>;
}

export interface DrainOptions {
  readonly timeoutMs: number;
  /** Once false, no more pods are evicted, and `done` is not called. Default: the drain goes on. */
  readonly goesOn?: () => boolean;
}

/** What AKS does with nodes, on the side of the cluster. */
export interface NodeMaintenance {
  /** Cordons the node and evicts its pods. `done` gets why it failed in time, or undefined. */
  drain(hostName: string, options: DrainOptions, done: (failure: string | undefined) => void): void;
  uncordon(hostName: string): void;
  isReady(hostName: string): boolean;
}

export interface ArmWorld {
  /** The subscription, with this cluster in it. */
  readonly subscription: Subscription;
  readonly spec: WorldSpec;
  readonly clock: SimClock;
  readonly knobs: ArmLatencies;
  readonly draws: SeededRandom;
  readonly violations: ViolationLog;
  readonly journal: Journal;
  readonly throttle: Throttle;
  readonly faults: FaultTable;
  readonly vmFeed: VmFeedPublisher;
  readonly sets: Map<string, ScaleSet>;
  readonly agentPools: Map<string, AgentPool>;
  /** Managed disks by resource id in lower case. Disks of operating systems are not among them: they come and go with their VMs. */
  readonly disks: Map<string, Disk>;
  readonly operations: Map<string, Operation>;
  /** What clients created around the cluster (identities, roles and their assignments), as shown, by resource id in lower case. */
  readonly documents: Map<string, JsonObject>;
  /** Sizes in lower case that this subscription cannot use, with their zones. Without zones: in the whole region. */
  readonly restricted: Map<string, readonly string[]>;
  /** `size/zone` in lower case -> VMs left. */
  readonly stock: Map<string, number>;
  /** Family or `cores` or `lowPriorityCores` in lower case -> vCPU limit. */
  readonly quota: Map<string, number>;
  /** The scheduled events of all VMs by event id. */
  readonly scheduledEvents: Map<string, ScheduledEvent>;
  /** Rises with every change of the scheduled events. */
  eventIncarnation: number;
  /** The API server behind the managed cluster; undefined until the world has one. */
  apiServer: ApiServerAccess | undefined;
  /** Absent while this Azure has no cluster: then AKS touches VMs only. */
  nodes: NodeMaintenance | undefined;
  /** Settings of AKS's own autoscaler, with dashed names. */
  autoScalerProfile: JsonObject;
  /** Tags of the managed cluster. */
  clusterTags: JsonObject;
  /** Properties of the managed cluster that AKS keeps as a client wrote them, by name. */
  clusterSettings: JsonObject;
  /** Its maintenance configurations by name in lower case. */
  readonly maintenance: Map<string, { readonly name: string; readonly properties: JsonObject }>;
  /** The managed cluster is stopped, and every pool with it. */
  clusterStopped: boolean;
  /** The version of the control plane. */
  kubernetesVersion: string;
  /** The kind of the last operation on the cluster. */
  clusterWork: 'Updating' | 'Starting' | 'Stopping' | 'Upgrading' | 'Canceling';
  readonly timers: Set<() => void>;
  /** Set once at the start of the world. */
  lists: ListHistory;
  /** Number of operations so far by pool and kind; ids derive from it. */
  readonly operationCounts: Map<string, number>;
}

/** Runs a step later, unless the world stops first. */
export function later(world: ArmWorld, ms: number, step: () => void): void {
  const forget = world.clock.after(ms, () => {
    world.timers.delete(forget);
    step();
  });
  world.timers.add(forget);
}

export function findSet(world: ArmWorld, name: string): ScaleSet | undefined {
  return world.sets.get(name.toLowerCase());
}

export function setOfPool(world: ArmWorld, pool: string): ScaleSet | undefined {
  return [...world.sets.values()].find((set) => set.pool.name === pool);
}

/** The capacity as reads show it. */
export function capacityOf(set: ScaleSet): number {
  const capacity = pick(set.document, 'sku', 'capacity');
  return typeof capacity === 'number' ? capacity : 0;
}

/** The capacity that the accepted writes and deletions lead to. The journal counts with it. */
export function goalOf(set: ScaleSet): number {
  return capacityOf(set) - set.lagging;
}

export function sizeOf(set: ScaleSet): string {
  return pickText(set.document, 'sku', 'name') ?? set.pool.vmSize;
}

export function etagText(counter: number): string {
  return `"${counter}"`;
}

/** All VMs in order of owner and creation. */
export function allVms(world: ArmWorld): readonly Vm[] {
  const inSets = [...world.sets.values()].flatMap((set) => [...set.vms.values()]);
  return [...inSets, ...[...world.agentPools.values()].flatMap((pool) => [...pool.vms.values()])];
}

/** The map that holds a VM. undefined: its owner is gone. */
export function homeOf(world: ArmWorld, vm: Vm): Map<string, Vm> | undefined {
  const homes = [...world.sets.values(), ...world.agentPools.values()].map((owner) => owner.vms);
  return homes.find((vms) => vms.get(vm.key) === vm);
}
