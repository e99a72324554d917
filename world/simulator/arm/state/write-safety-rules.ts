/**
 * The write-safety rules. They check what clients do to capacity and instances, not what clients report. They do not apply to
 * foreign writers (people, AKS itself).
 */
import { pick } from '../http/json.ts';
import type { Principal } from '../http/messages.ts';
import type { ManualScale } from './agent-pool-document.ts';
import { limitsOf } from './agent-pool-limits.ts';
import type { AgentPool, ArmWorld, CapacityHistory, OwnIncrease, ScaleSet } from './arm-state.ts';
import type { Vm } from './vm.ts';

export interface CapacityChange {
  readonly principal: Principal;
  readonly before: number;
  readonly after: number;
  /** The write named the set's etag, and it was the current one. */
  readonly conditional?: boolean;
}

/** Records a read by a principal: it now knows the changes of other writers to this set. */
export function recordRead(set: Pick<ScaleSet, 'history'>, principal: Principal): void {
  set.history.seen.set(principal.clientId, set.history.revision);
  set.history.seenLowered.set(principal.clientId, set.history.foreignLowered);
}

/** Checks a capacity written by PUT or PATCH before it takes effect, and records the writer. */
export function checkCapacityWrite(world: ArmWorld, set: ScaleSet, change: CapacityChange): void {
  const { principal, before, after } = change;
  if (before === after) return;
  const { history } = set;
  if (!principal.foreign) {
    const report = violationReporter(world, set.name);
    const summary = `${principal.clientId} changed the capacity from ${before} to ${after}`;
    const wrong = after < before ? whyDecreaseIsWrong(world, set, change) : undefined;
    if (wrong !== undefined) report('capacity-lowered-by-put', `${summary}, ${wrong}`);
    const { max } = limitsOf(set.pool, set.document);
    if (after > before && after - stoppedIn(world, set) > max) report('above-max', `${summary}; the maximum is ${max}`);
    if (history.foreignRevision > (history.seen.get(principal.clientId) ?? 0)) {
      report('lost-update', `${summary} without having read the change of another writer`);
    }
  }
  const ownIncrease = increaseAfter(history, change);
  history.revision++;
  if (principal.foreign) {
    history.foreignRevision = history.revision;
    history.foreignLowered += Math.max(0, before - after);
  } else history.seen.set(principal.clientId, history.revision);
  history.increase = ownIncrease === undefined ? undefined : { ...ownIncrease, revision: history.revision };
}

/** An increase of a client continues its own last one if no other writer changed the capacity in between. */
function increaseAfter(history: CapacityHistory, { principal, before, after }: CapacityChange): Omit<OwnIncrease, 'revision'> | undefined {
  if (principal.foreign || after < before) return undefined;
  const last = isOwnIncrease(history, principal) ? history.increase : undefined;
  return { clientId: principal.clientId, from: last?.from ?? before };
}

function isOwnIncrease({ increase, revision }: CapacityHistory, { clientId }: Principal): boolean {
  return increase?.clientId === clientId && increase.revision === revision;
}

/**
 * Why a decrease of the capacity is a violation. One decrease is allowed: the client reverts its own increase that was not
 * filled, on the condition that no other writer changed the set. Then no VM is deleted, listed or not, and no other writer's
 * change is lost.
 */
function whyDecreaseIsWrong(world: ArmWorld, set: ScaleSet, { principal, before, after, conditional }: CapacityChange): string | undefined {
  const { history } = set;
  if (conditional !== true) return 'without the current etag';
  if (history.increase === undefined || !isOwnIncrease(history, principal))
    return `although its own last change was not the increase to ${before}`;
  if (after < history.increase.from) return `below the capacity ${history.increase.from} from before its increase`;
  const busy = [...world.operations.values()].some(({ setKey, endMs }) => setKey === set.name.toLowerCase() && endMs === undefined);
  if (busy) return 'while an operation ran';
  const living = [...set.vms.values()].filter((vm) => vm.provisioningState !== 'Deleting' && !vm.surplus).length;
  return living > after ? `although ${living} instances exist` : undefined;
}

/**
 * The minimum that applies to a delete. ARM accepts no condition on a delete, so decreases by other writers since the client's
 * last read of the set do not count against it.
 */
export function minimumFor(set: ScaleSet, principal: Principal): number {
  const { foreignLowered, seenLowered } = set.history;
  return limitsOf(set.pool, set.document).min - (foreignLowered - (seenLowered.get(principal.clientId) ?? 0));
}

export interface Removal {
  readonly principal: Principal;
  readonly vms: readonly Vm[];
  /** Goal capacity once the removal is accepted. */
  readonly capacityAfter: number;
  /** false: the platform chose the VMs. */
  readonly named: boolean;
}

