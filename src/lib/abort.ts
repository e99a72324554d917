import { AutoscalerError } from './errors.ts';
import type { Clock } from './clock.ts';

export interface Timed {
  readonly timeoutMs: number;
  /** Any of them ends it early; it then rejects `cancelled`. */
  readonly signals: readonly AbortSignal[];
  readonly run: (signal: AbortSignal) => Promise<void>;
}

/**
 * Runs with a deadline. On timeout the work's signal fires and this resolves at once with `timed-out`, even when the work
 * does not heed its signal: a promise cannot be killed, only disowned.
 */
export async function withTimeout(clock: Clock, timed: Timed): Promise<'done' | 'timed-out'> {
  const expired = new AbortController();
  const ended = new AbortController();
  const outer = AbortSignal.any([...timed.signals]);
  const timer = clock.sleep(timed.timeoutMs, ended.signal).then(
    () => {
      expired.abort();
      return 'timed-out' as const;
    },
    () => 'timed-out' as const,
  );
  const work = startWork(timed, AbortSignal.any([outer, expired.signal]));
  try {
    return await unlessAborted(Promise.race([disowned(work, expired.signal), timer]), outer);
  } finally {
    ended.abort();
  }
}

/** An async function, so that a throw before the first wait is a rejection too. */
async function startWork(timed: Timed, signal: AbortSignal): Promise<'done'> {
  await timed.run(signal);
  return 'done';
}

/** The promise, unless the signal fires first: then `cancelled`. */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = (): void => reject(new AutoscalerError({ kind: 'cancelled' }, 'The wait was cancelled.'));
    if (signal.aborted) cancel();
    else signal.addEventListener('abort', cancel, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', cancel));
  });
}

/** Work that ends after its deadline is nobody's any more; its failure must not surface as an unhandled rejection. */
function disowned(work: Promise<'done'>, expired: AbortSignal): Promise<'done'> {
  return work.catch((thrown: unknown) => {
    if (expired.aborted) return new Promise<'done'>(() => undefined);
    throw thrown;
  });
}
