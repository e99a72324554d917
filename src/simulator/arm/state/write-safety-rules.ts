/**
 * The judge of write safety. It looks at what clients do to capacity and instances, never at what they say, and holds
 * foreign writers (people, AKS itself) to nothing.
 */
import type { Principal } from '../http/messages.ts';
import type { ManualScale } from './agent-pool-document.ts';
import { limitsOf } from './agent-pool-limits.ts';
import type { AgentPool, ArmWorld, CapacityHistory, OwnIncrease, ScaleSet } from './arm-state.ts';
import type { Vm } from './vm.ts';

export interface CapacityChange {
  readonly principal: Principal;
  readonly before: number;
  readonly after: number;
  /** The write named the set's tag, and it was the present one. */
  readonly conditional?: boolean;
}

/** A read by a principal: from now on it knows what other writers did to this set. */
export function noteRead(set: Pick<ScaleSet, 'history'>, principal: Principal): void {
  set.history.seen.set(principal.clientId, set.history.revision);
  set.history.seenLowered.set(principal.clientId, set.history.foreignLowered);
}

/** Judges a capacity written by PUT or PATCH, before it takes effect, and remembers who wrote. */
export function checkCapacityWrite(world: ArmWorld, set: ScaleSet, change: CapacityChange): void {
  const { principal, before, after } = change;
  if (before === after) return;
  const { history } = set;
  if (!principal.foreign) {
    const accuse = accuser(world, set.name);
    const said = `${principal.clientId} wrote capacity ${after} over ${before}`;
    const wrong = after < before ? whyNotItsOwn(world, set, change) : undefined;
    if (wrong !== undefined) accuse('capacity-lowered-by-put', `${said}, ${wrong}`);
    const { max } = limitsOf(set.pool, set.document);
    if (after > before && after > max) accuse('above-max', `${said}; the maximum is ${max}`);
    if (history.foreignRevision > (history.seen.get(principal.clientId) ?? 0)) {
      accuse('lost-update', `${said}, which another writer had set and it had not read`);
    }
  }
  const raised = raiseAfter(history, change);
  history.revision++;
  if (principal.foreign) {
    history.foreignRevision = history.revision;
    history.foreignLowered += Math.max(0, before - after);
  } else history.seen.set(principal.clientId, history.revision);
  history.raise = raised === undefined ? undefined : { ...raised, revision: history.revision };
}

/** A client's raise continues its own last one when nobody has moved the capacity between the two. */
function raiseAfter(history: CapacityHistory, { principal, before, after }: CapacityChange): Omit<OwnIncrease, 'revision'> | undefined {
  if (principal.foreign || after < before) return undefined;
  const last = isOwnRaise(history, principal) ? history.raise : undefined;
  return { clientId: principal.clientId, from: last?.from ?? before };
}

function isOwnRaise({ raise, revision }: CapacityHistory, { clientId }: Principal): boolean {
  return raise?.clientId === clientId && raise.revision === revision;
}

/**
 * Why a lowered capacity is a breach. It is none in one case: the client takes back, on the condition that nobody wrote since,
 * what it raised itself and what did not come. Then no machine goes, listed or not, and nobody else's wish is undone.
 */
function whyNotItsOwn(world: ArmWorld, set: ScaleSet, { principal, before, after, conditional }: CapacityChange): string | undefined {
  const { history } = set;
  if (conditional !== true) return 'and named no tag';
  if (history.raise === undefined || !isOwnRaise(history, principal)) return `and its own last word was not the raise to ${before}`;
  if (after < history.raise.from) return `and the capacity was ${history.raise.from} before it was raised`;
  const busy = [...world.operations.values()].some(({ setKey, endMs }) => setKey === set.name.toLowerCase() && endMs === undefined);
  if (busy) return 'while an operation ran';
  const living = [...set.vms.values()].filter((vm) => vm.provisioningState !== 'Deleting' && !vm.surplus).length;
  return living > after ? `and ${living} machines were there` : undefined;
}

/**
 * The minimum that a delete is held to. ARM takes no condition on a delete, so what another writer took since the client's
 * last read of the set cannot be held against it.
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
  /** false: the client left the choice to the platform. */
  readonly named: boolean;
}

/** Judges machines that are about to go at a client's wish. Failed ones may go below the minimum. */
export function checkRemoval(world: ArmWorld, owner: { readonly name: string; readonly min: number }, removal: Removal): void {
  const { principal, vms, capacityAfter, named } = removal;
  if (principal.foreign || vms.length === 0) return;
  const accuse = accuser(world, owner.name);
  if (!named) {
    for (const vm of vms) {
      accuse('instance-deleted-that-was-never-named', `${vm.name} goes because ${principal.clientId} left the choice to the platform`);
    }
  }
  if (capacityAfter < owner.min && vms.some((vm) => vm.provisioningState !== 'Failed')) {
    accuse('below-min', `${principal.clientId} deleted down to ${capacityAfter}; the minimum is ${owner.min}`);
  }
}

/** A delete moves the capacity too; a foreign one counts as another writer's change. */
export function noteDelete(set: ScaleSet, principal: Principal): void {
  set.history.revision++;
  if (principal.foreign) set.history.foreignRevision = set.history.revision;
}

/** Judges the size that a client asks of an agent pool. */
export function checkPoolSize(world: ArmWorld, pool: { readonly name: string; readonly max: number }, change: CapacityChange): void {
  const { principal, before, after } = change;
  if (principal.foreign || before === after) return;
  const accuse = accuser(world, pool.name);
  const said = `${principal.clientId} wrote count ${after} over ${before}`;
  if (after < before) accuse('capacity-lowered-by-put', said);
  else if (after > pool.max) accuse('above-max', `${said}; the maximum is ${pool.max}`);
}

/** Judges what a client asks of each size of a pool of type VirtualMachines, and remembers who wrote. */
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
    accuser(world, pool.name)('lost-update', `${principal.clientId} wrote over counts that another writer had set and it had not read`);
  }
  for (const size of changed) {
    checkPoolSize(
      world,
      { name: `${pool.name}/${size}`, max: limitsOf(pool.spec, pool.properties).max },
      { principal, before: countIn(before, size), after: countIn(after, size) },
    );
  }
  history.revision++;
  if (principal.foreign) history.foreignRevision = history.revision;
  else history.seen.set(principal.clientId, history.revision);
}

function accuser(world: ArmWorld, subject: string) {
  return (rule: Parameters<ArmWorld['violations']['add']>[0]['rule'], detail: string): void =>
    world.violations.add({ rule, subject, detail, atMs: world.clock.now() });
}
