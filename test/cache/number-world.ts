/** A model of Azure with capacities, readers and writers that overlap in any order, and the table that watches it. */
import { expect } from 'vitest';
import { NO_CONTENT, type Mutation, type MutationOp, type MutationOutcome } from '../../src/cache/table/mutation.ts';
import type { Stamp } from '../../src/cache/logical-clock.ts';
import type { ListPage } from '../../src/cache/table/row.ts';
import { LISTER, sets, type SetValue } from './support.ts';

export const KEYS = ['p0', 'p1'] as const;

export type Step =
  | { readonly kind: 'get' | 'list'; readonly key: number }
  /** Moves one of the reads under way on: sent -> served -> delivered. */
  | { readonly kind: 'read-on'; readonly which: number; readonly fails: boolean }
  | { readonly kind: 'mutate'; readonly key: number; readonly amount: number; readonly removes: boolean }
  | { readonly kind: 'accept' | 'apply'; readonly which: number }
  | { readonly kind: 'settle'; readonly which: number; readonly outcome: MutationOutcome }
  | { readonly kind: 'external'; readonly key: number; readonly amount: number }
  | { readonly kind: 'wait'; readonly ms: number };

interface Served {
  readonly key: string;
  readonly capacity: number;
  readonly etag: string;
}

interface Read {
  readonly kind: 'get' | 'list';
  /** Keys not read yet; one page each. */
  readonly left: string[];
  readonly pages: ListPage<SetValue>[];
  stamp: Stamp;
  served: Served | undefined;
}

type Operation = Extract<MutationOp, { readonly kind: 'set-target' | 'add' | 'remove' }>;

interface Write {
  readonly key: string;
  readonly mutation: Mutation;
  readonly op: Operation;
  applied: boolean;
}

/** What the planner must see of a key between the first begin and the confirming read. */
interface Expectation {
  target: number;
  /** False once a change did not plainly succeed: then a range is shown. */
  exact: boolean;
  lastSettleSeq: number;
}

export class NumberWorld {
  readonly at = sets();
  readonly #azure = new Map<string, { capacity: number; etag: number }>(KEYS.map((key) => [key, { capacity: 5, etag: 1 }]));
  readonly #reads: Read[] = [];
  readonly #writes: Write[] = [];
  readonly #expected = new Map<string, Expectation>();
  /** What each observation said, by key and the seq of its start. */
  readonly #said = new Map<string, number>();
  readonly #lastSeq = new Map<string, number>();

  constructor() {
    this.#fullList();
    this.check();
  }

  capacity(key: string): number {
    return this.#stateOf(key).capacity;
  }

