/** The clock of one process, driven by the world's clock. It stops when the process dies. */
import type { Clock } from '../../src/lib/clock.ts';
import { waitCancelled } from '../../src/lib/abort.ts';
import type { VirtualSimClock } from '../simulator/base/sim-clock.ts';

/** The state of the process that a clock belongs to. */
export interface ProcessState {
  /** Offset of the wall clock. The monotonic clock has no offset. */
  skewMs: number;
  /** The process was killed: none of its waits ever ends. */
  dead: boolean;
  /** The process is suspended and resumes on network input before any of its timers fires. Timers that are due do not fire. */
  frozen?: boolean;
  /** Number of waits that have not ended, kept by the clock. While there is none, no virtual time has to pass for this process. */
  waits?: number;
  /** Called when a wait is over, before the process resumes. */
  readonly onWaitEnd?: (waitedMs: number) => void;
}

/** Creates the daemon's clock over the world's clock: both have the same time. */
export function clockOf(sim: VirtualSimClock, state: ProcessState = { skewMs: 0, dead: false }): Clock {
  return {
    now: () => sim.now() + state.skewMs,
    monotonic: () => sim.now(),
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (state.dead) return;
        state.waits = (state.waits ?? 0) + 1;
        const cancelled = (): void => {
          if (state.dead) return;
          cancel();
          end();
          reject(waitCancelled(signal));
        };
        const end = (): void => {
          state.waits = (state.waits ?? 0) - 1;
        };
        const cancel = sim.after(ms, () => {
          end();
          if (!state.dead) state.onWaitEnd?.(ms);
          if (state.dead || state.frozen === true) return;
          signal?.removeEventListener('abort', cancelled);
          resolve();
        });
        if (signal?.aborted === true) cancelled();
        else signal?.addEventListener('abort', cancelled, { once: true });
      }),
  };
}
