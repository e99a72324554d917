/** What pools wait for: since when, until when, and what Azure said. */
import type { NodeGroupId } from '../../../domain/ids.ts';
import type { GroupRefusal } from '../../../domain/reasons.ts';
import { nextDurationMs } from '../../../lib/closure.ts';
import { defined } from '../../../lib/defined.ts';
import type { ScaleUpInput } from '../../scale-up/plan-input.ts';
import { isClosedFor } from '../../state/stockouts.ts';
import { formatMoment } from '../spans.ts';
import { isoTime } from '../../../lib/duration.ts';

export interface GroupWait {
  readonly group: string;
  /** When the pool is tried again. Absent if no time is known. */
  readonly until?: string;
  readonly since?: string;
  /** Azure's code, or the cause in words. */
  readonly cause: string;
  /** The VM size that Azure has no capacity for. Absent if the cause is another. */
  readonly lacks?: string;
  /** Azure's own sentence. */
  readonly message?: string;
  /** Azure's id of the failed request. */
  readonly correlationId?: string;
  /** How long this back-off lasts, and how long the next one would, in milliseconds. */
  readonly backoffMs?: number;
  readonly nextBackoffMs?: number;
}

/** Of the pools whose nodes would take the pod. */
export function waitsOf(
  refusals: readonly GroupRefusal[],
  input: Pick<ScaleUpInput, 'state' | 'observation' | 'policy'>,
): readonly GroupWait[] {
  return refusals.flatMap(({ group, skip, fit = [] }): readonly GroupWait[] => {
    if (fit.length > 0 || skip === undefined) return [];
    const lack = lackOf(group, input);
    if (skip.kind === 'backoff') return [{ ...backoffWait(group, skip, input), ...lack }];
    if (skip.kind === 'stockout') return [{ group, until: isoTime(skip.untilMs), cause: skip.code, ...lack }];
    if (skip.kind === 'frozen' || skip.kind === 'target-unknown') return [{ group, cause: skip.detail }];
    return [];
  });
}

/** A stockout may have begun before the present back-off. */
function lackOf(id: NodeGroupId, { state, observation }: Pick<ScaleUpInput, 'state' | 'observation'>): Pick<GroupWait, 'lacks' | 'since'> {
  const group = observation.cloud.groups.find((each) => each.id === id);
  const stockout = group === undefined ? undefined : state.stockouts.find((each) => isClosedFor(each, group, observation.nowMs));
  if (group === undefined || stockout === undefined || stockout.scope.quota !== undefined) return {};
  return { lacks: group.vmSize, since: isoTime(stockout.sinceMs) };
}

function backoffWait(
  group: NodeGroupId,
  { untilMs, cause }: { readonly untilMs: number; readonly cause: string },
  { state, policy }: Pick<ScaleUpInput, 'state' | 'policy'>,
): GroupWait {
  const backoff = state.backoffs.get(group);
  const known = { group, until: isoTime(untilMs), cause };
  if (backoff === undefined) return known;
  const { lastFailureMs, message, correlationId, durationMs: backoffMs, refused } = backoff;
  // A refused write has times of its own.
  const times = { firstMs: policy.backoff.initialMs, longestMs: policy.backoff.maxMs };
  const nextBackoffMs = refused ? undefined : nextDurationMs(times, backoff);
  return { ...known, since: isoTime(lastFailureMs), backoffMs, ...defined({ message, correlationId, nextBackoffMs }) };
}

/** `until 03:18:41, in 4 min: Azure has had no capacity for Standard_F16s_v2 since 02:58:41`. */
export function describeWait({ until, since, cause, lacks }: GroupWait, nowMs: number): string {
  const retry = until === undefined ? '' : `until ${formatMoment(Date.parse(until), nowMs)}: `;
  if (lacks !== undefined) {
    const begin = since === undefined ? '' : ` since ${clockOf(since, nowMs)}`;
    return `${retry}Azure has ${since === undefined ? '' : 'had '}no capacity for ${lacks}${begin}`;
  }
  return `${retry}${since === undefined ? cause : `the scale-up of ${clockOf(since, nowMs)} failed (${cause})`}`;
}

/** Without its distance. */
function clockOf(iso: string, nowMs: number): string {
  return formatMoment(Date.parse(iso), nowMs).replace(/, .*/, '');
}
