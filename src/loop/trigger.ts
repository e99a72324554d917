/**
 * When the next loop starts: at the scan interval, or early when pods turned unschedulable or the cloud has news. Early
 * wakes are batched, so that a burst of a thousand pods makes one plan. Knows time and nothing of what a loop does.
 */
import type { Clock } from '../lib/clock.ts';
import { asAutoscalerError, AutoscalerError } from '../lib/errors.ts';
import type { LoopTriggerCause } from '../domain/loop-report.ts';

export interface TriggerTimes {
  readonly scanIntervalMs: number;
  /** Quiet time that ends a batch ... */
  readonly batchIdleMs: number;
  /** ... which never lasts longer than this after its first wake. */
  readonly batchMaxMs: number;
  /** false: a loop per scan interval, whatever happens in between. */
  readonly startEarly: boolean;
}

/**
 * A few early loops may follow each other closely; over time they are no more than one a second. Pods that nothing helps
 * may keep coming, and each loop reads and plans the whole cluster.
 */
const CLOSE_LOOPS = { count: 3, withinMs: 3_000 };

interface Batch {
  readonly cause: LoopTriggerCause;
  readonly firstMs: number;
  readonly lastMs: number;
}

/** Owns the waiting between loops. */
export class LoopTrigger {
  readonly #clock: Clock;
  #times: TriggerTimes;
  #batch: Batch | undefined;
  /** Of the last few loops, oldest first. */
  #starts: readonly number[] = [];
  #nudge: AbortController | undefined;

  constructor(clock: Clock, times: TriggerTimes) {
    this.#clock = clock;
    this.#times = times;
  }

  /** A wait under way is measured anew. */
  reconfigure(times: TriggerTimes): void {
    this.#times = times;
    this.#nudge?.abort();
  }

  /** Something happened that is worth a loop soon. Any number of wakes make one loop. */
  wake(cause: 'pods' | 'cloud'): void {
    const nowMs = this.#clock.monotonic();
    const known = this.#batch;
    this.#batch = { cause: known?.cause === 'pods' ? 'pods' : cause, firstMs: known?.firstMs ?? nowMs, lastMs: nowMs };
    this.#nudge?.abort();
  }

  /**
   * Resolves when the next loop is due, with why. What woke it is forgotten by that; what comes later counts for the next.
   * @throws AutoscalerError `cancelled` when the signal fires.
   */
  async next(signal: AbortSignal): Promise<LoopTriggerCause> {
    for (;;) {
      if (signal.aborted) throw new AutoscalerError({ kind: 'cancelled' }, 'The loop was stopped.');
      const nowMs = this.#clock.monotonic();
      const due = this.#due();
      if (due.atMs <= nowMs) return this.#begin(due.cause, nowMs);
      await this.#waitOrNudge(due.atMs - nowMs, signal);
    }
  }

  #begin(cause: LoopTriggerCause, nowMs: number): LoopTriggerCause {
    this.#batch = undefined;
    this.#starts = [...this.#starts, nowMs].slice(-CLOSE_LOOPS.count);
    return cause;
  }

  #due(): { readonly atMs: number; readonly cause: LoopTriggerCause } {
    const last = this.#starts.at(-1);
    const scanAtMs = last === undefined ? 0 : last + this.#times.scanIntervalMs;
    const batch = this.#batch;
    if (batch === undefined || !this.#times.startEarly) return { atMs: scanAtMs, cause: 'scan' };
    const quietAtMs = Math.min(batch.lastMs + this.#times.batchIdleMs, batch.firstMs + this.#times.batchMaxMs);
    const batchAtMs = Math.max(quietAtMs, this.#roomAtMs());
    return batchAtMs <= scanAtMs ? { atMs: batchAtMs, cause: batch.cause } : { atMs: scanAtMs, cause: 'scan' };
  }

  /** When one more early loop is within the rate. */
  #roomAtMs(): number {
    const [oldest] = this.#starts;
    return oldest === undefined || this.#starts.length < CLOSE_LOOPS.count ? 0 : oldest + CLOSE_LOOPS.withinMs;
  }

  async #waitOrNudge(ms: number, signal: AbortSignal): Promise<void> {
    const nudge = new AbortController();
    const stop = (): void => nudge.abort();
    this.#nudge = nudge;
    signal.addEventListener('abort', stop, { once: true });
    try {
      await this.#clock.sleep(ms, nudge.signal);
    } catch (error) {
      // A nudge is why we sleep on a signal; the caller looks at the time again.
      if (!nudge.signal.aborted) throw asAutoscalerError(error);
    } finally {
      signal.removeEventListener('abort', stop);
      this.#nudge = undefined;
    }
  }
}
