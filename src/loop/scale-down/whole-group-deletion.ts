/**
 * The deletion of all nodes of an atomic group. Nothing is deleted before every node is drained, and the first failure
 * cancels the others. Must not know how a node is drained (drain-node.ts).
 */
import type { InstanceKey, NodeGroupId } from '../../domain/ids.ts';
import {
  deleteWithRetry,
  LastLooks,
  type DeleteBatches,
  type DeletionSignals,
  type NodeDeletion,
  type ReadyNode,
} from './delete-batches.ts';
import type { DrainDeps } from '../deps/loop-deps.ts';
import { PLAIN_DELETE } from '../../domain/ports/cloud.ts';
import { onAbort, withAbort } from '../../lib/abort.ts';

/** Owns one such deletion, from the first drained node to Azure's response. */
export class WholeGroupDeletion implements Pick<DeleteBatches, 'delete'> {
  readonly #nodes: number;
  readonly #deps: Pick<DrainDeps, 'cloud' | 'clock'>;
  readonly #ready: ReadyNode[] = [];
  readonly #outcome = Promise.withResolvers<NodeDeletion>();
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
  async delete(group: NodeGroupId, node: ReadyNode, signals: DeletionSignals): Promise<NodeDeletion> {
    signals.before.throwIfAborted();
    this.#ready.push(node);
    if (this.#ready.length === this.#nodes) {
      this.#isSent = true;
      this.#send(group, signals).then(this.#outcome.resolve, this.#outcome.reject);
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
  /** If one node must not be deleted, none is. */
  async #send(group: NodeGroupId, { during }: DeletionSignals): Promise<NodeDeletion> {
    const looks = new LastLooks(this.#ready);
    let spared: string | undefined;
    const objections = async (instances: readonly InstanceKey[], signal: AbortSignal): Promise<ReadonlyMap<InstanceKey, string>> => {
      const [first] = await looks.look(instances, signal);
      if (first !== undefined) spared = `the group is removed as a whole or not at all, and ${first[0]} cannot be: ${first[1]}`;
      // guard: one node that must stay keeps its whole group
      return new Map(instances.flatMap((instance) => (spared === undefined ? [] : [[instance, spared]])));
    };
    const request = { ...PLAIN_DELETE, group, instances: this.#ready.map(({ instance }) => instance), allowBelowMin: false, objections };
    const outcome = await deleteWithRetry(request, this.#deps, during);
    return spared === undefined ? outcome : { kind: 'spared', reason: spared };
  }
}
