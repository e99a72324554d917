/**
 * Controls of the world for tests and the demo: state, journal, incidents, events, stock and quota. Azure has none of this, so a client
 * under test must not use it. The object and the `/_emu` routes do the same. Must not know the program under test.
 */
import type { Violation } from '../../base/write-safety.ts';
import { createBackgroundActors, type BackgroundActorOptions } from '../faults/background-actors.ts';
import { VirtualSimClock, type RealSimClock } from '../../base/sim-clock.ts';
import { raiseIncident, type IncidentRequest } from '../faults/raise-incident.ts';
import { changePowerAsForeigner, deleteAsForeigner, scaleAsForeigner, type ForeignChange } from '../faults/concurrent-writers.ts';
import { isVmsPool, manualScale, poolSize } from '../state/agent-pool-document.ts';
import { reconcilePool } from '../aks/agent-pools.ts';
import { isIdle } from '../aks/agent-pool-validation.ts';
import { evict } from '../compute/spot-eviction.ts';
import type { Fault, FaultTable } from '../state/fault-rules.ts';
import type { JournalEntry } from '../http/journal.ts';
import type { JsonObject } from '../http/json.ts';
import { abortPool, upgradeAsForeigner } from '../aks/pool-version.ts';
import { failZone, failSet, hangVms, preemptSet, repairInstance, upgradePool } from '../faults/platform-incidents.ts';
import { addPool, removePool } from '../aks/create-agent-pool.ts';
import { retagPool, scalePoolAsForeigner } from '../faults/concurrent-pool-writers.ts';
import type { FrozenLists } from '../compute/stale-lists.ts';
import { stockKey, usages, type Usage } from '../state/stock-and-quota.ts';
import { capacityOf, etagText, setOfPool, type AgentPool, type ArmWorld, type Operation, type ScaleSet } from '../state/arm-state.ts';
import type { Disk, Vm } from '../state/vm.ts';
import { diskSizeOf, diskStateOf, zoneOfDisk } from '../disks/disk-document.ts';
import type { WorldEvent } from '../faults/world-event.ts';
import { defined } from '../../../../src/lib/defined.ts';

interface SetState {
  readonly pool: string;
  readonly name: string;
  readonly capacity: number;
  readonly etag: string;
  readonly provisioningState: string;
  readonly min: number;
  readonly max: number;
  readonly instances: readonly InstanceState[];
}

export interface InstanceState {
  readonly id: string;
  readonly name: string;
  readonly hostName: string;
  readonly zone?: string;
  readonly vmSize: string;
  readonly provisioningState: string;
  readonly power: string;
  readonly error?: string;
  /** Overprovisioned: it counts nowhere. */
  readonly surplus?: true;
}

interface OperationState {
  readonly id: string;
  readonly kind: string;
  readonly pool: string;
  readonly principal: string;
  readonly status: string;
  readonly code?: string;
  readonly startMs: number;
  readonly endMs?: number;
}

interface DiskView {
  readonly name: string;
  readonly sizeGiB: number;
  readonly zone?: string;
  readonly state: string;
  /** The host name of the VM that has it or gets it. */
  readonly owner?: string;
}

export interface ArmState {
  readonly nowMs: number;
  readonly sets: readonly SetState[];
  readonly agentPools: readonly {
    readonly name: string;
    readonly size: number;
    /** Count by size, for VMs pools. */
    readonly sizes: Readonly<Record<string, number>>;
    readonly provisioningState: string;
    readonly machines: readonly InstanceState[];
  }[];
  /** Managed disks, without those of operating systems. */
  readonly disks: readonly DiskView[];
  readonly operations: readonly OperationState[];
  /** Settings of AKS's own autoscaler. */
  readonly autoScalerProfile: JsonObject;
  readonly stock: Readonly<Record<string, number>>;
  readonly usages: readonly Usage[];
  readonly faults: readonly Fault[];
  /** The background actors. */
  readonly ambient: BackgroundActorOptions;
  readonly violations: readonly Violation[];
}