  async take(step: Step): Promise<void> {
    switch (step.kind) {
      case 'get':
      case 'list':
        this.#reads.push({
          kind: step.kind,
          left: step.kind === 'get' ? [keyOf(step.key)] : [...KEYS],
          pages: [],
          stamp: this.at.order.stamp(),
          served: undefined,
        });
        break;
      case 'read-on':
        this.#readOn(step.which, step.fails);
        break;
      case 'mutate':
        this.#mutate(keyOf(step.key), step.amount, step.removes);
        break;
      case 'accept':
        this.#accept(pick(this.#writes, step.which));
        break;
      case 'apply':
        this.#apply(pick(this.#writes, step.which));
        break;
      case 'settle':
        this.#settle(pick(this.#writes, step.which), step.outcome);
        break;
      case 'external':
        this.#write(keyOf(step.key), step.amount);
        break;
      case 'wait':
        await this.at.clock.advance(step.ms);
        break;
    }
    this.check();
  }

  /** Ends every write, so that only reads are wanted. */
  quiesce(outcome: MutationOutcome): void {
    while (this.#writes.length > 0) this.#settle(this.#writes[0], outcome);
    this.check();
  }

  getAll(): void {
    for (const key of KEYS) {
      this.#reads.push({ kind: 'get', left: [key], pages: [], stamp: this.at.order.stamp(), served: undefined });
      this.#readOn(this.#reads.length - 1, false);
      this.#readOn(this.#reads.length - 1, false);
    }
    this.check();
  }

  listAll(): void {
    this.#fullList();
    this.check();
  }

  /** P1 and P2, after every step. */
  check(): void {
    for (const key of KEYS) {
      const view = this.at.table.view(key);
      if (view === undefined) throw new Error(`${key} has vanished`);
      const { fencedSeq } = view.seen;
      expect(fencedSeq, 'the base never goes back').toBeGreaterThanOrEqual(this.#lastSeq.get(key) ?? 0);
      expect(view.base, 'the base is what the newest accepted read said').toBe(this.#said.get(`${key}@${fencedSeq}`));
      this.#lastSeq.set(key, fencedSeq);
      this.#checkOverlay(key, view);
      expect(view.low, 'never below zero').toBeGreaterThanOrEqual(0);
    }
  }

  #checkOverlay(
    key: string,
    view: { readonly target: number | undefined; readonly low: number | undefined; readonly seen: { readonly fencedSeq: number } },
  ): void {
    const expected = this.#expected.get(key);
    if (expected === undefined) return;
    const fenced = this.at.table.fences().some((fence) => fence.key === key);
    const inFlight = this.#writes.some((write) => write.key === key);
    if (inFlight) expect(fenced, 'no fence opens while a change is under way').toBe(true);
    if (!fenced) {
      expect(view.seen.fencedSeq, 'only a read begun after the last settle confirms').toBeGreaterThan(expected.lastSettleSeq);
      this.#expected.delete(key);
    } else if (expected.exact) {
      expect([view.target, view.low], 'the planner sees exactly the overlay').toEqual([expected.target, expected.target]);
    }
  }

  #readOn(which: number, fails: boolean): void {
    const read = pick(this.#reads, which);
    if (read === undefined) return;
    if (fails) {
      this.#end(read, false);
      return;
    }
    if (read.served === undefined) {
      const key = read.left[0] ?? '';
      const { capacity, etag } = this.#stateOf(key);
      read.served = { key, capacity, etag: `e${etag}` };
      return;
    }
    const { key, capacity, etag } = read.served;
    this.#said.set(`${key}@${read.stamp.seq}`, capacity);
    const row = { key, value: { capacity, tag: '' }, etag };
    read.left.shift();
    if (read.kind === 'get') {
      this.at.table.observe({ ...row, stamp: read.stamp, via: 'get', agentId: LISTER });
      this.#end(read, true);
      return;
    }
    read.pages.push({ stamp: read.stamp, rows: [row] });
    read.served = undefined;
    if (read.left.length > 0) read.stamp = this.at.order.stamp();
    else this.#end(read, true);
  }

  #end(read: Read, complete: boolean): void {
    this.#reads.splice(this.#reads.indexOf(read), 1);
    if (read.kind === 'list') this.at.table.commitList({ agentId: LISTER, scope: undefined, complete, pages: read.pages });
  }

  #fullList(): void {
    this.#reads.push({ kind: 'list', left: [...KEYS], pages: [], stamp: this.at.order.stamp(), served: undefined });
    for (let step = 0; step < 2 * KEYS.length; step++) this.#readOn(this.#reads.length - 1, false);
  }

  #mutate(key: string, amount: number, removes: boolean): void {
    const view = this.at.table.view(key);
    const from = view?.target ?? 0;
    const op = operationOf(key, amount, removes);
    const target = numberAfter(op, from);
    const before = this.#expected.get(key);
    const mutation = this.at.table.beginMutation(op);
    this.#writes.push({ key, mutation, op, applied: false });
    this.#expected.set(key, { target, exact: before?.exact ?? true, lastSettleSeq: mutation.seq });
  }

  #accept(write: Write | undefined): void {
    if (write === undefined) return;
    // Azure's answer carries a tag only when the model moved with the answer.
    write.mutation.accepted({ ...NO_CONTENT, etag: write.applied ? `e${this.#stateOf(write.key).etag}` : undefined });
  }

  #apply(write: Write | undefined): void {
    if (write === undefined || write.applied) return;
    write.applied = true;
    const { capacity } = this.#stateOf(write.key);
    this.#write(write.key, numberAfter(write.op, capacity));
  }

  #settle(write: Write | undefined, outcome: MutationOutcome): void {
    if (write === undefined) return;
    if (outcome === 'succeeded') this.#apply(write);
    const truth = outcome === 'refused' && write.applied ? 'failed' : outcome;
    this.#writes.splice(this.#writes.indexOf(write), 1);
    const expected = this.#expected.get(write.key);
    if (expected !== undefined) {
      expected.lastSettleSeq = this.at.order.tick();
      if (truth !== 'succeeded') expected.exact = false;
    }
    write.mutation.settle(truth);
  }

  #write(key: string, capacity: number): void {
    const state = this.#stateOf(key);
    state.capacity = capacity;
    state.etag += 1;
  }

  #stateOf(key: string): { capacity: number; etag: number } {
    const state = this.#azure.get(key);
    if (state === undefined) throw new Error(`no ${key}`);
    return state;
  }
}

/** Every other increase is relative: it adds to whatever the number is when Azure carries it out. */
function operationOf(key: string, amount: number, removes: boolean): Operation {
  if (removes) return { kind: 'remove', key, count: amount };
  return amount % 2 === 0 ? { kind: 'add', key, count: amount } : { kind: 'set-target', key, target: amount };
}

function numberAfter(op: Operation, before: number): number {
  switch (op.kind) {
    case 'set-target':
      return op.target;
    case 'add':
      return before + op.count;
    case 'remove':
      return Math.max(0, before - op.count);
  }
}

function keyOf(index: number): string {
  return KEYS[index % KEYS.length] ?? 'p0';
}

function pick<T>(from: readonly T[], which: number): T | undefined {
  return from[which % Math.max(1, from.length)];
}
