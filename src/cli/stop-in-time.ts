/**
 * Stops parts one after the other within a timeout. Late in that time all work is cancelled; a part that ignores this is
 * abandoned, since a promise cannot be killed. Must not know what the parts are.
 */
import { untilAborted } from '../lib/abort.ts';
import type { Clock } from '../lib/clock.ts';
import { asAutoscalerError } from '../lib/errors.ts';
import type { Log } from '../telemetry/log.ts';

interface StopDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly timeoutMs: number;
  /** Cancels all work that is in progress. */
  readonly cancel: () => void;
}

/** `signal` fires when the stop must end. `last`: the part has until then, also when the others are abandoned. */
export type StopStep = readonly [what: string, stop: (signal: AbortSignal) => Promise<unknown>, patience?: 'last'];

/** Share of the timeout after which work is cancelled. The rest is for connections to close. */
const CANCEL_AT = 0.9;
/** Share of the timeout after which parts are abandoned. The rest is for the process to end. */
const ABANDON_AT = 0.95;
/** Share of the timeout after which nothing is waited for any more. */
const END_AT = 0.99;

/** Every step starts, in order, even if one before it failed or was abandoned. Never rejects. */
export async function stopInTime({ clock, log, timeoutMs, cancel }: StopDeps, steps: readonly StopStep[]): Promise<void> {
  const inTime = new AbortController();
  const abandoned = new AbortController();
  const over = new AbortController();
  const watchdog = async (): Promise<void> => {
    await clock.sleep(timeoutMs * CANCEL_AT, inTime.signal);
    cancel();
    await clock.sleep(timeoutMs * (ABANDON_AT - CANCEL_AT), inTime.signal);
    abandoned.abort();
    await clock.sleep(timeoutMs * (END_AT - ABANDON_AT), inTime.signal);
    over.abort();
  };
  // Rejected: the stop was in time.
  const watching = watchdog().catch(() => undefined);
  for (const [what, stop, patience] of steps) {
    try {
      const outcome = await untilAborted(stop(over.signal), patience === 'last' ? over.signal : abandoned.signal);
      if (outcome === 'aborted') log.warn({ what, timeoutMs }, 'A part of the daemon did not stop in time and was abandoned');
    } catch (thrown) {
      // A part that fails to stop must not keep the other parts open.
      log.warn({ what, error: asAutoscalerError(thrown).message }, 'A part of the daemon did not stop cleanly');
    }
  }
  inTime.abort();
  await watching;
}
