/**
 * Increases of groups that stop instances: stopped ones are started by name first, and the rest is created. In such a group a size counts what
 * runs, and the capacity of its scale set counts the stopped ones, too.
 */
import { describeBlock } from '../../domain/group-blocks.ts';
import type { InstanceKey } from '../../domain/ids.ts';
import type { AnsweredIncrease } from '../../domain/outcome.ts';
import type { IncreaseRequest, UnansweredIncrease } from '../../domain/ports/cloud.ts';
import { asAutoscalerError, type AutoscalerError, isEffectUnknown } from '../../lib/errors.ts';
import { compareBy } from '../../lib/comparison.ts';
import { isOperationInProgress, isPreempted } from '../arm/errors.ts';
import type { OperationEnd } from '../arm/operations.ts';
import { HELD_BACK } from '../arm/rate-limits.ts';
import { allowedSize } from '../groups/pool-limit.ts';
import type { RegisteredGroup } from '../groups/registry.ts';
import { describeCounting } from '../groups/stopped-counts.ts';
import { readEach } from '../deletes/delete-backends.ts';
import { busy, checkPause, checkRequest } from '../writes/increase.ts';
import type { WriteDeps } from '../writes/write-context.ts';
import { startBackendOf, type StartBackend, type StoppedRow } from './start-backends.ts';

type Create = (
  deps: WriteDeps,
  group: RegisteredGroup,
  request: IncreaseRequest,
  signal: AbortSignal,
) => Promise<AnsweredIncrease | UnansweredIncrease>;

/** If more are to be started, one list is read instead of each. */
const READ_EACH_AT_MOST = 12;

/** See the port. `create` writes the capacity. */
export async function increaseWithStopped(
  deps: WriteDeps,
  group: RegisteredGroup,
  { request, create }: { readonly request: IncreaseRequest; readonly create: Create },
  signal: AbortSignal,
): Promise<AnsweredIncrease | UnansweredIncrease> {
  if (deps.stopped.ruleOf(group.key)?.kind !== 'stops') return create(deps, group, request, signal);
  if (isStartedByAks(deps, group)) return createAndStart(deps, group, { request, create }, signal);
  const backend = startBackendOf(deps, group);
  const start = await deps.locks.hold(backend.lockKey, signal, () => startStopped(deps, group, { backend, request }, signal));
  if (typeof start !== 'number') return start;
  const from = request.from + start;
  const accepted = { kind: 'accepted', group: group.id, target: from, started: start } as const;
  if (from >= request.to) return accepted;
  const created = await createBeside(deps, group, { request: { ...request, from }, create }, signal);
  if (start === 0) return created;
  const withStarts = (outcome: AnsweredIncrease): AnsweredIncrease =>
    // guard: what was started counts although the rest could not be created
    outcome.kind === 'accepted' ? { ...outcome, started: start } : accepted;
  // guard: an answer that takes long is waited for although others were started
  if (created.kind === 'sent') return { ...created, answer: created.answer.then(withStarts) };
  return withStarts(created);
}

/** Where AKS leaves stopped machines out of its count, it starts them itself before it creates any, as it documents of its mode. */
function isStartedByAks({ stopped }: WriteDeps, { key, kind }: RegisteredGroup): boolean {
  const { counting } = stopped.of(key);
  return kind === 'vms-pool' && (counting?.known !== true || counting.how !== 'included');
}

async function createAndStart(
  deps: WriteDeps,
  group: RegisteredGroup,
  { request, create }: { readonly request: IncreaseRequest; readonly create: Create },
  signal: AbortSignal,
): Promise<AnsweredIncrease | UnansweredIncrease> {
  const started = Math.min(deps.stopped.of(group.key).stopped.length, request.to - request.from);
  const withStarts = (outcome: AnsweredIncrease): AnsweredIncrease =>
    outcome.kind === 'accepted' && started > 0 ? { ...outcome, started } : outcome;
  const outcome = await create(deps, group, request, signal);
  return outcome.kind === 'sent' ? { ...outcome, answer: outcome.answer.then(withStarts) } : withStarts(outcome);
}

