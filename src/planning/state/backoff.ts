import type { ErrorKind, StockScope } from '../../lib/errors.ts';
import type { NodeGroupId } from '../../domain/ids.ts';
import type { Backoff, LoopState, Stockout } from '../../domain/loop-state.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { BackoffPolicy } from '../../domain/policy.ts';
import { drawsOn, isStillRelevant } from './stockouts.ts';
import { defined } from '../../lib/defined.ts';

/** One failed attempt to grow a group. `group` undefined: it is no longer (or not here) known what the group looks like. */
export interface GroupFailure {
  readonly groupId: NodeGroupId;
  readonly group: NodeGroup | undefined;
  readonly detail: ErrorKind;
  readonly cause: string;
  /** What was said of it, for people. */
  readonly message: string;
  readonly atMs: number;
}

/** How long a size is taken to be out of stock at least. Capacity comes back in minutes, a quota is raised by people. */
const CAPACITY_STOCKOUT_MS = 300_000;
const QUOTA_STOCKOUT_MS = 600_000;
/** What is not on offer comes back by a decision of Azure. */
const OFFER_STOCKOUT_MS = 1_800_000;

/** The group rests; what it was asked for is no longer expected; a lack of stock is remembered for its size and zone. */
export function backOffGroup(state: LoopState, failure: GroupFailure, policy: BackoffPolicy): LoopState {
  const backoff = nextBackoff(state.backoffs.get(failure.groupId), failure, policy);
  const increases = new Map(state.increases);
  increases.delete(failure.groupId);
  return {
    ...state,
    increases,
    backoffs: new Map([...state.backoffs, [failure.groupId, backoff]]),
    stockouts: withStockout(state.stockouts, stockoutOf(failure, backoff)),
  };
}

/**
 * The Cluster Autoscaler's rule: the first failure rests `initialMs`; one while still resting starts the same time again;
 * one after the rest doubles it up to `maxMs`.
 */
export function nextBackoff(
  known: Backoff | undefined,
  failure: Pick<GroupFailure, 'cause' | 'atMs'> & { readonly detail?: ErrorKind; readonly message?: string },
  policy: BackoffPolicy,
): Backoff {
  const durationMs = nextDuration(known, failure.atMs, policy);
  const kind = failure.detail === undefined ? {} : { kind: failure.detail.kind };
  const message = failure.message === undefined ? {} : { message: failure.message };
  return { untilMs: failure.atMs + durationMs, durationMs, lastFailureMs: failure.atMs, cause: failure.cause, ...kind, ...message };
}

function nextDuration(known: Backoff | undefined, atMs: number, policy: BackoffPolicy): number {
  if (known === undefined || atMs >= known.lastFailureMs + policy.resetAfterMs) return policy.initialMs;
  return atMs < known.untilMs ? known.durationMs : Math.min(policy.maxMs, known.durationMs * 2);
}

/** Drops back-offs whose last failure is long past (their length is needed until then) and stockouts that nobody tries any more. */
export function forgetOldBackoffs(state: LoopState, nowMs: number, policy: BackoffPolicy): LoopState {
  return {
    ...state,
    backoffs: new Map(
      [...state.backoffs].filter(([, entry]) => nowMs < entry.lastFailureMs + policy.resetAfterMs || nowMs < entry.untilMs),
    ),
    stockouts: state.stockouts.filter((entry) => isStillRelevant(entry, nowMs)),
  };
}

function stockoutOf(failure: GroupFailure, backoff: Backoff): Stockout | undefined {
  const { detail, group } = failure;
  if (detail.kind !== 'out-of-capacity' && detail.kind !== 'quota') return undefined;
  // Others may have the size: without this group's disks, networks or neighbours, or the lock on it.
  if (detail.kind === 'quota' ? detail.local === true : detail.lack === 'constraints') return undefined;
  const scope = scopeOf(detail, group);
  // An absent size means every size; nobody said that every size is out of stock.
  if (scope.vmSize === undefined && scope.quota === undefined) return undefined;
  const leastMs = minimumStockoutMs(detail);
  return { scope, code: failure.cause, sinceMs: failure.atMs, untilMs: failure.atMs + Math.max(leastMs, backoff.durationMs) };
}

/** A quota that is used up is so for all that draw on it, whatever their size; of a group whose draws are not known only for its size. */
function scopeOf(detail: ErrorKind, group: NodeGroup | undefined): StockScope {
  if (detail.kind === 'quota' && detail.name !== undefined && drawsOn(group, detail.name)) return { quota: detail.name };
  return { ...fillScope(detail.kind === 'out-of-capacity' ? detail.scope : {}, group), ...familyOf(detail, group) };
}

function minimumStockoutMs(detail: ErrorKind): number {
  if (detail.kind === 'quota') return QUOTA_STOCKOUT_MS;
  return detail.kind === 'out-of-capacity' && detail.lack === 'offer' ? OFFER_STOCKOUT_MS : CAPACITY_STOCKOUT_MS;
}

/** What is sold out is so for every larger size that is cut from the same hardware. */
function familyOf(detail: ErrorKind, group: NodeGroup | undefined): Pick<StockScope, 'family'> {
  if (detail.kind !== 'out-of-capacity' || detail.lack !== undefined) return {};
  const family = detail.scope.family ?? (isSizeOfGroup(detail.scope, group) ? group?.sizeFamily : undefined);
  return family === undefined ? {} : { family };
}

function isSizeOfGroup({ vmSize }: StockScope, group: NodeGroup | undefined): boolean {
  return vmSize === undefined || vmSize.toLowerCase() === group?.vmSize.toLowerCase();
}

/** What the message left out is what the group would have asked for. */
function fillScope(scope: StockScope, group: NodeGroup | undefined): StockScope {
  const onlyZone = group?.zones.length === 1 ? group.zones[0] : undefined;
  const vmSize = scope.vmSize ?? group?.vmSize;
  const zone = scope.zone ?? onlyZone;
  const priority = scope.priority ?? group?.priority;
  return {
    ...defined({ vmSize, zone, priority }),
  };
}

/** A later and weaker signal never shortens what an earlier one said. */
function withStockout(known: readonly Stockout[], added: Stockout | undefined): readonly Stockout[] {
  if (added === undefined) return known;
  const same = known.find((entry) => sameScope(entry.scope, added.scope));
  if (same === undefined) return [...known, added];
  const merged = { ...(added.untilMs >= same.untilMs ? added : same), sinceMs: same.sinceMs };
  return known.map((entry) => (entry === same ? merged : entry));
}

function sameScope(left: StockScope, right: StockScope): boolean {
  if (left.quota !== right.quota) return false;
  const alike = left.vmSize === right.vmSize && left.zone === right.zone && left.priority === right.priority;
  return alike && left.family?.name === right.family?.name && left.family?.vcpus === right.family?.vcpus;
}
