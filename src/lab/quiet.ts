/** Waits until a world of real sockets and virtual time has nothing left to do at this instant. */
import { Patience } from './patience.ts';

/** How long a world may take to become quiet before a run counts as stuck, in milliseconds of an idle machine. */
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
    if (patience.isOver()) throw new Error(`the world did not become quiet: ${reason ?? 'still settling'}`);
  }
}
