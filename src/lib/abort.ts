/**
 * Waits that a signal or a deadline can end, also those for a slot. Every function here removes its listener, and a rejection that comes too
 * late never surfaces as unhandled. Must not know what is waited for.
 */
import { Semaphore } from 'async-mutex';
import { AutoscalerError } from './errors.ts';
import type { Clock } from './clock.ts';

/**
 * The reason to end a wait of this process that is not needed any more: a limit of a call that has ended, an alarm. Such waits end all the
 * time, and without a reason each end would create an exception with a stack trace.
 */
const ENDED = new AutoscalerError({ kind: 'cancelled' }, 'The wait was ended, as it is not needed any more.');

/** Ends the waits for this signal. They reject with one shared error of kind `cancelled`. */
export function endWaits(controller: AbortController): void {
  controller.abort(ENDED);
}

/** What a wait rejects with when its signal fires: an AutoscalerError of kind `cancelled`. */
export function waitCancelled(signal: AbortSignal | undefined): AutoscalerError {
  return signal?.reason === ENDED ? ENDED : new AutoscalerError({ kind: 'cancelled' }, 'The wait was cancelled.');
}

/** Calls `react` once when the signal fires, or at once if it has fired. Returns a function that removes the listener. */
export function onAbort(signal: AbortSignal, react: () => void): () => void {
  if (signal.aborted) react();
  else signal.addEventListener('abort', react, { once: true });
  return () => signal.removeEventListener('abort', react);
}

/** A signal of one piece of work, which fires with any of those that it is linked to. */
export interface LinkedSignal {
  readonly signal: AbortSignal;
  /** Fires it earlier. */
  readonly fire: (reason?: unknown) => void;
  /** Unlinks it, when the work is over. */
  readonly end: () => void;
}

/** Not `AbortSignal.any`: what that registers at the signal of a loop, for each of thousands of calls, stays until garbage is collected. */
export function linkedSignal(signals: readonly AbortSignal[]): LinkedSignal {
  const linked = new AbortController();
  const unlink = signals.map((each) => onAbort(each, () => linked.abort(each.reason)));
  return { signal: linked.signal, fire: (reason) => linked.abort(reason), end: () => unlink.forEach((remove) => remove()) };
}

interface AbortOptions<Value> {
  /** Makes the rejection. If absent, it is an AutoscalerError of kind `cancelled`. */
  readonly error?: () => unknown;
  /** Receives a value that comes after the abort, for example to release a slot. */
  readonly late?: (value: Value) => void;
}

/**
 * The promise's result, unless the signal fires first.
 * @throws AutoscalerError `cancelled`, or what `options.error` makes, when the signal fires first.
 */
export function withAbort<Value>(promise: Promise<Value>, signal: AbortSignal, options: AbortOptions<Value> = {}): Promise<Value> {
  const error = options.error ?? (() => waitCancelled(signal));
  return new Promise((resolve, reject) => {
    let aborted = false;
    const removeListener = onAbort(signal, () => {
      aborted = true;
      reject(error());
    });
    const settle = (value: Value): void => {
      if (aborted) options.late?.(value);
      else resolve(value);
    };
    promise.then(settle, reject).finally(removeListener);
  });
}

/** Waits for the end of the work or the signal, whichever is first. Rejects only if the work rejects first. */
export function untilAborted(work: Promise<unknown>, signal: AbortSignal): Promise<'done' | 'aborted'> {
  return new Promise((resolve, reject) => {
    const removeListener = onAbort(signal, () => resolve('aborted'));
    work.then(() => resolve('done'), reject).finally(removeListener);
  });
}

interface TimedWork<Value> {
  readonly timeoutMs: number;
  /** Each of them ends the work early; the call then rejects `cancelled`. */
  readonly signals: readonly AbortSignal[];
  /** Its signal fires on timeout and with any of `signals`. */
  readonly run: (signal: AbortSignal) => Promise<Value>;
}

/**
 * Runs work with a deadline. On timeout the work's signal fires, and this resolves at once with `timed-out`. It does so
 * even if the work ignores its signal: a promise cannot be killed, only abandoned.
 * @throws AutoscalerError `cancelled` when a signal fires first; also whatever the work throws in time.
 */
export async function withTimeout<Value>(clock: Clock, work: TimedWork<Value>): Promise<Value | 'timed-out'> {
  const given = linkedSignal(work.signals);
  const ended = new AbortController();
  let isExpired = false;
  const expire = (): void => {
    isExpired = true;
    given.fire();
  };
  clock.sleep(work.timeoutMs, ended.signal).then(expire, () => undefined);
  try {
    return await new Promise<Value | 'timed-out'>((resolve, reject) => {
      // What the work does after this is ignored: the first outcome stays.
      startWork(work, given.signal).then(resolve, reject);
      onAbort(given.signal, () => (isExpired ? resolve('timed-out') : reject(waitCancelled(given.signal))));
    });
  } finally {
    given.end();
    endWaits(ended);
  }
}

/** An async function, so that a throw before the first wait is a rejection too. */
async function startWork<Value>(work: TimedWork<Value>, signal: AbortSignal): Promise<Value> {
  return work.run(signal);
}

/** A limit of how much work is under way at once. First come, first served. */
export class Slots {
  readonly #most: number;
  readonly #free: Semaphore;

  constructor(most: number) {
    this.#most = most;
    this.#free = new Semaphore(most);
  }

  /** Whether no work is under way or waits. */
  get isIdle(): boolean {
    return this.#free.getValue() === this.#most;
  }

  /**
   * Waits for a slot and holds it during the work.
   * @throws what the work throws. If the signal fires while it waits, the work is not started, and an AutoscalerError `cancelled` is thrown.
   */
  async run<Value>(work: () => Promise<Value>, signal: AbortSignal): Promise<Value> {
    const [, release] = await withAbort(this.#free.acquire(), signal, { late: ([, free]) => free() });
    try {
      return await work();
    } finally {
      release();
    }
  }
}
