/**
 * Which groups are changing, and when one more list of their instances is worth its cost. A list is the most expensive read and its
 * budget is small, so an extra one needs a reason: instances that were requested and are not running yet. Must not know the clock,
 * nor send calls.
 */

/** After an increase the first list shows the new instances, and later ones whether they started or failed. */
const FIRST_LISTS_MS = [20_000, 45_000];
const FURTHER_EVERY_MS = 60_000;
/** After this time the usual interval is enough: an instance that is still missing will not come soon. */
const WATCHED_FOR_MS = 20 * 60_000;
/** The limit for an operation that a previous leader may have begun. */
const INHERITED_FOR_MS = 10 * 60_000;
/** How far the cluster's clock may be behind ours, including the whole seconds of its time stamps. */
const CLOCK_SKEW_MS = 5_000;

interface ListedIncrease {
  readonly sinceMs: number;
  /** The operation is over: only instances that are being created can still come. */
  readonly ended: boolean;
  /** When a list was last requested. If absent, none was. */
  readonly requestedAtMs?: number;
}

/** The target size and the listed instances of a group. All times in ms since the epoch. */
export interface AwaitedInstances {
  readonly nowMs: number;
  /** Start of the last complete list. */
  readonly listedAtMs: number;
  /** Listed instances that have neither started nor failed. */
  readonly creating: number;
  /** Target size minus listed instances. */
  readonly missing: number;
}

export class ListTiming {
  readonly #increases = new Map<string, ListedIncrease>();
  readonly #inherited = new Map<string, { readonly sinceMs: number; readonly endedAtMs: number | undefined }>();

  /** We or another writer increased the group. */
  noteIncrease(group: string, nowMs: number): void {
    this.#increases.set(group, { sinceMs: nowMs, ended: false });
  }

  /** The operation of the increase is over. */
  noteIncreaseEnd(group: string): void {
    const increase = this.#increases.get(group);
    if (increase !== undefined) this.#increases.set(group, { ...increase, ended: true });
  }

  /** A list of the group was requested: the next one is not due before the next mark. */
  noteListRequested(group: string, nowMs: number): void {
    const increase = this.#increases.get(group);
    if (increase !== undefined) this.#increases.set(group, { ...increase, requestedAtMs: nowMs });
  }

  /** Whether new instances of the group are expected. */
  isWatched(group: string, nowMs: number): boolean {
    const increase = this.#increases.get(group);
    return increase !== undefined && nowMs - increase.sinceMs <= WATCHED_FOR_MS;
  }

  /** Whether to list now: instances are expected, and 20, 45, 105, 165 ... seconds have passed since the increase. */
  isListDue(group: string, awaited: AwaitedInstances): boolean {
    const { nowMs, listedAtMs, creating, missing } = awaited;
    const increase = this.#increases.get(group);
    if (increase === undefined) {
      // Another writer or a previous leader requested these instances.
      if (creating > 0) this.noteIncrease(group, nowMs);
      return false;
    }
    const isAwaited = creating > 0 || (missing > 0 && !increase.ended);
    const isLong = nowMs - increase.sinceMs > WATCHED_FOR_MS;
    // An instance that stays in creation keeps its old record, so that it is not watched again and again.
    if (!isAwaited && (increase.ended || isLong)) this.#increases.delete(group);
    if (!isAwaited || isLong) return false;
    const lastAtMs = Math.max(listedAtMs, increase.requestedAtMs ?? listedAtMs);
    const isDue = nowMs - increase.sinceMs >= nextListAfter(lastAtMs - increase.sinceMs);
    if (isDue) this.noteListRequested(group, nowMs);
    return isDue;
  }

  /** An operation was in progress in the scale set when this process began to read. */
  noteInherited(group: string, nowMs: number): void {
    this.#inherited.set(group, { sinceMs: nowMs, endedAtMs: undefined });
  }

  /**
   * Whether an operation that was in progress at the start may still add or remove instances. It is over once the scale set was
   * read in another state and its instances were listed after that, and in any case after ten minutes.
   */
  isInherited(group: string, seen: { readonly updating: boolean; readonly listedAtMs: number; readonly nowMs: number }): boolean {
    const operation = this.#inherited.get(group);
    if (operation === undefined) return false;
    const endedAtMs = seen.updating ? undefined : (operation.endedAtMs ?? seen.nowMs);
    const isOver = seen.nowMs - operation.sinceMs >= INHERITED_FOR_MS || (endedAtMs !== undefined && seen.listedAtMs >= endedAtMs);
    if (isOver) this.#inherited.delete(group);
    else this.#inherited.set(group, { ...operation, endedAtMs });
    return !isOver;
  }

  /** Whether the end of an inherited operation still needs a list after `endedAtMs` as proof. */
  awaitsProof(group: string): boolean {
    return this.#inherited.get(group)?.endedAtMs !== undefined;
  }
}

/** When the next list is due after one at this age, both in ms since the increase. */
function nextListAfter(ageMs: number): number {
  const first = FIRST_LISTS_MS.find((dueMs) => dueMs > ageMs);
  if (first !== undefined) return first;
  const last = FIRST_LISTS_MS.at(-1) ?? 0;
  return last + (Math.floor((ageMs - last) / FURTHER_EVERY_MS) + 1) * FURTHER_EVERY_MS;
}

/** Whether the next list may show this node's instance: the node joined after the last list began. */
export function mayBeListed(node: { readonly createdAtMs: number }, listedAtMs: number): boolean {
  return node.createdAtMs > listedAtMs - CLOCK_SKEW_MS;
}
