/**
 * Reads of the instances of a group after its increase. Azure shows the first failed instances within seconds, and another group can take
 * their pods, so the first reads come on time; further lists come with the loops, while instances are still awaited. A count of a scale
 * set is one small answer and leads to a list only if more of its instances have failed; groups without such a count are read by their
 * instances. Must not know what a failure means.
 * Idea: want, increase.
 */
import type { InstanceKey } from '../../domain/ids.ts';
import { asAutoscalerError } from '../../lib/errors.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import { wantNewInstances, type AzureReads } from './azure-reads.ts';

/**
 * The reads after an increase. A list is the most expensive read and its rate is small: the first one shows the new instances, and later
 * ones whether they started or failed. An increase of another writer is seen by a list, so only lists with a loop follow it.
 */
const READS = [
  { afterMs: 5_000, read: 'count', isOnTime: true },
  { afterMs: 10_000, read: 'count', isOnTime: true },
  { afterMs: 20_000, read: 'list', isOnTime: true },
  { afterMs: 45_000, read: 'list', isOnTime: false },
] as const;
/** The lists with a loop after the last of these. */
const FURTHER_EVERY_MS = 60_000;
const LISTS_MS = READS.flatMap(({ afterMs, read }) => (read === 'list' ? [afterMs] : []));
const ON_TIME = READS.filter(({ isOnTime }) => isOnTime);
/** After this time the usual interval is enough: an instance that is still missing will not come soon. */
const AWAITED_FOR_MS = 20 * 60_000;
/** Reads on time of one group are at least this far apart, however often it is increased. */
const APART_MS = 5_000;

interface ReadsAfterIncreaseDeps {
  readonly clock: Pick<Clock, 'now' | 'monotonic' | 'sleep'>;
  readonly log: Log;
  readonly reads: Pick<AzureReads, 'want' | 'listWaitMs' | 'singleReadsLeft' | 'singleReadsPerList'>;
  readonly instances: SeenInstances;
}

/** What is known of the instances of a group. */
export interface SeenInstances {
  /** Failed instances as the scale set counts them now; undefined: it has no count. @throws AutoscalerError */
  countFailed(groupKey: string, signal: AbortSignal): Promise<number | undefined>;
  /** Failed instances as last listed. */
  listedFailed(groupKey: string): number;
  /** Listed instances that are being created, and how many more there should be. */
  awaited(groupKey: string): { readonly creating: readonly InstanceKey[]; readonly missing: number };
}

interface AwaitedIncrease {
  /** In ms since the epoch. */
  readonly sinceMs: number;
  /** The operation is over: only instances that are being created can still come. */
  readonly ended: boolean;
  /** When a list was last requested. If undefined, none was. */
  readonly requestedAtMs: number | undefined;
}

/** The instances of a group as a loop sees them. All times in ms since the epoch. */
export interface AwaitedInstances {
  readonly nowMs: number;
  /** Start of the last complete list. */
  readonly listedAtMs: number;
  /** Listed instances that have neither started nor failed. */
  readonly creating: number;
  /** Target size minus listed instances. */
  readonly missing: number;
}

interface DueRead {
  /** Monotonic. */
  readonly atMs: number;
  readonly read: 'count' | 'list';
}

export class ReadsAfterIncrease {
  readonly #deps: ReadsAfterIncreaseDeps;
  readonly #stopped = new AbortController();
  readonly #increases = new Map<string, AwaitedIncrease>();
  /** Reads on time by group, earliest first. A group has an entry while its reads are carried out. */
  readonly #due = new Map<string, readonly DueRead[]>();

  constructor(deps: ReadsAfterIncreaseDeps) {
    this.#deps = deps;
  }