/** Creates instances beside those that are stopped: the same write, in numbers of Azure. */
async function createBeside(
  deps: WriteDeps,
  group: RegisteredGroup,
  { request, create }: { readonly request: IncreaseRequest; readonly create: Create },
  signal: AbortSignal,
): Promise<AnsweredIncrease | UnansweredIncrease> {
  const { inSize: stopped, counting } = deps.stopped.of(group.key);
  if (stopped === undefined) return busy(group, describeCounting(counting));
  const allowed = allowedSize(group, deps.inventory);
  if (request.to + stopped > allowed) {
    const reason = `${request.to} nodes and ${stopped} stopped instances are more than the ${allowed} that AKS allows in a pool`;
    return { kind: 'refused', group: group.id, reason };
  }
  const more = <Limits extends { readonly max: number }>(limits: Limits): Limits => ({ ...limits, max: limits.max + stopped });
  const beside: WriteDeps = { ...deps, limitsOf: (each) => more(deps.limitsOf(each)) };
  const running = (shown: number): number => shown - (deps.stopped.of(group.key).inSize ?? stopped);
  const inNodes = (outcome: AnsweredIncrease): AnsweredIncrease => {
    if (outcome.kind === 'accepted') return { ...outcome, target: running(outcome.target) };
    return outcome.kind === 'conflict' && outcome.observed !== undefined ? { ...outcome, observed: running(outcome.observed) } : outcome;
  };
  const outcome = await create(beside, more(group), { ...request, from: request.from + stopped, to: request.to + stopped }, signal);
  if (outcome.kind !== 'sent') return inNodes(outcome);
  return { ...outcome, target: running(outcome.target), answer: outcome.answer.then(inNodes) };
}

/** Returns how many instances are being started, or why nothing more may be done. Called under the lock of the group. */
async function startStopped(
  deps: WriteDeps,
  group: RegisteredGroup,
  { backend, request }: Start,
  signal: AbortSignal,
): Promise<number | AnsweredIncrease> {
  // guard: after a failed start, new instances are created
  if (deps.stopped.startClosure(group.key) !== undefined) return 0;
  const wanted = deps.stopped.of(group.key).stopped.toSorted(compareBy(({ key }) => key));
  if (wanted.length === 0) return 0;
  const held = backend.heldReason();
  if (held !== undefined) return busy(group, describeBlock(held));
  try {
    const nodes = request.to - request.from;
    const against = await backend.prepare(signal);
    if (against !== undefined) return against;
    const asked = deps.inventory.order.tick();
    await readAgain(deps, group, keysOf(wanted.slice(0, nodes)), signal);
    const refusal = checkStart(deps, group, { backend, request });
    if (refusal !== undefined) return refusal;
    const { stopped } = deps.stopped.of(group.key);
    const isRead = (key: string): boolean => (deps.inventory.instances.seen(key)?.restSeq ?? 0) > asked;
    // What a fresh read does not show any more is not named: Azure would refuse all of them.
    const named = wanted.slice(0, nodes).filter(({ key }) => isRead(key) && stopped.some((row) => row.key === key));
    return await sendStarts(deps, group, { backend, requests: backend.requestsOf(named) }, signal);
  } catch (thrown) {
    return { kind: 'failed', group: group.id, error: asAutoscalerError(thrown) };
  }
}

interface Start {
  readonly backend: StartBackend;
  readonly request: IncreaseRequest;
}

/** The guards over the sizes. undefined: nothing is against the start. */
function checkStart(deps: WriteDeps, group: RegisteredGroup, { backend, request }: Start): AnsweredIncrease | undefined {
  const { inSize, counting } = deps.stopped.of(group.key);
  // What was just read may contradict what the pool has shown.
  if (inSize === undefined) return busy(group, describeCounting(counting));
  const target = backend.target();
  // guard: a start that waited for its turn obeys a pause
  const paused = checkPause(deps, group);
  // guard: a start leaves the size at or below the maximum
  return paused ?? checkRequest({ ...group, ...deps.limitsOf(group) }, request, target === undefined ? undefined : target - inSize);
}

/** Sends the requests one after the other, and none after one that Azure refused. Returns how many instances are being started. */
async function sendStarts(
  deps: WriteDeps,
  group: RegisteredGroup,
  { backend, requests }: { readonly backend: StartBackend; readonly requests: readonly (readonly StoppedRow[])[] },
  signal: AbortSignal,
): Promise<number | AnsweredIncrease> {
  let started = 0;
  for (const rows of requests) {
    const sent = await sendStart(deps, group, { backend, rows }, signal);
    // guard: what was started counts although another start failed
    if (typeof sent !== 'number') return started > 0 ? started : sent;
    started += sent;
    if (sent === 0) break;
  }
  return started;
}

