/**
 * Which groups are in motion, and when one more list of their machines is worth its price. A list costs the most of all
 * reads and draws on a small budget, so each one out of turn needs a reason that a list can settle: machines that were asked
 * for and are not there yet. Knows no clock, reads nothing and asks for nothing.
 */

/** After a growth the first list is worth it when Azure shows the new machines, later ones when they start or fail. */
const FIRST_LISTS_MS = [15_000, 45_000];
const FURTHER_EVERY_MS = 60_000;
/** After this the usual rhythm is enough: whatever did not come by now will not come soon. */
const WATCHED_FOR_MS = 20 * 60_000;
/** An operation that a previous leader may have begun is given this long to end. */
const INHERITED_FOR_MS = 10 * 60_000;
/** How far the clock of the cluster may be behind ours, whole seconds of its stamps included. */
const CLOCK_SKEW_MS = 5_000;

interface Growth {
  readonly sinceMs: number;
  /** No operation is known to run any more: only machines that are being created can still come. */
  readonly ended: boolean;
}

/** What a list and the size say of a group. All times in ms since the epoch. */
export interface AwaitedInstances {
  readonly nowMs: number;
  /** Start of the last complete list. */
  readonly listedAtMs: number;
  /** Machines that are neither there nor failed. */
  readonly creating: number;
  /** Machines fewer than the size asks for. */
  readonly missing: number;
}

export class ListTiming {
  readonly #growths = new Map<string, Growth>();
  readonly #inherited = new Map<string, { readonly sinceMs: number; readonly endedAtMs: number | undefined }>();

  /** Machines were asked for, by us or by somebody else. */
  noteIncrease(group: string, nowMs: number): void {
    this.#growths.set(group, { sinceMs: nowMs, ended: false });
  }

  /** The operation that made the group grow is over. */
  noteIncreaseEnd(group: string): void {
    const growth = this.#growths.get(group);
    if (growth !== undefined) this.#growths.set(group, { ...growth, ended: true });
  }

  /** Whether the machines should be listed now: they are awaited, and 15, 45, 105, 165 ... seconds have passed since the growth. */
  isListDue(group: string, awaited: AwaitedInstances): boolean {
    const { nowMs, listedAtMs, creating, missing } = awaited;
    const growth = this.#growths.get(group);
    if (growth === undefined) {
      // Somebody else's machines, or a previous leader's.
      if (creating > 0) this.noteIncrease(group, nowMs);
      return false;
    }
    const isAwaited = creating > 0 || (missing > 0 && !growth.ended);
    const isLong = nowMs - growth.sinceMs > WATCHED_FOR_MS;
    // A machine that never comes to rest keeps its old record, so that it is not watched anew for ever.
    if (!isAwaited && (growth.ended || isLong)) this.#growths.delete(group);
    if (!isAwaited || isLong) return false;
    return nowMs - growth.sinceMs >= nextListAfter(listedAtMs - growth.sinceMs);
  }

  /** The set was found in the middle of an operation when this process began to read. */
  noteInherited(group: string, nowMs: number): void {
    this.#inherited.set(group, { sinceMs: nowMs, endedAtMs: undefined });
  }

  /**
   * Whether an operation that was running at the start may still remove or add machines. It is over when the set was read in
   * another state and its machines were listed after that; ten minutes are the limit.
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

  /** Whether a list after `endedAtMs` of an inherited operation is still owed. */
  awaitsProof(group: string): boolean {
    return this.#inherited.get(group)?.endedAtMs !== undefined;
  }
}

/** The first mark of the ladder after a list at this age, both in ms since the growth. */
function nextListAfter(ageMs: number): number {
  const first = FIRST_LISTS_MS.find((mark) => mark > ageMs);
  if (first !== undefined) return first;
  const last = FIRST_LISTS_MS.at(-1) ?? 0;
  return last + (Math.floor((ageMs - last) / FURTHER_EVERY_MS) + 1) * FURTHER_EVERY_MS;
}

/** Whether a list could show this node's machine and did not yet: it joined after the last one began. */
export function mayBeListed(node: { readonly createdAtMs: number }, listedAtMs: number): boolean {
  return node.createdAtMs > listedAtMs - CLOCK_SKEW_MS;
}
