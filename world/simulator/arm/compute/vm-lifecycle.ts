/**
 * The life of a VM in its two states, provisioning and power, from acceptance to removal. Each step checks the VM's generation
 * first, since a delete overtakes a boot.
 */
import { poolSize, changeCount } from '../state/agent-pool-document.ts';
import type { Latency } from '../state/seeded-random.ts';
import { allocationFailure, bootstrapFailure, osTimeout, type OperationFailure } from '../http/errors.ts';
import type { FaultSubject, VmEffect } from '../state/fault-rules.ts';
import { releaseDisks } from '../disks/data-disks.ts';
import { mergePatch } from '../http/json.ts';
import { recordIdleVm } from './operations.ts';
import { settleOverprovisioned } from './overprovisioning.ts';
import { FOREIGN_WRITER } from '../http/principals.ts';
import { findVmSize } from '../state/vm-sizes.ts';
import { returnStock, takeStock } from '../state/stock-and-quota.ts';
import { takeAddresses } from '../state/subnet-addresses.ts';
import { recordPoolChange, recordSetChange } from '../state/world-events-journal.ts';
import { capacityOf, homeOf, later, type AgentPool, type ArmWorld } from '../state/arm-state.ts';
import type { Vm } from '../state/vm.ts';

export interface VmPlacement {
  readonly onRefused: () => void;
  /** The allocation fails regardless of the stock. */
  readonly refused?: boolean;
}

/** Begins the creation of a VM that its owner already lists. It takes stock now; a lack of stock shows later. */
export function beginCreation(world: ArmWorld, vm: Vm, { onRefused, refused = false }: VmPlacement): void {
  const draw = (step: string, latency: Latency): number => world.draws.latency(`${vm.resourceId}|${step}`, latency);
  const { knobs } = world;
  const fate = creationEffectOf(world, vm);
  const unaddressed = takeAddresses(world, vm, targetOf(vm));
  vm.holdsStock = !refused && unaddressed === undefined && fate?.how !== 'refused' && takeStock(world, vm);
  if (!vm.holdsStock) {
    const failure = fate?.how === 'refused' ? failureOfEffect(vm, fate) : (unaddressed ?? allocationFailure(vm.zone, targetOf(vm)));
    runLater(world, vm, draw('refused', knobs.allocationRefused), () => refuseAllocation(world, vm, { failure, onRefused }));
    return;
  }
  if (fate?.how === 'unlisted') vm.visibleAtMs = world.clock.now() + UNLISTED_MS / world.clock.speed;
  const allocatedAfter = draw('allocated', knobs.allocated);
  runLater(world, vm, allocatedAfter, () => {
    vm.power = 'starting';
  });
  if (fate?.how !== 'stuck') bootVm(world, vm, { fate, draw, allocatedAfter });
}

interface BootInput {
  readonly fate: CreationEffect | undefined;
  readonly draw: (step: string, latency: Latency) => number;
  readonly allocatedAfter: number;
}

/** Runs the steps from an allocated VM to the end of its provisioning, with success or failure. */
function bootVm(world: ArmWorld, vm: Vm, { fate, draw, allocatedAfter }: BootInput): void {
  const { knobs } = world;
  const how = fate?.how ?? 'well';
  const slowMs = how === 'slow' ? SLOW_MS : 0;
  const latency = (findVmSize(vm.vmSize)?.gpus ?? 0) > 0 ? knobs.osUpGpu : knobs.osUp;
  const osUpAfter = Math.max(allocatedAfter, draw('os-up', latency)) + slowMs;
  const provisionedAfter = Math.max(osUpAfter, draw('provisioned', knobs.provisioned) + slowMs);
  const wakeKubelet = (): void => world.vmFeed.publishPower({ kind: 'running', vm });
  runLater(world, vm, osUpAfter, () => {
    vm.power = 'running';
    vm.detail = 'OSProvisioningInProgress';
    if (!SILENT.has(how)) wakeKubelet();
  });
  if (how === 'late-node') runLater(world, vm, osUpAfter + LATE_NODE_MS, wakeKubelet);
  if (how === 'cse') runLater(world, vm, provisionedAfter, () => failProvisioning(world, vm, bootstrapFailure(targetOf(vm))));
  else if (how === 'os-timeout') runLater(world, vm, OS_TIMEOUT_MS, () => failProvisioning(world, vm, osTimeout(targetOf(vm))));
  else runLater(world, vm, provisionedAfter, () => succeedProvisioning(world, vm));
}

const SLOW_MS = 25 * 60_000;
const UNLISTED_MS = 10 * 60_000;
const LATE_NODE_MS = 20 * 60_000;
/** How long Azure waits until an operating system reports that it is up. */
const OS_TIMEOUT_MS = 20 * 60_000;
const STUCK_DELETE_MS = 20 * 60_000;
/** Effects after which no kubelet starts when the operating system is up. */
const SILENT: ReadonlySet<string> = new Set(['no-node', 'late-node', 'cse', 'os-timeout']);

