/**
 * The deletion of all nodes of an atomic group. Nothing is deleted before every node is drained, and the first failure
 * cancels the others. Must not know how a node is drained (drain-node.ts).
 */
import type { DeleteOutcome } from '../../domain/outcome.ts';
import type { InstanceKey, NodeGroupId } from '../../domain/ids.ts';
import { deleteWithRetry, type DeleteBatches } from './delete-batches.ts';
import type { DrainDeps } from '../deps/loop-deps.ts';
import { onAbort, withAbort } from '../../lib/abort.ts';

/** Owns one such deletion, from the first drained node to Azure's response. */
export class WholeGroupDeletion implements Pick<DeleteBatches, 'delete'> {
  readonly #nodes: number;
  readonly #deps: Pick<DrainDeps, 'cloud' | 'clock'>;
  readonly #ready: InstanceKey[] = [];
  readonly #outcome = Promise.withResolvers<DeleteOutcome>();
  readonly #cancelled = new AbortController();
  #cancelReason: string | undefined;
  #isSent = false;

  /** `nodes`: the number of nodes to wait for. */
  constructor(nodes: number, deps: Pick<DrainDeps, 'cloud' | 'clock'>) {
    this.#nodes = nodes;
    this.#deps = deps;
    // A cancellation may come before any caller waits. The rejection must not surface as unhandled.
    this.#outcome.promise.catch(() => undefined);
  }

  /** Fires when one of the nodes cannot be removed. */
  get cancelled(): AbortSignal {
    return this.#cancelled.signal;
  }

  /** Why the other removals were cancelled; undefined if they were not. */
  get cancelReason(): string | undefined {
    return this.#cancelReason;
  }

  /** Cancels the other removals after a failure. Has no effect after the call to Azure, whose outcome holds for all nodes. */
  cancel(reason: string): void {
    if (this.#isSent || this.#cancelReason !== undefined) return;
    this.#cancelReason = `the group is removed as a whole or not at all, and one removal failed: ${reason}`;
    this.#cancelled.abort();
  }

  /** Adds a drained node. Resolves after the deletion of all nodes. Throws `cancelled` when `before` fires first. */
  async delete(
    group: NodeGroupId,
    instance: InstanceKey,
    signals: { readonly before: AbortSignal; readonly during: AbortSignal },
  ): Promise<DeleteOutcome> {
    signals.before.throwIfAborted();
    this.#ready.push(instance);
    if (this.#ready.length === this.#nodes) {
      this.#isSent = true;
      const request = { group, instances: [...this.#ready], allowBelowMin: false };
      deleteWithRetry(request, this.#deps, signals.during).then(this.#outcome.resolve, this.#outcome.reject);
      return this.#outcome.promise;
    }
    const givenUp = new AbortController();
    const removeListener = onAbort(signals.before, () => {
      if (!this.#isSent) givenUp.abort();
    });
    try {
      return await withAbort(this.#outcome.promise, givenUp.signal, { error: () => signals.before.reason });
    } finally {
      removeListener();
    }
  }
}
