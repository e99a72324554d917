/**
 * The deletion of all nodes of a group that is of use only as a whole: none is asked for before every node is ready, and
 * the first that cannot go calls off the others. Knows nothing of how a node is made ready (drain-node.ts).
 */
import type { DeleteOutcome } from '../../domain/outcome.ts';
import type { InstanceKey, NodeGroupId } from '../../domain/ids.ts';
import { deleteWithRetry, type DeleteBatches } from './delete-batches.ts';
import type { DrainDeps } from '../deps/loop-deps.ts';

/** Owns one such deletion, from the first node that is ready to Azure's answer. */
export class WholeDeletion implements Pick<DeleteBatches, 'delete'> {
  readonly #nodes: number;
  readonly #deps: Pick<DrainDeps, 'cloud' | 'clock'>;
  readonly #ready: InstanceKey[] = [];
  readonly #outcome = Promise.withResolvers<DeleteOutcome>();
  readonly #calledOff = new AbortController();
  #because: string | undefined;
  #isSent = false;

  /** `nodes`: how many there are to wait for. */
  constructor(nodes: number, deps: Pick<DrainDeps, 'cloud' | 'clock'>) {
    this.#nodes = nodes;
    this.#deps = deps;
    // Called off before anybody waits: then nobody hears of it here.
    this.#outcome.promise.catch(() => undefined);
  }

  /** Fires when one of the nodes cannot go. */
  get calledOff(): AbortSignal {
    return this.#calledOff.signal;
  }

  /** Why the others were called off; undefined: they were not. */
  get because(): string | undefined {
    return this.#because;
  }

  /** The node whose work failed says so. After the call to Azure it changes nothing: its answer is everybody's. */
  callOff(reason: string): void {
    if (this.#isSent || this.#because !== undefined) return;
    this.#because = `it goes with its group or not at all, and ${reason}`;
    this.#calledOff.abort();
  }

  /** One more node is ready; answers when all are and Azure has spoken. Throws `cancelled` when `before` fires first. */
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
    const aborted = Promise.withResolvers<never>();
    const giveUp = (): void => {
      if (!this.#isSent) aborted.reject(signals.before.reason);
    };
    signals.before.addEventListener('abort', giveUp, { once: true });
    try {
      return await Promise.race([this.#outcome.promise, aborted.promise]);
    } finally {
      signals.before.removeEventListener('abort', giveUp);
    }
  }
}
