/** AKS takes one operation per agent pool at a time: a deletion waits until no operation of ours is in progress in the pool. */
import { poolLockKey } from './increase-agent-pool.ts';
import { foldName } from '../arm/resource-ids.ts';
import type { WriteDeps } from './write-context.ts';
import type { RegisteredGroup } from '../groups/registry.ts';
import { writtenKeyOf } from '../groups/write-shares.ts';
import { poolKeyOf } from '../rows/vms-pool.ts';

/** Longer than any operation is followed. */
const LONGEST_WAIT_MS = 25 * 60_000;

/**
 * Does the work when no operation of ours is in progress in the pool, as the only writer of what the lock protects: the pool, or a
 * scale set that is written directly. The lock is not held while waiting.
 * @throws AutoscalerError `conflict` if the pool does not become free in time, `cancelled` with the signal.
 */
export async function whenPoolIsFree<T>(
  { inventory: { vmsPools }, clock, locks }: WriteDeps,
  { poolKey, lockKey = poolLockKey(poolKey) }: { readonly poolKey: string; readonly lockKey?: string },
  work: () => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const untilMs = clock.monotonic() + LONGEST_WAIT_MS;
  for (;;) {
    await vmsPools.untilFree(poolKey, untilMs - clock.monotonic(), signal);
    const done = await locks.hold(lockKey, signal, async () =>
      // Another waiting deletion may have been quicker.
      vmsPools.poolHeldReason(poolKey) === undefined ? { outcome: await work() } : undefined,
    );
    if (done !== undefined) return done.outcome;
  }
}

/**
 * Resolves when our own operations and writes no longer delay a deletion from the group, and other clusters do not need the write more.
 * @throws AutoscalerError `conflict` if the pool does not become free in time, `cancelled` with the signal.
 */
export async function untilDeletionTurn(deps: WriteDeps, group: RegisteredGroup, signal: AbortSignal): Promise<void> {
  await untilOwnWritesEnd(deps, group, signal);
  const operation = group.kind === 'vms-pool' ? 'deleteMachines' : 'deleteInstances';
  // guard: deletions keep to the share of the cluster
  await deps.shares.untilGranted({ operation, resource: writtenKeyOf(group) }, signal);
}

async function untilOwnWritesEnd(deps: WriteDeps, group: RegisteredGroup, signal: AbortSignal): Promise<void> {
  const { inventory } = deps;
  const pool = group.kind === 'vms-pool' ? poolKeyOf(group.key) : inventory.facts.writtenPoolOf(group);
  if (pool !== undefined) return inventory.vmsPools.untilFree(foldName(pool), LONGEST_WAIT_MS, signal);
  await untilScaleSetWritable(deps, group.key, signal);
}

/** Waits until Azure takes another deletion from the scale set. */
export async function untilScaleSetWritable({ ownWrites, clock }: WriteDeps, setKey: string, signal: AbortSignal): Promise<void> {
  const waitMs = ownWrites.deletionWaitMs(setKey, clock.monotonic());
  if (waitMs > 0) await clock.sleep(waitMs, signal);
}
