/**
 * The hand on the world: its state, its journal, misfortune, events, stock and quota. Azure has none of this; a client
 * under test must not use it. The object and the `/_emu` routes do the same things.
 */
import type { Violation } from '../violations.ts';
import { VirtualSimClock, type RealSimClock } from '../sim-clock.ts';
import type { PoolSpec } from '../world-spec.ts';
import { scaleAsForeigner, type ForeignChange } from './ambush.ts';
import { isVmsPool, manualScale, poolSize } from './agent-pool-document.ts';
import { reconcilePool } from './agent-pools.ts';
import { evict } from './eviction.ts';
import type { Fault, FaultTable } from './faults.ts';
import type { JournalEntry } from './journal.ts';
import type { JsonObject } from './json.ts';
import { darkenZone, repairInstance } from './misfortunes.ts';
import { plantPool, uprootPool } from './planting.ts';
import { scalePoolAsForeigner } from './pool-ambush.ts';
import type { FrozenLists } from './stale-lists.ts';
import { stockKey, usages, type Usage } from './stock.ts';
import { capacityOf, etagText, setOfPool, type AgentPool, type ArmWorld, type Operation, type ScaleSet } from './world-state.ts';
import type { Vm } from './vm.ts';

/** One key per event. */
export type WorldEvent =
  /** Another writer scales a set, or a size of a VMs pool: at once, or just before the next write by a judged principal is looked at. */
  | {
      readonly foreignScale: ForeignChange & {
        readonly pool: string;
        readonly vmSize?: string;
        readonly when?: 'now' | 'before-next-write';
      };
    }
  /** Spot machines are taken back, the newest first: after the notice they vanish and the capacity falls, or they are deallocated. */
  | { readonly evict: { readonly pool: string; readonly count?: number; readonly instanceIds?: readonly string[] } }
  /** AKS sets the scale set back to its agent pool's count. */
  | { readonly rpReconcile: { readonly pool: string } }
  /** Automatic repair: an instance (the oldest unless named) is replaced by one with another id. */
  | { readonly repair: { readonly pool: string; readonly instanceId?: string } }
  /** A zone goes dark, for so many simulated milliseconds or for good. */
  | { readonly zoneDown: { readonly zone: string; readonly forMs?: number } }
  | { readonly addPool: PoolSpec }
  | { readonly removePool: { readonly pool: string } };

export interface SetState {
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
}

export interface OperationState {
  readonly id: string;
  readonly kind: string;
  readonly pool: string;
  readonly principal: string;
  readonly status: string;
  readonly code?: string;
  readonly startMs: number;
  readonly endMs?: number;
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
  readonly operations: readonly OperationState[];
  readonly stock: Readonly<Record<string, number>>;
  readonly usages: readonly Usage[];
  readonly faults: readonly Fault[];
  readonly violations: readonly Violation[];
}

export interface ArmControl {
  state(): ArmState;
  /** Entries with a sequence number above `seq` (default: all). */
  journal(seq?: number): readonly JournalEntry[];
  addFault(fault: Fault): void;
  removeFault(id: string): boolean;
  /** @returns what is wrong with the event, or undefined when it has been raised. */
  raise(event: WorldEvent): string | undefined;
  /** Moves a virtual clock. false: this world runs on the machine's time. */
  advanceClock(ms: number): boolean;
  /** Changes how fast the world is from now on. false: this world lives in virtual time. */
  scaledClock(speed: number): boolean;
  /** vCPU limit of a family, `cores` or `lowPriorityCores`. */
  setQuota(name: string, limit: number): void;
  /** Machines of a size left in a zone; zone `0` is regional. */
  setStock(vmSize: string, zone: string, count: number): void;
}

export interface ControlParts {
  readonly world: ArmWorld;
  readonly faults: FaultTable;
  readonly frozen: FrozenLists;
}

export function createControl({ world, faults, frozen }: ControlParts): ArmControl {
  return {
    state: () => stateOf(world, faults),
    journal: (seq = 0) => world.journal.since(seq),
    addFault: (fault) => {
      faults.add(fault);
      if (fault.effect.kind === 'stale-list') frozen.freeze(fault.id);
    },
    removeFault: (id) => {
      frozen.forget(id);
      return faults.remove(id);
    },
    raise: (event) => raise(world, event),
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
    setStock: (vmSize, zone, count) => world.stock.set(stockKey(vmSize, zone), count),
  };
}

function raise(world: ArmWorld, event: WorldEvent): string | undefined {
  if ('addPool' in event) return plantPool(world, event.addPool);
  if ('zoneDown' in event) return darkenZone(world, event.zoneDown.zone, event.zoneDown.forMs);
  const [[, { pool }]] = Object.entries(event) as [[string, { readonly pool: string }]];
  const agentPool = world.agentPools.get(pool.toLowerCase());
  if (agentPool === undefined) return `there is no pool "${pool}"`;
  if ('removePool' in event) return uprootPool(world, agentPool);
  if ('foreignScale' in event && isVmsPool(agentPool)) return raiseForeignPoolScale(world, agentPool, event.foreignScale);
  const set = setOfPool(world, pool);
  if (set === undefined) return `pool "${pool}" has no scale set`;
  if ('foreignScale' in event) return raiseForeignScale(world, set, event.foreignScale);
  if ('repair' in event) return repairInstance(world, set, event.repair.instanceId);
  if ('rpReconcile' in event) reconcilePool(world, agentPool);
  else evict(world, set, event.evict);
  return undefined;
}

function raiseForeignScale(world: ArmWorld, set: ScaleSet, change: ForeignChange & { readonly when?: string }): string | undefined {
  const { to, delta }: { readonly to?: number; readonly delta?: number } = change;
  if (!Number.isInteger(to ?? delta)) return 'foreignScale needs "to" or "delta", a whole number';
  if (change.when === 'before-next-write') set.ambush = change;
  else scaleAsForeigner(world, set, change);
  return undefined;
}

function raiseForeignPoolScale(world: ArmWorld, pool: AgentPool, change: ForeignChange & { readonly when?: string }): string | undefined {
  const { to, delta }: { readonly to?: number; readonly delta?: number } = change;
  if (!Number.isInteger(to ?? delta)) return 'foreignScale needs "to" or "delta", a whole number';
  if (change.when === 'before-next-write') pool.ambush = change;
  else if (pool.provisioningState !== 'Succeeded') return `pool "${pool.name}" is ${pool.provisioningState}`;
  else scalePoolAsForeigner(world, pool, change);
  return undefined;
}

function stateOf(world: ArmWorld, faults: FaultTable): ArmState {
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
    operations: [...world.operations.values()].map(operationState),
    stock: Object.fromEntries(world.stock),
    usages: usages(world),
    faults: faults.list(),
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
    ...(vm.zone === undefined ? {} : { zone: vm.zone }),
    vmSize: vm.vmSize,
    provisioningState: vm.provisioningState,
    power: vm.power,
    ...(vm.failure === undefined ? {} : { error: vm.failure.code }),
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
    ...(code === undefined ? {} : { code }),
    startMs: operation.startMs,
    ...(operation.endMs === undefined ? {} : { endMs: operation.endMs }),
  };
}

/** The state as the wire carries it. */
export function stateBody(control: ArmControl): JsonObject {
  return JSON.parse(JSON.stringify(control.state())) as JsonObject;
}
