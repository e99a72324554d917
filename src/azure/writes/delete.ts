/**
 * Removes machines by id, in one call per group, after a fresh read that each id still is the machine that the caller means.
 * Capacity is not lowered by a PUT for it. The minimum is counted with everything in flight.
 */
import type { Mutation } from '../../cache/table/mutation.ts';
import type { Row } from '../../cache/table/row.ts';
import { asAutoscalerError, AutoscalerError } from '../../lib/errors.ts';
import type { InstanceKey } from '../../domain/ids.ts';
import type { DeleteOutcome } from '../../domain/outcome.ts';
import type { DeleteRequest } from '../../domain/ports/cloud.ts';
import { foldName, setOfKey } from '../arm/resource-ids.ts';
import { removeThroughAks } from './write-through-aks.ts';
import { inactiveInstanceIds, isPlainlyNotAllowed, isPreempted } from '../arm/errors.ts';
import { allowsForce } from './delete-backends.ts';
import { readWriteAnswer, type WriteAnswer, type WriteParts } from './write-context.ts';
import type { OperationEnd } from '../arm/operations.ts';
import { whenPoolIsFree } from './pool-turn.ts';
import { POOL_UNKNOWN, type Registered } from '../groups/registry.ts';
import type { InstanceRow, ScaleSetRow } from '../rows/scale-set.ts';

/** Up to this many ids are read one by one; more cost less as one list. */
const READ_EACH_UP_TO = 5;

type Machine = Row<InstanceRow>;

/** See the port. Machines that are gone, or already going, are success. */
export async function deleteInstances(
  parts: WriteParts,
  group: Registered,
  request: DeleteRequest,
  signal: AbortSignal,
): Promise<DeleteOutcome> {
  const { store } = parts;
  const work = async (): Promise<DeleteOutcome> => {
    await untilItsTurn(parts, group.key, signal);
    return attempt(parts, group, request, signal);
  };
  try {
    if (!store.facts.isWrittenThroughAks(group)) return await parts.locks.hold(group.key, signal, work);
    const pool = store.facts.poolOf(group)?.name;
    if (pool === undefined) return { kind: 'refused', group: group.id, reason: POOL_UNKNOWN };
    return await whenPoolIsFree(parts, foldName(pool), work, signal);
  } catch (thrown) {
    return { kind: 'failed', group: group.id, error: asAutoscalerError(thrown) };
  }
}

/** Before the fresh read, so that what is read is not old when the request goes. */
async function untilItsTurn({ store, clock }: WriteParts, key: string, signal: AbortSignal): Promise<void> {
  const waitMs = store.writes.removalWaitMs(key, clock.monotonic());
  if (waitMs > 0) await clock.sleep(waitMs, signal);
}

async function attempt(parts: WriteParts, group: Registered, request: DeleteRequest, signal: AbortSignal): Promise<DeleteOutcome> {
  const { store } = parts;
  const keys = [...new Set(request.instances)];
  const refused = (reason: string): DeleteOutcome => ({ kind: 'refused', group: group.id, reason });
  const foreign = keys.find((key) => (store.instances.get(key)?.value.group ?? setOfKey(key) ?? group.key) !== group.key);
  if (foreign !== undefined) return refused(`${foreign} does not belong to it`);
  const meant = new Map(keys.map((key) => [key, store.instances.get(key)?.value.vmId ?? '']));
  await readFresh(parts, group, keys, signal);
  const present = keys.flatMap((key) => store.instances.get(key) ?? []);
  const other = present.find(({ key, value }) => isAnother(meant.get(key as InstanceKey) ?? '', value.vmId));
  if (other !== undefined) return refused(`${other.key} is another machine than the one that was meant`);
  const toDelete = present.filter(({ key, value }) => value.state !== 'deleting' && store.instances.removalOf(key) !== 'under-way');
  if (toDelete.length === 0) return { kind: 'accepted', group: group.id, instances: keys };
  const guarded = toDelete.find(({ value }) => isGuarded(value));
  if (guarded !== undefined) return refused(`${guarded.key} is protected by its owner`);
  const reason = await belowMinimum(parts, group, { count: toDelete.length, allowed: request.allowBelowMin, signal });
  if (reason !== undefined) return refused(reason);
  const force = parts.options.enableForceDelete && allowsForce(store.scaleSets.get(group.key)?.value);
  return send(parts, group, { machines: toDelete, keys, force, retried: false }, signal);
}

/** Azure refuses the whole batch for one machine that is protected from actions; scale-in is what we do to all that work. */
function isGuarded({ protectedFrom, state }: InstanceRow): boolean {
  return protectedFrom === 'actions' || (protectedFrom === 'scale-in' && state !== 'failed');
}

/** An unknown identity before the read is no reason to doubt: the key was never seen with another one. */
function isAnother(before: string, now: string): boolean {
  return before !== '' && now !== '' && before !== now;
}

