/** AKS takes one operation per agent pool at a time: who wants to remove machines waits until none of ours runs in the pool. */
import { lockOf } from './agent-pool-increase.ts';
import type { WriteParts } from './group-writes.ts';

/** The following of an operation is given up after less. */
const LONGEST_WAIT_MS = 25 * 60_000;

/**
 * Does the work when no operation of ours runs in the pool, as its only writer. The lock is not held while waiting.
 * @throws AutoscalerError `conflict` when the pool does not become free in time, `cancelled` with the signal.
 */
export async function whenPoolIsFree<T>(
  { store: { vmsPools }, clock, locks }: WriteParts,
  poolKey: string,
  work: () => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const untilMs = clock.monotonic() + LONGEST_WAIT_MS;
  for (;;) {
    await vmsPools.untilFree(poolKey, untilMs - clock.monotonic(), signal);
    const done = await locks.hold(lockOf(poolKey), signal, async () =>
      // Another removal that waited may have been quicker.
      vmsPools.poolHeldBecause(poolKey) === undefined ? { outcome: await work() } : undefined,
    );
    if (done !== undefined) return done.outcome;
  }
}