type CreationEffect = Extract<VmEffect, { readonly kind: 'birth' }>;

/** The effect of an active fault, or of the random failure rates, on this creation. */
function creationEffectOf(world: ArmWorld, vm: Vm): CreationEffect | undefined {
  const fault = world.faults.vmEffect('birth', subjectOf(world, vm));
  if (fault !== undefined) return fault;
  const { bootstrapFailureRate, osTimeoutRate } = world.knobs;
  const unit = bootstrapFailureRate + osTimeoutRate === 0 ? 1 : world.draws.unit(`${vm.resourceId}|birth`);
  if (unit < bootstrapFailureRate) return { kind: 'birth', how: 'cse' };
  return unit < bootstrapFailureRate + osTimeoutRate ? { kind: 'birth', how: 'os-timeout' } : undefined;
}

function subjectOf(world: ArmWorld, vm: Vm): Omit<FaultSubject, 'method'> {
  const chance = (id: string): number => world.draws.unit(`fault|${id}|${vm.resourceId}|${vm.generation}`);
  return { path: vm.resourceId, pool: vm.pool.name, nowMs: world.clock.now(), chance };
}

function failureOfEffect(vm: Vm, { code = 'AllocationFailed', message }: CreationEffect): OperationFailure {
  return { code, message: message ?? allocationFailure(vm.zone, targetOf(vm)).message, target: targetOf(vm) };
}

/** The name of the VM in an operation's failure. */
function targetOf(vm: Vm): string {
  return vm.kind === 'uniform' ? vm.key : vm.name;
}

function succeedProvisioning(world: ArmWorld, vm: Vm): void {
  vm.provisioningState = 'Succeeded';
  vm.detail = undefined;
  vm.createdEndMs = world.clock.now();
  if (vm.kind !== 'uniform') vm.etag++;
  onCreationEnded(world, vm);
}

/**
 * Records the end of a VM's creation. An overprovisioned set keeps the first VMs that succeed. The failure of another one fails
 * the operation only if too few succeed.
 */
function onCreationEnded(world: ArmWorld, vm: Vm): void {
  if (vm.batch !== undefined) settleBatch(world, vm);
  else recordIdleVm(world, vm, vm.failure);
}

function settleBatch(world: ArmWorld, { batch }: Vm): void {
  const settled = batch === undefined || batch.members.size === 0 ? undefined : settleOverprovisioned(batch);
  if (settled === undefined) return;
  for (const vm of settled.staying) if (vm.provisioningState !== 'Creating') recordIdleVm(world, vm, vm.failure);
  for (const vm of settled.leaving) {
    recordIdleVm(world, vm);
    beginRemoval(world, vm, { forced: true, principal: FOREIGN_WRITER.clientId });
  }
}

/** The VM runs and never becomes a node. */
function failProvisioning(world: ArmWorld, vm: Vm, failure: OperationFailure): void {
  vm.provisioningState = 'Failed';
  vm.detail = failure.code;
  vm.failure = failure;
  vm.etag++;
  onCreationEnded(world, vm);
}

function refuseAllocation(
  world: ArmWorld,
  vm: Vm,
  { failure, onRefused }: { readonly failure: OperationFailure; readonly onRefused: () => void },
): void {
  vm.provisioningState = 'Failed';
  vm.detail = failure.code;
  vm.failure = failure;
  vm.etag++;
  onRefused();
  onCreationEnded(world, vm);
}

/** Begins the removal of a VM for any principal. */
export function beginRemoval(
  world: ArmWorld,
  vm: Vm,
  { forced, principal }: { readonly forced: boolean; readonly principal: string },
): void {
  if (vm.provisioningState === 'Deleting') return;
  const was = vm.provisioningState;
  vm.generation++;
  vm.provisioningState = 'Deleting';
  vm.detail = undefined;
  world.vmFeed.publishDeleteAccepted(vm, principal, was);
  settleBatch(world, vm);
  const latency = forced || vm.power === 'none' ? world.knobs.deleteForced : world.knobs.deleteGraceful;
  const fault = world.faults.vmEffect('removal', subjectOf(world, vm));
  const takesMs = world.draws.latency(`${vm.resourceId}|delete`, latency) + (fault?.how === 'stuck' ? STUCK_DELETE_MS : 0);
  runLater(world, vm, takesMs, () => (fault?.how === 'fails' ? revertRemoval(world, vm, REMOVAL_FAILED) : removeVm(world, vm)));
}

const REMOVAL_FAILED = { code: 'InternalExecutionError', message: 'An internal execution error occurred. Please retry later.' };