  /** We increased the group. Returns at once. */
  begin(group: string): void {
    this.beginForeign(group, this.#deps.clock.now());
    const nowMs = this.#deps.clock.monotonic();
    const known = this.#due.get(group);
    const wanted = ON_TIME.map(({ afterMs, read }) => ({ atMs: nowMs + afterMs, read }));
    this.#due.set(group, mergeReads(known ?? [], wanted));
    if (known === undefined) void this.#readUntilDone(group);
  }

  /** Another writer increased the group, or instances of it are being created. */
  beginForeign(group: string, nowMs: number): void {
    this.#increases.set(group, { sinceMs: nowMs, ended: false, requestedAtMs: undefined });
  }

  /** The operation of the increase is over. */
  end(group: string): void {
    const increase = this.#increases.get(group);
    if (increase !== undefined) this.#increases.set(group, { ...increase, ended: true });
  }

  /** Whether new instances of the group are expected. */
  areExpected(group: string): boolean {
    const increase = this.#increases.get(group);
    return increase !== undefined && this.#deps.clock.now() - increase.sinceMs <= AWAITED_FOR_MS;
  }

  /** Whether to list with this loop: instances are expected, and 20, 45, 105, 165 ... seconds have passed since the increase. */
  isListDue(group: string, { nowMs, listedAtMs, creating, missing }: AwaitedInstances): boolean {
    const increase = this.#increases.get(group);
    if (increase === undefined) {
      // Another writer or a previous leader requested these instances.
      if (creating > 0) this.beginForeign(group, nowMs);
      return false;
    }
    const isAwaited = creating > 0 || (missing > 0 && !increase.ended);
    const isLong = nowMs - increase.sinceMs > AWAITED_FOR_MS;
    // An instance that stays in creation keeps its old record, so that it is not awaited again and again.
    if (!isAwaited && (increase.ended || isLong)) this.#increases.delete(group);
    if (!isAwaited || isLong) return false;
    const lastAtMs = Math.max(listedAtMs, increase.requestedAtMs ?? listedAtMs);
    const isDue = nowMs - increase.sinceMs >= nextListAfter(lastAtMs - increase.sinceMs);
    if (isDue) this.#noteListRequested(group, nowMs);
    return isDue;
  }

  stop(): void {
    this.#stopped.abort();
  }

  /** The next list with a loop is not due before the next time of the table. */
  #noteListRequested(group: string, nowMs: number): void {
    const increase = this.#increases.get(group);
    if (increase !== undefined) this.#increases.set(group, { ...increase, requestedAtMs: nowMs });
  }

  /** Never rejects. */
  async #readUntilDone(group: string): Promise<void> {
    let reported = 0;
    for (let due = this.#due.get(group)?.[0]; due !== undefined; due = this.#due.get(group)?.[0]) {
      try {
        await this.#deps.clock.sleep(Math.max(0, due.atMs - this.#deps.clock.monotonic()), this.#stopped.signal);
        this.#due.set(group, (this.#due.get(group) ?? []).slice(1));
        if (due.read === 'list') this.#list(group);
        else reported = Math.max(reported, await this.#count(group, reported));
      } catch (thrown) {
        if (this.#stopped.signal.aborted) return;
        this.#deps.log.debug({ group, err: asAutoscalerError(thrown) }, 'Could not count the instances of a group');
      }
    }
    this.#due.delete(group);
  }

  /** Returns the number of failed instances. `reported`: the largest one for which a list was requested. */
  async #count(group: string, reported: number): Promise<number> {
    const { instances } = this.#deps;
    const failed = await instances.countFailed(group, this.#stopped.signal);
    if (failed === undefined) this.#readNew(group);
    else if (failed > Math.max(reported, instances.listedFailed(group))) this.#list(group);
    return failed ?? 0;
  }

  #list(group: string): void {
    const { clock, reads } = this.#deps;
    this.#noteListRequested(group, clock.now());
    // What is known to be created needs no list, which may have to wait.
    if (reads.listWaitMs(group) > 0) this.#readNew(group);
    reads.want({ what: 'instances', group });
  }

  /** By a list if instances are missing in the last one, and by single reads of those that are being created. */
  #readNew(group: string): void {
    const { reads, instances } = this.#deps;
    const { creating, missing } = instances.awaited(group);
    wantNewInstances(reads, group, { keys: creating, needsList: missing > 0 });
  }
}

/** Later reads give way to those that are due already. */
function mergeReads(known: readonly DueRead[], added: readonly DueRead[]): readonly DueRead[] {
  const merged = [...known];
  for (const due of added) {
    const near = merged.findIndex(({ atMs }) => Math.abs(atMs - due.atMs) < APART_MS);
    if (near < 0) merged.push(due);
    else if (due.read === 'list') merged[near] = due;
  }
  return merged.sort((left, right) => left.atMs - right.atMs);
}

/** When the next list with a loop is due after one at this age, both in ms since the increase. */
function nextListAfter(ageMs: number): number {
  const first = LISTS_MS.find((dueMs) => dueMs > ageMs);
  if (first !== undefined) return first;
  const last = LISTS_MS.at(-1) ?? 0;
  return last + (Math.floor((ageMs - last) / FURTHER_EVERY_MS) + 1) * FURTHER_EVERY_MS;
}
