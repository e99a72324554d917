/**
 * Pools that scale down by deallocating VMs. A deallocated VM keeps its place in the scale set, its disks and its node, and is
 * started first when the pool grows. The count of such a pool excludes deallocated VMs.
 */
import { pick, type JsonObject } from '../http/json.ts';
import type { MachineStops } from '../../base/world-spec.ts';
import { growPool } from '../compute/create-vm.ts';
import { beginRemoval, deallocateVm, startVm } from '../compute/vm-lifecycle.ts';
import type { Principal } from '../http/messages.ts';
import { changeCount, vmsOfSize } from '../state/agent-pool-document.ts';
import { limitsOf } from '../state/agent-pool-limits.ts';
import { checkRemoval } from '../state/write-safety-rules.ts';
import { beginOperation } from '../compute/operations.ts';
import { AKS_PRINCIPAL } from '../http/principals.ts';
import { pickInstancesToRemove, acceptRemoval, affordable, livingVms, setKey, writeCapacity } from '../compute/set-capacity.ts';
import { recordSetChange } from '../state/world-events-journal.ts';
import { capacityOf, type AgentPool, type ArmWorld, type ScaleSet } from '../state/arm-state.ts';
import type { Vm } from '../state/vm.ts';

export function isDeallocated({ power }: Vm): boolean {
  return power === 'deallocated' || power === 'deallocating';
}

export function deallocatesMachines(properties: JsonObject): boolean {
  return pick(properties, 'scaleDownMode') === 'Deallocate';
}

/** What becomes of machines that a VMs pool loses, and whether its counts include those that are stopped. */
export function machineStopsOf(pool: AgentPool): MachineStops {
  return deallocatesMachines(pool.properties) ? (pool.spec.machineStops ?? 'left-out') : 'deleted';
}

/** Brings the machines of one size to the count of the provider. Returns those that change. */
export function convergeMachines(
  world: ArmWorld,
  pool: AgentPool,
  { size, goal, principal }: { readonly size: string; readonly goal: number; readonly principal: Principal },
): readonly Vm[] {
  const stops = machineStopsOf(pool);
  const living = vmsOfSize(pool, size);
  const [up, stopped] = [living.filter((vm) => !isDeallocated(vm)), living.filter(isDeallocated)];
  // What the provider counts and takes away, last ones first.
  const counted = stops === 'left-out' ? up : [...up, ...stopped];
  const started =
    stops === 'left-out' ? stopped.filter(({ power }) => power === 'deallocated').slice(0, Math.max(0, goal - up.length)) : [];
  for (const vm of started) startVm(world, vm);
  const created = Array.from({ length: Math.max(0, goal - counted.length - started.length) }, () => growPool(world, pool, size));
  const removed = counted.slice(goal);
  const owner = { name: `${pool.name}/${size}`, min: limitsOf(pool.spec, pool.properties).min };
  checkRemoval(world, owner, { principal, vms: removed, capacityAfter: goal, named: false });
  for (const vm of removed) {
    if (stops === 'left-out') deallocateVm(world, vm);
    else beginRemoval(world, vm, { forced: false, principal: principal.clientId });
  }
  return [...started, ...created, ...removed];
}

/** Deletes the deallocated machines of a VMs pool that changes its mode to deleting. `stops` is what held before. */
export function removeStoppedMachines(world: ArmWorld, pool: AgentPool, stops: MachineStops): readonly Vm[] {
  const stopped = [...pool.vms.values()].filter((vm) => isDeallocated(vm) && vm.provisioningState !== 'Deleting');
  for (const vm of stopped) {
    if (stops === 'counted') changeCount(pool, vm, -1);
    beginRemoval(world, vm, { forced: false, principal: AKS_PRINCIPAL.clientId });
  }
  return stopped;
}

/** The capacity of a set as the provider counts it. */
export function activeCapacity(pool: AgentPool, set: ScaleSet): number {
  const deallocated = deallocatesMachines(pool.properties) ? livingVms(set).filter(isDeallocated).length : 0;
  return capacityOf(set) - deallocated;
}

/** Deallocates VMs above the goal. Below the goal, starts deallocated VMs first and creates only the rest. */
export function deallocateDownTo(world: ArmWorld, set: ScaleSet, goal: number): void {
  const up = livingVms(set).filter((vm) => !isDeallocated(vm));
  for (const vm of pickInstancesToRemove(set, up, up.length - goal)) changePower(world, set, { vm, why: 'park' });
  const startable = livingVms(set).filter(({ power }) => power === 'deallocated');
  const started = startable.slice(0, Math.max(0, goal - up.length));
  for (const vm of started) changePower(world, set, { vm, why: 'unpark' });
  const rest = goal - up.length - started.length;
  const before = capacityOf(set);
  if (rest <= 0 || !affordable(world, set, before + rest)) return;
  const { id } = writeCapacity(world, set, before + rest, AKS_PRINCIPAL);
  recordSetChange(world, set, { why: 'rpReconcile', principal: AKS_PRINCIPAL, before, opId: id });
}

function changePower(world: ArmWorld, set: ScaleSet, { vm, why }: { readonly vm: Vm; readonly why: 'park' | 'unpark' }): void {
  (why === 'park' ? deallocateVm : startVm)(world, vm);
  const { id } = beginOperation(world, {
    kind: why === 'park' ? 'deallocate' : 'start',
    pool: set.pool.name,
    setKey: setKey(set),
    principal: AKS_PRINCIPAL.clientId,
    pending: [vm],
    retryAfterSeconds: world.knobs.retryAfterSeconds.deallocate,
  });
  recordSetChange(world, set, { why, principal: AKS_PRINCIPAL, before: capacityOf(set), opId: id });
}

/** Deletes all deallocated VMs when a pool changes its scale-down mode to deleting. */
export function removeDeallocated(world: ArmWorld, set: ScaleSet): void {
  const vms = livingVms(set).filter(isDeallocated);
  if (vms.length === 0) return;
  const before = capacityOf(set);
  const { id } = acceptRemoval(world, set, { vms, forced: false, principal: AKS_PRINCIPAL, named: true });
  recordSetChange(world, set, { why: 'removeParked', principal: AKS_PRINCIPAL, before, opId: id });
}
