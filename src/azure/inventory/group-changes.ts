/**
 * Which groups change, by which writer, and which lists of instances a change makes worth reading. Our own changes must not look
 * like those of another writer, and one list shows the result of several deletions.
 * Idea: want.
 */
import type { Table } from '../../cache/table/table.ts';
import type { Clock } from '../../lib/clock.ts';
import { isUpdating, type ScaleSetRow } from '../rows/scale-set.ts';
import type { AzureReads } from './azure-reads.ts';
import type { GroupInstances } from './group-instances.ts';
import { InheritedOperations } from './inherited-operations.ts';
import type { InstanceLists } from './instance-lists.ts';
import type { ReadsAfterIncrease } from './reads-after-increase.ts';

/** The tag of a scale set may change once more after an operation of ours has ended. */
const OWN_ECHO_MS = 2 * 60_000;

export interface GroupChangesDeps {
  readonly clock: Pick<Clock, 'now'>;
  readonly scaleSets: Table<ScaleSetRow>;
  readonly instances: Pick<GroupInstances, 'inFlight' | 'isComplete'>;
  readonly lists: Pick<InstanceLists, 'listedAtMs'>;
  readonly reads: Pick<AzureReads, 'want'>;
  readonly increases: Pick<ReadsAfterIncrease, 'begin' | 'beginForeign' | 'end'>;
}

export class GroupChanges {
  readonly #deps: GroupChangesDeps;
  readonly #inherited = new InheritedOperations();
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
      if (isUpdating(value)) this.#inherited.note(key, this.#deps.clock.now());
    }
  }

  /** Whether an operation that this process did not begin may still change the instances of a scale set. */
  isInherited(groupKey: string): boolean {
    const { scaleSets, lists, reads, clock } = this.#deps;
    const row = scaleSets.get(groupKey)?.value;
    if (row === undefined) return false;
    const listedAtMs = lists.listedAtMs(groupKey) ?? Number.NEGATIVE_INFINITY;
    const proofOwed = this.#inherited.awaitsProof(groupKey);
    const inherited = this.#inherited.mayGoOn(groupKey, { updating: isUpdating(row), listedAtMs, nowMs: clock.now() });
    if (inherited && !proofOwed && this.#inherited.awaitsProof(groupKey)) reads.want({ what: 'instances', group: groupKey });
    return inherited;
  }

  /** We increased the group: its instances are read more often while new ones are expected. */
  noteIncrease(groupKey: string): void {
    this.#touch(groupKey);
    this.#deps.increases.begin(groupKey);
  }

  /** Our increase of a group has ended. Requests a list unless the last one was complete. */
  noteIncreaseEnd(groupKey: string, succeeded: boolean): void {
    const { increases, instances, reads } = this.#deps;
    this.#touch(groupKey);
    increases.end(groupKey);
    if (!succeeded || !instances.isComplete(groupKey)) reads.want({ what: 'instances', group: groupKey });
  }

  /** Settles deletions of a group so that one list shows their result, instead of a read of each instance. */
  settleDeletion(groupKey: string, settle: () => void): void {
    this.#touch(groupKey);
    this.#listing.add(groupKey);
    settle();
    this.#listing.delete(groupKey);
    // While other changes of the group are in progress, a list is useless: the end of the last one requests it.
    if (!this.#isChangingSet(groupKey)) this.#deps.reads.want({ what: 'instances', group: groupKey });
  }

  /** Whether a pending list will refresh the group's instances, so that none is read by itself. */
  isCoveredByList(groupKey: string): boolean {
    return this.#listing.has(groupKey);
  }

  /** Another writer changed the size of a group. */
  noteExternalChange({ key, from, to }: { readonly key: string; readonly from: number; readonly to: number }): void {
    if (to > from) this.#deps.increases.beginForeign(key, this.#deps.clock.now());
    this.#deps.reads.want({ what: 'instances', group: key });
  }

  /** Whether another writer changed the scale set, and perhaps its instances: its tag changed without us. */
  isForeignTag(key: string, before: string | undefined, after: string | undefined): boolean {
    if (before === undefined || after === undefined || before === after) return false;
    if (this.#isChangingSet(key)) return false;
    return this.#deps.clock.now() - (this.#touched.get(key) ?? Number.NEGATIVE_INFINITY) > OWN_ECHO_MS;
  }

  /** The number of our changes to a group that have not ended. */
  inFlight(groupKey: string): number {
    return this.#deps.instances.inFlight(groupKey);
  }

  #isChangingSet(key: string): boolean {
    return (this.#deps.scaleSets.view(key)?.inFlight ?? 0) > 0;
  }

  #touch(groupKey: string): void {
    this.#touched.set(groupKey, this.#deps.clock.now());
  }
}
