/**
 * Raises a count in the document of an agent pool: read, change this one number, write back under the tag that was read. Two
 * sizes share a document, so nothing of it is kept from one write to the next: a failed write for one size cannot
 * reappear in the body of a write for the other.
 */
import { asAutoscalerError, type AutoscalerError } from '../../lib/errors.ts';
import type { IncreaseOutcome } from '../../domain/outcome.ts';
import type { Mutation } from '../../cache/table/mutation.ts';
import type { IncreaseRequest } from '../../domain/ports/cloud.ts';
import { putAgentPool, type PoolAnswer } from '../arm/agent-pool-api.ts';
import type { ErrorHints } from '../arm/error-table.ts';
import { withScope } from '../arm/errors.ts';
import { endGrowth } from './increase-end.ts';
import type { WriteParts } from './write-context.ts';
import type { Registered } from '../groups/registry.ts';

/** A number in an agent pool that a group's size follows: the count of one size, or of a whole pool over a scale set. */
export interface PoolCount {
  readonly poolKey: string;
  /** The rows that the size of the group is kept in. */
  readonly table: {
    view(key: string): { readonly target: number | undefined; readonly base: number | undefined } | undefined;
    beginMutation(intent: { readonly kind: 'set-target'; readonly key: string; readonly target: number }): Mutation;
  };
  /** Why an operation of ours keeps the pool from being written. */
  heldBecause(): string | undefined;
  /** Reads all that the guards and the write need, now; undefined: there is no such pool. */
  read(signal: AbortSignal): Promise<ReadPool | undefined>;
  /** The guards, over what was read a moment ago. undefined: write. */
  judge(request: IncreaseRequest, read: ReadPool): IncreaseOutcome | undefined;
  body(raw: unknown, to: number): unknown;
  countIn(answer: PoolAnswer): number | undefined;
  /** Whether the rows show the change as soon as AKS has answered. */
  readonly modelled: boolean;
  /** Reads the rows anew. */
  refresh(signal: AbortSignal): Promise<void>;
  began(): void;
  ended(): Promise<void>;
  hints(): ErrorHints;
}

export interface ReadPool {
  /** As AKS spells it. */
  readonly name: string;
  readonly raw: unknown;
  readonly etag: string | undefined;
}

/** See the port. One writer per pool, not per size; the lock is held until AKS has answered, not while the operation runs. */
export function increaseCount(
  parts: WriteParts,
  group: Registered,
  { count, request }: { readonly count: PoolCount; readonly request: IncreaseRequest },
  signal: AbortSignal,
): Promise<IncreaseOutcome> {
  return parts.locks.hold(lockOf(count.poolKey), signal, async () => {
    const outcome = await attempt(parts, group, { count, request }, signal);
    parts.metrics.scaleUp.writes.inc({ node_group: group.id, outcome: outcome.kind });
    if (outcome.kind === 'accepted') parts.metrics.scaleUp.nodes.inc({ node_group: group.id }, request.to - request.from);
    if (outcome.kind === 'conflict') parts.metrics.scaleUp.conflicts.inc({ node_group: group.id });
    return outcome;
  });
}

/** A name that no scale set can have. */
export function lockOf(poolKey: string): string {
  return `pool:${poolKey}`;
}

interface Wanted {
  readonly count: PoolCount;
  readonly request: IncreaseRequest;
}

async function attempt(parts: WriteParts, group: Registered, { count, request }: Wanted, signal: AbortSignal): Promise<IncreaseOutcome> {
  if (count.heldBecause() !== undefined) {
    // Another size of the pool was quicker. The view says so from now on, and the next plan looks elsewhere.
    return { kind: 'conflict', group: group.id, observed: count.table.view(group.key)?.target };
  }
  try {
    const read = await count.read(signal);
    if (read === undefined) return { kind: 'refused', group: group.id, reason: `there is no agent pool for "${group.id}"` };
    const verdict = count.judge(request, read);
    if (verdict !== undefined) return verdict;
    if (read.etag === undefined) {
      return { kind: 'refused', group: group.id, reason: 'AKS told no entity tag of its agent pool, so that a write would be a guess' };
    }
    return await put(parts, group, { count, request, read, etag: read.etag }, signal);
  } catch (thrown) {
    return { kind: 'failed', group: group.id, error: asAutoscalerError(thrown) };
  }
}

interface Write extends Wanted {
  readonly read: ReadPool;
  readonly etag: string;
}

async function put(parts: WriteParts, group: Registered, write: Write, signal: AbortSignal): Promise<IncreaseOutcome> {
  const { count, request, read, etag } = write;
  const mutation = count.table.beginMutation({ kind: 'set-target', key: group.key, target: request.to });
  try {
    const answer = await putAgentPool(parts, read.name, { body: count.body(read.raw, request.to), etag }, signal);
    const told = count.countIn(answer);
    const modelled = count.modelled && told === request.to;
    mutation.accepted({ etag: count.modelled ? answer.etag : undefined, expect: told, modelled });
    parts.store.changes.noteGrowth(group.key);
    count.began();
    follow(parts, group, { write, answer, mutation });
    return { kind: 'accepted', group: group.id, target: count.table.view(group.key)?.target ?? request.to };
  } catch (thrown) {
    const error = withScope(asAutoscalerError(thrown), count.hints());
    return refusedOrLost(parts, group, { count, request, mutation, error }, signal);
  }
}

interface Failed extends Wanted {
  readonly mutation: Mutation;
  readonly error: AutoscalerError;
}

async function refusedOrLost(
  parts: WriteParts,
  group: Registered,
  { count, request, mutation, error }: Failed,
  signal: AbortSignal,
): Promise<IncreaseOutcome> {
  const lost = error.kind === 'cancelled' || (error.detail.kind === 'unavailable' && error.detail.effect === 'unknown');
  mutation.settle(lost ? 'unknown' : 'refused');
  if (error.kind === 'conflict') {
    await refreshQuietly(parts, group, count, signal);
    return { kind: 'conflict', group: group.id, observed: count.table.view(group.key)?.target };
  }
  if (!lost || error.kind === 'cancelled') return { kind: 'failed', group: group.id, error };
  // The request may have been carried out although its answer was lost: the rows themselves say.
  const read = await refreshQuietly(parts, group, count, signal);
  if (!read || count.table.view(group.key)?.base !== request.to) return { kind: 'failed', group: group.id, error };
  parts.store.changes.noteGrowth(group.key);
  parts.log.warn({ nodeGroup: group.id, target: request.to }, 'the answer to a write of an agent pool was lost, but it took effect');
  return { kind: 'accepted', group: group.id, target: request.to };
}

/** False when the rows could not be read; they are then known to be stale and the next loop sees them so. */
async function refreshQuietly(parts: WriteParts, group: Registered, count: PoolCount, signal: AbortSignal): Promise<boolean> {
  try {
    await count.refresh(signal);
    return true;
  } catch (thrown) {
    parts.log.warn({ nodeGroup: group.id, err: asAutoscalerError(thrown) }, 'could not read an agent pool after a write');
    return false;
  }
}

interface Accepted {
  readonly write: Write;
  readonly answer: PoolAnswer;
  readonly mutation: Mutation;
}

function follow(parts: WriteParts, group: Registered, { write, answer, mutation }: Accepted): void {
  const { count, request, read } = write;
  parts.tracker.follow({
    resource: read.name,
    url: answer.operationUrl,
    retryAfterMs: answer.retryAfterMs,
    hints: count.hints(),
    onEnd: (end) => {
      endGrowth(parts, group, { requested: request.to - request.from, mutation }, end);
      void count.ended();
    },
  });
}
