/** How an accepted increase ends, whatever kind of pool it was asked of: the cache settles, and the loop is told. */
import type { Mutation } from '../../cache/table/mutation.ts';
import { isPreempted } from '../arm/errors.ts';
import type { WriteParts } from './write-context.ts';
import type { OperationEnd } from '../arm/operations.ts';
import type { Raise } from '../groups/own-writes.ts';
import type { Registered } from '../groups/registry.ts';

export interface Growth {
  /** Machines asked for. */
  readonly requested: number;
  readonly mutation: Mutation;
  /** What of the capacity is ours and can be given back. */
  readonly raise?: Raise | undefined;
}

export function endGrowth(parts: WriteParts, group: Registered, { requested, mutation, raise }: Growth, end: OperationEnd): void {
  const atMs = parts.clock.now();
  const settle = (outcome: 'succeeded' | 'failed' | 'unknown'): void => {
    mutation.settle(outcome);
    parts.store.changes.growthEnded(group.key, outcome === 'succeeded');
  };
  if (end.kind === 'unknown' || (end.kind === 'failed' && isPreempted(end.failure))) {
    // A newer write took this one over: its goal lives on, and the pool itself says what became of it.
    settle('unknown');
    // Preempted: there was another writer. Otherwise the set itself tells whether the operation is over.
    if (raise !== undefined && end.kind === 'unknown') parts.unfilled(group, raise);
    parts.log.info({ nodeGroup: group.id, end }, 'the end of a scale-up was not seen; the pool is read instead');
    return;
  }
  if (end.kind === 'succeeded') {
    settle('succeeded');
    if (raise !== undefined) parts.store.raises.forget(group.key, raise);
    parts.tell({ kind: 'increase-succeeded', group: group.id, atMs });
    return;
  }
  settle('failed');
  if (raise !== undefined) parts.unfilled(group, raise);
  const { detail, code, message, instances } = end.failure;
  parts.metrics.scaleUp.lateFailures.inc({ node_group: group.id, kind: detail.kind });
  parts.log.warn({ nodeGroup: group.id, code, reason: message, instances: instances.length }, 'a scale-up failed after it was accepted');
  parts.tell({ kind: 'increase-failed', group: group.id, requested, error: { detail, code, message }, atMs });
}
