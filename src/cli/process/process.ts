/**
 * The process that a command runs in: terminal, exit codes, signals, clock and memory. Commands receive these, so tests
 * can run a command inside their own process. The only home of timers and system clocks in the daemon.
 * Must not know any command, the cluster or Azure.
 */
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Clock } from '../../lib/clock.ts';
import { waitCancelled } from '../../lib/abort.ts';

export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly readFile: (path: string) => string;
  /** The bytes of a file that may be larger than memory; `-` is the standard input. Fails at the first chunk, like `readFile`. */
  readonly readChunks: (path: string) => AsyncIterable<Uint8Array>;
  readonly hostname: string;
  /** Absent if the output is a file or a pipe. `columns`: characters of a line. */
  readonly screen?: { readonly columns: number };
  readonly signals: SignalSource;
  /** If absent, the clock of the system. */
  readonly clock?: Pick<Clock, 'now' | 'sleep'>;
}

export const EXIT_OK = 0;
export const EXIT_FAILED = 1;
/** Wrong arguments or a wrong configuration. */
export const EXIT_CONFIG = 2;
const EXIT_BY_SECOND_SIGNAL = 130;

export interface SignalSource {
  on(name: 'SIGTERM' | 'SIGINT', listener: () => void): unknown;
  off(name: 'SIGTERM' | 'SIGINT', listener: () => void): unknown;
  exit(code: number): void;
}

/**
 * Listens for SIGTERM and SIGINT. The first signal asks for a clean stop; the second ends the process at once.
 * `stopped` resolves at the first signal; `release` removes the listeners.
 */
export function stopSignals(source: SignalSource): { readonly stopped: Promise<void>; readonly release: () => void } {
  let resolve = (): void => undefined;
  const stopped = new Promise<void>((done) => {
    resolve = done;
  });
  let first = true;
  const onSignal = (): void => {
    if (!first) source.exit(EXIT_BY_SECOND_SIGNAL);
    first = false;
    resolve();
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

/**
 * Calls `react` after this time if something else keeps the process alive until then, for example a frozen connection. The
 * timer itself keeps nothing alive.
 */
export function ifStillAliveAfter(ms: number, react: () => void): void {
  setTimeout(react, Math.min(ms, LONGEST_TIMER_MS)).unref();
}

/** Node counts timers in 32 bits. A longer sleep consists of several timers. */
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
      reject(waitCancelled(signal));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', cancelled);
      resolve();
    }, ms);
    if (signal?.aborted === true) cancelled();
    else signal?.addEventListener('abort', cancelled, { once: true });
  });
}

/** Two loops of the default interval. Everything that the daemon uses is loaded by then. */
const AFTER_START_MS = 20_000;
/** Above this size a full collection would delay the loop, and the heap is in use anyway. */
const SMALL_HEAP_BYTES = 96 * 1024 * 1024;

/**
 * Waits 20 s and then returns the memory of the start (parsed modules, first responses) to the operating system once.
 * V8 would reserve it for a heap that a small cluster never fills. Returns early when the signal fires.
 */
export async function giveBackStartMemory(clock: Clock, signal: AbortSignal): Promise<void> {
  try {
    await clock.sleep(AFTER_START_MS, signal);
  } catch {
    // Cancelled: the process ends, and its memory with it.
    return;
  }
  if (getHeapStatistics().used_heap_size > SMALL_HEAP_BYTES) return;
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect === 'function') await collect({ type: 'major', execution: 'async', flavor: 'last-resort' });
}
