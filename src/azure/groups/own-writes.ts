/**
 * What is still ours of a set's capacity: raises that nobody else has written over. The tag in the answer to a write is the
 * proof, as equal tags mean equal sets. Known to this process alone: after a restart no raise is ours. Pure bookkeeping.
 */
import type { AutoscalerError } from '../../lib/errors.ts';
import { isLocked } from '../arm/errors.ts';

/** `to` was written by us over `before`; `etag` is the set's tag as long as nobody wrote since. */
export interface OwnIncrease {
  readonly before: number;
  readonly to: number;
  readonly etag: string;
}

/** What a write of ours was made over and what Azure answered. */
export interface WrittenIncrease {
  /** The capacity that was read together with `condition`; undefined: changes of ours were under way beside. */
  readonly read: number | undefined;
  readonly from: number;
  readonly to: number;
  /** The tag that the write named. */
  readonly condition: string | undefined;
  /** The tag and the capacity in the answer. */
  readonly etag: string | undefined;
  readonly capacity: number | undefined;
}

/** By folded name of the set. */
export class OwnIncreases {
  readonly #last = new Map<string, OwnIncrease>();

  /** A raise was accepted. Returns it, with what it continues; undefined when it cannot be told what of it is ours. */
  recordWritten(group: string, { read, from, to, condition, etag, capacity }: WrittenIncrease): OwnIncrease | undefined {
    const last = this.#last.get(group);
    this.#last.delete(group);
    if (condition === undefined || etag === undefined || capacity !== to) return undefined;
    const continues = last !== undefined && last.etag === condition && last.to === from;
    if (!continues && read !== from) return undefined;
    const raise = { before: continues ? last.before : from, to, etag };
    this.#last.set(group, raise);
    return raise;
  }

  isLast(group: string, raise: OwnIncrease): boolean {
    return this.#last.get(group) === raise;
  }

  /** All of it came, or it is no longer ours to take back. */
  forget(group: string, raise: OwnIncrease): void {
    if (this.isLast(group, raise)) this.#last.delete(group);
  }
}

// How often one scale set may be written: Azure takes 12 writes at once and then 4 a minute, whoever sends them. What would
// be more is not sent: growth waits, so that the next write asks for all of it at once, and a removal waits for its turn.

const BURST = 12;
const REFILL_MS = 15_000;
/** Removals are batched already and have emptied their nodes: growth leaves them the last writes. */
const KEPT_FOR_REMOVALS = 2;

/** By folded name of the set; all times monotonic. */
export class WriteTokens {
  /** When the bucket of a set will be full again if nobody writes to it. */
  readonly #fullAtMs = new Map<string, number>();

  /** One write goes out now. */
  noteWrite(key: string, nowMs: number): void {
    this.#fullAtMs.set(key, Math.max(this.#fullAtMs.get(key) ?? nowMs, nowMs) + REFILL_MS);
  }

  /** How long a removal has to wait; 0: not at all. */
  deletionWaitMs(key: string, nowMs: number): number {
    return Math.max(0, (this.#fullAtMs.get(key) ?? nowMs) - nowMs - (BURST - 1) * REFILL_MS);
  }

  /** Why the set cannot be written for growth now; the same text until it can. */
  increaseHeldReason(key: string, nowMs: number): string | undefined {
    const waitMs = (this.#fullAtMs.get(key) ?? nowMs) - nowMs - (BURST - KEPT_FOR_REMOVALS - 1) * REFILL_MS;
    return waitMs > 0 ? HELD : undefined;
  }
}

const HELD = 'it was written as often as Azure lets a scale set be written: what is needed meanwhile is asked for at once';

// Groups whose last write Azure refused in a way that asking again does not cure: a permission that is missing, a request that
// it does not accept, or a lock. They rest, longer each time, so that other groups are tried and no node is drained for nothing.

interface Rest {
  readonly firstMs: number;
  readonly longestMs: number;
}

const MISTAKE: Rest = { firstMs: 60_000, longestMs: 5 * 60_000 };
/** Somebody means it, and every look whether it is gone may cost the drain of a node. */
const LOCK: Rest = { firstMs: 10 * 60_000, longestMs: 60 * 60_000 };

interface Hold {
  readonly untilMs: number;
  readonly restMs: number;
  readonly reason: string;
}

export class WriteBackoffs {
  readonly #holds = new Map<string, Hold>();

  /** Learns from what became of a write; `error` undefined: Azure accepted it. Returns why the group rests now, if it does. */
  recordOutcome(group: string, error: AutoscalerError | undefined, nowMs: number): string | undefined {
    if (error === undefined) this.#holds.delete(group);
    const rest = error === undefined ? undefined : restAfter(error);
    if (error === undefined || rest === undefined) return undefined;
    const before = this.#holds.get(group);
    const restMs = Math.max(rest.firstMs, Math.min(rest.longestMs, (before?.restMs ?? 0) * 2));
    const untilMs = nowMs + restMs;
    const reason = `Azure refused the last write, tried again after ${new Date(untilMs).toISOString()}: ${error.message}`;
    this.#holds.set(group, { untilMs, restMs, reason });
    return reason;
  }

  /** Why the group rests; the same text until its rest ends. */
  reasonFor(group: string, nowMs: number): string | undefined {
    const hold = this.#holds.get(group);
    if (hold === undefined) return undefined;
    // More rest left than there was at first: the clock was set back since.
    const isResting = nowMs < hold.untilMs && hold.untilMs - nowMs <= hold.restMs;
    return isResting ? hold.reason : undefined;
  }

  /** An operator wants to know at once whether it works again. */
  forget(group: string | undefined): void {
    if (group === undefined) this.#holds.clear();
    else this.#holds.delete(group);
  }
}

function restAfter(error: AutoscalerError): Rest | undefined {
  if (isLocked(error)) return LOCK;
  return error.kind === 'auth' || error.kind === 'bug' ? MISTAKE : undefined;
}

/** All that this process knows of its own writes. */
export class OwnWrites {
  readonly increases = new OwnIncreases();
  readonly tokens = new WriteTokens();
  readonly backoffs = new WriteBackoffs();
}
