/**
 * What one loop remembers is stamped with the wall clock, as it is compared with the stamps of the cluster. When that clock
 * is set, the memory is moved with it: a rest neither ends early nor lasts for hours, and no node has been unneeded for
 * longer than this process saw.
 */
import type { LoopState } from '../../domain/loop-state.ts';

/** Less is a clock being kept in step, which nothing here is fine enough to notice. */
const NOTICED_MS = 1_000;

/** Every time of the state, moved by so much; the same state when it is too little to matter. */
export function afterClockShift(state: LoopState, shiftMs: number): LoopState {
  if (Math.abs(shiftMs) < NOTICED_MS) return state;
  const moved = (atMs: number): number => atMs + shiftMs;
  const each = <Key, Value>(map: ReadonlyMap<Key, Value>, move: (value: Value) => Value): ReadonlyMap<Key, Value> =>
    new Map([...map].map(([key, value]) => [key, move(value)]));
  const { unregisteredSince, groupTimes, asked, requests, marks } = state;
  return {
    ...state,
    unneededSince: each(state.unneededSince, moved),
    unremovable: each(state.unremovable, (mark) => ({ ...mark, untilMs: moved(mark.untilMs) })),
    backoffs: each(state.backoffs, (rest) => ({ ...rest, untilMs: moved(rest.untilMs), lastFailureMs: moved(rest.lastFailureMs) })),
    stockouts: state.stockouts.map((lack) => ({ ...lack, sinceMs: moved(lack.sinceMs), untilMs: moved(lack.untilMs) })),
    increases: each(state.increases, (order) => ({
      ...order,
      requestedAtMs: moved(order.requestedAtMs),
      expectedByMs: moved(order.expectedByMs),
    })),
    deleting: each(state.deleting, (deletion) => ({ ...deletion, sinceMs: moved(deletion.sinceMs) })),
    lastScaleUpMs: moved(state.lastScaleUpMs),
    lastScaleDownMs: moved(state.lastScaleDownMs),
    lastScaleDownFailureMs: moved(state.lastScaleDownFailureMs),
    removals: state.removals.map(moved),
    ...(asked === undefined
      ? {}
      : { asked: each(asked, (requests) => requests.map((request) => ({ ...request, atMs: moved(request.atMs) }))) }),
    ...(unregisteredSince === undefined ? {} : { unregisteredSince: each(unregisteredSince, moved) }),
    ...(marks === undefined ? {} : { marks: each(marks, (mark) => ({ ...mark, sinceMs: moved(mark.sinceMs) })) }),
    ...(requests === undefined
      ? {}
      : { requests: { ...requests, retries: each(requests.retries, (retry) => ({ ...retry, untilMs: moved(retry.untilMs) })) } }),
    ...(groupTimes === undefined
      ? {}
      : {
          groupTimes: each(groupTimes, (times) => ({
            ...(times.scaleUpMs === undefined ? {} : { scaleUpMs: moved(times.scaleUpMs) }),
            ...(times.scaleDownMs === undefined ? {} : { scaleDownMs: moved(times.scaleDownMs) }),
            ...(times.scaleDownFailureMs === undefined ? {} : { scaleDownFailureMs: moved(times.scaleDownFailureMs) }),
          })),
        }),
  };
}
