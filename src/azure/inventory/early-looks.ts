/**
 * Looks at a group soon after its increase, since Azure shows the first failed instances within seconds and another group can take
 * their pods. A look reads how many instances of a scale set are in each state, which is one small answer; it requests a list only
 * if more of them have failed. Groups without such a count are looked at by their instances. The last look is a list in any case. Must not know what a failure means.
 */
import { asAutoscalerError } from '../../lib/errors.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../telemetry/log.ts';

/** Times of the looks and of the list after an increase. */
const LOOKS_MS = [5_000, 10_000] as const;
const LIST_MS = 20_000;
/** Looks at one group are at least this far apart, however often it is increased. */
const APART_MS = 5_000;

interface EarlyLooksDeps {
  readonly clock: Pick<Clock, 'monotonic' | 'sleep'>;
  readonly log: Log;
  /** Failed instances as the scale set counts them now; undefined: it has no count. @throws AutoscalerError */
  readonly countFailed: (groupKey: string, signal: AbortSignal) => Promise<number | undefined>;
  /** Requests what shows the state of the new instances of a group that has no count. */
  readonly readNew: (groupKey: string) => void;
  /** Failed instances as last listed. */
  readonly listedFailed: (groupKey: string) => number;
  /** Requests a list of a group's instances. */
  readonly listDue: (groupKey: string) => void;
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
    const { countFailed, readNew, listedFailed, listDue } = this.#deps;
    const failed = list ? undefined : await countFailed(groupKey, this.#stopped.signal);
    if (failed === undefined && !list) readNew(groupKey);
    else if (failed === undefined || failed > Math.max(reported, listedFailed(groupKey))) listDue(groupKey);
    return Math.max(reported, failed ?? 0);
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
