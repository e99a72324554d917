/**
 * Pools that scale down by deallocating VMs. A deallocated VM keeps its place in the scale set, its disks and its node, and is
 * started first when the pool grows. The count of such a pool excludes deallocated VMs.
 */
import { pick, type JsonObject } from '../http/json.ts';
import { deallocateVm, startVm } from '../compute/vm-lifecycle.ts';
import { beginOperation } from '../compute/operations.ts';
import { AKS_PRINCIPAL } from '../http/principals.ts';
import { pickInstancesToRemove, acceptRemoval, affordable, livingVms, setKey, writeCapacity } from '../compute/set-capacity.ts';
import { recordSetChange } from '../state/world-events-journal.ts';
import { capacityOf, type AgentPool, type ArmWorld, type ScaleSet } from '../state/arm-state.ts';
import type { Vm } from '../state/vm.ts';

function isDeallocated({ power }: Vm): boolean {
  return power === 'deallocated' || power === 'deallocating';
}

export function deallocatesMachines(properties: JsonObject): boolean {
  return pick(properties, 'scaleDownMode') === 'Deallocate';
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
