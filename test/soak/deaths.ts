/** When the daemon dies: at calls of its own, drawn from a seed, or named one by one. */
import type { Random } from '../../src/lib/random.ts';
import type { Call, CrashPlan, CrashMoment } from '../../world/lab/mortal-process.ts';
import { happens, oneOf, whole } from './chance.ts';

/** Calls between two deaths, and writes between two where only writes count. */
const MOST_CALLS_BETWEEN = 1_200;
const MOST_WRITES_BETWEEN = 40;

/** A crash plan, its deaths so far, and a function that ends it. */
export interface Mortality {
  readonly crashPlan: CrashPlan;
  /** One line for each death. */
  readonly deaths: readonly string[];
  end(): void;
}

/**
 * Dies again and again: after a random number of calls of any kind, or, as often, of writes, because those are the ones that
 * leave something behind and among all calls they are few.
 */
export function randomDeaths(random: Random): Mortality {
  const deaths: string[] = [];
  let ended = false;
  let next = draw(random);
  return {
    deaths,
    end: () => {
      ended = true;
    },
    crashPlan: (call) => {
      if (ended || (next.onlyWrites && call.kind !== 'write') || --next.left > 0) return undefined;
      next = draw(random);
      const moment = oneOf<CrashMoment>(random, ['before', 'after']);
      deaths.push(tell(call, moment));
      return moment;
    },
  };
}

function draw(random: Random): { readonly onlyWrites: boolean; left: number } {
  const onlyWrites = happens(random, 0.5);
  return { onlyWrites, left: whole(random, 1, onlyWrites ? MOST_WRITES_BETWEEN : MOST_CALLS_BETWEEN) };
}

/** Dies once, if that call comes before the end. */
export function deathAt(serial: number, moment: CrashMoment): Mortality {
  const deaths: string[] = [];
  let ended = false;
  return {
    deaths,
    end: () => {
      ended = true;
    },
    crashPlan: (call) => {
      if (ended || call.serial !== serial) return undefined;
      deaths.push(tell(call, moment));
      return moment;
    },
  };
}

/** Lives, and remembers no call, for runs of many. */
export function undying(): Mortality {
  return { crashPlan: () => undefined, deaths: [], end: () => undefined };
}

/** Lives, and writes down every call at which it could have died before the end. */
export function immortal(): Mortality & { readonly calls: readonly Call[] } {
  const calls: Call[] = [];
  let ended = false;
  return {
    calls,
    deaths: [],
    end: () => {
      ended = true;
    },
    crashPlan: (call) => {
      if (!ended) calls.push(call);
      return undefined;
    },
  };
}

function tell({ serial, what }: Call, moment: CrashMoment): string {
  return `${moment} call ${serial}: ${what}`;
}