async function readFresh({ store }: WriteParts, group: Registered, keys: readonly InstanceKey[], signal: AbortSignal): Promise<void> {
  const each = keys.length <= READ_EACH_UP_TO && keys.every((key) => store.instances.get(key)?.value.ref.kind === 'vmss');
  if (each) await Promise.all(keys.map((key) => store.refreshInstance(key, group.key, signal)));
  else await store.refreshInstances(group.key, signal);
}

/** Why the group may not lose so many; undefined: it may. */
async function belowMinimum(
  { store }: WriteParts,
  group: Registered,
  removal: { readonly count: number; readonly allowed: boolean; readonly signal: AbortSignal },
): Promise<string | undefined> {
  // A delete carries no condition that Azure would check: what others took since the last list must be read now.
  if (!removal.allowed || store.scaleSets.view(group.key)?.confirmed !== true) await store.refreshSet(group.key, removal.signal);
  const view = store.scaleSets.view(group.key);
  if (view?.low === undefined || view.row.value.unreadable !== undefined) return 'its size is not known';
  if (!view.confirmed) return 'the outcome of an earlier change is not known yet';
  if (store.changes.isInherited(group.key)) return 'an operation that was running in it at the start may not be over yet';
  if (removal.allowed) return undefined;
  const staying = remaining(store, group);
  // While a removal of ours runs, the size is what we expect of it: what others take meanwhile shows in the machines first.
  if (staying - removal.count < group.min)
    return `removing ${removal.count} of ${staying} machines that stay would go below its minimum of ${group.min}`;
  if (view.low - removal.count >= group.min) return undefined;
  return `removing ${removal.count} of ${view.low} would go below its minimum of ${group.min}`;
}

/** Listed machines that nobody is known to be removing. */
function remaining({ instances }: WriteParts['store'], group: Registered): number {
  const listed = [...instances.scope(group.key)];
  return listed.filter(([key, { value }]) => value.state !== 'deleting' && instances.removalOf(key) !== 'under-way').length;
}

interface Batch {
  readonly machines: readonly Machine[];
  /** Everything the caller asked for. */
  readonly keys: readonly InstanceKey[];
  readonly force: boolean;
  /** True: one retry for ids that are gone was used up. */
  readonly retried: boolean;
}

async function send(parts: WriteParts, group: Registered, batch: Batch, signal: AbortSignal): Promise<DeleteOutcome> {
  const { store } = parts;
  const set = store.scaleSets.get(group.key)?.value;
  if (set === undefined) throw new AutoscalerError({ kind: 'not-found' }, `There is no scale set named ${group.id}.`);
  const mutations = begin(parts, group, batch);
  try {
    const answer = await post(parts, group, { set, machines: batch.machines, force: batch.force }, signal);
    for (const mutation of mutations) mutation.accepted({ etag: answer.etag, expect: answer.capacity });
    follow(parts, group, { batch, set, answer, mutations, resent: false, signal });
    return { kind: 'accepted', group: group.id, instances: batch.keys };
  } catch (thrown) {
    const error = asAutoscalerError(thrown);
    const lost = error.kind === 'cancelled' || (error.detail.kind === 'unavailable' && error.detail.effect === 'unknown');
    for (const mutation of mutations) mutation.settle(lost ? 'unknown' : 'refused');
    const next = nextBatch(batch, error);
    if (next === undefined) return { kind: 'failed', group: group.id, error };
    parts.log.info({ nodeGroup: group.id, code: error.code, left: next.machines.length }, 'a delete was refused; sending it changed');
    return next.machines.length === 0 ? { kind: 'accepted', group: group.id, instances: batch.keys } : send(parts, group, next, signal);
  }
}

/** What to send instead, when the refusal tells; undefined: nothing. */
function nextBatch(batch: Batch, error: AutoscalerError): Batch | undefined {
  if (batch.force && isPlainlyNotAllowed(error)) return { ...batch, force: false };
  if (error.kind !== 'not-found' || batch.retried) return undefined;
  const gone = new Set(inactiveInstanceIds(error));
  const machines = batch.machines.filter(({ value }) => !gone.has(value.instanceId));
  // Without a name in the refusal there is nothing to leave out.
  return machines.length === batch.machines.length ? undefined : { ...batch, machines, retried: true };
}

function begin({ store }: WriteParts, group: Registered, { machines }: Batch): readonly Mutation[] {
  return [
    store.scaleSets.beginMutation({ kind: 'remove', key: group.key, count: machines.length }),
    store.instances.beginMutation({ kind: 'remove-rows', keys: machines.map(({ key }) => key) }),
  ];
}