export interface ArmControl {
  state(): ArmState;
  /** Entries with a sequence number above `seq` (default: all). */
  journal(seq?: number): readonly JournalEntry[];
  /** Calls back for each new entry of the journal, which keeps only the last ones. Returns a function that unsubscribes. */
  onEntry(listener: (entry: JournalEntry) => void): () => void;
  addFault(fault: Fault): void;
  /**
   * Raises an incident of the catalogue by its number. `removeFault` ends it. @returns what is wrong with the request, or
   * undefined.
   */
  addCatalogued(order: IncidentRequest): string | undefined;
  removeFault(id: string): boolean;
  /** @returns what is wrong with the event, or undefined when it has been raised. */
  raise(event: WorldEvent): string | undefined;
  /** Replaces the background actors; `{}` ends them. */
  setAmbient(settings: BackgroundActorOptions): void;
  /** Moves a virtual clock. false: this world runs on real time. */
  advanceClock(ms: number): boolean;
  /** Changes the speed of the world from now on. false: this world runs in virtual time. */
  scaledClock(speed: number): boolean;
  /** vCPU limit of a family, `cores` or `lowPriorityCores`. */
  setQuota(name: string, limit: number): void;
  /** Restricts a size for the subscription in these zones; without zones, in the whole region. undefined: ends the restriction. */
  restrict(vmSize: string, zones: readonly string[] | undefined): void;
  /** Stock of a size in a zone; zone `0` is regional. With a priority, that of Spot or of regular VMs alone. */
  setStock(vmSize: string, zone: string, count: number, priority?: 'Regular' | 'Spot'): void;
}

export interface ControlDeps {
  readonly world: ArmWorld;
  readonly faults: FaultTable;
  readonly frozen: FrozenLists;
}

export function createControl({ world, faults, frozen }: ControlDeps): ArmControl {
  const undo = new Map<string, () => void>();
  const addFault = (fault: Fault): void => {
    faults.add(fault);
    if (fault.effect.kind === 'stale-list') frozen.freeze(fault.id);
  };
  const removeFault = (id: string): boolean => {
    frozen.forget(id);
    return faults.remove(id);
  };
  const ambient = createBackgroundActors(world, (event) => raiseEvent(world, event));
  return {
    state: () => stateOf(world, faults, ambient.settings),
    setAmbient: (settings) => ambient.set(settings),
    journal: (seq = 0) => world.journal.since(seq),
    onEntry: (listener) => world.journal.subscribe(listener),
    addFault,
    addCatalogued: (order) => {
      const raised = raiseIncident({ world, addFault, removeFault, raise: (event) => raiseEvent(world, event) }, order);
      if (typeof raised === 'string') return raised;
      undo.set(order.id, raised);
      return undefined;
    },
    removeFault: (id) => {
      const end = undo.get(id);
      undo.delete(id);
      end?.();
      return removeFault(id) || end !== undefined;
    },
    raise: (event) => raiseEvent(world, event),
    advanceClock: (ms) => {
      if (!(world.clock instanceof VirtualSimClock)) return false;
      world.clock.advance(ms);
      return true;
    },
    scaledClock: (speed) => {
      if (world.clock instanceof VirtualSimClock || !('setSpeed' in world.clock)) return false;
      (world.clock as RealSimClock).setSpeed(speed);
      return true;
    },
    setQuota: (name, limit) => world.quota.set(name.toLowerCase(), limit),
    restrict: (vmSize, zones) => {
      if (zones === undefined) world.restricted.delete(vmSize.toLowerCase());
      else world.restricted.set(vmSize.toLowerCase(), zones);
    },
    setStock: (vmSize, zone, count, priority) => world.stock.set(stockKey(vmSize, zone, priority), count),
  };
}

function raiseEvent(world: ArmWorld, event: WorldEvent): string | undefined {
  if ('addPool' in event) return addPool(world, event.addPool);
  if ('zoneDown' in event) return failZone(world, event.zoneDown.zone, event.zoneDown.forMs);
  const [[, { pool }]] = Object.entries(event) as [[string, { readonly pool: string }]];
  const agentPool = world.agentPools.get(pool.toLowerCase());
  if (agentPool === undefined) return `pool "${pool}" does not exist`;
  if ('removePool' in event) return removePool(world, agentPool);
  if ('retag' in event) return retagPool(world, agentPool, event.retag.tags);
  if ('hang' in event) return hangVms(world, agentPool.name, event.hang);
  if ('evict' in event) {
    evict(world, agentPool, event.evict);
    return undefined;
  }
  if ('foreignScale' in event && isVmsPool(agentPool)) return raiseForeignPoolScale(world, agentPool, event.foreignScale);
  if ('rpReconcile' in event) return reconcilePool(world, agentPool);
  if ('upgradeVersion' in event) return upgradeAsForeigner(world, agentPool, event.upgradeVersion.version);
  if ('abort' in event) return abortPool(world, agentPool);
  return raiseOnSet(world, agentPool, event);
}

