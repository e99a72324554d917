/**
 * Groups, sizes and quotas that a failed increase closes for a time. The table of times and scopes is in `failed-increases.ts`.
 * Idea: closure.
 */
import type { NodeGroupId } from '../../domain/ids.ts';
import type { Backoff, LoopState, Stockout } from '../../domain/loop-state.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import { type BackoffPolicy, optionsOf, type Policy } from '../../domain/policy.ts';
import type { SkipReason } from '../../domain/reasons.ts';
import { type Closure, type ClosureTimes, nextDurationMs } from '../../lib/closure.ts';
import { defined } from '../../lib/defined.ts';
import type { ErrorKind, StockScope } from '../../lib/errors.ts';
import { type FailureRow, type GroupFailure, lateFailureRow } from './failed-increases.ts';
import { awaiting, withRecords } from './increases/increase-records.ts';
import { closingStockout, drawsOn, isClosedFor, isStillRelevant, withStockout } from './stockouts.ts';

type ClosedReason = Extract<SkipReason, { readonly kind: 'backoff' | 'stockout' }>;

/** Closes what the row of a failure names: backs off the group, and records a stockout of its size or quota. */
export function close(state: LoopState, failure: GroupFailure, row: FailureRow, policy: Policy): LoopState {
  const { times, stockoutMs } = row;
  const backoffs =
    times === 'configured'
      ? new Map([...state.backoffs, [failure.groupId, configuredBackoff(state.backoffs.get(failure.groupId), failure, policy)]])
      : refusedBackoffs(state.backoffs, failure, { ...row, times }, policy.backoff);
  if (stockoutMs === undefined) return { ...state, backoffs };
  const lastsMs = Math.max(stockoutMs, backoffs.get(failure.groupId)?.durationMs ?? 0);
  return { ...state, backoffs, stockouts: withStockout(state.stockouts, stockoutOf(failure, lastsMs)) };
}

/** What closes the group for increases: its backoff, else a stockout. A stockout that is over for one node is a ceiling, not a closure. */
export function closedReason(
  group: NodeGroup,
  { backoffs, stockouts }: Pick<LoopState, 'backoffs' | 'stockouts'>,
  nowMs: number,
): ClosedReason | undefined {
  const backoff = backoffs.get(group.id);
  if (backoff !== undefined && backoff.untilMs > nowMs) {
    const { untilMs, cause, message, correlationId } = backoff;
    return { kind: 'backoff', untilMs, cause, ...defined({ message, correlationId }) };
  }
  const stockout = closingStockout(group, stockouts, nowMs);
  return stockout === undefined ? undefined : { kind: 'stockout', untilMs: stockout.untilMs, code: stockout.code };
}

/** Takes in an accepted increase that failed: the group is closed, and the increase is no longer in flight. */
export function failIncrease(state: LoopState, failure: GroupFailure, policy: Policy): LoopState {
  const records = awaiting(state.increases.get(failure.groupId) ?? [], 0);
  return close(
    { ...state, increases: withRecords(state.increases, failure.groupId, records) },
    failure,
    lateFailureRow(failure.detail),
    policy,
  );
}

/**
 * The Cluster Autoscaler's rule. The first failure backs off for the first time. A failure during a backoff restarts the same duration. A
 * failure after it doubles the duration, up to the longest. Both are the group's own, else those of all groups.
 */
function configuredBackoff(known: Backoff | undefined, failure: GroupFailure, policy: Policy): Backoff {
  const { backoffInitialMs: firstMs, backoffMaxMs: maxMs } = optionsOf(failure.group, policy);
  // A refused write with times of its own says nothing about this failure.
  const isFirst = known === undefined || known.refused || failure.atMs >= known.lastFailureMs + policy.backoff.resetAfterMs;
  const before = isFirst ? undefined : known;
  const isDuring = before !== undefined && failure.atMs < before.untilMs;
  const durationMs = isDuring ? before.durationMs : nextDurationMs({ firstMs, longestMs: Math.max(firstMs, maxMs) }, before);
  return backoffOf(failure, { durationMs, untilMs: failure.atMs + Math.max(durationMs, failure.waitMs) }, false);
}

