/** Real time: the only home of timers and of the system's clocks in the daemon. */
import type { Clock } from '../domain/clock.ts';
import { AutoscalerError } from '../domain/errors.ts';

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
