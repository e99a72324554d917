/**
 * What this process knows of its own writes: increases that can still be undone, how often a scale set was written, and backoffs
 * after refusals. After a restart nothing is known. Must not read or write Azure: this is bookkeeping.
 */
import { type Closure, type ClosureTimes, nextDurationMs } from '../../lib/closure.ts';
import type { AutoscalerError } from '../../lib/errors.ts';
import { isLocked } from '../arm/errors.ts';

/** We increased the capacity from `before` to `to`. `etag` is the tag of the scale set until the next write. */
export interface OwnIncrease {
  readonly before: number;
  readonly to: number;
  readonly etag: string;
}

/** What a write was based on, and Azure's answer. */
export interface WrittenIncrease {
  /** The capacity that was read together with `condition`; undefined: other changes of ours were in progress. */
  readonly read: number | undefined;
  readonly from: number;
  readonly to: number;
  /** The entity tag in the condition of the write. */
  readonly condition: string | undefined;
  /** The tag and the capacity in the answer. */
  readonly etag: string | undefined;
  readonly capacity: number | undefined;
}

/**
 * The last increase of each scale set (key: folded name), while no other writer has written over it. The tag in the answer to a
 * write is the proof: equal tags mean equal sets.
 */
export class OwnIncreases {
  readonly #last = new Map<string, OwnIncrease>();

  /** Azure accepted an increase. Returns it together with the one it continues; undefined: it is unknown which part is ours. */
  recordWritten(group: string, { read, from, to, condition, etag, capacity }: WrittenIncrease): OwnIncrease | undefined {
    const last = this.#last.get(group);
    this.#last.delete(group);
    if (condition === undefined || etag === undefined || capacity !== to) return undefined;
    const continues = last !== undefined && last.etag === condition && last.to === from;
    if (!continues && read !== from) return undefined;
    const increase = { before: continues ? last.before : from, to, etag };
    this.#last.set(group, increase);
    return increase;
  }

  isLast(group: string, increase: OwnIncrease): boolean {
    return this.#last.get(group) === increase;
  }

  /** All of it was filled, or it can no longer be undone. */
  forget(group: string, increase: OwnIncrease): void {
    if (this.isLast(group, increase)) this.#last.delete(group);
  }
}

const BURST = 12;
const REFILL_MS = 15_000;
/** Deletes come in batches, after their nodes were drained: increases leave them the last tokens. */
const RESERVED_FOR_DELETES = 2;

/**
 * Rate-limit tokens of each scale set (key: folded name; monotonic times). Azure takes 12 writes at once and then 4 a minute, from
 * all writers together. Beyond that nothing is sent: an increase waits, so that the next one requests everything, and so does a delete.
 */
export class WriteTokens {
  /** When the bucket of a scale set is full again without further writes. */
  readonly #fullAtMs = new Map<string, number>();

  /** A write is being sent. */
  noteWrite(key: string, nowMs: number): void {
    this.#fullAtMs.set(key, Math.max(this.#fullAtMs.get(key) ?? nowMs, nowMs) + REFILL_MS);
  }

  /** How long a delete has to wait; 0 if a token is left. */
  deletionWaitMs(key: string, nowMs: number): number {
    return Math.max(0, (this.#fullAtMs.get(key) ?? nowMs) - nowMs - (BURST - 1) * REFILL_MS);
  }

  /** Why the scale set cannot be increased now; the same text until it can. */
  increaseHeldReason(key: string, nowMs: number): string | undefined {
    const waitMs = (this.#fullAtMs.get(key) ?? nowMs) - nowMs - (BURST - RESERVED_FOR_DELETES - 1) * REFILL_MS;
    return waitMs > 0 ? HELD : undefined;
  }
}

const HELD =
  'it has used up its writes (Azure allows 12 at once, then 4 a minute); the next write requests everything that is needed by then';

const REFUSED: ClosureTimes = { firstMs: 60_000, longestMs: 5 * 60_000 };
/** People set locks on purpose, and each try may drain a node in vain. */
const LOCK: ClosureTimes = { firstMs: 10 * 60_000, longestMs: 60 * 60_000 };

interface ActiveBackoff extends Closure {
  readonly reason: string;
}

/**
 * Groups whose last write Azure refused permanently: a missing permission, an invalid request, or a lock. They back off, longer
 * each time, so that other groups are used and no node is drained in vain.
 */
export class WriteBackoffs {
  readonly #backoffs = new Map<string, ActiveBackoff>();

  /** Records the outcome of a write; `error` undefined: Azure accepted it. Returns why the group backs off now, if it does. */
  recordOutcome(group: string, error: AutoscalerError | undefined, nowMs: number): string | undefined {
    if (error === undefined) this.#backoffs.delete(group);
    const backoff = error === undefined ? undefined : backoffAfter(error);
    if (error === undefined || backoff === undefined) return undefined;
    const durationMs = Math.max(backoff.firstMs, nextDurationMs(backoff, this.#backoffs.get(group)));
    const untilMs = nowMs + durationMs;
    const reason = `Azure refused the last write; next try after ${new Date(untilMs).toISOString()}: ${error.message}`;
    this.#backoffs.set(group, { untilMs, durationMs, reason });
    return reason;
  }

  /** Why the group backs off; the same text until the backoff ends. */
  reasonFor(group: string, nowMs: number): string | undefined {
    const backoff = this.#backoffs.get(group);
    if (backoff === undefined) return undefined;
    // If more time is left than there was at first, the clock was set back.
    const isActive = nowMs < backoff.untilMs && backoff.untilMs - nowMs <= backoff.durationMs;
    return isActive ? backoff.reason : undefined;
  }

  /** Ends the backoff of one group, or of all: an operator wants the next try at once. */
  forget(group: string | undefined): void {
    if (group === undefined) this.#backoffs.clear();
    else this.#backoffs.delete(group);
  }
}

function backoffAfter(error: AutoscalerError): ClosureTimes | undefined {
  if (isLocked(error)) return LOCK;
  return error.kind === 'auth' || error.kind === 'bug' ? REFUSED : undefined;
}

/** While AKS works, and for a while after it, waiting pods get their nodes through AKS too. Two scan intervals are enough for that. */
const THROUGH_AKS_AFTER_MS = 60_000;

/**
 * Agent pools (key: folded name; monotonic times) whose count is being brought in step. AKS sets the capacity to the count at any time
 * until its operation ends, so their scale sets are not written directly.
 */
export class CountSyncs {
  /** Until when a pool is written through AKS; undefined: the operation has not ended. */
  readonly #untilMs = new Map<string, number | undefined>();

  begin(pool: string): void {
    this.#untilMs.set(pool, undefined);
  }

  /** AKS refused the count: nothing follows. */
  cancel(pool: string): void {
    this.#untilMs.delete(pool);
  }

  /** AKS's operation is over, and the pool was read again. */
  end(pool: string, nowMs: number): void {
    this.#untilMs.set(pool, nowMs + THROUGH_AKS_AFTER_MS);
  }

  /** Whether the scale set of the pool must not be written directly. */
  isThroughAks(pool: string, nowMs: number): boolean {
    if (!this.#untilMs.has(pool)) return false;
    const untilMs = this.#untilMs.get(pool);
    // guard: the scale set is not written while AKS brings its count in step
    if (untilMs === undefined || nowMs < untilMs) return true;
    this.#untilMs.delete(pool);
    return false;
  }
}

/** All that this process knows of its own writes. */
export class OwnWrites {
  readonly increases = new OwnIncreases();
  readonly tokens = new WriteTokens();
  readonly backoffs = new WriteBackoffs();
  readonly countSyncs = new CountSyncs();
}
