/** A model of Azure with machines that come and go, readers and writers that overlap in any order, and the table that watches. */
import { expect } from 'vitest';
import type { Mutation, MutationOutcome } from '../../src/cache/table/mutation.ts';
import type { Stamp } from '../../src/cache/logical-clock.ts';
import type { ListPage } from '../../src/cache/table/row.ts';
import { getMachine, LISTER, machineRows, machines, type MachineValue } from './support.ts';

const MACHINES = Array.from({ length: 9 }, (_, index) => `a/${index}`);
/** A list has three pages of three machines, read one after the other. */
const PAGES = [0, 1, 2].map((page) => MACHINES.slice(3 * page, 3 * page + 3));

export type MachineStep =
  | { readonly kind: 'get' | 'list'; readonly machine: number }
  | { readonly kind: 'read-on'; readonly which: number; readonly fails: boolean }
  | { readonly kind: 'mutate'; readonly machines: readonly number[] }
  | { readonly kind: 'apply'; readonly which: number }
  | { readonly kind: 'settle'; readonly which: number; readonly outcome: MutationOutcome }
  | { readonly kind: 'external'; readonly machine: number; readonly alive: boolean }
  | { readonly kind: 'wait'; readonly ms: number };

interface Read {
  readonly kind: 'get' | 'list';
  readonly left: (readonly string[])[];
  readonly pages: ListPage<MachineValue>[];
  stamp: Stamp;
  served: readonly string[] | undefined;
}

interface Write {
  readonly keys: readonly string[];
  readonly mutation: Mutation;
  applied: boolean;
}

export class MachineWorld {
  readonly at = machines();
  readonly #azure = new Set(MACHINES.slice(0, 7));
  readonly #reads: Read[] = [];
  readonly #writes: Write[] = [];
  /** Start of the newest 404 that was accepted and that no newer read has contradicted. */
  readonly #goneSince = new Map<string, number>();
  /** Start of the newest GET that was accepted and showed the machine. */
  readonly #shownSince = new Map<string, number>();
  /** By the table's order, when the last of our changes of a machine ended. */
  readonly #settledAt = new Map<string, number>();

  constructor() {
    this.listAll();
  }

