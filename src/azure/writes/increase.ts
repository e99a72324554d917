/**
 * Increases the size of a node group: one protocol for every way in which a size is written. Lock, read, check, begin the
 * mutation, write, follow the operation; if the write was refused or its answer was lost, read back.
 * An increase never lowers a size. Losing a race is a conflict to be planned again, not a failure.
 * Must not know how a size is read and written: the backends do (`increase-scale-set`, `increase-through-aks`, `increase-vms-pool`).
 */
import type { Acceptance, Mutation } from '../../cache/table/mutation.ts';
import type { IncreaseOutcome } from '../../domain/outcome.ts';
import type { IncreaseRequest } from '../../domain/ports/cloud.ts';
import { asAutoscalerError, type AutoscalerError } from '../../lib/errors.ts';
import type { ErrorHints } from '../arm/error-table.ts';
import { isPreempted, withScope } from '../arm/errors.ts';
import type { OperationEnd } from '../arm/operations.ts';
import type { Raise } from '../groups/own-writes.ts';
import type { RegisteredGroup } from '../groups/registry.ts';
import { isEffectUnknown, type WriteParts } from './write-context.ts';

/** One way to write the size of a group. `Read` is what the checks and the write are based on. */
export interface IncreaseBackend<Read> {
  /** Writes with the same key follow each other; see `GroupLocks`. */
  readonly lockKey: string;
  /** The rows that hold the size of the group. */
  readonly sizes: {
    view(key: string): { readonly target: number | undefined; readonly base: number | undefined } | undefined;
    beginMutation(intent: { readonly kind: 'set-target'; readonly key: string; readonly target: number }): Mutation;
  };
  /** Why an operation of ours keeps the resource from being written. */
  heldBecause(): string | undefined;
  /** Reads what the checks and the write need. undefined: the group has no agent pool. @throws AutoscalerError */
  read(signal: AbortSignal): Promise<Read | undefined>;
  /** The guards, over what was read. undefined: write. */
  checkIncrease(request: IncreaseRequest, read: Read): IncreaseOutcome | undefined;
  /** The name of the written resource, for the rate-limit budget and the log. */
  resourceOf(read: Read): string;
  /** Sends the write. @throws AutoscalerError */
  put(to: number, read: Read, signal: AbortSignal): Promise<IncreaseAnswer>;
  /** Azure accepted the write. Returns the increase if it can be undone later. */
  noteAccepted(request: IncreaseRequest, read: Read, answer: IncreaseAnswer): Raise | undefined;
  /** Where a lack of capacity applies. */
  hintsOf(read: Read): ErrorHints;
  /** Reads the rows again. @throws AutoscalerError */
  refresh(signal: AbortSignal): Promise<void>;
  /** The operation of an accepted write is over. Never rejects. */
  noteEnded(): Promise<void>;
}

/** Azure's first answer to a write. */
export interface IncreaseAnswer {
  readonly operationUrl: string | undefined;
  readonly retryAfterMs: number | undefined;
  /** What the answer shows of the new size. */
  readonly acceptance: Acceptance;
}

interface Increase<Read> {
  readonly backend: IncreaseBackend<Read>;
  readonly request: IncreaseRequest;
}

/** See the port. The lock is held until Azure has answered, not while the operation runs. */
export function increaseSize<Read>(
  parts: WriteParts,
  group: RegisteredGroup,
  increase: Increase<Read>,
  signal: AbortSignal,
): Promise<IncreaseOutcome> {
  return parts.locks.hold(increase.backend.lockKey, signal, async () => {
    const outcome = await tryIncrease(parts, group, increase, signal);
    const { writes, nodes, conflicts } = parts.metrics.scaleUp;
    writes.inc({ node_group: group.id, outcome: outcome.kind });
    if (outcome.kind === 'accepted') nodes.inc({ node_group: group.id }, increase.request.to - increase.request.from);
    if (outcome.kind === 'conflict') conflicts.inc({ node_group: group.id });
    return outcome;
  });
}

async function tryIncrease<Read>(
  parts: WriteParts,
  group: RegisteredGroup,
  increase: Increase<Read>,
  signal: AbortSignal,
): Promise<IncreaseOutcome> {
  const { backend, request } = increase;
  // Another group of the same resource was quicker. The view shows it from now on, and the next plan uses other groups.
  if (backend.heldBecause() !== undefined) return { kind: 'conflict', group: group.id, observed: backend.sizes.view(group.key)?.target };
  try {
    const read = await backend.read(signal);
    if (read === undefined) return { kind: 'refused', group: group.id, reason: `there is no agent pool for "${group.id}"` };
    const refusal = backend.checkIncrease(request, read);
    return refusal ?? (await writeSize(parts, group, { ...increase, read }, signal));
  } catch (thrown) {
    return { kind: 'failed', group: group.id, error: asAutoscalerError(thrown) };
  }
}

