/**
 * Groups whose last write Azure refused in a way that asking again does not cure: a permission that is missing, a request that
 * it does not accept, or a lock. They rest, longer each time, so that other groups are tried and no node is drained for nothing.
 */
import type { AutoscalerError } from '../../domain/errors.ts';
import { isLocked } from './arm-errors.ts';

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

export class WriteHolds {
  readonly #holds = new Map<string, Hold>();

  /** Learns from what became of a write; `error` undefined: Azure accepted it. Returns why the group rests now, if it does. */
  learn(group: string, error: AutoscalerError | undefined, nowMs: number): string | undefined {
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
  reasonOf(group: string, nowMs: number): string | undefined {
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
