/** The world's clock with a switch that cancels everything scheduled on it. */
import type { SimClock } from '../../base/sim-clock.ts';

export interface Timers extends SimClock {
  /** Cancels all timers and refuses new ones. */
  stop(): void;
}

export function createTimers(clock: SimClock): Timers {
  const cancels = new Set<() => void>();
  let stopped = false;
  return {
    now: () => clock.now(),
    get speed() {
      return clock.speed;
    },
    after(ms, action) {
      if (stopped) return () => undefined;
      const cancel = clock.after(ms, () => {
        cancels.delete(stop);
        action();
      });
      const stop = (): void => {
        cancels.delete(stop);
        cancel();
      };
      cancels.add(stop);
      return stop;
    },
    stop() {
      stopped = true;
      for (const cancel of cancels) cancel();
    },
  };
}

/** A queue of keys to reconcile. A key that already waits for the same or an earlier time is not added twice. */
export interface WorkQueue {
  add(key: string, delayMs?: number): void;
}

export function createQueue(timers: Timers, reconcile: (key: string) => void): WorkQueue {
  const waiting = new Map<string, { readonly at: number; readonly cancel: () => void }>();
  return {
    add(key, delayMs = 0) {
      const at = timers.now() + delayMs / timers.speed;
      const before = waiting.get(key);
      if (before !== undefined && before.at <= at) return;
      before?.cancel();
      const cancel = timers.after(delayMs, () => {
        waiting.delete(key);
        reconcile(key);
      });
      waiting.set(key, { at, cancel });
    },
  };
}
