/**
 * A whole world in virtual time: the simulated AKS cluster and the daemon, talking over loopback HTTPS with the real
 * clients, on one clock that moves only when the scenario says so. Time stands still while any request is on its way,
 * so a run depends on nothing but its seed.
 */
import type { Clock } from '../../src/domain/clock.ts';
import { AutoscalerError } from '../../src/domain/errors.ts';
import { VirtualSimClock } from '../../src/simulator/sim-clock.ts';

/** The daemon's clock over the world's: one time for both. */
export function clockOf(sim: VirtualSimClock): Clock {
  return {
    now: () => sim.now(),
    monotonic: () => sim.now(),
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        const cancelled = (): void => {
          cancel();
          reject(new AutoscalerError({ kind: 'cancelled' }, 'The wait was cancelled.'));
        };
        const cancel = sim.after(ms, () => {
          signal?.removeEventListener('abort', cancelled);
          resolve();
        });
        if (signal?.aborted === true) cancelled();
        else signal?.addEventListener('abort', cancelled, { once: true });
      }),
  };
}

/** How long a world may take to come to rest before the harness calls it stuck, in real milliseconds. */
const STUCK_AFTER_MS = 20_000;
/** Rounds of the event loop without any sign of work that count as rest. */
const QUIET_ROUNDS = 4;

/** Waits until `isBusy` has been false for a few rounds of the event loop. Real sockets need real rounds, not sleeps. */
export async function atRest(isBusy: () => string | undefined): Promise<void> {
  const deadline = Date.now() + STUCK_AFTER_MS;
  for (let quiet = 0; quiet < QUIET_ROUNDS;) {
    await new Promise<void>((resolve) => setImmediate(resolve));
    const reason = isBusy();
    quiet = reason === undefined ? quiet + 1 : 0;
    if (Date.now() > deadline) throw new Error(`the world did not come to rest: ${reason ?? 'still settling'}`);
  }
}
