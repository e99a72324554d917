/** The life of our own changes: raises fences, applies answers, settles, and drops changes that never end. */
import type { Clock } from '../../lib/clock.ts';
import { FenceBook, expectedExistence, expectedNumber, inFlight, isInFlight, type Change, type Effect } from './fences.ts';
import type { LogicalClock } from '../logical-clock.ts';
import type { Acceptance, Mutation, MutationOp, MutationOutcome, FinalAnswer } from './mutation.ts';

/** A change in flight for longer than this counts as lost. */
const LOST_AFTER_MS = 30 * 60_000;

/** The access to rows that mutations need. */
interface RowAccess {
  base(key: string): number | undefined;
  etag(key: string): string | undefined;
  /** Stores the tag in the answer to our own write, or drops the old one if undefined. */
  adoptEtag(key: string, etag: string | undefined, seq: number): void;
  /** To be called when views of these rows have changed. */
  touched(): void;
  requestRefresh(key: string): void;
}

interface OpenMutation {
  readonly begunAtMs: number;
  readonly keys: readonly string[];
  readonly mutation: Mutation;
}

export class Mutations {
  readonly fenced = new FenceBook('fenced');
  readonly existence = new FenceBook('existence');
  readonly #clock: Pick<Clock, 'now'>;
  readonly #order: LogicalClock;
  readonly #rows: RowAccess;
  readonly #open = new Set<OpenMutation>();

  constructor(parts: { readonly clock: Pick<Clock, 'now'>; readonly order: LogicalClock; readonly rows: RowAccess }) {
    this.#clock = parts.clock;
    this.#order = parts.order;
    this.#rows = parts.rows;
  }

  begin(op: MutationOp): Mutation {
    const keys = 'keys' in op ? op.keys : [op.key];
    const book = 'keys' in op ? this.existence : this.fenced;
    const seq = this.#order.tick();
    const nowMs = this.#clock.now();
    const change = newChange(seq, effectOf(op));
    for (const key of keys) book.raise(key, change, { etag: this.#rows.etag(key), nowMs });
    const open: OpenMutation = {
      begunAtMs: nowMs,
      keys,
      mutation: {
        seq,
        accepted: (answer) => this.#accept(change, keys, answer),
        settle: (outcome, final) => this.#settle(open, { change, book, outcome, final }),
      },
    };
    this.#open.add(open);
    this.#rows.touched();
    return open.mutation;
  }

  /** A read removed a fence, so views change. */
  touched(): void {
    this.#rows.touched();
  }

  /** Settles changes in flight for too long as lost. Returns the keys of each. */
  giveUpLost(): readonly (readonly string[])[] {
    const nowMs = this.#clock.now();
    const lost = [...this.#open].filter((open) => nowMs - open.begunAtMs > LOST_AFTER_MS);
    for (const open of lost) open.mutation.settle('unknown');
    return lost.map((open) => open.keys);
  }

  /** Drops fences without a row once their grace time has passed. */
  dropOrphans(hasRow: (key: string) => boolean): void {
    const nowMs = this.#clock.now();
    for (const book of [this.fenced, this.existence]) {
      for (const fence of book.all()) {
        if (!hasRow(fence.key) && inFlight(fence) === 0 && nowMs >= fence.graceUntilMs) book.drop(fence.key);
      }
    }
  }

  #accept(change: Change, keys: readonly string[], answer: Acceptance): void {
    if (!isInFlight(change)) return;
    change.state = 'accepted';
    change.acceptedSeq = this.#order.tick();
    change.expect = answer.expect;
    change.modelled = answer.modelled;
    if (touchesNumber(change.effect)) for (const key of keys) this.#rows.adoptEtag(key, answer.etag, change.seq);
    this.#rows.touched();
  }

  #settle(open: OpenMutation, end: MutationEnd): boolean {
    const { change, book } = end;
    if (!isInFlight(change)) return false;
    this.#open.delete(open);
    const seq = this.#order.tick();
    change.state = end.outcome;
    change.settledAtMs = this.#clock.now();
    for (const key of open.keys) {
      const fence = book.settle(key, change, seq, change.settledAtMs);
      if (fence === undefined || inFlight(fence) > 0) continue;
      fence.expect = touchesNumber(change.effect) ? expectedNumber(this.#rows.base(key), fence.changes) : expectedExistence(fence.changes);
      if (end.final !== undefined && end.final.amount === fence.expect) this.#rows.adoptEtag(key, end.final.etag, seq);
    }
    this.#rows.touched();
    for (const key of open.keys) this.#rows.requestRefresh(key);
    return true;
  }
}

interface MutationEnd {
  readonly change: Change;
  readonly book: FenceBook;
  readonly outcome: MutationOutcome;
  readonly final: FinalAnswer | undefined;
}

function effectOf(op: MutationOp): Effect {
  switch (op.kind) {
    case 'set-target':
      return { kind: 'set', to: op.target };
    case 'add':
      return { kind: 'plus', count: op.count };
    case 'remove':
      return { kind: 'minus', count: op.count };
    case 'remove-rows':
      return { kind: 'gone' };
  }
}

function touchesNumber(effect: Effect): boolean {
  return effect.kind !== 'gone';
}

function newChange(seq: number, effect: Effect): Change {
  return {
    seq,
    effect,
    state: 'sent',
    acceptedSeq: undefined,
    settledAtMs: undefined,
    expect: undefined,
    modelled: false,
    absorbed: false,
  };
}
