/**
 * Removes machines of agent pools through AKS, by name, after a fresh read of the pool and of its machines. AKS takes one
 * operation per pool: a removal waits for the one of ours that runs, since a drained node that is not deleted was drained
 * for nothing.
 */
import type { Mutation } from '../../cache/table/mutation.ts';
import type { Row } from '../../cache/table/row.ts';
import { asAutoscalerError } from '../../lib/errors.ts';
import type { InstanceKey } from '../../domain/ids.ts';
import type { DeleteOutcome } from '../../domain/outcome.ts';
import type { DeleteRequest } from '../../domain/ports/cloud.ts';
import { postDeleteMachines, type PoolAnswer } from '../arm/agent-pool-api.ts';
import type { WriteParts } from './write-context.ts';
import type { OperationEnd } from '../arm/operations.ts';
import { whenPoolIsFree } from './pool-turn.ts';
import type { Registered } from '../groups/registry.ts';
import type { InstanceRow } from '../rows/scale-set.ts';
import { sizeFrozenBecause } from '../groups/vms-pool-groups.ts';
import { poolKeyOf } from '../rows/vms-pool.ts';

type Machine = Row<InstanceRow>;

/** See the port. Machines that are gone, or already going, are success. */
export async function deleteFromPool(
  parts: WriteParts,
  group: Registered,
  request: DeleteRequest,
  signal: AbortSignal,
): Promise<DeleteOutcome> {
  try {
    return await whenPoolIsFree(parts, poolKeyOf(group.key), () => attempt(parts, group, request, signal), signal);
  } catch (thrown) {
    return { kind: 'failed', group: group.id, error: asAutoscalerError(thrown) };
  }
}

async function attempt(parts: WriteParts, group: Registered, request: DeleteRequest, signal: AbortSignal): Promise<DeleteOutcome> {
  const { instances, vmsPools } = parts.store;
  const keys = [...new Set(request.instances)];
  const refused = (reason: string): DeleteOutcome => ({ kind: 'refused', group: group.id, reason });
  const foreign = keys.find((key) => (instances.get(key)?.value.group ?? group.key) !== group.key);
  if (foreign !== undefined) return refused(`${foreign} does not belong to it`);
  const meant = new Map(keys.map((key) => [key, instances.get(key)?.value.vmId ?? '']));
  await Promise.all([vmsPools.refresh(group.key, signal), parts.store.refreshInstances(group.key, signal)]);
  const present = keys.flatMap((key) => instances.get(key) ?? []);
  const other = present.find(({ key, value }) => isAnother(meant.get(key as InstanceKey) ?? '', value.vmId));
  if (other !== undefined) return refused(`${other.key} is another machine than the one that was meant`);
  const machines = present.filter(({ key, value }) => value.state !== 'deleting' && instances.removalOf(key) !== 'under-way');
  // Before anything that could refuse: a machine that goes already needs no permission.
  if (machines.length === 0) return { kind: 'accepted', group: group.id, instances: keys };
  const frozen = sizeFrozenBecause(group.id, vmsPools.sizes.get(group.key)?.value, false);
  if (frozen !== undefined) return refused(frozen);
  const reason = belowMinimum(parts, group, { machines, allowed: request.allowBelowMin });
  return reason === undefined ? send(parts, group, { machines, keys }, signal) : refused(reason);
}

/** An unknown identity before the read is no reason to doubt: the key was never seen with another one. */
function isAnother(before: string, now: string): boolean {
  return before !== '' && now !== '' && before !== now;
}

/** Why the group may not lose these; undefined: it may. Counted both in what AKS aims at and in machines that stay. */
function belowMinimum(
  { store }: WriteParts,
  group: Registered,
  removal: { readonly machines: readonly Machine[]; readonly allowed: boolean },
): string | undefined {
  const view = store.vmsPools.sizes.view(group.key);
  if (view?.low === undefined) return 'its size is not known';
  if (!view.confirmed) return 'the outcome of an earlier change is not known yet';
  if (removal.allowed) return undefined;
  const going = new Set(removal.machines.map(({ key }) => key));
  const staying = [...store.instances.scope(group.key).values()].filter(
    ({ key, value }) => !going.has(key) && value.state !== 'deleting' && value.state !== 'failed',
  );
  const left = Math.min(view.low - going.size, staying.length);
  return left >= group.min ? undefined : `removing ${going.size} would leave ${left}, its minimum is ${group.min}`;
}

interface Batch {
  readonly machines: readonly Machine[];
  /** Everything the caller asked for. */
  readonly keys: readonly InstanceKey[];
  /** True: sent before, with machines that were gone by then. */
  readonly again?: boolean;
}

