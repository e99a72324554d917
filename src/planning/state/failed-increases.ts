/**
 * What a failed increase closes, and for how long: the one table of times and scopes. A refused write backs off its group, so that the next
 * plan, in the same loop, asks another. Not refusals are conflicts (replanned from the new number), a counted quota (replanned smaller),
 * and an unknown effect (read first). Must not know Azure's codes.
 * Idea: closure.
 */
import type { NodeGroupId } from '../../domain/ids.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { ClosureTimes } from '../../lib/closure.ts';
import type { AutoscalerError, ErrorKind } from '../../lib/errors.ts';

/** What a failure closes, and for how long. */
export interface FailureRow {
  /** How long the group backs off. `configured`: as long as its backoff is configured. */
  readonly times: ClosureTimes | 'configured';
  /**
   * `alike`: groups refused for the same kind of reason take turns, since the cause is probably not the group; without this each of them
   * would be asked at this pace.
   */
  readonly scope: 'group' | 'alike';
  /** A time that Azure names counts exactly. If not, it is the least time. */
  readonly isExact: boolean;
  /** The size or the quota is out of stock for all groups, at least for this time. If undefined, other groups may get it. */
  readonly stockoutMs: number | undefined;
}

const CONFIGURED: FailureRow = { times: 'configured', scope: 'group', isExact: false, stockoutMs: undefined };
const SHORT: FailureRow = { ...CONFIGURED, times: { firstMs: 30_000, longestMs: 300_000 }, scope: 'alike' };
/** A missing permission or an invalid request. The adapter freezes the group for at least this long, too. */
const LASTING: FailureRow = { ...SHORT, times: { firstMs: 60_000, longestMs: 300_000 } };
/** For this group only: Azure's limits stop the other groups of the same policy before a request is sent. */
const THROTTLED: FailureRow = { ...SHORT, scope: 'group', isExact: true };

/** undefined: not a refusal. */
const REFUSALS: Readonly<Record<ErrorKind['kind'], FailureRow | undefined>> = {
  'out-of-capacity': CONFIGURED,
  quota: CONFIGURED,
  throttled: THROTTLED,
  unavailable: SHORT,
  conflict: SHORT,
  'not-found': SHORT,
  auth: LASTING,
  bug: LASTING,
  config: undefined,
  'kube-api': undefined,
  cancelled: undefined,
};

/** The shortest time that a stockout lasts. Capacity returns in minutes; people raise a quota; an offer returns by a decision of Azure. */
const STOCKOUT_MS = { capacity: 300_000, quota: 600_000, offer: 1_800_000 } as const;

/** No wait is longer without a try, whatever Azure says. */
const LONGEST_RETRY_AFTER_MS = 3_600_000;

type RefusedWrite = Pick<AutoscalerError, 'detail' | 'retryAfterMs'>;

/** One failed increase of a group. `group` is undefined if the group is no longer in the observation. */
export interface GroupFailure {
  readonly groupId: NodeGroupId;
  readonly group: NodeGroup | undefined;
  readonly detail: ErrorKind;
  readonly cause: string;
  /** Azure's message, for people. */
  readonly message: string;
  /** Azure's id of the failed request. If undefined, unknown. */
  readonly correlationId: string | undefined;
  readonly atMs: number;
  /** The wait that Azure asked for, milliseconds; 0 if it asked for none. The backoff is not shorter. */
  readonly waitMs: number;
}

/** What a refused capacity write closes; undefined: the failure is no refusal. */
export function refusalRow(detail: ErrorKind): FailureRow | undefined {
  // guard: a counted quota is planned smaller, not backed off
  if (detail.kind === 'quota' && detail.counted === true) return undefined;
  // guard: a write of unknown effect is no refusal
  if (detail.kind === 'unavailable' && detail.effect === 'unknown') return undefined;
  // guard: a refused write backs off its group
  const row = REFUSALS[detail.kind];
  return row?.times === 'configured' ? lateFailureRow(detail) : row;
}

/** What an increase closes that Azure accepted and that failed later, whatever the reason. */
export function lateFailureRow(detail: ErrorKind): FailureRow {
  return { ...CONFIGURED, stockoutMs: stockoutMsOf(detail) };
}

/** Other groups do not have this group's disks, networks, neighbours or lock: then they may get the size. */
function stockoutMsOf(detail: ErrorKind): number | undefined {
  if (detail.kind === 'quota') return detail.local === true ? undefined : STOCKOUT_MS.quota;
  if (detail.kind !== 'out-of-capacity' || detail.lack === 'constraints') return undefined;
  return detail.lack === 'offer' ? STOCKOUT_MS.offer : STOCKOUT_MS.capacity;
}

/** Whether a failed capacity write is a refusal, which backs off its group. */
export function isRefusal({ detail }: Pick<AutoscalerError, 'detail'>): boolean {
  return refusalRow(detail) !== undefined;
}

/** The failure of a refused write. */
export function refusedIncrease(
  refused: Pick<GroupFailure, 'groupId' | 'group' | 'atMs'> & { readonly error: AutoscalerError },
): GroupFailure {
  const { groupId, group, atMs, error } = refused;
  const { detail, code: cause = error.kind, message } = error;
  return { groupId, group, detail, cause, message, correlationId: correlationIdOf(error), atMs, waitMs: requestedWaitMs(error) };
}

/** The wait that Azure asks for, at most an hour; 0 if there is none. */
export function requestedWaitMs({ detail, retryAfterMs }: RefusedWrite): number {
  const asked = Math.max(retryAfterMs ?? 0, detail.kind === 'throttled' ? (detail.retryAfterMs ?? 0) : 0);
  // guard: no backoff is longer than an hour without a try
  return Math.min(LONGEST_RETRY_AFTER_MS, asked);
}

/** Azure's id of the refused request; undefined if the refusal has none. */
export function correlationIdOf({ context: { correlationId } }: Pick<AutoscalerError, 'context'>): string | undefined {
  return typeof correlationId === 'string' ? correlationId : undefined;
}
