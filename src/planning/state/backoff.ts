/**
 * The configured backoff of a group after a failed increase. Pure.
 * Idea: closure.
 */
import type { ErrorKind, StockScope } from '../../lib/errors.ts';
import type { NodeGroupId } from '../../domain/ids.ts';
import type { Backoff, LoopState, Stockout } from '../../domain/loop-state.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { BackoffPolicy } from '../../domain/policy.ts';
import { drawsOn, isClosedFor, isStillRelevant } from './stockouts.ts';
import { nextDurationMs } from '../../lib/closure.ts';
import { defined } from '../../lib/defined.ts';

/** One failed increase of a group. `group` is undefined if the group is no longer in the observation. */
export interface GroupFailure {
  readonly groupId: NodeGroupId;
  readonly group: NodeGroup | undefined;
  readonly detail: ErrorKind;
  readonly cause: string;
  /** Azure's message, for people. */
  readonly message: string;
  /** Azure's id of the failed request. If absent, unknown. */
  readonly correlationId?: string | undefined;
  readonly atMs: number;
  /** The wait that Azure asked for, milliseconds: the backoff is not shorter. */
  readonly waitMs?: number;
}

/** The shortest time that a stockout lasts. Capacity returns in minutes; people raise a quota. */
const CAPACITY_STOCKOUT_MS = 300_000;
const QUOTA_STOCKOUT_MS = 600_000;
/** An offer that a size lacks returns by a decision of Azure. */
const OFFER_STOCKOUT_MS = 1_800_000;

/** Backs off the group, drops its in-flight increase, and records a stockout for its size and zone if Azure lacks capacity. */
export function backOffGroup(state: LoopState, failure: GroupFailure, policy: BackoffPolicy): LoopState {
  const backoff = nextBackoff(state.backoffs.get(failure.groupId), failure, ownTimes(failure.group, policy));
  const increases = new Map(state.increases);
  increases.delete(failure.groupId);
  return {
    ...state,
    increases,
    backoffs: new Map([...state.backoffs, [failure.groupId, backoff]]),
    stockouts: withStockout(state.stockouts, stockoutOf(failure, backoff)),
  };
}

/** The group's own first and longest backoff, else those of all groups. The longest is never shorter than the first. */
function ownTimes(group: NodeGroup | undefined, policy: BackoffPolicy): BackoffPolicy {
  const { backoffInitialMs: initialMs = policy.initialMs, backoffMaxMs: maxMs = policy.maxMs } = group?.options ?? {};
  return { ...policy, initialMs, maxMs: Math.max(initialMs, maxMs) };
}

/**
 * The Cluster Autoscaler's rule. The first failure backs off for `initialMs`. A failure during a backoff restarts the same duration. A
 * failure after it doubles the duration, up to `maxMs`.
 */
export function nextBackoff(known: Backoff | undefined, failure: Omit<GroupFailure, 'groupId' | 'group'>, policy: BackoffPolicy): Backoff {
  const durationMs = nextDuration(known, failure.atMs, policy);
  const { cause, message, correlationId, detail } = failure;
  const untilMs = failure.atMs + Math.max(durationMs, failure.waitMs ?? 0);
  return { untilMs, durationMs, lastFailureMs: failure.atMs, cause, kind: detail.kind, message, correlationId, refused: false };
}

function nextDuration(known: Backoff | undefined, atMs: number, policy: BackoffPolicy): number {
  // A refused write with times of its own says nothing about this failure.
  if (known === undefined || known.refused || atMs >= known.lastFailureMs + policy.resetAfterMs) return policy.initialMs;
  return atMs < known.untilMs ? known.durationMs : nextDurationMs({ firstMs: policy.initialMs, longestMs: policy.maxMs }, known);
}

