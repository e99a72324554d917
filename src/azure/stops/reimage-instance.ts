/**
 * Reimages one instance of a Uniform scale set: the delete protocol with another call, after which the instance and its node remain. Must not know why a
 * node is reimaged.
 */
import type { DeleteOutcome } from '../../domain/outcome.ts';
import type { DeleteRequest } from '../../domain/ports/cloud.ts';
import { foldName } from '../arm/resource-ids.ts';
import type { RegisteredGroup } from '../groups/registry.ts';
import type { DeleteBackend, SentBatch } from '../deletes/delete-backend.ts';
import { asRefusal, deleteFromGroup } from '../deletes/delete.ts';
import { scaleSetBackend } from '../deletes/delete-backends.ts';
import { untilScaleSetWritable } from '../writes/pool-turn.ts';
import { NO_ANSWER, readWriteAnswer, type WriteAnswer, type WriteDeps } from '../writes/write-context.ts';

/** See the port. */
export async function reimageInstance(
  deps: WriteDeps,
  group: RegisteredGroup,
  request: DeleteRequest,
  signal: AbortSignal,
): Promise<DeleteOutcome> {
  const { length: count } = request.instances;
  const isUniform = deps.inventory.scaleSets.get(group.key)?.value.orchestration === 'Uniform';
  // guard: only one instance is reimaged at once, and only of a Uniform scale set
  const refusal = isUniform && count === 1 ? undefined : `${count} instances of it cannot be reimaged in one call`;
  if (refusal !== undefined) return { kind: 'refused', group: group.id, reason: refusal };
  const backend = reimageBackend(deps, scaleSetBackend(deps, { group, count }, null));
  return asRefusal(await deleteFromGroup(deps, group, { backend, request }, signal));
}

/** `base` is the backend that deletes from the same scale set. */
function reimageBackend(deps: WriteDeps, base: DeleteBackend): DeleteBackend {
  return {
    ...base,
    isForced: () => false,
    // Neither the size nor the list of instances changes. How it went shows on the node.
    instead: { begin: () => [], isOver: () => true },
    post: (set, batch, signal) => postReimage(deps, set, batch, signal),
    nextBatch: () => Promise.resolve(undefined),
    // guard: a reimage that a newer operation preempted is not sent again
    resendsPreempted: false,
  };
}

/** Without a body: the OS disk of the model that the instance has, and no other version of the image. */
async function postReimage(deps: WriteDeps, set: string, { instances, beforeSend }: SentBatch, signal: AbortSignal): Promise<WriteAnswer> {
  const instanceId = instances[0]?.value.instanceId ?? '';
  let answer: WriteAnswer | undefined;
  await untilScaleSetWritable(deps, foldName(set), signal);
  await deps.calls.run({ operation: 'reimageInstance', resource: set, beforeSend }, signal, async () => {
    const poller = deps.clients.compute.virtualMachineScaleSetVMs.reimage(deps.options.nodeResourceGroup, set, instanceId, {
      onResponse: (raw) => {
        answer ??= readWriteAnswer(raw, deps.clock.now());
      },
    });
    await poller.submitted();
  });
  return answer ?? NO_ANSWER;
}