async function post(
  parts: WriteParts,
  group: Registered,
  what: { readonly set: ScaleSetRow; readonly machines: readonly Machine[]; readonly force: boolean },
  signal: AbortSignal,
): Promise<WriteAnswer> {
  if (parts.store.facts.isWrittenThroughAks(group)) return removeThroughAks(parts, group, what.machines, signal);
  const { set } = what;
  const instanceIds = what.machines.map(({ value }) => value.instanceId);
  let answer: WriteAnswer | undefined;
  await untilItsTurn(parts, foldName(set.name), signal);
  parts.store.writes.note(foldName(set.name), parts.clock.monotonic());
  await parts.calls.run({ operation: 'deleteInstances', resource: set.name }, signal, async () => {
    const poller = parts.clients.compute.virtualMachineScaleSets.deleteInstances(
      parts.options.nodeResourceGroup,
      set.name,
      { instanceIds },
      {
        forceDeletion: what.force,
        onResponse: (raw) => {
          answer ??= readWriteAnswer(raw, parts.clock.now());
        },
      },
    );
    await poller.submitted();
  });
  return answer ?? { operationUrl: undefined, retryAfterMs: undefined, etag: undefined, capacity: undefined };
}

interface Accepted {
  readonly batch: Batch;
  readonly set: ScaleSetRow;
  readonly answer: WriteAnswer;
  readonly mutations: readonly Mutation[];
  /** True: sent a second time because a newer operation had pushed the first aside. */
  readonly resent: boolean;
  /** The caller's: who gives its work up, or no longer leads, sends nothing a second time either. */
  readonly signal: AbortSignal;
}

function follow(parts: WriteParts, group: Registered, accepted: Accepted): void {
  parts.tracker.follow({
    resource: accepted.set.name,
    url: accepted.answer.operationUrl,
    retryAfterMs: accepted.answer.retryAfterMs,
    hints: {},
    onEnd: (end) => {
      ended(parts, group, accepted, end);
      void parts.store.ownOperationEnded(group);
    },
  });
}

function ended(parts: WriteParts, group: Registered, accepted: Accepted, end: OperationEnd): void {
  const { batch, mutations } = accepted;
  const atMs = parts.clock.now();
  const instances = batch.machines.map(({ key }) => key as InstanceKey);
  const settle = (outcome: 'succeeded' | 'failed' | 'unknown'): void =>
    parts.store.changes.removalEnded(group.key, () => mutations.forEach((mutation) => mutation.settle(outcome)));
  if (end.kind === 'succeeded') {
    settle('succeeded');
    parts.tell({ kind: 'delete-succeeded', group: group.id, instances, atMs });
    return;
  }
  if (end.kind === 'failed' && isPreempted(end.failure) && !accepted.resent && !parts.store.facts.isWrittenThroughAks(group)) {
    void resend(parts, group, accepted);
    return;
  }
  settle(end.kind === 'failed' ? 'failed' : 'unknown');
  const message = end.kind === 'failed' ? `${end.failure.code}: ${end.failure.message}` : end.reason;
  parts.log.warn({ nodeGroup: group.id, instances: instances.length, reason: message }, 'a delete did not end well');
  if (end.kind === 'failed') parts.tell({ kind: 'delete-failed', group: group.id, instances, message, atMs });
  else void seeWhatIsLeft(parts, group, accepted, message);
}

/** Nobody says how the delete ended (Azure forgot it, or took too long): the machines themselves do. Never rejects. */
async function seeWhatIsLeft(parts: WriteParts, group: Registered, { batch, signal }: Accepted, why: string): Promise<void> {
  const { store } = parts;
  const keys = batch.machines.map(({ key }) => key as InstanceKey);
  try {
    await readFresh(parts, group, keys, signal);
  } catch (thrown) {
    // What shows no effect for long enough is found out by whoever waits for it.
    parts.log.warn({ nodeGroup: group.id, reason: asAutoscalerError(thrown).message }, 'what a delete came to could not be read');
    return;
  }
  const isLeft = ({ key, value }: Machine): boolean => {
    const now = store.instances.get(key)?.value;
    return now !== undefined && now.state !== 'deleting' && !isAnother(value.vmId, now.vmId);
  };
  const left = batch.machines.filter(isLeft).map(({ key }) => key as InstanceKey);
  const gone = keys.filter((key) => store.instances.get(key) === undefined);
  const atMs = parts.clock.now();
  if (left.length > 0) {
    parts.tell({ kind: 'delete-failed', group: group.id, instances: left, message: `${why}, and the machines are still there`, atMs });
  }
  if (gone.length > 0) parts.tell({ kind: 'delete-succeeded', group: group.id, instances: gone, atMs });
}

/** Never rejects: the outcome of the second try is told like that of the first. */
async function resend(parts: WriteParts, group: Registered, accepted: Accepted): Promise<void> {
  const { batch, set, mutations } = accepted;
  try {
    const answer = await post(parts, group, { set, machines: batch.machines, force: batch.force }, accepted.signal);
    follow(parts, group, { ...accepted, answer, resent: true });
  } catch (thrown) {
    const error = asAutoscalerError(thrown);
    parts.store.changes.removalEnded(group.key, () => mutations.forEach((mutation) => mutation.settle('unknown')));
    const instances = batch.machines.map(({ key }) => key as InstanceKey);
    parts.tell({ kind: 'delete-failed', group: group.id, instances, message: error.message, atMs: parts.clock.now() });
  }
}
