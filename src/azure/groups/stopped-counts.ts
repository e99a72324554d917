/**
 * Whether AKS's count of a size of a VMs pool includes its stopped machines. AKS documents it for no pool of that type, so the pool itself
 * shows it: what was read of a pool at rest has only one of two forms. Must not know what is written.
 * Idea: overlay.
 */
import type { Clock } from '../../lib/clock.ts';

/** `left-out`: the count is that of machines that run. `included`: it is that of all machines. */
export type StoppedCounting = 'left-out' | 'included';

/** What AKS says of one size. */
export interface CountOfSize {
  readonly count: number;
  /** No operation runs or failed, none of ours is in flight, and no earlier process may have begun one. */
  readonly isAtRest: boolean;
  /** Start of the last complete list of machines, milliseconds since the epoch. */
  readonly listedAtMs: number;
}

/** The machines of the size. */
interface Machines {
  /** They run, or are to. */
  readonly running: number;
  readonly stopped: number;
  /** One is being created, deleted, started or stopped. */
  readonly areChanging: boolean;
}

export type CountReading =
  /** `how` undefined: no machine is stopped, and none was, so both forms are equal. */
  | { readonly known: true; readonly how: StoppedCounting | undefined; readonly sinceMs: number }
  | { readonly known: false; readonly why: string };

interface Shown {
  readonly how: StoppedCounting;
  readonly sinceMs: number;
}

/** A machine that no list shows yet could make a count look as if it included stopped ones. So it must be shown by a later list, too. */
const CONFIRMED_AFTER_MS = 2 * 60_000;
/** What contradicts an earlier reading must last for so long. */
const LASTING_MS = 10 * 60_000;

export class StoppedCounts {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #known = new Map<string, Shown>();
  /** What is shown and not believed yet. */
  readonly #shown = new Map<string, Shown>();

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  /** What the size shows now, and has shown. `key`: the folded name of the group. */
  read(key: string, size: CountOfSize, machines: Machines): CountReading {
    const known = this.#known.get(key);
    const kept: CountReading | undefined = known === undefined ? undefined : { known: true, ...known };
    if (machines.stopped === 0) return kept ?? { known: true, how: undefined, sinceMs: this.#clock.now() };
    // guard: a pool that changes shows nothing of how it counts
    if (!size.isAtRest || machines.areChanging) return kept ?? { known: false, why: 'its pool has not been at rest since one was stopped' };
    const how = countingOf(size.count, machines);
    const { running, stopped } = machines;
    const seen = `AKS counts ${size.count} where ${running} ${running === 1 ? 'runs' : 'run'} and ${stopped} ${stopped === 1 ? 'is' : 'are'} stopped`;
    // guard: a count that fits neither form is not written over
    if (how === undefined) return isOwed(size.count, machines, known) ? { known: true, ...known } : { known: false, why: seen };
    if (how === known?.how) {
      this.#shown.delete(key);
      return { known: true, ...known };
    }
    // guard: one reading does not show that stopped machines are counted
    if (!this.#isBelieved(key, how, size)) return { known: false, why: `${seen}, which has not lasted yet` };
    const believed: Shown = { how, sinceMs: this.#clock.now() };
    this.#known.set(key, believed);
    this.#shown.delete(key);
    return { known: true, ...believed };
  }

  #isBelieved(key: string, how: StoppedCounting, { listedAtMs }: CountOfSize): boolean {
    const nowMs = this.#clock.now();
    const before = this.#shown.get(key);
    const first = before?.how === how ? before : { how, sinceMs: nowMs };
    this.#shown.set(key, first);
    if (this.#known.has(key)) return nowMs - first.sinceMs >= LASTING_MS;
    // Where the count equals what runs, nothing that a list may lack changes that.
    return how === 'left-out' || (nowMs - first.sinceMs >= CONFIRMED_AFTER_MS && listedAtMs > first.sinceMs);
  }
}

/** Why nothing may be written, without a full stop. */
export function describeCounting(reading: CountReading | undefined): string {
  const why = reading === undefined || reading.known ? 'its pool has not been read' : reading.why;
  return `whether AKS's count of it includes stopped machines is not known: ${why}`;
}

/** AKS owes machines of an increase that it could not fill: a higher count fits what the pool has shown, and to raise it removes nothing. */
function isOwed(count: number, { running, stopped }: Machines, known: Shown | undefined): known is Shown {
  return known !== undefined && count > (known.how === 'included' ? running + stopped : running);
}

function countingOf(count: number, { running, stopped }: Machines): StoppedCounting | undefined {
  if (count === running) return 'left-out';
  return count === running + stopped ? 'included' : undefined;
}
