/**
 * What follows an accepted deletion: its operation is followed to the end, which is reported as an event. A preempted one is sent once more. If the
 * end was not seen, the instances show it. Must not know what was checked before the first send.
 */
import type { Mutation } from '../../cache/table/mutation.ts';
import type { InstanceKey } from '../../domain/ids.ts';
import { AutoscalerError, asAutoscalerError } from '../../lib/errors.ts';
import { isPreempted } from '../arm/errors.ts';
import type { OperationEnd } from '../arm/operations.ts';
import type { RegisteredGroup } from '../groups/registry.ts';
import { isAnother } from './delete-checks.ts';
import { type Batch, type DeleteBackend, keysOf, type ListedInstance } from './delete-backend.ts';
import type { WriteAnswer, WriteDeps } from '../writes/write-context.ts';

interface FollowerInput {
  readonly deps: WriteDeps;
  readonly group: RegisteredGroup;
  readonly backend: DeleteBackend;
  /** The caller's. Aborted when it stops its work or loses the lease: then nothing is sent a second time. */
  readonly signal: AbortSignal;
  /** Returns what speaks against instances right before a request is sent. */
  readonly lookAt: (instances: readonly ListedInstance[]) => Promise<ReadonlyMap<InstanceKey, string>>;
}

export interface AcceptedDeletion {
  readonly batch: Batch;
  readonly resource: string;
  readonly answer: WriteAnswer;
  readonly mutations: readonly Mutation[];
  /** True: this is the second send, after a newer operation preempted the first. */
  readonly resent: boolean;
}

/** Follows the operations of one request to delete. */
export class DeletionFollower {
  readonly #input: FollowerInput;

  constructor(input: FollowerInput) {
    this.#input = input;
  }

  follow(accepted: AcceptedDeletion): void {
    this.#input.deps.tracker.follow({
      resource: accepted.resource,
      url: accepted.answer.operationUrl,
      retryAfterMs: accepted.answer.retryAfterMs,
      hints: {},
      resourceState: (signal) => this.#input.backend.stateNow(signal),
      onEnd: (end) => {
        this.#end(accepted, end);
        void this.#input.backend.noteEnded();
      },
    });
  }

  #end(accepted: AcceptedDeletion, end: OperationEnd): void {
    const group = this.#input.group;
    if (end.kind === 'failed' && isPreempted(end.failure) && !accepted.resent && this.#input.backend.resendsPreempted) {
      void this.#resend(accepted);
      return;
    }
    this.#settle(accepted, end.kind);
    const instances = keysOf(accepted.batch.instances);
    const atMs = this.#input.deps.clock.now();
    if (end.kind === 'succeeded') {
      this.#input.deps.recordEvent({ kind: 'delete-succeeded', group: group.id, instances, ...this.#remain(), atMs });
      return;
    }
    const message = end.kind === 'failed' ? `${end.failure.code}: ${end.failure.message}` : end.reason;
    this.#input.deps.log.warn({ nodeGroup: group.id, instances: instances.length, reason: message }, 'Delete did not succeed');
    if (end.kind === 'failed')
      this.#input.deps.recordEvent({ kind: 'delete-failed', group: group.id, instances, message, ...this.#remain(), atMs });
    else void this.#reportWhatIsLeft(accepted.batch, message);
  }

  #settle({ mutations }: Pick<AcceptedDeletion, 'mutations'>, outcome: 'succeeded' | 'failed' | 'unknown'): void {
    this.#input.deps.inventory.changes.settleDeletion(this.#input.group.key, () =>
      mutations.forEach((mutation) => mutation.settle(outcome)),
    );
  }

  /** Used when the end was not seen: Azure forgot the operation, or it took too long. The instances show the result. Never rejects. */
  async #reportWhatIsLeft({ instances }: Batch, why: string): Promise<void> {
    const { inventory, log, clock, recordEvent } = this.#input.deps;
    const group = this.#input.group.id;
    const keys = keysOf(instances);
    try {
      await this.#input.backend.readAfterEnd(keys, this.#input.signal);
    } catch (thrown) {
      // The caller's time-out detects a delete without effect.
      log.warn({ nodeGroup: group, reason: asAutoscalerError(thrown).message }, 'Could not read the result of a delete');
      return;
    }
    const isLeft = ({ key, value }: ListedInstance): boolean => {
      const now = inventory.instances.get(key)?.value;
      if (now !== undefined && this.#input.backend.instead?.isOver(now) === true) return false;
      return now !== undefined && now.state !== 'deleting' && !isAnother(value.vmId, now.vmId);
    };
    const left = keysOf(instances.filter(isLeft));
    const gone = keys.filter((key) => !left.includes(key) && this.#isOver(key));
    const atMs = clock.now();
    if (left.length > 0)
      recordEvent({ kind: 'delete-failed', group, instances: left, message: `${why}, and the instances still exist`, atMs });
    if (gone.length > 0) recordEvent({ kind: 'delete-succeeded', group, instances: gone, ...this.#remain(), atMs });
  }

  #isOver(key: InstanceKey): boolean {
    const now = this.#input.deps.inventory.instances.get(key)?.value;
    return now === undefined || this.#input.backend.instead?.isOver(now) === true;
  }

  #remain(): { readonly remain?: true } {
    return this.#input.backend.instead === undefined ? {} : { remain: true };
  }

  /** Never rejects. The outcome of the second send is reported like that of the first. */
  async #resend(accepted: AcceptedDeletion): Promise<void> {
    const { batch, resource } = accepted;
    try {
      const beforeSend = async (): Promise<void> => {
        const [reason] = (await this.#input.lookAt(batch.instances)).values();
        if (reason !== undefined) throw new AutoscalerError({ kind: 'conflict' }, reason);
      };
      const answer = await this.#input.backend.post(resource, { ...batch, beforeSend }, this.#input.signal);
      this.follow({ ...accepted, answer, resent: true });
    } catch (thrown) {
      this.#settle(accepted, 'unknown');
      const { message } = asAutoscalerError(thrown);
      const atMs = this.#input.deps.clock.now();
      this.#input.deps.recordEvent({
        kind: 'delete-failed',
        group: this.#input.group.id,
        instances: keysOf(batch.instances),
        message,
        atMs,
      });
    }
  }
}
