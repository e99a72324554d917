import type { Clock } from '../../lib/clock.ts';
import { asAutoscalerError, reactionTo, type AutoscalerError } from '../../lib/errors.ts';
import type { InstanceKey, NodeGroupId } from '../../domain/ids.ts';
import type { DeleteOutcome } from '../../domain/outcome.ts';
import type { CloudNodeGroups, DeleteRequest } from '../../domain/ports/cloud.ts';

/** How long the first ready node of a group waits for others, so that one call names them all. */
const GATHER_MS = 200;
const ATTEMPTS = 3;
const RETRY_MS = 5_000;
const LONGEST_RETRY_MS = 30_000;

interface Batch {
  readonly instances: InstanceKey[];
  readonly outcome: Promise<DeleteOutcome>;
}

/** Joins the deletions of one group that become ready in the same moment. Owns the batches being gathered. */
export class DeleteBatches {
  readonly #cloud: CloudNodeGroups;
  readonly #clock: Clock;
  readonly #gathering = new Map<NodeGroupId, Batch>();

  constructor(deps: { readonly cloud: CloudNodeGroups; readonly clock: Clock }) {
    this.#cloud = deps.cloud;
    this.#clock = deps.clock;
  }

  /**
   * Deletes one node's instance. `before` may still call it off while the batch is gathered; once the call is made only
   * `during` ends it, because a deletion cut off in the middle would be a guess.
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

/** Deleting by id is safe to repeat: every attempt begins with a fresh read. Not-found is success. */
export async function deleteWithRetry(
  request: DeleteRequest,
  tools: { readonly cloud: CloudNodeGroups; readonly clock: Clock },
  signal: AbortSignal,
): Promise<DeleteOutcome> {
  for (let attempt = 1; ; attempt++) {
    const outcome = await attemptDelete(request, tools.cloud, signal);
    if (outcome.kind !== 'failed') return outcome;
    if (outcome.error.kind === 'not-found') return { kind: 'accepted', group: request.group, instances: request.instances };
    if (attempt >= ATTEMPTS || signal.aborted || reactionTo(outcome.error) !== 'refresh-and-replan') return outcome;
    await tools.clock.sleep(pauseAfter(outcome.error), signal);
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
  const asked = error.detail.kind === 'throttled' ? error.detail.retryAfterMs : undefined;
  return Math.min(LONGEST_RETRY_MS, asked ?? RETRY_MS);
}