/** Drops backoffs whose last failure is long ago (until then their duration is needed) and stockouts that no longer matter. */
export function forgetOldBackoffs(state: LoopState, nowMs: number, policy: BackoffPolicy): LoopState {
  return {
    ...state,
    backoffs: new Map(
      [...state.backoffs].filter(([, entry]) => nowMs < entry.lastFailureMs + policy.resetAfterMs || nowMs < entry.untilMs),
    ),
    stockouts: state.stockouts.filter((entry) => isStillRelevant(entry, nowMs)),
  };
}

/**
 * Ends the backoffs of these groups and the stockouts that keep them from growing, so that each may be tried once. What was learned of
 * their durations stays: a further failure backs off as it would have after the full time, and a stockout is probed with one node.
 */
export function endBackoffs(state: LoopState, groups: readonly NodeGroup[], nowMs: number): LoopState {
  const ids = new Set(groups.map(({ id }) => id));
  const ended = <Entry extends { readonly untilMs: number }>(entry: Entry): Entry => ({
    ...entry,
    untilMs: Math.min(entry.untilMs, nowMs),
  });
  const closes = (lack: Stockout): boolean => groups.some((group) => isClosedFor(lack, group, nowMs));
  return {
    ...state,
    backoffs: new Map([...state.backoffs].map(([id, backoff]) => [id, ids.has(id) ? ended(backoff) : backoff])),
    stockouts: state.stockouts.map((lack) => (closes(lack) ? ended(lack) : lack)),
  };
}

function stockoutOf(failure: GroupFailure, backoff: Backoff): Stockout | undefined {
  const { detail, group } = failure;
  if (detail.kind !== 'out-of-capacity' && detail.kind !== 'quota') return undefined;
  // Other groups may get the size: they do not have this group's disks, networks, neighbours or lock.
  if (detail.kind === 'quota' ? detail.local === true : detail.lack === 'constraints') return undefined;
  const scope = scopeOf(detail, group);
  // An absent size means every size, and Azure did not say that every size is out of capacity.
  if (scope.vmSize === undefined && scope.quota === undefined) return undefined;
  const leastMs = minimumStockoutMs(detail);
  return { scope, code: failure.cause, sinceMs: failure.atMs, untilMs: failure.atMs + Math.max(leastMs, backoff.durationMs) };
}

/** An exhausted quota affects every group that draws on it, whatever its size. If a group's draws are unknown, it affects its size only. */
function scopeOf(detail: ErrorKind, group: NodeGroup | undefined): StockScope {
  if (detail.kind === 'quota' && detail.name !== undefined && drawsOn(group, detail.name)) return { quota: detail.name };
  return { ...fillScope(detail.kind === 'out-of-capacity' ? detail.scope : {}, group), ...familyOf(detail, group) };
}

function minimumStockoutMs(detail: ErrorKind): number {
  if (detail.kind === 'quota') return QUOTA_STOCKOUT_MS;
  return detail.kind === 'out-of-capacity' && detail.lack === 'offer' ? OFFER_STOCKOUT_MS : CAPACITY_STOCKOUT_MS;
}

/** If a size is out of capacity, so is every larger size of the same hardware. */
function familyOf(detail: ErrorKind, group: NodeGroup | undefined): Pick<StockScope, 'family'> {
  if (detail.kind !== 'out-of-capacity' || detail.lack !== undefined) return {};
  const family = detail.scope.family ?? (isSizeOfGroup(detail.scope, group) ? group?.sizeFamily : undefined);
  return family === undefined ? {} : { family };
}

function isSizeOfGroup({ vmSize }: StockScope, group: NodeGroup | undefined): boolean {
  return vmSize === undefined || vmSize.toLowerCase() === group?.vmSize.toLowerCase();
}

/** Fills in from the group what the message does not say. */
function fillScope(scope: StockScope, group: NodeGroup | undefined): StockScope {
  const onlyZone = group?.zones.length === 1 ? group.zones[0] : undefined;
  const vmSize = scope.vmSize ?? group?.vmSize;
  const zone = scope.zone ?? onlyZone;
  const priority = scope.priority ?? group?.priority;
  return {
    ...defined({ vmSize, zone, priority }),
  };
}

/** A later, weaker signal never shortens an earlier stockout. */
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
