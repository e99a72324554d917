/**
 * What a refused capacity write means for its group: the one table of durations and scopes. A refusal backs off its group, so that
 * the next plan, in the same loop, asks another. Not refusals are conflicts (replanned from the new number), a counted quota
 * (replanned smaller), and an unknown effect (read first). Must not know Azure's codes.
 * Idea: closure.
 */
import type { AutoscalerError, ErrorKind } from '../../lib/errors.ts';
import type { NodeGroupId } from '../../domain/ids.ts';
import type { Backoff, LoopState } from '../../domain/loop-state.ts';
import type { BackoffPolicy } from '../../domain/policy.ts';

/**
 * The time until the next try; it doubles with each refusal. `alike`: groups refused for the same kind of reason take turns, since
 * the cause is probably not the group; without this each of them would be asked at this pace.
 */
interface RefusalTimes {
  readonly firstMs: number;
  readonly longestMs: number;
  readonly scope: 'group' | 'alike';
}

const SHORT: RefusalTimes = { firstMs: 30_000, longestMs: 300_000, scope: 'alike' };
/** A missing permission or an invalid request. The adapter freezes the group for at least this long, too. */
const LASTING: RefusalTimes = { firstMs: 60_000, longestMs: 300_000, scope: 'alike' };

/**
 * `configured`: the configured backoff, and a stockout of the size, zone or quota. `azure`: exactly as long as Azure says, and for
 * this group, since Azure's limits stop the other groups of the same policy before a request is sent. undefined: not a refusal.
 */
const REFUSALS: Readonly<Record<ErrorKind['kind'], RefusalTimes | 'configured' | 'azure' | undefined>> = {
  'out-of-capacity': 'configured',
  quota: 'configured',
  throttled: 'azure',
  unavailable: SHORT,
  conflict: SHORT,
  'not-found': SHORT,
  auth: LASTING,
  bug: LASTING,
  config: undefined,
  'kube-api': undefined,
  cancelled: undefined,
};

/** No wait is longer without a try, whatever Azure says. */
const LONGEST_RETRY_AFTER_MS = 3_600_000;

type RefusedWrite = Pick<AutoscalerError, 'detail' | 'retryAfterMs'>;

/** Whether a failed capacity write is a refusal, which backs off its group. */
export function isRefusal({ detail }: Pick<AutoscalerError, 'detail'>): boolean {
  // guard: a counted quota is planned smaller, not backed off
  if (detail.kind === 'quota' && detail.counted === true) return false;
  // guard: a write of unknown effect is no refusal
  if (detail.kind === 'unavailable' && detail.effect === 'unknown') return false;
  // guard: a refused write backs off its group
  return REFUSALS[detail.kind] !== undefined;
}

/** Whether the configured backoff applies, as it does to an increase that fails late. */
export function hasConfiguredBackoff({ kind }: ErrorKind): boolean {
  return REFUSALS[kind] === 'configured';
}

/** The wait that Azure asks for, at most an hour; 0 if there is none. */
export function requestedWaitMs({ detail, retryAfterMs }: RefusedWrite): number {
  const asked = Math.max(retryAfterMs ?? 0, detail.kind === 'throttled' ? (detail.retryAfterMs ?? 0) : 0);
  // guard: no backoff is longer than an hour without a try
  return Math.min(LONGEST_RETRY_AFTER_MS, asked);
}

/** Backs off the group of a refused write that {@link hasConfiguredBackoff} does not cover. */
export function backOffRefused(
  backoffs: LoopState['backoffs'],
  refused: { readonly group: NodeGroupId; readonly error: AutoscalerError; readonly atMs: number },
  policy: Pick<BackoffPolicy, 'maxMs'>,
): LoopState['backoffs'] {
  const { group, error, atMs } = refused;
  const row = REFUSALS[error.kind];
  const askedMs = requestedWaitMs(error);
  const times: RefusalTimes = typeof row === 'object' ? row : { ...SHORT, scope: 'group' };
  const alike = [...backoffs].filter(([id, entry]) => id !== group && times.scope === 'alike' && isAlike(entry, error));
  const known = backoffs.get(group);
  const before = known !== undefined && isAlike(known, error) ? known : undefined;
  const longestMs = Math.max(0, before?.durationMs ?? 0, ...alike.map(([, entry]) => entry.durationMs));
  // The first refusal of each group is news. From the second on, the growing time is that of all groups refused alike.
  // guard: the backoff grows with each refusal
  const grownMs = Math.min(times.longestMs, Math.max(times.firstMs, before === undefined ? longestMs : longestMs * 2));
  const isAzures = row === 'azure' && askedMs > 0;
  const durationMs = isAzures ? askedMs : Math.max(grownMs, askedMs);
  // A turn for each group: without it only the group that the expander prefers would ever be asked again.
  const untilMs = atMs + (isAzures ? askedMs : Math.max(durationMs, Math.min(policy.maxMs, grownMs * (alike.length + 1))));
  const next = new Map(backoffs);
  if (before !== undefined && !isAzures)
    for (const [id, entry] of alike) next.set(id, { ...entry, untilMs: Math.max(entry.untilMs, atMs + grownMs) });
  const { code: cause = error.kind, message, kind } = error;
  const correlationId = correlationIdOf(error);
  return next.set(group, { untilMs, durationMs, lastFailureMs: atMs, cause, kind, message, refused: true, correlationId });
}

/** Azure's id of the refused request; undefined if the refusal has none. */
export function correlationIdOf({ context: { correlationId } }: Pick<AutoscalerError, 'context'>): string | undefined {
  return typeof correlationId === 'string' ? correlationId : undefined;
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

function isAlike(entry: Backoff, error: AutoscalerError): boolean {
  return entry.refused && entry.kind === error.kind;
}
