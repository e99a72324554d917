/**
 * How the machines of a set follow its goal. Capacity is the goal and counts from the moment of acceptance; the list of
 * instances converges. The latest goal wins: a running scale operation is preempted, its machines are kept.
 */
import type { JsonObject } from './json.ts';
import { takeDown } from './lifecycle.ts';
import type { Principal } from './messages.ts';
import { beginOperation, preemptScaling } from './operations.ts';
import { limitsOf } from './pool-limits.ts';
import { withCapacity } from './scale-set-document.ts';
import { growSet } from './vm-birth.ts';
import { minimumFor, judgeCapacityWrite, judgeRemoval, noteDelete } from './write-judge.ts';
import { capacityOf, type ArmWorld, type Operation, type ScaleSet } from './world-state.ts';
import type { Vm } from './vm.ts';
import { pick } from './json.ts';

/** The instances that count against the goal. */
export function livingVms(set: ScaleSet): readonly Vm[] {
  return [...set.vms.values()].filter((vm) => vm.provisioningState !== 'Deleting');
}

/** How many machines a goal would add. */
export function growthTo(set: ScaleSet, capacity: number): number {
  return Math.max(0, capacity - livingVms(set).length);
}

export interface Writer {
  readonly principal: Principal;
  /** The write named the present tag. */
  readonly conditional: boolean;
}

/** Takes over a changed model of a set: the etag moves and the machines begin to follow. */
export function acceptModel(world: ArmWorld, set: ScaleSet, next: JsonObject, { principal, conditional }: Writer): Operation {
  const before = capacityOf(set);
  const wanted = pick(next, 'sku', 'capacity');
  const after = typeof wanted === 'number' ? wanted : before;
  judgeCapacityWrite(world, set, { principal, before, after, conditional });
  preemptScaling(world, setKey(set));
  set.document = next;
  set.etag++;
  set.provisioningState = 'Updating';
  if (after !== before) {
    set.laggingCapacity = undefined;
    converge(world, set, after, principal);
  }
  return beginOperation(world, {
    kind: after === before ? 'model' : 'scale',
    pool: set.pool.name,
    setKey: setKey(set),
    principal: principal.clientId,
    pending: [...set.vms.values()].filter(isMoving),
    retryAfterSeconds: world.knobs.retryAfterSeconds.write,
  });
}

/** Sets the capacity as a writer of its own would: through the same door as a PUT. */
export function writeCapacity(world: ArmWorld, set: ScaleSet, capacity: number, principal: Principal): Operation {
  return acceptModel(world, set, withCapacity(set.document, capacity), { principal, conditional: false });
}

function converge(world: ArmWorld, set: ScaleSet, goal: number, principal: Principal): void {
  const missing = growthTo(set, goal);
  if (missing > 0) {
    growSet(world, set, missing);
    return;
  }
  const victims = pickVictims(set, livingVms(set).length - goal);
  const forced = pick(set.document, 'properties', 'scaleInPolicy', 'forceDeletion') === true;
  judgeRemoval(
    world,
    { name: set.name, min: limitsOf(set.pool, set.document).min },
    { principal, vms: victims, capacityAfter: goal, named: false },
  );
  for (const vm of victims) takeDown(world, vm, { forced, principal: principal.clientId });
}

/** The default scale-in policy: keep zones balanced, then the highest instance id goes. */
function pickVictims(set: ScaleSet, count: number): readonly Vm[] {
  const rest = livingVms(set).toReversed();
  const victims: Vm[] = [];
  while (victims.length < count && rest.length > 0) {
    const inZone = (zone: string | undefined): number => rest.filter((vm) => vm.zone === zone).length;
    const fullest = Math.max(...rest.map((vm) => inZone(vm.zone)));
    const index = rest.findIndex((vm) => inZone(vm.zone) === fullest);
    victims.push(...rest.splice(index, 1));
  }
  return victims;
}

export interface InstanceRemoval {
  readonly vms: readonly Vm[];
  readonly forced: boolean;
  readonly principal: Principal;
  /** false: `*`, the whole set. */
  readonly named: boolean;
}

/** Accepts the removal of instances: capacity falls at once by those not already on their way. */
export function acceptRemoval(world: ArmWorld, set: ScaleSet, { vms, forced, principal, named }: InstanceRemoval): Operation {
  const fresh = vms.filter((vm) => vm.provisioningState !== 'Deleting');
  const before = capacityOf(set);
  const after = Math.max(0, before - fresh.length);
  judgeRemoval(world, { name: set.name, min: minimumFor(set, principal) }, { principal, vms: fresh, capacityAfter: after, named });
  if (fresh.length > 0) {
    noteDelete(set, principal);
    showOldCapacity(world, set, before);
    set.document = withCapacity(set.document, after);
    set.etag++;
    set.provisioningState = 'Updating';
  }
  for (const vm of fresh) takeDown(world, vm, { forced, principal: principal.clientId });
  return beginOperation(world, {
    kind: 'delete',
    pool: set.pool.name,
    setKey: setKey(set),
    principal: principal.clientId,
    pending: vms,
    retryAfterSeconds: world.knobs.retryAfterSeconds.remove,
  });
}

function showOldCapacity(world: ArmWorld, set: ScaleSet, value: number): void {
  const lag = world.knobs.capacityLagAfterDeleteMs;
  if (lag > 0) set.laggingCapacity = { value, untilMs: world.clock.now() + lag / world.clock.speed };
}

function isMoving(vm: Vm): boolean {
  return vm.provisioningState === 'Creating' || vm.provisioningState === 'Deleting';
}

export function setKey(set: ScaleSet): string {
  return set.name.toLowerCase();
}