function backoffOf(failure: GroupFailure, { durationMs, untilMs }: Closure, refused: boolean): Backoff {
  const { atMs, cause, detail, message, correlationId } = failure;
  return { untilMs, durationMs, lastFailureMs: atMs, cause, kind: detail.kind, message, refused, correlationId };
}

/** The first refusal of each group is news. From the second on, the growing time is that of all groups refused alike. */
function refusedBackoffs(
  backoffs: LoopState['backoffs'],
  failure: GroupFailure,
  { times, scope, isExact }: FailureRow & { readonly times: ClosureTimes },
  { maxMs }: BackoffPolicy,
): LoopState['backoffs'] {
  const { groupId, atMs, waitMs, detail } = failure;
  const isAlike = (entry: Backoff): boolean => entry.refused && entry.kind === detail.kind;
  const known = backoffs.get(groupId);
  const before = known !== undefined && isAlike(known) ? known : undefined;
  const alike = [...backoffs].filter(([id, entry]) => id !== groupId && scope === 'alike' && isAlike(entry));
  const longestMs = Math.max(0, before?.durationMs ?? 0, ...alike.map(([, entry]) => entry.durationMs));
  // guard: the backoff grows with each refusal
  const nextMs = before === undefined ? Math.min(times.longestMs, longestMs) : nextDurationMs(times, { durationMs: longestMs });
  const grownMs = Math.max(times.firstMs, nextMs);
  const isAzures = isExact && waitMs > 0;
  const durationMs = isAzures ? waitMs : Math.max(grownMs, waitMs);
  // A turn for each group: without it only the group that the expander prefers would ever be asked again.
  const turnMs = isAzures ? 0 : Math.min(maxMs, grownMs * (alike.length + 1));
  const next = new Map(backoffs);
  if (before !== undefined && !isAzures)
    for (const [id, entry] of alike) next.set(id, { ...entry, untilMs: Math.max(entry.untilMs, atMs + grownMs) });
  return next.set(groupId, backoffOf(failure, { durationMs, untilMs: atMs + Math.max(durationMs, turnMs) }, true));
}

/** A write of the group was accepted: its backoff ends, and groups refused alike need no longer take turns. */
export function withAccepted(backoffs: LoopState['backoffs'], group: NodeGroupId): LoopState['backoffs'] {
  const accepted = backoffs.get(group);
  if (accepted === undefined || !accepted.refused) return backoffs;
  const others = [...backoffs].filter(([id]) => id !== group);
  return new Map(
    others.map(([id, entry]) => {
      const isSame = entry.refused && entry.kind === accepted.kind;
      return [id, isSame ? { ...entry, untilMs: Math.min(entry.untilMs, entry.lastFailureMs + entry.durationMs) } : entry];
    }),
  );
}

/** Drops backoffs whose last failure is long ago (until then their duration is needed) and stockouts that no longer matter. */
export function forgetOldClosures(state: LoopState, nowMs: number, policy: BackoffPolicy): LoopState {
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
export function endClosures(state: LoopState, groups: readonly NodeGroup[], nowMs: number): LoopState {
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

function stockoutOf({ detail, group, cause, atMs }: GroupFailure, lastsMs: number): Stockout | undefined {
  const scope = scopeOf(detail, group);
  // An absent size means every size, and Azure did not say that every size is out of capacity.
  if (scope.vmSize === undefined && scope.quota === undefined) return undefined;
  return { scope, code: cause, sinceMs: atMs, untilMs: atMs + lastsMs };
}

/** An exhausted quota affects every group that draws on it, whatever its size. If a group's draws are unknown, it affects its size only. */
function scopeOf(detail: ErrorKind, group: NodeGroup | undefined): StockScope {
  if (detail.kind === 'quota' && detail.name !== undefined && drawsOn(group, detail.name)) return { quota: detail.name };
  return { ...fillScope(detail.kind === 'out-of-capacity' ? detail.scope : {}, group), ...familyOf(detail, group) };
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
