/**
 * How long Azure refused, from the moments at which it did. Stock and quotas are known only when nodes are asked for: a refusal lasts until the
 * next VM of its kind joins, at most five minutes after the last time. Must not know the format of a recording.
 */

const MINUTE_MS = 60_000;
/** The first back-off of the Cluster Autoscaler: until it is over, nothing is asked and nothing is known. */
const LASTS_MS = 5 * MINUTE_MS;
/** Longer than the longest back-off: refusals that are closer, without a VM in between, are one. */
const LINKED_MS = 45 * MINUTE_MS;
/** A node that joins sooner after a refusal was asked for before it. */
const JOIN_MS = 3 * MINUTE_MS;

export interface RefusalScope {
  /** Refusals with the same key are of one kind. */
  readonly key: string;
}

export interface RefusalSpan<Scope> {
  readonly scope: Scope;
  readonly fromMs: number;
  readonly untilMs: number;
}

interface Open<Scope> {
  readonly scope: Scope;
  readonly fromMs: number;
  lastMs: number;
}

export class RefusalSpans<Scope extends RefusalScope> {
  readonly #open = new Map<string, Open<Scope>>();
  #closed: RefusalSpan<Scope>[] = [];

  /** Moments may come more than once, and in any order. */
  refuse(scope: Scope, atMs: number): void {
    const open = this.#open.get(scope.key);
    if (open === undefined || atMs - open.lastMs > LINKED_MS) {
      if (open !== undefined) this.#close(open, Number.POSITIVE_INFINITY);
      this.#open.set(scope.key, { scope, fromMs: atMs, lastMs: atMs });
    } else if (atMs < open.fromMs) this.#open.set(scope.key, { ...open, fromMs: atMs });
    else open.lastMs = Math.max(open.lastMs, atMs);
  }

  /** A node joined: what applies to it is over. */
  join(applies: (scope: Scope) => boolean, atMs: number): void {
    for (const open of this.#open.values()) if (applies(open.scope) && atMs > open.lastMs + JOIN_MS) this.#close(open, atMs);
  }

  /** What is over by now, and cannot go on. */
  take(nowMs: number): readonly RefusalSpan<Scope>[] {
    for (const open of this.#open.values()) if (nowMs - open.lastMs > LINKED_MS) this.#close(open, nowMs);
    const closed = this.#closed;
    this.#closed = [];
    return closed;
  }

  /** All of them, which end now at the latest. */
  end(nowMs: number): readonly RefusalSpan<Scope>[] {
    for (const open of this.#open.values()) this.#close(open, nowMs);
    return this.take(nowMs);
  }

  #close(open: Open<Scope>, atMs: number): void {
    const { scope, fromMs, lastMs } = open;
    this.#open.delete(scope.key);
    this.#closed.push({ scope, fromMs, untilMs: Math.max(fromMs, Math.min(atMs, lastMs + LASTS_MS)) });
  }
}