/** Checks the removal of VMs by a client. Failed VMs may be removed below the minimum. */
export function checkRemoval(world: ArmWorld, owner: { readonly name: string; readonly min: number }, removal: Removal): void {
  const { principal, vms, capacityAfter, named } = removal;
  if (principal.foreign || vms.length === 0) return;
  const report = violationReporter(world, owner.name);
  if (!named) {
    for (const vm of vms) {
      report('instance-deleted-that-was-never-named', `${vm.name} is deleted because ${principal.clientId} let the platform choose`);
    }
  }
  if (capacityAfter < owner.min && vms.some((vm) => vm.provisioningState !== 'Failed')) {
    report('below-min', `${principal.clientId} deleted down to ${capacityAfter}; the minimum is ${owner.min}`);
  }
}

/** Checks that a client stops no VM below the minimum, which counts those that run. Failed VMs may be stopped below it. */
export function checkStop(world: ArmWorld, set: ScaleSet, { principal, vms }: Pick<Removal, 'principal' | 'vms'>): void {
  const runs = ({ power, provisioningState }: Vm): boolean =>
    provisioningState !== 'Deleting' && power !== 'deallocated' && power !== 'deallocating';
  const left = [...set.vms.values()].filter((vm) => runs(vm) && !vms.includes(vm)).length;
  const owner = { name: set.name, min: minimumFor(set, principal) };
  checkRemoval(world, owner, { principal, vms, capacityAfter: left, named: true });
}

/** VMs that count in the capacity and not as nodes: AKS leaves them out of the count of a pool that deallocates. */
export function stoppedIn(world: ArmWorld, set: ScaleSet, leaving: readonly Vm[] = []): number {
  const pool = world.agentPools.get(set.pool.name.toLowerCase());
  if (pick(pool?.properties, 'scaleDownMode') !== 'Deallocate') return 0;
  return [...set.vms.values()].filter((vm) => (vm.power === 'deallocated' || vm.power === 'deallocating') && !leaving.includes(vm)).length;
}

/** Stopped machines of a VMs pool that its count includes: the maximum is one of machines that run. */
function stoppedInCount({ spec, properties, vms }: AgentPool, size: string): number {
  if (spec.machineStops !== 'counted' || pick(properties, 'scaleDownMode') !== 'Deallocate') return 0;
  const stopped = [...vms.values()].filter(({ power }) => power === 'deallocated' || power === 'deallocating');
  return stopped.filter(({ vmSize }) => vmSize.toLowerCase() === size.toLowerCase()).length;
}

/** Records the capacity change of a delete. A foreign delete counts as another writer's change. */
export function recordDelete(set: ScaleSet, principal: Principal): void {
  set.history.revision++;
  if (principal.foreign) set.history.foreignRevision = set.history.revision;
}

interface CheckedPool {
  readonly name: string;
  readonly max: number;
  /** The capacity of its scale set, as AKS counts it. A count that is lowered to it removes nothing. If undefined, the pool has no set. */
  readonly capacity?: number | undefined;
}

/** Checks the size that a client writes to an agent pool. */
export function checkPoolSize(world: ArmWorld, pool: CheckedPool, change: CapacityChange): void {
  const { principal, before, after } = change;
  if (principal.foreign || before === after) return;
  const report = violationReporter(world, pool.name);
  const summary = `${principal.clientId} changed the count from ${before} to ${after}`;
  if (after < before && after < (pool.capacity ?? before)) report('capacity-lowered-by-put', summary);
  else if (after > before && after > pool.max) report('above-max', `${summary}; the maximum is ${pool.max}`);
}

/** Checks the counts that a client writes for each size of a VMs-type pool, and records the writer. */
export function checkManualScale(
  world: ArmWorld,
  pool: AgentPool,
  change: { readonly principal: Principal; readonly before: readonly ManualScale[]; readonly after: readonly ManualScale[] },
): void {
  const { principal, before, after } = change;
  const { history } = pool;
  const countIn = (scale: readonly ManualScale[], size: string): number =>
    scale.find((entry) => entry.size.toLowerCase() === size.toLowerCase())?.count ?? 0;
  const sizes = new Set([...before, ...after].map(({ size }) => size.toLowerCase()));
  const changed = [...sizes].filter((size) => countIn(before, size) !== countIn(after, size));
  if (!principal.foreign && changed.length > 0 && history.foreignRevision > (history.seen.get(principal.clientId) ?? 0)) {
    violationReporter(world, pool.name)(
      'lost-update',
      `${principal.clientId} changed counts without having read the change of another writer`,
    );
  }
  for (const size of changed) {
    checkPoolSize(
      world,
      { name: `${pool.name}/${size}`, max: limitsOf(pool.spec, pool.properties).max + stoppedInCount(pool, size) },
      { principal, before: countIn(before, size), after: countIn(after, size) },
    );
  }
  history.revision++;
  if (principal.foreign) history.foreignRevision = history.revision;
  else history.seen.set(principal.clientId, history.revision);
}

function violationReporter(world: ArmWorld, subject: string) {
  return (rule: Parameters<ArmWorld['violations']['add']>[0]['rule'], detail: string): void =>
    world.violations.add({ rule, subject, detail, atMs: world.clock.now() });
}