type OtherEvent = 'addPool' | 'removePool' | 'zoneDown' | 'retag' | 'evict' | 'hang' | 'rpReconcile' | 'upgradeVersion' | 'abort';
type ScaleSetEvent = Exclude<WorldEvent, { readonly [Key in OtherEvent]: { readonly [Name in Key]: unknown } }[OtherEvent]>;

function raiseOnSet(world: ArmWorld, agentPool: AgentPool, event: ScaleSetEvent): string | undefined {
  const set = setOfPool(world, agentPool.name);
  if (set === undefined) return `pool "${agentPool.name}" has no scale set`;
  if ('foreignScale' in event) return raiseForeignScale(world, set, event.foreignScale);
  if ('foreignDelete' in event) return deleteAsForeigner(world, set, event.foreignDelete.instanceIds);
  if ('foreignPower' in event) return changePowerAsForeigner(world, set, event.foreignPower.action, event.foreignPower.count);
  if ('repair' in event) return repairInstance(world, set, event.repair.instanceId);
  if ('preempt' in event) return preemptSet(world, set);
  if ('failSet' in event) return failSet(world, set);
  return upgradePool(world, agentPool, { set, surge: event.upgrade.surge ?? 1 });
}

function raiseForeignScale(world: ArmWorld, set: ScaleSet, change: ForeignChange & { readonly when?: string }): string | undefined {
  const { to, delta }: { readonly to?: number; readonly delta?: number } = change;
  if (!Number.isInteger(to ?? delta)) return 'foreignScale needs "to" or "delta" as a whole number';
  if (change.when !== 'before-next-write') return scaleAsForeigner(world, set, change);
  set.pendingForeignWrite = change;
  return undefined;
}

function raiseForeignPoolScale(world: ArmWorld, pool: AgentPool, change: ForeignChange & { readonly when?: string }): string | undefined {
  const { to, delta }: { readonly to?: number; readonly delta?: number } = change;
  if (!Number.isInteger(to ?? delta)) return 'foreignScale needs "to" or "delta" as a whole number';
  if (change.when !== 'before-next-write') {
    return isIdle(pool) ? scalePoolAsForeigner(world, pool, change) : `pool "${pool.name}" is ${pool.provisioningState}`;
  }
  pool.pendingForeignWrite = change;
  return undefined;
}

function stateOf(world: ArmWorld, faults: FaultTable, ambient: BackgroundActorOptions): ArmState {
  return {
    nowMs: world.clock.now(),
    sets: [...world.sets.values()].map(setState),
    agentPools: [...world.agentPools.values()].map((pool) => ({
      name: pool.name,
      size: poolSize(pool),
      sizes: Object.fromEntries(manualScale(pool.properties).map(({ size, count }) => [size, count])),
      provisioningState: pool.provisioningState,
      machines: [...pool.vms.values()].map(instanceState),
    })),
    disks: [...world.disks.values()].map(diskView),
    operations: [...world.operations.values()].map(operationState),
    autoScalerProfile: world.autoScalerProfile,
    stock: Object.fromEntries(world.stock),
    usages: usages(world),
    faults: faults.list(),
    ambient,
    violations: world.violations.list(),
  };
}

function setState(set: ScaleSet): SetState {
  return {
    pool: set.pool.name,
    name: set.name,
    capacity: capacityOf(set),
    etag: etagText(set.etag),
    provisioningState: set.provisioningState,
    min: set.pool.min,
    max: set.pool.max,
    instances: [...set.vms.values()].map(instanceState),
  };
}

function instanceState(vm: Vm): InstanceState {
  return {
    id: vm.key,
    name: vm.name,
    hostName: vm.hostName,
    ...defined({ zone: vm.zone }),
    vmSize: vm.vmSize,
    provisioningState: vm.provisioningState,
    power: vm.power,
    ...(vm.failure === undefined ? {} : { error: vm.failure.code }),
    ...(vm.surplus ? { surplus: true } : {}),
  };
}

function diskView(disk: Disk): DiskView {
  return {
    name: disk.name,
    sizeGiB: diskSizeOf(disk),
    state: diskStateOf(disk),
    ...defined({ zone: zoneOfDisk(disk), owner: disk.owner?.hostName }),
  };
}

function operationState(operation: Operation): OperationState {
  const code = operation.failures[0]?.code;
  return {
    id: operation.id,
    kind: operation.kind,
    pool: operation.pool,
    principal: operation.principal,
    status: operation.status,
    ...defined({ code }),
    startMs: operation.startMs,
    ...defined({ endMs: operation.endMs }),
  };
}

/** The state as the control surface returns it. */
export function stateBody(control: ArmControl): JsonObject {
  return JSON.parse(JSON.stringify(control.state())) as JsonObject;
}