/** The guards that hold for every group. `target` includes our unconfirmed changes. undefined: nothing against the increase. */
export function checkRequest(group: RegisteredGroup, request: IncreaseRequest, target: number | undefined): IncreaseOutcome | undefined {
  const refused = (reason: string): IncreaseOutcome => ({ kind: 'refused', group: group.id, reason });
  if (target === undefined) return refused('its size is not known');
  if (!Number.isInteger(request.to) || request.to <= request.from)
    return refused(`an increase from ${request.from} to ${request.to} is none`);
  // The number is what the plan was made from. A newer tag over the same number is the better condition for the write.
  if (target !== request.from) return { kind: 'conflict', group: group.id, observed: target };
  if (request.to > group.max) return refused(`${request.to} is above its maximum of ${group.max}`);
  return undefined;
}

interface Write<Read> extends Increase<Read> {
  readonly read: Read;
}

async function writeSize<Read>(
  parts: WriteParts,
  group: RegisteredGroup,
  write: Write<Read>,
  signal: AbortSignal,
): Promise<IncreaseOutcome> {
  const { backend, request, read } = write;
  const mutation = backend.sizes.beginMutation({ kind: 'set-target', key: group.key, target: request.to });
  try {
    const answer = await backend.put(request.to, read, signal);
    mutation.accepted(answer.acceptance);
    parts.store.changes.noteGrowth(group.key);
    const raise = backend.noteAccepted(request, read, answer);
    followIncrease(parts, group, { ...write, answer, mutation, raise });
    return { kind: 'accepted', group: group.id, target: backend.sizes.view(group.key)?.target ?? request.to };
  } catch (thrown) {
    const error = withScope(asAutoscalerError(thrown), backend.hintsOf(read));
    return refusedOrLost(parts, group, { backend, request, mutation, error }, signal);
  }
}

interface FailedWrite<Read> extends Increase<Read> {
  readonly mutation: Mutation;
  readonly error: AutoscalerError;
}

async function refusedOrLost<Read>(
  parts: WriteParts,
  group: RegisteredGroup,
  { backend, request, mutation, error }: FailedWrite<Read>,
  signal: AbortSignal,
): Promise<IncreaseOutcome> {
  const lost = isEffectUnknown(error);
  mutation.settle(lost ? 'unknown' : 'refused');
  if (error.kind === 'conflict') {
    await readBack(parts, group, backend, signal);
    return { kind: 'conflict', group: group.id, observed: backend.sizes.view(group.key)?.target };
  }
  if (!lost || error.kind === 'cancelled') return { kind: 'failed', group: group.id, error };
  // Azure may have carried the request out although its answer was lost: the rows show it.
  const isRead = await readBack(parts, group, backend, signal);
  if (!isRead || backend.sizes.view(group.key)?.base !== request.to) return { kind: 'failed', group: group.id, error };
  parts.store.changes.noteGrowth(group.key);
  parts.log.warn({ nodeGroup: group.id, target: request.to }, 'the answer to a capacity write was lost, but the write took effect');
  return { kind: 'accepted', group: group.id, target: request.to };
}

/** False if the rows could not be read. They then count as stale, and the next loop sees them so. */
async function readBack<Read>(
  parts: WriteParts,
  group: RegisteredGroup,
  backend: IncreaseBackend<Read>,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await backend.refresh(signal);
    return true;
  } catch (thrown) {
    parts.log.warn({ nodeGroup: group.id, err: asAutoscalerError(thrown) }, 'could not read a node group after a write');
    return false;
  }
}

interface AcceptedWrite<Read> extends Write<Read> {
  readonly answer: IncreaseAnswer;
  readonly mutation: Mutation;
  /** undefined: it is unknown which part of the size is ours, or the size cannot be lowered by a write. */
  readonly raise: Raise | undefined;
}

function followIncrease<Read>(parts: WriteParts, group: RegisteredGroup, accepted: AcceptedWrite<Read>): void {
  const { backend, request, read, answer } = accepted;
  const ending = { requested: request.to - request.from, mutation: accepted.mutation, raise: accepted.raise };
  parts.tracker.follow({
    resource: backend.resourceOf(read),
    url: answer.operationUrl,
    retryAfterMs: answer.retryAfterMs,
    hints: backend.hintsOf(read),
    onEnd: (end) => {
      endIncrease(parts, group, ending, end);
      void backend.noteEnded();
    },
  });
}

interface EndingIncrease {
  /** Instances asked for. */
  readonly requested: number;
  readonly mutation: Mutation;
  readonly raise: Raise | undefined;
}

/** The end of an accepted increase: the cache settles, and the loop gets an event. */
function endIncrease(parts: WriteParts, group: RegisteredGroup, { requested, mutation, raise }: EndingIncrease, end: OperationEnd): void {
  const atMs = parts.clock.now();
  const settle = (outcome: 'succeeded' | 'failed' | 'unknown'): void => {
    mutation.settle(outcome);
    parts.store.changes.growthEnded(group.key, outcome === 'succeeded');
  };
  if (end.kind === 'unknown' || (end.kind === 'failed' && isPreempted(end.failure))) {
    // Preempted: a newer write superseded this one. Either way the group is read again to learn the result.
    settle('unknown');
    // Preempted: there was another writer. Otherwise the set itself shows whether the operation is over.
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
