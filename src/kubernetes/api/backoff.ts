/** Waits after failures: exponential, with jitter so that replicas and watches do not retry in step. */
import type { Clock } from '../../lib/clock.ts';
import { durationAfterMs } from '../../lib/closure.ts';
import { type AutoscalerError, asAutoscalerError } from '../../lib/errors.ts';
import type { Random } from '../../lib/random.ts';

export interface BackoffRange {
  readonly firstMs: number;
  readonly maxMs: number;
}

/** Between half and all of `firstMs * 2^(failures-1)`, at most `maxMs`. `failures` counts from 1. */
export function backoffMs(range: BackoffRange, failures: number, random: Random): number {
  const full = durationAfterMs({ firstMs: range.firstMs, longestMs: range.maxMs }, failures);
  return Math.round(full * (0.5 + random() / 2));
}

export interface Retry {
  readonly clock: Clock;
  readonly random: Random;
  readonly range: BackoffRange;
  /** Number of attempts, the first included. */
  readonly attempts: number;
}

/** Whether a conditional write may be repeated, starting from a new read. */
function mayRetry(error: AutoscalerError): boolean {
  return error.kind === 'conflict' || error.kind === 'unavailable' || error.kind === 'throttled';
}

/** Repeats `attempt` on conflicts, throttling and unavailability. Throws the last error. */
export async function retrying<Value>(retry: Retry, attempt: () => Promise<Value>, signal: AbortSignal): Promise<Value> {
  for (let failures = 1; ; failures++) {
    try {
      return await attempt();
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      if (failures >= retry.attempts || !mayRetry(error)) throw error;
      const asked = error.detail.kind === 'throttled' ? (error.detail.retryAfterMs ?? 0) : 0;
      await retry.clock.sleep(Math.max(asked, backoffMs(retry.range, failures, retry.random)), signal);
    }
  }
}
