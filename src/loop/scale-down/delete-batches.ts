/** Joins the deletions of one node group into few calls. Must not know which nodes are deleted, and why. */
import type { Clock } from '../../lib/clock.ts';
import { asAutoscalerError, reactionTo, type AutoscalerError } from '../../lib/errors.ts';
import type { InstanceKey, NodeGroupId } from '../../domain/ids.ts';
import type { DeleteOutcome } from '../../domain/outcome.ts';
import type { CloudNodeGroups, DeleteRequest } from '../../domain/ports/cloud.ts';

/** How long the first drained node of a group waits for others, so that one call deletes them all. */
const GATHER_MS = 200;
const MAX_ATTEMPTS = 3;
const RETRY_MS = 5_000;
const LONGEST_RETRY_MS = 30_000;

interface Batch {
  readonly instances: InstanceKey[];
  readonly outcome: Promise<DeleteOutcome>;
}

/** Owns the batches that are being gathered: deletions of one group that become ready at the same moment. */
export class DeleteBatches {
  readonly #cloud: CloudNodeGroups;
  readonly #clock: Clock;
  readonly #gathering = new Map<NodeGroupId, Batch>();

  constructor(deps: { readonly cloud: CloudNodeGroups; readonly clock: Clock }) {
    this.#cloud = deps.cloud;
    this.#clock = deps.clock;
  }

  /**
   * Deletes one node's instance. `before` cancels it while the batch is gathered. After the call is sent only `during` ends
   * it, because the effect of an interrupted deletion is unknown.
   */
  delete(
    group: NodeGroupId,
    instance: InstanceKey,
    signals: { readonly before: AbortSignal; readonly during: AbortSignal },
  ): Promise<DeleteOutcome> {
    const gathering = this.#gathering.get(group);
    if (gathering !== undefined) {
      gathering.instances.push(instance);
      return gathering.outcome;
    }
    const instances = [instance];
    const batch: Batch = { instances, outcome: this.#send(group, instances, signals) };
    this.#gathering.set(group, batch);
    return batch.outcome;
  }

  async #send(
    group: NodeGroupId,
    instances: readonly InstanceKey[],
    signals: { readonly before: AbortSignal; readonly during: AbortSignal },
  ): Promise<DeleteOutcome> {
    try {
      await this.#clock.sleep(GATHER_MS, signals.before);
    } finally {
      this.#gathering.delete(group);
    }
    return deleteWithRetry(
      { group, instances: [...instances], allowBelowMin: false },
      { cloud: this.#cloud, clock: this.#clock },
      signals.during,
    );
  }
}

/** Deletion by id is safe to repeat: every attempt starts with a fresh read. Not-found counts as success. */
export async function deleteWithRetry(
  request: DeleteRequest,
  deps: { readonly cloud: CloudNodeGroups; readonly clock: Clock },
  signal: AbortSignal,
): Promise<DeleteOutcome> {
  for (let attempt = 1; ; attempt++) {
    const outcome = await attemptDelete(request, deps.cloud, signal);
    if (outcome.kind !== 'failed') return outcome;
    if (outcome.error.kind === 'not-found') return { kind: 'accepted', group: request.group, instances: request.instances };
    if (attempt >= MAX_ATTEMPTS || signal.aborted || reactionTo(outcome.error) !== 'refresh-and-replan') return outcome;
    await deps.clock.sleep(pauseAfter(outcome.error), signal);
  }
}

async function attemptDelete(request: DeleteRequest, cloud: CloudNodeGroups, signal: AbortSignal): Promise<DeleteOutcome> {
  try {
    return await cloud.deleteInstances(request, signal);
  } catch (thrown) {
    return { kind: 'failed', group: request.group, error: asAutoscalerError(thrown) };
  }
}

function pauseAfter(error: AutoscalerError): number {
  const requested = error.detail.kind === 'throttled' ? error.detail.retryAfterMs : undefined;
  return Math.min(LONGEST_RETRY_MS, requested ?? RETRY_MS);
}
