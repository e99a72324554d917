/**
 * Increases the size of a node group: one protocol for every way in which a size is written. Lock, read, check, begin the
 * mutation, write, follow the operation; if the write was refused or its answer was lost, read back.
 * An increase never lowers a size: it writes the size just read plus the new nodes, under the entity tag of that read. Azure may
 * still count instances that we are deleting. Losing a race is a conflict to be planned again, not a failure.
 * Must not know how a size is read and written: the backends do (`increase-scale-set`, `increase-through-aks`, `increase-vms-pool`).
 */
import { describeBlock, type GroupBlock } from '../../domain/group-blocks.ts';
import { NO_CONTENT, type Acceptance, type Mutation, type MutationOp } from '../../cache/table/mutation.ts';
import type { AnsweredIncrease } from '../../domain/outcome.ts';
import type { IncreaseRequest, UnansweredIncrease } from '../../domain/ports/cloud.ts';
import { endWaits } from '../../lib/abort.ts';
import { asAutoscalerError, type AutoscalerError, isEffectUnknown } from '../../lib/errors.ts';
import type { ErrorHints } from '../arm/error-table.ts';
import type { ResourceState } from '../arm/operations.ts';
import { HELD_BACK } from '../arm/rate-limits.ts';
import { isOperationInProgress, isPreconditionFailed, withoutEffect, withScope } from '../arm/errors.ts';
import type { OwnIncrease } from '../groups/own-writes.ts';
import type { RegisteredGroup } from '../groups/registry.ts';
import { endIncrease } from './increase-end.ts';
import { type WriteDeps } from './write-context.ts';

/** What the checks and the write are based on. */
export interface SizeRead {
  /** The size that Azure shows: accepted deletions may still be counted. undefined: it could not be read. */
  readonly shown: number | undefined;
}

/** One way to write the size of a group. */
export interface IncreaseBackend<Read extends SizeRead> {
  /** Writes with the same key follow each other; see `GroupLocks`. */
  readonly lockKey: string;
  /** The rows that hold the size of the group. */
  readonly sizes: {
    view(key: string): { readonly target: number | undefined; readonly base: number | undefined } | undefined;
    beginMutation(op: Extract<MutationOp, { readonly kind: 'set-target' | 'add' }>): Mutation;
  };
  /** Why an operation of ours keeps the resource from being written. */
  heldReason(): GroupBlock | undefined;
  /** Reads what the checks and the write need. undefined: the group has no agent pool. @throws AutoscalerError */
  read(signal: AbortSignal): Promise<Read | undefined>;
  /** The guards, over what was read. undefined: write. */
  checkIncrease(request: IncreaseRequest, read: Read): AnsweredIncrease | undefined;
  /** The name of the written resource, for the rate-limit budget and the log. */
  resourceOf(read: Read): string;
  /** Keeps other writes away from now on, since the answer takes long. undefined: answers come soon, and the caller waits for them. */
  readonly unanswered: { readonly hold: () => void; readonly release: () => void } | undefined;
  /** Sends the write. @throws AutoscalerError */
  put(to: number, read: Read, signal: AbortSignal): Promise<IncreaseAnswer>;
  /** Azure accepted the write. Returns the increase if it can be undone later. */
  noteAccepted(request: IncreaseRequest, read: Read, answer: IncreaseAnswer): OwnIncrease | undefined;
  /** Where a lack of capacity applies. */
  hintsOf(read: Read): ErrorHints;
  /** A lost write left no trace beyond the size. Called after `readShown`. @throws AutoscalerError */
  isUntouched(read: Read, signal: AbortSignal): Promise<boolean>;
  /** Reads the rows again. Returns the size that Azure shows now; undefined: none. @throws AutoscalerError */
  readShown(signal: AbortSignal): Promise<number | undefined>;
  /** What the written resource says of its last operation. @throws AutoscalerError */
  stateNow(signal: AbortSignal): Promise<ResourceState>;
  /** The operation of an accepted write is over. Never rejects. */
  noteEnded(): Promise<void>;
}

