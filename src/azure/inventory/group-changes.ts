/**
 * Which groups change, by which writer, and which lists of instances a change makes worth reading. Our own changes must not look
 * like those of another writer, and one list shows the result of several deletions.
 */
import type { Table } from '../../cache/table/table.ts';
import type { Clock } from '../../lib/clock.ts';
import type { InstanceKey } from '../../domain/ids.ts';
import { isUpdating, type InstanceRow, type ScaleSetRow } from '../rows/scale-set.ts';
import { ListTiming } from './list-timing.ts';
import type { VmsPools } from './vms-pools.ts';

/** The tag of a scale set may change once more after an operation of ours has ended. */
const OWN_ECHO_MS = 2 * 60_000;

export interface GroupChangesDeps {
  readonly clock: Pick<Clock, 'now'>;
  readonly scaleSets: Table<ScaleSetRow>;
  readonly instances: Table<InstanceRow>;
  readonly vmsPools: Pick<VmsPools, 'sizes'>;
  /** Start of the last complete list of a group's instances, ms since the epoch. */
  readonly listedAtMs: (groupKey: string) => number | undefined;
  /** Requests a list of a group's instances. */
  readonly listDue: (groupKey: string) => void;
  /** Looks at the instances of a group soon, several times. */
  readonly lookSoon: (groupKey: string) => void;
}

export class GroupChanges {
  readonly listTiming = new ListTiming();
  readonly #deps: GroupChangesDeps;
  /** When we last changed a scale set or saw that change end. Changes soon after that are our own. */
  readonly #touched = new Map<string, number>();
  /** Groups with a pending list that will refresh all their instances. */
  readonly #listing = new Set<string>();

  constructor(deps: GroupChangesDeps) {
    this.#deps = deps;
  }

  /** Notes scale sets with an operation in progress at the start, perhaps one of a previous leader. */
  noteInherited(): void {
    for (const [key, { value }] of this.#deps.scaleSets.snapshot()) {
      if (isUpdating(value)) this.listTiming.noteInherited(key, this.#deps.clock.now());
    }
  }

  /** Whether an operation that this process did not begin may still change the instances of a scale set. */
  isInherited(groupKey: string): boolean {
    const row = this.#deps.scaleSets.get(groupKey)?.value;
    if (row === undefined) return false;
    const listedAtMs = this.#deps.listedAtMs(groupKey) ?? Number.NEGATIVE_INFINITY;
    const seen = { updating: isUpdating(row), listedAtMs, nowMs: this.#deps.clock.now() };
    const proofOwed = this.listTiming.awaitsProof(groupKey);
    const inherited = this.listTiming.isInherited(groupKey, seen);
    if (inherited && !proofOwed && this.listTiming.awaitsProof(groupKey)) this.#deps.listDue(groupKey);
    return inherited;
  }

  /** We increased the group: its instances are listed more often while new ones are expected. */
  noteIncrease(groupKey: string): void {
    this.#touch(groupKey);
    this.listTiming.noteIncrease(groupKey, this.#deps.clock.now());
    this.#deps.lookSoon(groupKey);
  }

  /** Our increase of a group has ended. Requests a list unless the last one was complete. */
  noteIncreaseEnd(groupKey: string, succeeded: boolean): void {
    this.#touch(groupKey);
    this.listTiming.noteIncreaseEnd(groupKey);
    if (!succeeded || !this.#isComplete(groupKey)) this.#deps.listDue(groupKey);
  }

  /** Settles deletions of a group so that one list shows their result, instead of a read of each instance. */
  settleDeletion(groupKey: string, settle: () => void): void {
    this.#touch(groupKey);
    this.#listing.add(groupKey);
    settle();
    this.#listing.delete(groupKey);
    // While other changes of the group are in progress, a list is useless: the end of the last one requests it.
    if ((this.#deps.scaleSets.view(groupKey)?.inFlight ?? 0) === 0) this.#deps.listDue(groupKey);
  }

  /** Whether a pending list will refresh the group's instances, so that none is read by itself. */
  isCoveredByList(groupKey: string): boolean {
    return this.#listing.has(groupKey);
  }

  /** Another writer changed the size of a group. */
  noteExternalChange({ key, from, to }: { readonly key: string; readonly from: number; readonly to: number }): void {
    if (to > from) this.listTiming.noteIncrease(key, this.#deps.clock.now());
    this.#deps.listDue(key);
  }

  /** Whether new instances of a group are expected, so that a failed one is news. */
  awaitsInstances(groupKey: string): boolean {
    return this.listTiming.isWatched(groupKey, this.#deps.clock.now());
  }

  /** Whether another writer changed the scale set, and perhaps its instances: its tag changed without us. */
  isForeignTag(key: string, before: string | undefined, after: string | undefined): boolean {
    if (before === undefined || after === undefined || before === after) return false;
    if ((this.#deps.scaleSets.view(key)?.inFlight ?? 0) > 0) return false;
    return this.#deps.clock.now() - (this.#touched.get(key) ?? Number.NEGATIVE_INFINITY) > OWN_ECHO_MS;
  }

  /** Listed instances that are being created, and how many more the target size has than are listed. */
  newInstances(groupKey: string): { readonly creating: readonly InstanceKey[]; readonly missing: number } {
    const rows = [...this.#deps.instances.scope(groupKey).values()].filter(({ value }) => value.state !== 'deleting');
    const creating = rows.filter(({ value: { state } }) => state === 'creating' || state === 'unknown');
    const missing = (this.#viewOf(groupKey)?.target ?? rows.length) - rows.length;
    return { creating: creating.map(({ value }) => value.ref.key), missing };
  }

  /** The number of our changes to a group that have not ended. */
  inFlight(groupKey: string): number {
    return this.#viewOf(groupKey)?.inFlight ?? 0;
  }

  #touch(groupKey: string): void {
    this.#touched.set(groupKey, this.#deps.clock.now());
  }

  /** Whether the last list showed the target number of instances, all of them running. */
  #isComplete(groupKey: string): boolean {
    const rows = [...this.#deps.instances.scope(groupKey).values()].filter(({ value }) => value.state !== 'deleting');
    return rows.length === this.#viewOf(groupKey)?.target && rows.every(({ value }) => value.state === 'running');
  }

  #viewOf(groupKey: string): { readonly target: number | undefined; readonly inFlight: number } | undefined {
    return this.#deps.scaleSets.view(groupKey) ?? this.#deps.vmsPools.sizes.view(groupKey);
  }
}
