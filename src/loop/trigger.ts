/**
 * When the next loop starts: at the scan interval, or early after pods became unschedulable, the cloud changed or a timer ended.
 * Early wakes are batched, so that a burst of a thousand pods makes one plan. Must not know what a loop does.
 */
import { endWaits, onAbort } from '../lib/abort.ts';
import { RateWindow } from '../lib/allowance.ts';
import type { Clock } from '../lib/clock.ts';
import { asAutoscalerError, AutoscalerError } from '../lib/errors.ts';
import type { LoopTriggerCause } from '../domain/loop-report.ts';

interface TriggerTimes {
  readonly scanIntervalMs: number;
  /** A batch ends after this time without a wake ... */
  readonly batchIdleMs: number;
  /** ... and at the latest this long after its first wake. */
  readonly batchMaxMs: number;
  /** false: one loop per scan interval and no early ones. */
  readonly startEarly: boolean;
}

/**
 * A few early loops may follow each other closely; over time there is at most one per second. Pods without a fitting group
 * may keep arriving, and each loop reads and plans the whole cluster.
 */
const CLOSE_LOOPS = { count: 3, withinMs: 3_000 };

/**
 * After a calm time, most pods come alone: the first wait is this part of the idle window. Each further wake doubles it, up to the whole
 * window, since bursts come closer together than that.
 */
const FIRST_PART = 1 / 5;

interface Batch {
  readonly cause: LoopTriggerCause;
  readonly firstMs: number;
  readonly lastMs: number;
  readonly wakes: number;
}

interface Due {
  readonly atMs: number;
  readonly cause: LoopTriggerCause;
}

/** Owns the waiting between loops. */
export class LoopTrigger {
  readonly #clock: Clock;
  #times: TriggerTimes;
  #batch: Batch | undefined;
  /** Start times of the last few loops, oldest first. */
  readonly #starts = new RateWindow(CLOSE_LOOPS);
  #earlyLoopAtMs = Number.NEGATIVE_INFINITY;
  /** When the loop's earliest timer ends (monotonic). */
  #timerAtMs: number | undefined;
  /** When a timer last started a loop. Of many timers, only one starts a loop in each scan interval. */
  #timerLoopAtMs = Number.NEGATIVE_INFINITY;
  #nudge: AbortController | undefined;

  constructor(clock: Clock, times: TriggerTimes) {
    this.#clock = clock;
    this.#times = times;
  }

  /** A wait under way is computed again. */
  reconfigure(times: TriggerTimes): void {
    this.#times = times;
    this.#endWait();
  }

  /** Requests an early loop. Any number of wakes make one loop. */
  wake(cause: 'pods' | 'cloud'): void {
    const nowMs = this.#clock.monotonic();
    const known = this.#batch;
    const wakes = (known?.wakes ?? 0) + 1;
    this.#batch = { cause: known?.cause === 'pods' ? 'pods' : cause, firstMs: known?.firstMs ?? nowMs, lastMs: nowMs, wakes };
    this.#endWait();
  }

  /** Requests an early loop in `ms` milliseconds. Replaces the last such request; undefined only withdraws it. */
  wakeIn(ms: number | undefined): void {
    this.#timerAtMs = ms === undefined ? undefined : this.#clock.monotonic() + ms;
    this.#endWait();
  }

  /**
   * Resolves with the cause when the next loop is due, and resets the batch. Later wakes count for the loop after it.
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
    this.#timerAtMs = undefined;
    if (cause === 'timer') this.#timerLoopAtMs = nowMs;
    if (cause === 'pods' || cause === 'cloud') this.#earlyLoopAtMs = nowMs;
    this.#starts.note(nowMs);
    return cause;
  }

  #due(): Due {
    const { lastMs } = this.#starts;
    const scanAtMs = lastMs === undefined ? 0 : lastMs + this.#times.scanIntervalMs;
    const scan = { atMs: scanAtMs, cause: 'scan' } as const;
    if (!this.#times.startEarly) return scan;
    const early = [this.#batchDue(), this.#timerDue()].flatMap((due) => (due !== undefined && due.atMs <= scanAtMs ? [due] : []));
    return early.reduce((first, due) => (due.atMs < first.atMs ? due : first), early[0] ?? scan);
  }

  #batchDue(): Due | undefined {
    const batch = this.#batch;
    if (batch === undefined) return undefined;
    const quietAtMs = Math.min(batch.lastMs + this.#idleMs(batch), batch.firstMs + this.#times.batchMaxMs);
    return { atMs: Math.max(quietAtMs, this.#starts.nextMs), cause: batch.cause };
  }

  #idleMs({ cause, firstMs, wakes }: Batch): number {
    const { batchIdleMs, scanIntervalMs } = this.#times;
    const isCalm = cause === 'pods' && firstMs - this.#earlyLoopAtMs >= scanIntervalMs;
    return isCalm ? Math.min(batchIdleMs, batchIdleMs * FIRST_PART * 2 ** (wakes - 1)) : batchIdleMs;
  }

  #timerDue(): Due | undefined {
    if (this.#timerAtMs === undefined) return undefined;
    const atMs = Math.max(this.#timerAtMs, this.#starts.nextMs, this.#timerLoopAtMs + this.#times.scanIntervalMs);
    return { atMs, cause: 'timer' };
  }

  #endWait(): void {
    if (this.#nudge !== undefined) endWaits(this.#nudge);
  }

  /** Waits until the time is over, a wake arrives, or the signal fires. */

  async #waitOrNudge(ms: number, signal: AbortSignal): Promise<void> {
    const nudge = new AbortController();
    this.#nudge = nudge;
    const removeListener = onAbort(signal, () => endWaits(nudge));
    try {
      await this.#clock.sleep(ms, nudge.signal);
    } catch (error) {
      // After a nudge the caller reads the time again.
      if (!nudge.signal.aborted) throw asAutoscalerError(error);
    } finally {
      removeListener();
      this.#nudge = undefined;
    }
  }
}
