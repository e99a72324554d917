/**
 * The room stops (deallocates) or reimages instances instead of deleting them, and starts stopped ones before others are created. A stop is the delete protocol with
 * another call and another overlay. Must not know why a node is removed.
 */
import type { Mutation } from '../../cache/table/mutation.ts';
import type { InstanceKey } from '../../domain/ids.ts';
import type { DeleteOutcome } from '../../domain/outcome.ts';
import type { DeleteRequest } from '../../domain/ports/cloud.ts';
import { foldName } from '../arm/resource-ids.ts';
import type { RegisteredGroup } from '../groups/registry.ts';
import type { DeleteBackend, SentBatch } from '../deletes/delete-backend.ts';
import { asRefusal, deleteFromGroup } from '../deletes/delete.ts';
import { deleteFromScaleSet, deleteFromVmsPool, scaleSetBackend, vmsPoolBackend } from '../deletes/delete-backends.ts';
import { untilScaleSetWritable } from '../writes/pool-turn.ts';
import { NO_ANSWER, readWriteAnswer, type WriteAnswer, type WriteDeps } from '../writes/write-context.ts';

/** See the port. Instances that may be stopped are, as far as the group may have more of them; the others are deleted. */
export async function stopOrDelete(
  deps: WriteDeps,
  group: RegisteredGroup,
  request: DeleteRequest,
  signal: AbortSignal,
): Promise<DeleteOutcome> {
  const { stops, deletes } = stopsOf(deps, group, request);
  if (stops === undefined) return deleteFromScaleSet(deps, group, request, signal);
  const backend = deallocateBackend(deps, group, scaleSetBackend(deps, { group, count: stops.instances.length }, null));
  const stopped = asRefusal(await deleteFromGroup(deps, group, { backend, request: stops }, signal));
  if (deletes === undefined) return stopped;
  const deleted = await deleteFromScaleSet(deps, group, deletes, signal);
  const accepted = [stopped, deleted].flatMap((outcome) => (outcome.kind === 'accepted' ? outcome.instances : []));
  // guard: a node that is being stopped is not freed because another one could not be deleted
  return accepted.length === 0 ? stopped : { kind: 'accepted', group: group.id, instances: accepted };
}

/**
 * See the port. Removes machines of a VMs pool through AKS, which may stop or delete them, and count them or not: what was read afterwards decides.
 */
export function stopMachines(deps: WriteDeps, group: RegisteredGroup, request: DeleteRequest, signal: AbortSignal): Promise<DeleteOutcome> {
  if (deps.stopped.ruleOf(group.key)?.kind !== 'stops') return deleteFromVmsPool(deps, group, request, signal);
  const base = vmsPoolBackend(deps, group, request.instances.length);
  const backend: DeleteBackend = {
    ...base,
    instead: {
      begin: (instances) => [...beginLowerCount(deps, group, instances.length), deps.stopped.begin('stop', group.key, instances)],
      isOver: ({ state }) => state === 'deallocated',
    },
  };
  return deleteFromGroup(deps, group, { backend, request: withinMaximum(deps, group, request) }, signal);
}

/** The count is expected to fall, unless the pool has shown that it includes stopped machines. */
function beginLowerCount({ inventory, stopped }: WriteDeps, { key }: RegisteredGroup, count: number): readonly Mutation[] {
  const { counting } = stopped.of(key);
  if (counting?.known === true && counting.how === 'included') return [];
  const lower = inventory.vmsPools.sizes.beginMutation({ kind: 'remove', key, count });
  return [
    {
      seq: lower.seq,
      accepted: (answer) => lower.accepted(answer),
      // Whether AKS lowered the count of a machine that it stopped is read, not assumed.
      settle: (outcome) => lower.settle(outcome === 'succeeded' ? 'unknown' : outcome),
    },
  ];
}

interface SplitRequest {
  /** undefined: none is stopped. */
  readonly stops: DeleteRequest | undefined;
  /** undefined: none is deleted. */
  readonly deletes: DeleteRequest | undefined;
}

/** Which instances of the request are stopped, and which are deleted: those that may not be stopped, and those beyond the maximum. */
function stopsOf(deps: Pick<WriteDeps, 'stopped'>, group: RegisteredGroup, request: DeleteRequest): SplitRequest {
  const { mayStop, instances } = request;
  const room = roomOf(deps, group);
  const stops = instances.filter((key) => mayStop.has(key)).slice(0, room);
  const deletes = instances.filter((key) => !stops.includes(key));
  const part = (keys: readonly InstanceKey[]): DeleteRequest | undefined =>
    keys.length === 0 ? undefined : { ...request, instances: keys };
  const stopped = part(stops);
  return { stops: stopped === undefined ? undefined : withinMaximum(deps, group, stopped), deletes: part(deletes) };
}

/** How many more instances of the group may be stopped. */
function roomOf({ stopped }: Pick<WriteDeps, 'stopped'>, { key }: RegisteredGroup): number {
  const rule = stopped.ruleOf(key);
  return rule?.kind === 'stops' ? Math.max(0, rule.max - stopped.of(key).counted) : 0;
}

/** Asks for the maximum right before the request is sent: another stop may have come first. */
function withinMaximum(deps: Pick<WriteDeps, 'stopped'>, group: RegisteredGroup, request: DeleteRequest): DeleteRequest {
  const { objections, failed } = request;
  return {
    ...request,
    objections: async (keys, signal) => {
      const found = await objections(keys, signal);
      // guard: no more instances are stopped than the maximum
      const beyond = keys.filter((key) => !found.has(key) && !failed.has(key)).slice(roomOf(deps, group));
      return new Map([...found, ...beyond.map((key) => [key, 'as many instances are stopped as the group may have'] as const)]);
    },
  };
}

/** `base` is the backend that deletes from the same scale set. */
function deallocateBackend(deps: WriteDeps, group: RegisteredGroup, base: DeleteBackend): DeleteBackend {
  return {
    ...base,
    isForced: () => false,
    instead: {
      begin: (instances) => [deps.stopped.begin('stop', group.key, instances)],
      isOver: ({ state }) => state === 'deallocated',
    },
    post: (set, batch, signal) => postDeallocate(deps, set, batch, signal),
    nextBatch: () => Promise.resolve(undefined),
    // A stop that was preempted is planned again as a removal.
    resendsPreempted: false,
  };
}

async function postDeallocate(
  deps: WriteDeps,
  set: string,
  { instances, beforeSend }: SentBatch,
  signal: AbortSignal,
): Promise<WriteAnswer> {
  const instanceIds = instances.map(({ value }) => value.instanceId);
  let answer: WriteAnswer | undefined;
  await untilScaleSetWritable(deps, foldName(set), signal);
  await deps.calls.run({ operation: 'deallocateInstances', resource: set, beforeSend }, signal, async () => {
    const poller = deps.clients.compute.virtualMachineScaleSets.deallocate(deps.options.nodeResourceGroup, set, {
      // guard: a stop names its instances; without names, Azure stops the whole set
      vmInstanceIDs: { instanceIds },
      onResponse: (raw) => {
        answer ??= readWriteAnswer(raw, deps.clock.now());
      },
    });
    await poller.submitted();
  });
  return answer ?? NO_ANSWER;
}
