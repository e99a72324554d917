/** The end of an accepted increase: what its operation's end means for the rows, the events and an increase that can be undone. */
import type { Mutation } from '../../cache/table/mutation.ts';
import { defined } from '../../lib/defined.ts';
import { isPreempted } from '../arm/errors.ts';
import type { OperationEnd } from '../arm/operations.ts';
import type { OwnIncrease } from '../groups/own-writes.ts';
import type { RegisteredGroup } from '../groups/registry.ts';
import type { WriteDeps } from './write-context.ts';

interface EndingIncrease {
  /** The number of requested instances. */
  readonly requested: number;
  readonly mutation: Mutation;
  readonly ownIncrease: OwnIncrease | undefined;
  /** Of the request that Azure accepted. */
  readonly correlationId?: string | undefined;
}

/** The end of an accepted increase: the cache settles, and the loop gets an event. */
export function endIncrease(
  deps: WriteDeps,
  group: RegisteredGroup,
  { requested, mutation, ownIncrease, correlationId }: EndingIncrease,
  end: OperationEnd,
): void {
  const atMs = deps.clock.now();
  const settle = (outcome: 'succeeded' | 'failed' | 'unknown'): void => {
    mutation.settle(outcome);
    deps.inventory.changes.noteIncreaseEnd(group.key, outcome === 'succeeded');
  };
  if (end.kind === 'unknown' || (end.kind === 'failed' && isPreempted(end.failure))) {
    // Preempted: a newer write superseded this one. Either way the group is read again to learn the result.
    settle('unknown');
    // After a preemption there was another writer, so nothing is undone.
    if (ownIncrease !== undefined && end.kind === 'unknown') deps.undoUnfilled(group, ownIncrease);
    deps.log.info({ nodeGroup: group.id, end }, 'End of an increase not seen; the node group is read again instead');
    return;
  }
  if (end.kind === 'succeeded') {
    settle('succeeded');
    if (ownIncrease !== undefined) deps.ownWrites.increases.forget(group.key, ownIncrease);
    deps.recordEvent({ kind: 'increase-succeeded', group: group.id, atMs });
    return;
  }
  settle('failed');
  if (ownIncrease !== undefined) deps.undoUnfilled(group, ownIncrease);
  const { detail, code, message, instances } = end.failure;
  deps.metrics.scaleUp.lateFailures.inc({ node_group: group.id, kind: detail.kind });
  const facts = { nodeGroup: group.id, code, reason: message, instances: instances.length, correlationId };
  deps.log.warn(facts, 'Increase failed after Azure had accepted it');
  const error = { detail, code, message, ...defined({ correlationId }) };
  deps.recordEvent({ kind: 'increase-failed', group: group.id, requested, error, atMs });
}
