/** AKS takes one operation per agent pool at a time: who wants to remove machines waits until none of ours runs in the pool. */
import { poolLockKey } from './increase-agent-pool.ts';
import { foldName } from '../arm/resource-ids.ts';
import type { WriteParts } from './write-context.ts';
import type { RegisteredGroup } from '../groups/registry.ts';
import { poolKeyOf } from '../rows/vms-pool.ts';

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
    const done = await locks.hold(poolLockKey(poolKey), signal, async () =>
      // Another removal that waited may have been quicker.
      vmsPools.poolHeldBecause(poolKey) === undefined ? { outcome: await work() } : undefined,
    );
    if (done !== undefined) return done.outcome;
  }
}

/**
 * Resolves when a removal from the group would be sent at once, as far as operations and writes of ours go.
 * @throws AutoscalerError `conflict` when the pool does not become free in time, `cancelled` with the signal.
 */
export async function removalTurn({ store, clock }: WriteParts, group: RegisteredGroup, signal: AbortSignal): Promise<void> {
  const pool = group.kind === 'vms-pool' ? poolKeyOf(group.key) : store.facts.writtenPoolOf(group);
  if (pool !== undefined) return store.vmsPools.untilFree(foldName(pool), LONGEST_WAIT_MS, signal);
  const waitMs = store.writes.removalWaitMs(group.key, clock.monotonic());
  if (waitMs > 0) await clock.sleep(waitMs, signal);
}
