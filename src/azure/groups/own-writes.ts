/**
 * What this process knows of its own writes: increases that can still be undone, how often a scale set was written, and backoffs
 * after refusals. After a restart nothing is known. Must not read or write Azure: this is bookkeeping.
 */
import type { ChangeBlock, IncreaseBlock } from '../../domain/group-blocks.ts';
import { Allowance } from '../../lib/allowance.ts';
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

/** What Azure takes of each scale set, from all writers together: 12 writes at once and then 4 a minute. Nothing is sent beyond that. */
const SCALE_SET_WRITES = { burst: 12, refillMs: 15_000 } as const;
/** Deletes come in batches, after their nodes were drained: increases leave them the last writes. */
const RESERVED_FOR_DELETES = 2;

const REFUSED: ClosureTimes = { firstMs: 60_000, longestMs: 5 * 60_000 };
/** People set locks on purpose, and each try may drain a node in vain. */
const LOCK: ClosureTimes = { firstMs: 10 * 60_000, longestMs: 60 * 60_000 };

/** AKS works on the pool or the cluster for a minute or so, and takes 20 writes of a pool at once and then one a minute, refused ones included. */
const IN_PROGRESS: ClosureTimes = { firstMs: 20_000, longestMs: 60_000 };

type RefusedWrite = Extract<ChangeBlock, { readonly code: 'write-refused' }>;

interface ActiveBackoff extends Closure {
  readonly block: ChangeBlock;
}

/**
 * Groups whose last write Azure refused, and whose next one would meet the same for a while: a missing permission, an invalid request, a lock, or
 * work of AKS itself. They back off, longer each time, so that other groups are used and no node is drained in vain.
 */
export class WriteBackoffs {
  readonly #backoffs = new Map<string, ActiveBackoff>();

  /** Records the outcome of a write; `error` undefined: Azure accepted it. Returns why the group backs off now, if it does. */
  recordOutcome(group: string, error: AutoscalerError | undefined, nowMs: number): ChangeBlock | undefined {
    if (error === undefined) this.#backoffs.delete(group);
    const times = error === undefined ? undefined : backoffAfter(error);
    return error === undefined || times === undefined ? undefined : this.#close(group, times, { message: error.message, nowMs });
  }

  /** An increase was refused since AKS works on the pool or the cluster. Returns how long the group backs off. */
  recordInProgress(group: string, { message }: AutoscalerError, nowMs: number): RefusedWrite {
    return this.#close(group, IN_PROGRESS, { message, nowMs });
  }

  #close(group: string, times: ClosureTimes, { message, nowMs }: { readonly message: string; readonly nowMs: number }): RefusedWrite {
    const durationMs = Math.max(times.firstMs, nextDurationMs(times, this.#backoffs.get(group)));
    const untilMs = nowMs + durationMs;
    const block: RefusedWrite = { code: 'write-refused', untilMs, message };
    this.#backoffs.set(group, { untilMs, durationMs, block });
    return block;
  }

  /** Why the group backs off; the same value until the backoff ends. */
  reasonFor(group: string, nowMs: number): ChangeBlock | undefined {
    const backoff = this.#backoffs.get(group);
    if (backoff === undefined) return undefined;
    // If more time is left than there was at first, the clock was set back.
    const isActive = nowMs < backoff.untilMs && backoff.untilMs - nowMs <= backoff.durationMs;
    return isActive ? backoff.block : undefined;
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

/** All that this process knows of its own writes. Keys are folded names, and times are monotonic. */
export class OwnWrites {
  readonly increases = new OwnIncreases();
  readonly backoffs = new WriteBackoffs();
  readonly #scaleSets = new Allowance(SCALE_SET_WRITES);
  /**
   * Until when an agent pool is written through AKS because its count is brought in step; infinite while the operation runs. AKS sets the
   * capacity to the count at any time until the operation ends, so the scale set is not written directly.
   */
  readonly #throughAksUntilMs = new Map<string, number>();

  /** A write of a scale set is being sent. */
  noteScaleSetWrite(set: string, nowMs: number): void {
    this.#scaleSets.take(set, nowMs);
  }

  /** How long a delete from a scale set has to wait; 0: it need not. */
  deletionWaitMs(set: string, nowMs: number): number {
    return this.#scaleSets.waitMs(set, nowMs);
  }

  /** Why the scale set cannot be increased now. The next write requests everything. */
  increaseHeldReason(set: string, nowMs: number): IncreaseBlock | undefined {
    return this.#scaleSets.waitMs(set, nowMs, RESERVED_FOR_DELETES) > 0 ? { code: 'writes-used-up' } : undefined;
  }

  /** AKS is requested to bring the count of a pool in step. */
  beginCountSync(pool: string): void {
    this.#throughAksUntilMs.set(pool, Number.POSITIVE_INFINITY);
  }

  /** AKS refused the count: nothing follows. */
  cancelCountSync(pool: string): void {
    this.#throughAksUntilMs.delete(pool);
  }

  /** AKS's operation is over, and the pool was read again. */
  endCountSync(pool: string, nowMs: number): void {
    this.#throughAksUntilMs.set(pool, nowMs + THROUGH_AKS_AFTER_MS);
  }

  /** Whether the scale set of the pool must not be written directly, because its count is brought in step. */
  isThroughAks(pool: string, nowMs: number): boolean {
    // guard: the scale set is not written while AKS brings its count in step
    return nowMs < (this.#throughAksUntilMs.get(pool) ?? Number.NEGATIVE_INFINITY);
  }
}