/** Azure's first answer to a write. */
export interface IncreaseAnswer {
  readonly operationUrl: string | undefined;
  readonly retryAfterMs: number | undefined;
  /** What the answer shows of the new size. */
  readonly acceptance: Acceptance;
  /** Of the accepted request, for Azure's support if it fails late. If absent, unknown. */
  readonly correlationId?: string | undefined;
}

interface Increase<Read extends SizeRead> {
  readonly backend: IncreaseBackend<Read>;
  readonly request: IncreaseRequest;
  /** Called with the new size when a write that was sent is not answered soon. */
  readonly onUnanswered: (target: number) => void;
}

/** How long the caller waits for the answer to a write that was sent. */
const PATIENCE_MS = 1_000;

/** See the port. The lock is held until Azure has answered, not while the operation runs. */
export function increaseSize<Read extends SizeRead>(
  deps: WriteDeps,
  group: RegisteredGroup,
  increase: Omit<Increase<Read>, 'onUnanswered'>,
  signal: AbortSignal,
): Promise<AnsweredIncrease | UnansweredIncrease> {
  const unanswered = Promise.withResolvers<number>();
  const answer = deps.locks.hold(increase.backend.lockKey, signal, async () => {
    const outcome = await tryIncrease(deps, group, { ...increase, onUnanswered: unanswered.resolve }, signal);
    const { writes, nodes, conflicts } = deps.metrics.scaleUp;
    writes.inc({ node_group: group.id, outcome: outcome.kind });
    if (outcome.kind === 'accepted') nodes.inc({ node_group: group.id }, increase.request.to - increase.request.from);
    if (outcome.kind === 'conflict') conflicts.inc({ node_group: group.id });
    return outcome;
  });
  const sent = unanswered.promise.then((target) => ({ kind: 'sent', group: group.id, target, answer }) as const);
  return Promise.race([answer, sent]);
}

async function tryIncrease<Read extends SizeRead>(
  deps: WriteDeps,
  group: RegisteredGroup,
  increase: Increase<Read>,
  signal: AbortSignal,
): Promise<AnsweredIncrease> {
  const { backend, request } = increase;
  // Another group of the same resource was quicker. From now on the view shows that, and the next plan uses other groups.
  const held = backend.heldReason();
  if (held !== undefined) return busy(group, describeBlock(held));
  try {
    const read = await backend.read(signal);
    if (read === undefined) return { kind: 'refused', group: group.id, reason: `there is no agent pool for "${group.id}"` };
    // guard: an increase that waited for its turn obeys the maximum of a schedule
    const refusal =
      checkPause(deps, group) ?? backend.checkIncrease(request, read) ?? checkShown({ ...group, ...deps.limitsOf(group) }, request, read);
    return refusal ?? (await writeSize(deps, group, { ...increase, read }, signal));
  } catch (thrown) {
    return { kind: 'failed', group: group.id, error: asAutoscalerError(thrown) };
  }
}

/** A pause may have begun while the write waited for its turn. */
export function checkPause({ pausedBecause }: WriteDeps, group: RegisteredGroup): AnsweredIncrease | undefined {
  const reason = pausedBecause(group, 'increase');
  // guard: an increase that waited for its turn obeys a pause
  return reason === undefined ? undefined : busy(group, reason);
}

/** The group takes no write for a while, which says nothing against it. */
export function busy({ id }: RegisteredGroup, reason: string): AnsweredIncrease {
  return { kind: 'refused', group: id, reason, busy: true };
}

/** The guards that hold for every group. `target` includes our unconfirmed changes. undefined: nothing against the increase. */
export function checkRequest(group: RegisteredGroup, request: IncreaseRequest, target: number | undefined): AnsweredIncrease | undefined {
  const refused = (reason: string): AnsweredIncrease => ({ kind: 'refused', group: group.id, reason });
  if (target === undefined) return refused('its size is unknown');
  // guard: an increase is a whole number above the size that it was planned from
  if (!Number.isInteger(request.to) || request.to <= request.from)
    return refused(`increase from ${request.from} to ${request.to} rejected: not an increase`);
  // guard: an increase writes only over the number that it was planned from
  // A newer tag with the same number is the better condition for the write.
  if (target !== request.from) return { kind: 'conflict', group: group.id, observed: target };
  // guard: no size above the maximum is written
  if (request.to > group.max) return refused(`${request.to} is above its maximum of ${group.max}`);
  return undefined;
}

