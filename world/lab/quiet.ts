/** Waits until a world of real sockets and virtual time has no work left at the current instant. */
import { Patience } from './patience.ts';

/** Milliseconds of an idle computer after which a world that is still busy counts as stuck. */
const STUCK_AFTER_MS = 20_000;
/** Rounds of the event loop without a sign of work that count as quiet. */
const QUIET_ROUNDS = 25;

/**
 * Resolves when `isBusy` has returned undefined for a few rounds of the event loop. Real sockets need real rounds.
 * @throws Error with the last reason when the world stays busy.
 */
export async function untilQuiet(isBusy: () => string | undefined): Promise<void> {
  const patience = new Patience(STUCK_AFTER_MS);
  for (let quiet = 0; quiet < QUIET_ROUNDS;) {
    await new Promise<void>((resolve) => setImmediate(resolve));
    const reason = isBusy();
    quiet = reason === undefined ? quiet + 1 : 0;
    if (patience.isOver()) throw new Error(`the world is still busy: ${reason ?? 'unknown work'}`);
  }
}
