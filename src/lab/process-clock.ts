/** The clock of one process over the world's: one time for both, and its end when the process dies. */
import type { Clock } from '../lib/clock.ts';
import { AutoscalerError } from '../lib/errors.ts';
import type { VirtualSimClock } from '../simulator/base/sim-clock.ts';

/** What can happen to the process that a clock belongs to. */
export interface ProcessFate {
  /** Its wall clock is off by so much; its monotonic one never. */
  skewMs: number;
  /** Killed: nothing it waits for ever comes. */
  dead: boolean;
  /** Stopped, and going on by what the network brings before any of its timers has fired: what is due is not woken. */
  frozen?: boolean;
  /** Called when a wait is over, before its process learns of it. */
  readonly wakes?: (waitedMs: number) => void;
}

/** The daemon's clock over the world's: one time for both. */
export function clockOf(sim: VirtualSimClock, fate: ProcessFate = { skewMs: 0, dead: false }): Clock {
  return {
    now: () => sim.now() + fate.skewMs,
    monotonic: () => sim.now(),
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (fate.dead) return;
        const cancelled = (): void => {
          if (fate.dead) return;
          cancel();
          reject(new AutoscalerError({ kind: 'cancelled' }, 'The wait was cancelled.'));
        };
        const cancel = sim.after(ms, () => {
          if (!fate.dead) fate.wakes?.(ms);
          if (fate.dead || fate.frozen === true) return;
          signal?.removeEventListener('abort', cancelled);
          resolve();
        });
        if (signal?.aborted === true) cancelled();
        else signal?.addEventListener('abort', cancelled, { once: true });
      }),
  };
}