/** The guards over the size that Azure shows. undefined: nothing against the increase. */
function checkShown(group: RegisteredGroup, request: IncreaseRequest, read: SizeRead): AnsweredIncrease | undefined {
  const refused = (reason: string): AnsweredIncrease => ({ kind: 'refused', group: group.id, reason });
  const { shown } = read;
  if (shown === undefined) return refused('its size is unknown');
  // Our own deletions explain a larger number, but not a smaller one.
  // guard: a size that other writers lowered during a deletion is not written over
  if (shown < request.from) return refused(`Azure shows ${shown} instances where ${request.from} are expected; another writer changed it`);
  const to = numberToWrite(request, shown);
  // guard: growth during a deletion does not pass the maximum
  if (to <= group.max) return undefined;
  if (shown === request.from) return refused(`${to} is above its maximum of ${group.max}`);
  const counted = `Azure still counts ${shown - request.from} instances that are being deleted`;
  return refused(`${counted}, and ${to} with the new ones is above its maximum of ${group.max}`);
}

/** The size just read plus the new nodes. Azure subtracts accepted deletions from it when it counts them. */
function numberToWrite({ from, to }: IncreaseRequest, shown: number): number {
  // guard: growth during a deletion adds to the capacity just read
  return shown + to - from;
}

interface Write<Read extends SizeRead> extends Increase<Read> {
  readonly read: Read;
}

async function writeSize<Read extends SizeRead>(
  deps: WriteDeps,
  group: RegisteredGroup,
  write: Write<Read>,
  signal: AbortSignal,
): Promise<AnsweredIncrease> {
  const { backend, request, read } = write;
  const { shown = request.from } = read;
  const to = numberToWrite(request, shown);
  const lags = shown !== request.from;
  const { key } = group;
  const mutation = backend.sizes.beginMutation(
    lags ? { kind: 'add', key, count: request.to - request.from } : { kind: 'set-target', key, target: to },
  );
  try {
    const answer = await answerTo(deps, write, backend.put(to, read, signal));
    // The answer counts instances that are being deleted, so its number is not the size that the increase leads to.
    mutation.accepted(lags ? NO_CONTENT : answer.acceptance);
    deps.inventory.changes.noteIncrease(group.key);
    const ownIncrease = backend.noteAccepted(request, read, answer);
    followIncrease(deps, group, { ...write, answer, mutation, ownIncrease });
    return { kind: 'accepted', group: group.id, target: backend.sizes.view(group.key)?.target ?? request.to };
  } catch (thrown) {
    const error = withScope(asAutoscalerError(thrown), backend.hintsOf(read));
    if (error.code === HELD_BACK) {
      mutation.settle('refused');
      return busy(group, error.message);
    }
    try {
      return await refusedOrLost(deps, group, { ...write, to, mutation, error }, signal);
    } finally {
      // guard: a write without success holds its pool no longer than it takes to read back
      backend.unanswered?.release();
    }
  }
}

/** Resolves with the answer. If that takes long, the caller waits no longer, and the resource takes no other write meanwhile. */
async function answerTo<Read extends SizeRead>(
  { clock }: WriteDeps,
  { backend: { unanswered }, request, onUnanswered }: Write<Read>,
  sent: Promise<IncreaseAnswer>,
): Promise<IncreaseAnswer> {
  if (unanswered === undefined) return sent;
  const answered = new AbortController();
  const late = clock.sleep(PATIENCE_MS, answered.signal).then(
    () => {
      // guard: a pool with an unanswered write takes no other one
      unanswered.hold();
      // guard: a write that takes long holds up no other pool
      onUnanswered(request.to);
    },
    () => undefined,
  );
  try {
    return await sent;
  } finally {
    endWaits(answered);
    await late;
  }
}

interface FailedWrite<Read extends SizeRead> extends Write<Read> {
  /** The number that was written. */
  readonly to: number;
  readonly mutation: Mutation;
  readonly error: AutoscalerError;
}

