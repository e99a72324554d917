/**
 * Which groups change, by whom, and which list of machines a change makes worth asking for. What we did ourselves must not
 * look like the doing of somebody else, and one list tells how several removals ended.
 */
import type { Table } from '../../cache/table/table.ts';
import type { Clock } from '../../lib/clock.ts';
import { isUpdating, type InstanceRow, type ScaleSetRow } from '../rows/scale-set.ts';
import { ListTiming } from './list-timing.ts';
import type { VmsPools } from './vms-pools.ts';

/** A set's tag may move once more after an operation of ours has ended. */
const OWN_ECHO_MS = 2 * 60_000;

export interface GroupChangesDeps {
  readonly clock: Pick<Clock, 'now'>;
  readonly scaleSets: Table<ScaleSetRow>;
  readonly instances: Table<InstanceRow>;
  readonly vmsPools: Pick<VmsPools, 'sizes'>;
  /** Start of the last complete list of a group's machines, ms since the epoch. */
  readonly listedAtMs: (groupKey: string) => number | undefined;
  /** A list of a group's machines is due. */
  readonly listDue: (groupKey: string) => void;
}

export class GroupChanges {
  readonly listTiming = new ListTiming();
  readonly #parts: GroupChangesDeps;
  /** When we last changed a set or saw the end of it; what follows is our own doing. */
  readonly #touched = new Map<string, number>();
  /** Groups whose machines are all told by the list that is asked for. */
  readonly #listing = new Set<string>();

  constructor(parts: GroupChangesDeps) {
    this.#parts = parts;
  }

  /** Sets that are in motion when this process begins to look: somebody's operation, perhaps a previous leader's. */
  noteInherited(): void {
    for (const [key, { value }] of this.#parts.scaleSets.snapshot()) {
      if (isUpdating(value)) this.listTiming.noteInherited(key, this.#parts.clock.now());
    }
  }

  /** Whether an operation that this process did not begin may still change the machines of a set. */
  isInherited(groupKey: string): boolean {
    const row = this.#parts.scaleSets.get(groupKey)?.value;
    if (row === undefined) return false;
    const listedAtMs = this.#parts.listedAtMs(groupKey) ?? Number.NEGATIVE_INFINITY;
    const seen = { updating: isUpdating(row), listedAtMs, nowMs: this.#parts.clock.now() };
    const proofOwed = this.listTiming.awaitsProof(groupKey);
    const inherited = this.listTiming.isInherited(groupKey, seen);
    if (inherited && !proofOwed && this.listTiming.awaitsProof(groupKey)) this.#parts.listDue(groupKey);
    return inherited;
  }

  /** We asked for more machines: lists follow while they are awaited. */
  noteIncrease(groupKey: string): void {
    this.#touch(groupKey);
    this.listTiming.noteIncrease(groupKey, this.#parts.clock.now());
  }

  /** Our growth of a group has ended; a list is asked for unless the last one told all there is to tell. */
  noteIncreaseEnd(groupKey: string, succeeded: boolean): void {
    this.#touch(groupKey);
    this.listTiming.noteIncreaseEnd(groupKey);
    if (!succeeded || !this.#isComplete(groupKey)) this.#parts.listDue(groupKey);
  }

  /** Settles removals of a group so that one list, not a read of each machine, tells how they ended. */
  settleDeletion(groupKey: string, settle: () => void): void {
    this.#touch(groupKey);
    this.#listing.add(groupKey);
    settle();
    this.#listing.delete(groupKey);
    // While more of the group's changes run, the machines are not counted anyway: the last end brings the list.
    if ((this.#parts.scaleSets.view(groupKey)?.inFlight ?? 0) === 0) this.#parts.listDue(groupKey);
  }

  /** Whether the list that is asked for tells of the group's machines, so that none is read by itself. */
  isCoveredByList(groupKey: string): boolean {
    return this.#listing.has(groupKey);
  }

  /** Somebody else gave a group another size. */
  noteExternalChange({ key, from, to }: { readonly key: string; readonly from: number; readonly to: number }): void {
    if (to > from) this.listTiming.noteIncrease(key, this.#parts.clock.now());
    this.#parts.listDue(key);
  }

  /** A tag that moved without us means that somebody did something to the set, and perhaps to its machines. */
  isForeignTag(key: string, before: string | undefined, after: string | undefined): boolean {
    if (before === undefined || after === undefined || before === after) return false;
    if ((this.#parts.scaleSets.view(key)?.inFlight ?? 0) > 0) return false;
    return this.#parts.clock.now() - (this.#touched.get(key) ?? Number.NEGATIVE_INFINITY) > OWN_ECHO_MS;
  }

  /** Changes of ours to a group that have not ended. */
  inFlight(groupKey: string): number {
    return this.#viewOf(groupKey)?.inFlight ?? 0;
  }

  #touch(groupKey: string): void {
    this.#touched.set(groupKey, this.#parts.clock.now());
  }

  /** Whether the last list showed as many machines as were asked for, all of them at rest. */
  #isComplete(groupKey: string): boolean {
    const rows = [...this.#parts.instances.scope(groupKey).values()].filter(({ value }) => value.state !== 'deleting');
    return rows.length === this.#viewOf(groupKey)?.target && rows.every(({ value }) => value.state === 'running');
  }

  #viewOf(groupKey: string): { readonly target: number | undefined; readonly inFlight: number } | undefined {
    return this.#parts.scaleSets.view(groupKey) ?? this.#parts.vmsPools.sizes.view(groupKey);
  }
}
