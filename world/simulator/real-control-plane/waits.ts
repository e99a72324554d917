/** Waiting for other processes: a condition is checked again and again until it holds, never after a fixed time. */
import { AutoscalerError } from '../../../src/lib/errors.ts';
import { realSimClock, type SimClock } from '../base/sim-clock.ts';

const timers = realSimClock(1);
/** Other processes live in real time, so the speed of this clock cannot be changed. */
export const realTime: SimClock = { now: () => timers.now(), speed: 1, after: (ms, action) => timers.after(ms, action) };

const CHECK_EVERY_MS = 150;

export function pause(ms: number): Promise<void> {
  return new Promise((done) => realTime.after(ms, done));
}

export interface WaitOptions<Answer> {
  /** For the error, such as `the API server is ready`. */
  readonly what: string;
  /** undefined, false and an error mean "not yet". */
  readonly check: () => Promise<Answer | undefined | false>;
  readonly limitMs: number;
  /** Why to wait no longer. Default: never. */
  readonly givesUp?: () => AutoscalerError | undefined;
}

/** @returns the first answer of the check. @throws AutoscalerError of kind `unavailable` after the limit, with the last error. */
export async function waitUntil<Answer>({ what, check, limitMs, givesUp }: WaitOptions<Answer>): Promise<Answer> {
  const endMs = realTime.now() + limitMs;
  let cause: unknown;
  for (;;) {
    try {
      const answer = await check();
      if (answer !== undefined && answer !== false) return answer;
      cause = undefined;
    } catch (thrown) {
      cause = thrown;
    }
    const reason = givesUp?.();
    if (reason !== undefined) throw reason;
    if (realTime.now() >= endMs) break;
    await pause(CHECK_EVERY_MS);
  }
  const more = cause === undefined ? '' : ` Last error: ${cause instanceof Error ? cause.message : JSON.stringify(cause)}`;
  throw new AutoscalerError({ kind: 'unavailable', effect: 'unknown' }, `This did not hold within ${limitMs / 1000} s: ${what}.${more}`, {
    cause,
  });
}
