/**
 * How the VMs of a set follow its capacity. Capacity is the goal and counts from acceptance; the list of instances converges. The
 * latest goal wins: a running scale operation is preempted and its VMs stay.
 */
import { pick, type JsonObject } from '../http/json.ts';
import type { Principal } from '../http/messages.ts';
import { FOREIGN_WRITER } from '../http/principals.ts';
import { limitsOf } from '../state/agent-pool-limits.ts';
import { type ScaleSet, capacityOf, goalOf, later, sizeOf, type ArmWorld, type Operation } from '../state/arm-state.ts';
import { quotaShortage } from '../state/stock-and-quota.ts';
import type { Vm } from '../state/vm.ts';
import { recordSetChange } from '../state/world-events-journal.ts';
import { minimumFor, checkCapacityWrite, checkRemoval, recordDelete, stoppedIn } from '../state/write-safety-rules.ts';
import { growSet } from './create-vm.ts';
import { protectionOf } from './instance-protection.ts';
import { beginOperation, preemptScaling } from './operations.ts';
import { extraFor } from './overprovisioning.ts';
import { withCapacity } from './scale-set-document.ts';
import { beginRemoval } from './vm-lifecycle.ts';

// Which VMs the platform deletes when a lower capacity names none.

/**
 * Selects by the set's policy: zones stay balanced first, then the highest instance id, the newest or the oldest. Protected VMs
 * stay, so the result may have fewer than `count`.
 */
export function pickInstancesToRemove(set: ScaleSet, living: readonly Vm[], count: number): readonly Vm[] {
  const rest = living.filter((vm) => !protectionOf(vm).fromScaleIn).toSorted(orderOf(set));
  const stay = living.filter((vm) => protectionOf(vm).fromScaleIn);
  const removed: Vm[] = [];
  while (removed.length < count && rest.length > 0) {
    const inZone = (zone: string | undefined): number => [...rest, ...stay].filter((vm) => vm.zone === zone).length;
    const fullest = Math.max(...rest.map((vm) => inZone(vm.zone)));
    const index = rest.findIndex((vm) => inZone(vm.zone) === fullest);
    removed.push(...rest.splice(index, 1));
  }
  return removed;
}

/** Deletion order. VMs of a Flexible set have no number, so their creation order replaces it. */
function orderOf(set: ScaleSet): (left: Vm, right: Vm) => number {
  const rules = pick(set.document, 'properties', 'scaleInPolicy', 'rules');
  const [rule] = Array.isArray(rules) ? rules : [];
  const place = new Map([...set.vms.keys()].map((key, index) => [key, index]));
  const later = (left: Vm, right: Vm): number => (place.get(right.key) ?? 0) - (place.get(left.key) ?? 0);
  if (rule === 'OldestVM') return (left, right) => left.createdMs - right.createdMs || -later(left, right);
  if (rule === 'NewestVM') return (left, right) => right.createdMs - left.createdMs || later(left, right);
  return set.kind === 'uniform' ? (left, right) => Number(right.key) - Number(left.key) : later;
}

/** The instances that count against the goal. */
export function livingVms(set: ScaleSet): readonly Vm[] {
  return [...set.vms.values()].filter((vm) => vm.provisioningState !== 'Deleting' && !vm.surplus);
}

/** How many VMs a goal would add. */
export function growthTo(set: ScaleSet, capacity: number): number {
  return Math.max(0, capacity - countedVms(set));
}

/** The VMs that the capacity counts: those of a deletion that it does not show yet are among them. */
function countedVms(set: ScaleSet): number {
  return livingVms(set).length + set.lagging;
}

/** Whether the quota allows the VMs that a goal would add. */
export function affordable(world: ArmWorld, set: ScaleSet, capacity: number): boolean {
  const spot = set.pool.priority === 'Spot';
  return quotaShortage(world, [{ vmSize: sizeOf(set), spot, count: growthTo(set, capacity), pool: set.pool }]) === undefined;
}

export interface CapacityWriter {
  readonly principal: Principal;
  /** The write named the current etag. */
  readonly conditional: boolean;
}

/** Stores a changed model of a set: the etag changes and the VMs begin to follow. */
export function acceptModel(world: ArmWorld, set: ScaleSet, next: JsonObject, { principal, conditional }: CapacityWriter): Operation {
  const before = capacityOf(set);
  const wanted = pick(next, 'sku', 'capacity');
  const after = typeof wanted === 'number' ? wanted : before;
  checkCapacityWrite(world, set, { principal, before, after, conditional });
  preemptScaling(world, setKey(set));
  set.document = next;
  set.etag++;
  set.provisioningState = 'Updating';
  const short = after === before ? 0 : convergeVms(world, set, after, principal);
  return beginOperation(world, {
    kind: after === before ? 'model' : 'scale',
    pool: set.pool.name,
    setKey: setKey(set),
    principal: principal.clientId,
    pending: [...set.vms.values()].filter(isMoving),
    retryAfterSeconds: world.knobs.retryAfterSeconds.write,
    ...(short === 0 ? {} : { failures: [PROTECTED], onEnd: () => undoScaleIn(world, set, short) }),
  });
}