/**
 * Reverts a removal that failed: the VM exists as before, and its scale set, or the size of its pool, counts it again. If
 * `failure` is undefined, the removal was canceled before it began.
 */
export function revertRemoval(world: ArmWorld, vm: Vm, failure: { readonly code: string; readonly message: string } | undefined): void {
  vm.generation++;
  vm.provisioningState = failure === undefined ? 'Succeeded' : 'Failed';
  vm.etag++;
  const set = [...world.sets.values()].find((owner) => owner.vms.get(vm.key) === vm);
  if (set !== undefined) {
    const before = capacityOf(set);
    vm.surplus = false;
    set.document = mergePatch(set.document, { sku: { capacity: before + 1 } });
    set.etag++;
    recordSetChange(world, set, { why: 'removalFailed', principal: FOREIGN_WRITER, before });
  } else {
    const pool = world.agentPools.get(vm.pool.name.toLowerCase());
    if (pool !== undefined && vm.uncounted) countAgain(world, pool, vm);
  }
  recordIdleVm(world, vm, failure === undefined ? undefined : { ...failure, target: targetOf(vm) });
}

function countAgain(world: ArmWorld, pool: AgentPool, vm: Vm): void {
  const before = poolSize(pool);
  changeCount(pool, vm, 1);
  pool.etagCounter++;
  recordPoolChange(world, pool, { why: 'removalFailed', principal: FOREIGN_WRITER, before });
}

/** Removes the VM at once: it leaves its owner's list and returns its stock. */
export function removeVm(world: ArmWorld, vm: Vm): void {
  vm.generation++;
  homeOf(world, vm)?.delete(vm.key);
  vm.power = 'none';
  releaseDisks(world, vm);
  returnStock(world, vm);
  world.vmFeed.publishPower({ kind: 'gone', vm });
  recordIdleVm(world, vm);
}

/** Stops a VM and releases its hardware. The VM keeps its id and its place in the capacity. */
export function deallocateVm(world: ArmWorld, vm: Vm): void {
  vm.generation++;
  vm.provisioningState = 'Updating';
  vm.power = 'deallocating';
  runLater(world, vm, world.draws.latency(`${vm.resourceId}|deallocate|${vm.generation}`, world.knobs.deallocate), () => {
    vm.provisioningState = 'Succeeded';
    vm.power = 'deallocated';
    vm.etag++;
    returnStock(world, vm);
    world.vmFeed.publishPower({ kind: 'stopped', vm });
    recordIdleVm(world, vm);
  });
}

/** Starts a deallocated VM again if stock is left. */
export function startVm(world: ArmWorld, vm: Vm): void {
  vm.generation++;
  vm.provisioningState = 'Updating';
  const fitted = vm.holdsStock || takeStock(world, vm);
  if (fitted) vm.power = 'starting';
  vm.holdsStock = fitted;
  runLater(world, vm, world.draws.latency(`${vm.resourceId}|start|${vm.generation}`, world.knobs.start), () => {
    vm.provisioningState = fitted ? 'Succeeded' : 'Failed';
    vm.etag++;
    if (!fitted) {
      recordIdleVm(world, vm, allocationFailure(vm.zone, vm.key));
      return;
    }
    vm.power = 'running';
    world.vmFeed.publishPower({ kind: 'running', vm });
    recordIdleVm(world, vm);
  });
}

/** Stops a VM. It keeps its hardware. */
export function powerOffVm(world: ArmWorld, vm: Vm): void {
  vm.generation++;
  vm.provisioningState = 'Updating';
  vm.power = 'stopping';
  runLater(world, vm, world.draws.latency(`${vm.resourceId}|stop|${vm.generation}`, world.knobs.powerOff), () => {
    vm.provisioningState = 'Succeeded';
    vm.power = 'stopped';
    vm.etag++;
    world.vmFeed.publishPower({ kind: 'stopped', vm });
    recordIdleVm(world, vm);
  });
}

/** Stops a VM and starts it again in its place. A redeployment and a new disk do the same. */
export function restartVm(world: ArmWorld, vm: Vm): void {
  vm.generation++;
  vm.provisioningState = 'Updating';
  vm.power = 'starting';
  world.vmFeed.publishPower({ kind: 'stopped', vm });
  runLater(world, vm, world.draws.latency(`${vm.resourceId}|restart|${vm.generation}`, world.knobs.restart), () => {
    vm.provisioningState = 'Succeeded';
    vm.power = 'running';
    vm.etag++;
    world.vmFeed.publishPower({ kind: 'running', vm });
    recordIdleVm(world, vm);
  });
}

function runLater(world: ArmWorld, vm: Vm, ms: number, action: () => void): void {
  const fate = vm.generation;
  later(world, ms, () => {
    if (vm.generation === fate) action();
  });
}
