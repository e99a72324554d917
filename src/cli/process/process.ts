/** What a command needs of the process it runs in; injected, so that tests run commands in their own process. */
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Clock } from '../../lib/clock.ts';
import { AutoscalerError } from '../../lib/errors.ts';

// SIGTERM and SIGINT: the first asks for a clean stop, the second ends the process at once.

const EXIT_BY_SECOND_SIGNAL = 130;

export interface SignalSource {
  on(name: 'SIGTERM' | 'SIGINT', listener: () => void): unknown;
  off(name: 'SIGTERM' | 'SIGINT', listener: () => void): unknown;
  exit(code: number): void;
}

/** `stopped` resolves at the first signal; `release` gives the signals back. */
export function stopSignals(source: SignalSource): { readonly stopped: Promise<void>; readonly release: () => void } {
  let first = true;
  let resolveStopped: () => void = () => undefined;
  const stopped = new Promise<void>((resolve) => {
    resolveStopped = resolve;
  });
  const onSignal = (): void => {
    if (!first) source.exit(EXIT_BY_SECOND_SIGNAL);
    first = false;
    resolveStopped();
  };
  source.on('SIGTERM', onSignal);
  source.on('SIGINT', onSignal);
  return {
    stopped,
    release: () => {
      source.off('SIGTERM', onSignal);
      source.off('SIGINT', onSignal);
    },
  };
}

export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly readFile: (path: string) => string;
  readonly hostname: string;
  readonly signals: SignalSource;
}

export const EXIT_OK = 0;
export const EXIT_FAILED = 1;
export const EXIT_CONFIG = 2;

// Real time: the only home of timers and of the system's clocks in the daemon.

/** Timers of Node count in 32 bits; longer sleeps are made of several. */
const LONGEST_TIMER_MS = 2_147_483_647;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: async (ms, signal) => {
    for (let leftMs = Math.max(0, ms); ; leftMs -= LONGEST_TIMER_MS) {
      await sleepOnce(Math.min(leftMs, LONGEST_TIMER_MS), signal);
      if (leftMs <= LONGEST_TIMER_MS) return;
    }
  },
};

function sleepOnce(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancelled = (): void => {
      clearTimeout(timer);
      reject(new AutoscalerError({ kind: 'cancelled' }, 'The wait was cancelled.'));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', cancelled);
      resolve();
    }, ms);
    if (signal?.aborted === true) cancelled();
    else signal?.addEventListener('abort', cancelled, { once: true });
  });
}

// What the start needed and nothing needs after it (parsed modules, first answers) is given back to the machine once. V8
// would keep the room for a growth that a small cluster never brings. Best effort: nothing depends on it.

/** Two loops of the default interval: by then everything that is used has been loaded. */
const AFTER_MS = 20_000;
/** Above, a full collection would be felt, and the room is used anyway. */
const SMALL_HEAP_BYTES = 96 * 1024 * 1024;

/** Waits and collects once; ends early, and quietly, when the signal fires. */
export async function giveBackStartMemory(clock: Clock, signal: AbortSignal): Promise<void> {
  try {
    await clock.sleep(AFTER_MS, signal);
  } catch {
    // Cancelled: the process ends, and its memory with it.
    return;
  }
  if (getHeapStatistics().used_heap_size > SMALL_HEAP_BYTES) return;
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect === 'function') await collect({ type: 'major', execution: 'async', flavor: 'last-resort' });
}