async function send(parts: WriteParts, group: Registered, batch: Batch, signal: AbortSignal): Promise<DeleteOutcome> {
  const { instances, vmsPools } = parts.store;
  const pool = vmsPools.sizes.get(group.key)?.value.pool ?? '';
  const mutations = [
    vmsPools.sizes.beginMutation({ kind: 'remove', key: group.key, count: batch.machines.length }),
    instances.beginMutation({ kind: 'remove-rows', keys: batch.machines.map(({ key }) => key) }),
  ];
  try {
    const names = batch.machines.map(({ value }) => value.instanceId);
    const answer = await postDeleteMachines(parts, pool, names, signal);
    for (const mutation of mutations) mutation.accepted({});
    vmsPools.operationBegan(group.key);
    follow(parts, group, { batch, pool, answer, mutations });
    return { kind: 'accepted', group: group.id, instances: batch.keys };
  } catch (thrown) {
    const error = asAutoscalerError(thrown);
    const lost = error.kind === 'cancelled' || (error.detail.kind === 'unavailable' && error.detail.effect === 'unknown');
    for (const mutation of mutations) mutation.settle(lost ? 'unknown' : 'refused');
    const unknownName = error.kind === 'bug' || error.kind === 'not-found';
    const left = unknownName && batch.again !== true ? await stillThere(parts, group, batch, signal) : undefined;
    if (left === undefined) return { kind: 'failed', group: group.id, error };
    parts.log.info({ nodeGroup: group.id, code: error.code, left: left.length }, 'a delete named machines that were gone');
    if (left.length === 0) return { kind: 'accepted', group: group.id, instances: batch.keys };
    return send(parts, group, { machines: left, keys: batch.keys, again: true }, signal);
  }
}

/**
 * AKS refuses a whole batch for one machine that it does not know, and does not say which. The machines of the batch that
 * are still listed; undefined: all of them, so that this was not the reason.
 */
async function stillThere(
  parts: WriteParts,
  group: Registered,
  { machines }: Batch,
  signal: AbortSignal,
): Promise<readonly Machine[] | undefined> {
  await parts.store.refreshInstances(group.key, signal);
  const left = machines.flatMap(({ key }) => parts.store.instances.get(key) ?? []);
  return left.length === machines.length ? undefined : left;
}

interface Accepted {
  readonly batch: Batch;
  readonly pool: string;
  readonly answer: PoolAnswer;
  readonly mutations: readonly Mutation[];
}

function follow(parts: WriteParts, group: Registered, accepted: Accepted): void {
  parts.tracker.follow({
    resource: accepted.pool,
    url: accepted.answer.operationUrl,
    retryAfterMs: accepted.answer.retryAfterMs,
    hints: {},
    onEnd: (end) => {
      const told = ended(parts, group, accepted, end);
      if (told !== undefined) void seeWhatIsLeft(parts, group, accepted.batch, told);
      void parts.store.vmsPools.operationEnded(group.key, parts.closing);
    },
  });
}

/** Answers why nobody knows how it ended; undefined: it is known, and told. */
function ended(parts: WriteParts, group: Registered, { batch, mutations }: Accepted, end: OperationEnd): string | undefined {
  const atMs = parts.clock.now();
  const instances = batch.machines.map(({ key }) => key as InstanceKey);
  const outcome = end.kind;
  parts.store.changes.removalEnded(group.key, () => mutations.forEach((mutation) => mutation.settle(outcome)));
  if (end.kind === 'succeeded') {
    parts.tell({ kind: 'delete-succeeded', group: group.id, instances, atMs });
    return undefined;
  }
  const message = end.kind === 'failed' ? `${end.failure.code}: ${end.failure.message}` : end.reason;
  parts.log.warn({ nodeGroup: group.id, instances: instances.length, reason: message }, 'a delete did not end well');
  if (end.kind !== 'failed') return message;
  parts.tell({ kind: 'delete-failed', group: group.id, instances, message, atMs });
  return undefined;
}

/** Nobody says how the delete ended (Azure forgot it, or took too long): the machines themselves do. Never rejects. */
async function seeWhatIsLeft(parts: WriteParts, group: Registered, { machines }: Batch, why: string): Promise<void> {
  const { instances } = parts.store;
  try {
    await parts.store.refreshInstances(group.key, parts.closing);
  } catch (thrown) {
    // What shows no effect for long enough is found out by whoever waits for it.
    parts.log.warn({ nodeGroup: group.id, reason: asAutoscalerError(thrown).message }, 'what a delete came to could not be read');
    return;
  }
  const isLeft = ({ key, value }: Machine): boolean => {
    const now = instances.get(key)?.value;
    return now !== undefined && now.state !== 'deleting' && !isAnother(value.vmId, now.vmId);
  };
  const left = machines.filter(isLeft).map(({ key }) => key as InstanceKey);
  const gone = machines.filter(({ key }) => instances.get(key) === undefined).map(({ key }) => key as InstanceKey);
  const atMs = parts.clock.now();
  if (left.length > 0) {
    parts.tell({ kind: 'delete-failed', group: group.id, instances: left, message: `${why}, and the machines are still there`, atMs });
  }
  if (gone.length > 0) parts.tell({ kind: 'delete-succeeded', group: group.id, instances: gone, atMs });
}