/**
 * Another writer's change is a conflict, and so is a number that moved. A write without a trace is a refusal, whatever its answer was.
 */
async function refusedOrLost<Read extends SizeRead>(
  deps: WriteDeps,
  group: RegisteredGroup,
  { backend, request, read, to, mutation, error }: FailedWrite<Read>,
  signal: AbortSignal,
): Promise<AnsweredIncrease> {
  const lost = isEffectUnknown(error);
  mutation.settle(lost ? 'unknown' : 'refused');
  const failed = { kind: 'failed', group: group.id, error } as const;
  if (!isReadAfter(error)) return failed;
  const shown = await readBack(deps, group, backend, signal);
  const conflict = { kind: 'conflict', group: group.id, observed: backend.sizes.view(group.key)?.target } as const;
  // guard: a lost race is planned again
  if (isPreconditionFailed(error)) return conflict;
  if (shown === undefined) return failed;
  if (!lost && shown !== read.shown) return conflict;
  // guard: work of AKS itself says nothing against the pool
  if (isOperationInProgress(error)) {
    // guard: AKS at work is not asked in each loop
    deps.ownWrites.backoffs.recordInProgress(group.key, error, deps.clock.now());
    return busy(group, error.message);
  }
  if (!lost) return failed;
  if (shown === read.shown)
    return (await isUntouched(deps, group, { backend, read }, signal)) ? { ...failed, error: withoutEffect(error) } : failed;
  // Azure carried the request out although its answer was lost, or another writer came first.
  if (shown !== to) return conflict;
  deps.inventory.changes.noteIncrease(group.key);
  deps.log.warn({ nodeGroup: group.id, target: request.to }, 'Increase took effect although its answer was lost');
  return { kind: 'accepted', group: group.id, target: request.to };
}

/** Whether the rows may have changed by, or before, a write that failed like this. */
function isReadAfter(error: AutoscalerError): boolean {
  // guard: a write whose answer was lost is read back
  return error.kind !== 'cancelled' && (isEffectUnknown(error) || error.kind === 'conflict' || error.kind === 'not-found');
}

/** False if it could not be read: the effect then stays unknown. */
async function isUntouched<Read extends SizeRead>(
  deps: WriteDeps,
  group: RegisteredGroup,
  { backend, read }: Pick<FailedWrite<Read>, 'backend' | 'read'>,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    return await backend.isUntouched(read, signal);
  } catch (thrown) {
    deps.log.warn({ nodeGroup: group.id, err: asAutoscalerError(thrown) }, 'Could not read the node group after a write');
    return false;
  }
}

/** The size that Azure shows. undefined: it could not be read; the rows then count as stale, and the next loop sees them so. */
async function readBack<Read extends SizeRead>(
  deps: WriteDeps,
  group: RegisteredGroup,
  backend: IncreaseBackend<Read>,
  signal: AbortSignal,
): Promise<number | undefined> {
  try {
    return await backend.readShown(signal);
  } catch (thrown) {
    deps.log.warn({ nodeGroup: group.id, err: asAutoscalerError(thrown) }, 'Could not read the node group after a write');
    return undefined;
  }
}

interface AcceptedWrite<Read extends SizeRead> extends Write<Read> {
  readonly answer: IncreaseAnswer;
  readonly mutation: Mutation;
  /** undefined: it is unknown which part of the size is ours, or the size cannot be lowered by a write. */
  readonly ownIncrease: OwnIncrease | undefined;
}

function followIncrease<Read extends SizeRead>(deps: WriteDeps, group: RegisteredGroup, accepted: AcceptedWrite<Read>): void {
  const { backend, request, read, answer } = accepted;
  const { mutation, ownIncrease } = accepted;
  const ending = { requested: request.to - request.from, mutation, ownIncrease, correlationId: answer.correlationId };
  deps.tracker.follow({
    resource: backend.resourceOf(read),
    url: answer.operationUrl,
    retryAfterMs: answer.retryAfterMs,
    hints: backend.hintsOf(read),
    resourceState: (signal) => backend.stateNow(signal),
    onEnd: (end) => {
      endIncrease(deps, group, ending, end);
      void backend.noteEnded();
    },
  });
}