/** Sets the capacity through the same code as a PUT. */
export function writeCapacity(world: ArmWorld, set: ScaleSet, capacity: number, principal: Principal): Operation {
  return acceptModel(world, set, withCapacity(set.document, capacity), { principal, conditional: false });
}

/** @returns how many VMs are protected and could not be deleted. */
function convergeVms(world: ArmWorld, set: ScaleSet, goal: number, principal: Principal): number {
  const missing = growthTo(set, goal);
  if (missing > 0) {
    growSet(world, set, missing, extraFor(set, missing));
    return 0;
  }
  const excess = countedVms(set) - goal;
  const removed = pickInstancesToRemove(set, livingVms(set), excess);
  const forced = pick(set.document, 'properties', 'scaleInPolicy', 'forceDeletion') === true;
  checkRemoval(
    world,
    { name: set.name, min: limitsOf(set.pool, set.document).min },
    { principal, vms: removed, capacityAfter: goal, named: false },
  );
  for (const vm of removed) beginRemoval(world, vm, { forced, principal: principal.clientId });
  return excess - removed.length;
}

/** Protected VMs stay, the operation fails, and the capacity returns to the number of VMs. */
function undoScaleIn(world: ArmWorld, set: ScaleSet, short: number): void {
  const before = capacityOf(set);
  set.document = withCapacity(set.document, before + short);
  set.etag++;
  recordSetChange(world, set, { why: 'scaleInRefused', principal: FOREIGN_WRITER, before });
}

const PROTECTED = { code: 'OperationNotAllowed', message: 'Some instances are protected from scale-in and were not removed.' };

export interface InstanceRemoval {
  readonly vms: readonly Vm[];
  readonly forced: boolean;
  readonly principal: Principal;
  /** false: `*`, the whole set. */
  readonly named: boolean;
}

/**
 * Accepts the removal of instances. The capacity falls by those that are not being deleted already: at once, or, as the knob says,
 * some time later, at the latest when the operation ends. Until then reads show the old capacity with its etag, and a write under
 * that etag adds to the old number (azure-wire 4.5 and 20: the moment of the fall; invariant 2: equal etags mean equal capacities).
 */
export function acceptRemoval(world: ArmWorld, set: ScaleSet, { vms, forced, principal, named }: InstanceRemoval): Operation {
  const fresh = vms.filter((vm) => vm.provisioningState !== 'Deleting');
  const leaving = fresh.filter((vm) => !vm.surplus).length;
  const after = Math.max(0, goalOf(set) - leaving);
  const running = after - stoppedIn(world, set, fresh);
  checkRemoval(world, { name: set.name, min: minimumFor(set, principal) }, { principal, vms: fresh, capacityAfter: running, named });
  const fall = fresh.length === 0 ? () => undefined : lowerCapacity(world, set, { by: leaving, principal });
  for (const vm of fresh) beginRemoval(world, vm, { forced, principal: principal.clientId });
  return beginOperation(world, {
    kind: 'delete',
    pool: set.pool.name,
    setKey: setKey(set),
    principal: principal.clientId,
    pending: vms,
    retryAfterSeconds: world.knobs.retryAfterSeconds.remove,
    onEnd: fall,
  });
}

/** Lowers the capacity for an accepted deletion, now or later. @returns what makes a late fall happen at once. */
function lowerCapacity(
  world: ArmWorld,
  set: ScaleSet,
  { by, principal }: { readonly by: number; readonly principal: Principal },
): () => void {
  const lagMs = set.nextLagMs ?? world.knobs.capacityLagAfterDeleteMs;
  set.nextLagMs = undefined;
  recordDelete(set, principal);
  set.provisioningState = 'Updating';
  if (lagMs <= 0) {
    subtract(set, by);
    return () => undefined;
  }
  set.lagging += by;
  const due = { open: true };
  const fall = (): void => {
    if (!due.open) return;
    due.open = false;
    const before = capacityOf(set);
    set.lagging -= by;
    subtract(set, by);
    recordSetChange(world, set, { why: 'deletionCounted', principal: FOREIGN_WRITER, before });
  };
  later(world, lagMs, fall);
  return fall;
}

function subtract(set: ScaleSet, count: number): void {
  set.document = withCapacity(set.document, Math.max(0, capacityOf(set) - count));
  set.etag++;
}

function isMoving(vm: Vm): boolean {
  return vm.provisioningState === 'Creating' || vm.provisioningState === 'Deleting';
}

export function setKey(set: ScaleSet): string {
  return set.name.toLowerCase();
}