async function readAgain(deps: WriteDeps, group: RegisteredGroup, keys: readonly InstanceKey[], signal: AbortSignal): Promise<void> {
  const areSingle = keys.length <= Math.min(READ_EACH_AT_MOST, deps.inventory.reads.singleReadsLeft(group.key, { toDelete: true }));
  const isRead = areSingle && (await readEach(deps, { group, keys }, signal));
  if (!isRead) await deps.inventory.reads.want({ what: 'instances', group: group.key }).served(signal);
}

async function sendStart(
  deps: WriteDeps,
  group: RegisteredGroup,
  { backend, rows }: { readonly backend: StartBackend; readonly rows: readonly StoppedRow[] },
  signal: AbortSignal,
): Promise<number | AnsweredIncrease> {
  const mutation = deps.stopped.begin('start', group.key, rows);
  try {
    const answer = await backend.post(rows, signal);
    deps.inventory.changes.noteIncrease(group.key);
    deps.log.info({ nodeGroup: group.id, instances: rows.length }, 'Stopped instances started');
    deps.tracker.follow({
      resource: backend.resourceOf(rows),
      url: answer.operationUrl,
      retryAfterMs: answer.retryAfterMs,
      hints: {},
      resourceState: (over) => backend.stateNow(rows, over),
      onEnd: (end) => {
        const isOver = end.kind === 'succeeded';
        mutation.settle(isOver ? 'succeeded' : 'unknown');
        deps.inventory.changes.noteIncreaseEnd(group.key, isOver);
        noteEnd(deps, group, { end, keys: keysOf(rows) });
      },
    });
    return rows.length;
  } catch (thrown) {
    const error = asAutoscalerError(thrown);
    const isLost = isEffectUnknown(error);
    mutation.settle(isLost ? 'unknown' : 'refused');
    return isLost ? afterLostAnswer(deps, group, { rows, error }, signal) : afterRefusal(deps, group, { rows, error });
  }
}

/** Azure may have started them although its answer was lost: a read decides. */
async function afterLostAnswer(
  deps: WriteDeps,
  group: RegisteredGroup,
  { rows, error }: { readonly rows: readonly StoppedRow[]; readonly error: AutoscalerError },
  signal: AbortSignal,
): Promise<number | AnsweredIncrease> {
  if (error.kind !== 'cancelled') await readAgain(deps, group, keysOf(rows), signal);
  const { stopped } = deps.stopped.of(group.key);
  const started = rows.filter(({ key }) => !stopped.some((row) => row.key === key)).length;
  // guard: a start whose answer was lost is read back
  return started === rows.length && error.kind !== 'cancelled' ? started : { kind: 'failed', group: group.id, error };
}

/** What is against the request alone, or against all requests now, ends the increase. For the rest, new instances are created. */
function afterRefusal(
  deps: WriteDeps,
  group: RegisteredGroup,
  { rows, error }: { readonly rows: readonly StoppedRow[]; readonly error: AutoscalerError },
): number | AnsweredIncrease {
  if (error.code === HELD_BACK) return busy(group, error.message);
  if (isOperationInProgress(error)) {
    deps.ownWrites.backoffs.recordInProgress(group.key, error, deps.clock.now());
    return busy(group, error.message);
  }
  if (error.kind === 'throttled' || error.kind === 'unavailable') return { kind: 'failed', group: group.id, error };
  closeStarts(deps, group, keysOf(rows), error.code === undefined ? error.message : `${error.code}: ${error.message}`);
  return 0;
}

function noteEnd(
  deps: WriteDeps,
  group: RegisteredGroup,
  { end, keys }: { readonly end: OperationEnd; readonly keys: readonly InstanceKey[] },
): void {
  if (end.kind === 'succeeded') deps.stopped.openStarts(group.key);
  if (end.kind !== 'failed' || isPreempted(end.failure)) return;
  closeStarts(deps, group, keys, `${end.failure.code}: ${end.failure.message}`);
}

/** New instances are created instead for a while. */
function closeStarts(deps: WriteDeps, group: RegisteredGroup, instances: readonly InstanceKey[], message: string): void {
  const { untilMs } = deps.stopped.closeStarts(group.key, message);
  deps.log.warn({ nodeGroup: group.id, reason: message, until: new Date(untilMs).toISOString() }, 'Stopped instances could not be started');
  deps.recordEvent({ kind: 'start-failed', group: group.id, instances, message, untilMs, atMs: deps.clock.now() });
}

function keysOf(rows: readonly StoppedRow[]): readonly InstanceKey[] {
  return rows.map(({ key }) => key as InstanceKey);
}
