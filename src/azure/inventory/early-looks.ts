/**
 * Looks at a group soon after its increase, since Azure shows the first failed instances within seconds and another group can take
 * their pods. A look reads how many instances of a scale set are in each state, which is one small answer; it requests a list only
 * if more of them have failed. Groups without such a count are looked at by their instances. The last look is a list in any case. Must not know what a failure means.
 */
import type { InstanceKey } from '../../domain/ids.ts';
import { asAutoscalerError } from '../../lib/errors.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../telemetry/log.ts';

/** Times of the looks and of the list after an increase. */
const LOOKS_MS = [5_000, 10_000] as const;
const LIST_MS = 20_000;
/** Looks at one group are at least this far apart, however often it is increased. */
const APART_MS = 5_000;
/** The most instances of one group that a look reads singly. */
const READ_EACH_AT_MOST = 10;

interface EarlyLooksDeps {
  readonly clock: Pick<Clock, 'monotonic' | 'sleep'>;
  readonly log: Log;
  /** Failed instances as the scale set counts them now; undefined: it has no count. @throws AutoscalerError */
  readonly countFailed: (groupKey: string, signal: AbortSignal) => Promise<number | undefined>;
  /** Failed instances as last listed. */
  readonly listedFailed: (groupKey: string) => number;
  /** Listed instances that are being created, and how many more there should be. */
  readonly newInstances: (groupKey: string) => { readonly creating: readonly InstanceKey[]; readonly missing: number };
  /** How long a list of a group's instances has to wait, ms. */
  readonly listWaitMs: (groupKey: string) => number;
  /** How many instances of a group may be read singly now. */
  readonly singleReadsLeft: (groupKey: string) => number;
  /** Requests a read of each of these instances. */
  readonly readEach: (keys: readonly InstanceKey[], groupKey: string) => void;
  /** Requests a list of a group's instances. */
  readonly listDue: (groupKey: string) => void;
  /** Notes that a list was requested by a look, so that none is soon requested for the same reason. */
  readonly noteListDue: (groupKey: string) => void;
}

interface Look {
  readonly atMs: number;
  readonly list: boolean;
}

export class EarlyLooks {
  readonly #deps: EarlyLooksDeps;
  readonly #stopped = new AbortController();
  /** Looks to come by group, earliest first (monotonic). A group has an entry while its looks are carried out. */
  readonly #due = new Map<string, readonly Look[]>();

  constructor(deps: EarlyLooksDeps) {
    this.#deps = deps;
  }

  /** The group was increased. Returns at once. */
  begin(groupKey: string): void {
    const nowMs = this.#deps.clock.monotonic();
    const wanted = [...LOOKS_MS.map((ms) => ({ atMs: nowMs + ms, list: false })), { atMs: nowMs + LIST_MS, list: true }];
    const known = this.#due.get(groupKey);
    this.#due.set(groupKey, mergeLooks(known ?? [], wanted));
    if (known === undefined) void this.#lookUntilDone(groupKey);
  }

  stop(): void {
    this.#stopped.abort();
  }

  /** Never rejects. */
  async #lookUntilDone(groupKey: string): Promise<void> {
    let reported = 0;
    for (let look = this.#due.get(groupKey)?.[0]; look !== undefined; look = this.#due.get(groupKey)?.[0]) {
      try {
        await this.#deps.clock.sleep(Math.max(0, look.atMs - this.#deps.clock.monotonic()), this.#stopped.signal);
        this.#due.set(groupKey, (this.#due.get(groupKey) ?? []).slice(1));
        reported = await this.#look(groupKey, look, reported);
      } catch (thrown) {
        if (this.#stopped.signal.aborted) return;
        this.#deps.log.debug({ group: groupKey, err: asAutoscalerError(thrown) }, 'Could not count the instances of a group');
      }
    }
    this.#due.delete(groupKey);
  }

  /** Returns the largest number of failed instances for which a list was requested. */
  async #look(groupKey: string, { list }: Look, reported: number): Promise<number> {
    const { countFailed, listedFailed } = this.#deps;
    const failed = list ? undefined : await countFailed(groupKey, this.#stopped.signal);
    if (failed === undefined && !list) this.#readNew(groupKey);
    else if (failed === undefined || failed > Math.max(reported, listedFailed(groupKey))) this.#list(groupKey);
    return Math.max(reported, failed ?? 0);
  }

  #list(groupKey: string): void {
    const { noteListDue, listWaitMs, listDue } = this.#deps;
    noteListDue(groupKey);
    // What is known to be created needs no list, which may have to wait.
    if (listWaitMs(groupKey) > 0) this.#readNew(groupKey);
    listDue(groupKey);
  }

  /** By a list if instances are missing in the last one, and by single reads of those that are being created. */
  #readNew(groupKey: string): void {
    const { newInstances, listWaitMs, singleReadsLeft, readEach, listDue } = this.#deps;
    const { creating, missing } = newInstances(groupKey);
    if (listWaitMs(groupKey) === 0 && (missing > 0 || creating.length > READ_EACH_AT_MOST)) listDue(groupKey);
    else readEach(creating.slice(0, Math.min(READ_EACH_AT_MOST, singleReadsLeft(groupKey))), groupKey);
  }
}

/** Later looks give way to those that are planned already. */
function mergeLooks(known: readonly Look[], added: readonly Look[]): readonly Look[] {
  const merged = [...known];
  for (const look of added) {
    const near = merged.findIndex(({ atMs }) => Math.abs(atMs - look.atMs) < APART_MS);
    if (near < 0) merged.push(look);
    else if (look.list) merged[near] = look;
  }
  return merged.sort((left, right) => left.atMs - right.atMs);
}