  alive(): readonly string[] {
    return [...this.#azure].sort();
  }

  /** Rows that count: there, and not being removed. */
  shown(): readonly string[] {
    return [...this.at.table.snapshot().keys()].filter((key) => this.at.table.removalOf(key) === 'none').sort();
  }

  async take(step: MachineStep): Promise<void> {
    switch (step.kind) {
      case 'get':
        this.#begin('get', [[keyOf(step.machine)]]);
        break;
      case 'list':
        this.#begin('list', PAGES);
        break;
      case 'read-on':
        this.#readOn(pick(this.#reads, step.which), step.fails);
        break;
      case 'mutate':
        this.#mutate(step.machines.map(keyOf));
        break;
      case 'apply':
        this.#apply(pick(this.#writes, step.which));
        break;
      case 'settle':
        this.#settle(pick(this.#writes, step.which), step.outcome);
        break;
      case 'external':
        this.#set(keyOf(step.machine), step.alive);
        break;
      case 'wait':
        await this.at.clock.advance(step.ms);
        break;
    }
    this.#check();
  }

  quiesce(outcome: MutationOutcome): void {
    while (this.#writes.length > 0) this.#settle(this.#writes[0], outcome);
    this.#check();
  }

  getAll(): void {
    for (const key of MACHINES) {
      const read = this.#begin('get', [[key]]);
      this.#readOn(read, false);
      this.#readOn(read, false);
    }
    this.#check();
  }

  listAll(): void {
    const read = this.#begin('list', PAGES);
    for (let step = 0; step < 2 * PAGES.length; step++) this.#readOn(read, false);
    this.#check();
  }

  #check(): void {
    for (const key of this.#goneSince.keys()) {
      expect(this.at.table.get(key), 'a machine that ended stays ended until a newer read shows it').toBeUndefined();
    }
    for (const [key, settledAt] of this.#settledAt) {
      if (this.at.table.fences().some((fence) => fence.key === key)) continue;
      const seen = this.at.table.seen(key);
      if (seen !== undefined) expect(seen.existenceSeq, 'only a read begun after the last settle counts').toBeGreaterThan(settledAt);
      this.#settledAt.delete(key);
    }
    // Of changes that overlap the newest says what is meant.
    for (const write of this.#writes) {
      for (const key of write.keys) {
        if (this.#writes.findLast((other) => other.keys.includes(key)) !== write) continue;
        expect(this.at.table.removalOf(key), 'what we remove is shown so').toBe('under-way');
      }
    }
  }

  #begin(kind: Read['kind'], pages: readonly (readonly string[])[]): Read {
    const read: Read = { kind, left: [...pages], pages: [], stamp: this.at.order.stamp(), served: undefined };
    this.#reads.push(read);
    return read;
  }

  #readOn(read: Read | undefined, fails: boolean): void {
    if (read === undefined) return;
    if (fails) {
      this.#end(read, false);
    } else if (read.served === undefined) {
      read.served = (read.left[0] ?? []).filter((key) => this.#azure.has(key));
    } else if (read.kind === 'get') {
      this.#deliver(read.left[0]?.[0] ?? '', read.served.length > 0, read.stamp);
      this.#reads.splice(this.#reads.indexOf(read), 1);
    } else {
      read.pages.push({ stamp: read.stamp, rows: machineRows(...read.served) });
      read.left.shift();
      read.served = undefined;
      if (read.left.length > 0) read.stamp = this.at.order.stamp();
      else this.#end(read, true);
    }
  }

  #deliver(key: string, alive: boolean, stamp: Stamp): void {
    if (alive) {
      this.#shownBy(key, stamp);
      const newest = Math.max(stamp.seq, this.#shownSince.get(key) ?? 0);
      if (getMachine(this.at, key, stamp).rejected.length === 0) this.#shownSince.set(key, newest);
    } else if (this.at.table.observeGone(key, stamp).rejected.length === 0) {
      this.#goneSince.set(key, Math.max(stamp.seq, this.#goneSince.get(key) ?? 0));
      this.#shownSince.delete(key);
    }
  }

  #shownBy(key: string, stamp: Stamp): void {
    if (stamp.seq > (this.#goneSince.get(key) ?? 0)) this.#goneSince.delete(key);
  }

  #end(read: Read, complete: boolean): void {
    this.#reads.splice(this.#reads.indexOf(read), 1);
    if (read.kind === 'get') return;
    for (const page of read.pages) for (const row of page.rows) this.#shownBy(row.key, page.stamp);
    const before = [...this.at.table.snapshot().keys()];
    this.at.table.commitList({ agentId: LISTER, scope: undefined, complete, pages: read.pages });
    const firstSeq = read.pages[0]?.stamp.seq ?? 0;
    for (const [key, shownSince] of this.#shownSince) {
      if (shownSince < firstSeq) this.#shownSince.delete(key);
      else expect(this.at.table.get(key), 'an older list does not end what a newer read showed').toBeDefined();
    }
    if (!complete) {
      for (const key of before) expect(this.at.table.get(key), 'a broken list ends nothing').toBeDefined();
    }
  }

  #mutate(keys: readonly string[]): void {
    const mutation = this.at.table.beginMutation({ kind: 'remove-rows', keys });
    this.#writes.push({ keys, mutation, applied: false });
  }

  #apply(write: Write | undefined): void {
    if (write === undefined || write.applied) return;
    write.applied = true;
    for (const key of write.keys) this.#set(key, false);
  }

  #settle(write: Write | undefined, outcome: MutationOutcome): void {
    if (write === undefined) return;
    if (outcome === 'succeeded') this.#apply(write);
    this.#writes.splice(this.#writes.indexOf(write), 1);
    for (const key of write.keys) this.#settledAt.set(key, this.at.order.tick());
    write.mutation.settle(outcome === 'refused' && write.applied ? 'failed' : outcome);
  }

  #set(key: string, alive: boolean): void {
    if (alive) this.#azure.add(key);
    else this.#azure.delete(key);
  }
}

function keyOf(index: number): string {
  return MACHINES[index % MACHINES.length] ?? 'a/0';
}

function pick<T>(from: readonly T[], which: number): T | undefined {
  return from[which % Math.max(1, from.length)];
}
