/** What one way to delete instances has to do: the contract between the protocol of deletions (`delete.ts`) and the backends. */
import type { GroupBlock } from '../../domain/group-blocks.ts';
import type { Mutation } from '../../cache/table/mutation.ts';
import type { Row } from '../../cache/table/row.ts';
import type { InstanceKey } from '../../domain/ids.ts';
import type { DeleteOutcome } from '../../domain/outcome.ts';
import type { AutoscalerError } from '../../lib/errors.ts';
import type { ResourceState } from '../arm/operations.ts';
import type { InstanceRow } from '../rows/scale-set.ts';
import type { WriteAnswer } from '../writes/write-context.ts';

export type ListedInstance = Row<InstanceRow>;

/** One way to delete the instances of a group. */
export interface DeleteBackend {
  /** Runs the work as soon as a removal may be sent, as the only writer. @throws AutoscalerError `conflict` if that takes too long */
  whenItsTurn(work: () => Promise<DeleteOutcome>, signal: AbortSignal): Promise<DeleteOutcome>;
  /** Reads the instances, and what else the checks need. @throws AutoscalerError */
  readFresh(keys: readonly InstanceKey[], signal: AbortSignal): Promise<void>;
  /** Why nothing may be deleted from the group now; undefined: deletes are possible. */
  refusal(): GroupBlock | undefined;
  /** The size with our unconfirmed changes; undefined: unknown. `allowed`: the minimum does not matter. */
  readSize(allowed: boolean, signal: AbortSignal): Promise<{ readonly low: number; readonly confirmed: boolean } | undefined>;
  /** Whether a forced delete is sent first. */
  isForced(): boolean;
  /** The name of what is written, for the rate-limit budget and the log. @throws AutoscalerError `not-found` */
  resource(): string;
  beginSizeMutation(count: number): Mutation;
  /** What is done to the instances instead, which remain. undefined: they are deleted. */
  readonly instead: InsteadOfDelete | undefined;
  /** Sends the call. @throws AutoscalerError */
  post(resource: string, batch: SentBatch, signal: AbortSignal): Promise<WriteAnswer>;
  /** What to send instead of a batch that was refused; undefined: nothing. @throws AutoscalerError */
  nextBatch(batch: Batch, refusal: AutoscalerError, signal: AbortSignal): Promise<Batch | undefined>;
  /** Whether a delete is sent once more after a newer operation preempted it. */
  readonly resendsPreempted: boolean;
  /** Reads the instances again when the end of the operation was not seen. @throws AutoscalerError */
  readAfterEnd(keys: readonly InstanceKey[], signal: AbortSignal): Promise<void>;
  /** What the written resource says of its last operation. @throws AutoscalerError */
  stateNow(signal: AbortSignal): Promise<ResourceState>;
  /** The operation of an accepted delete is over. Never rejects. */
  noteEnded(): Promise<void>;
}

/** A write that follows the same protocol, and after which the instances remain. */
interface InsteadOfDelete {
  /** Lays its effect over the instances. */
  begin(instances: readonly ListedInstance[]): readonly Mutation[];
  /** Whether an instance that a read still shows is over with it, as far as that can be seen. */
  isOver(row: InstanceRow): boolean;
}

export interface Batch {
  readonly instances: readonly ListedInstance[];
  /** Everything the caller asked for. */
  readonly keys: readonly InstanceKey[];
  readonly force: boolean;
  /** True: the one retry without instances that are gone was used up. */
  readonly retried: boolean;
}

/** A batch on its way. */
export interface SentBatch extends Batch {
  /** To be called right before the request is sent. If it throws, nothing is sent. */
  readonly beforeSend: () => Promise<void>;
}

export function keysOf(instances: readonly ListedInstance[]): readonly InstanceKey[] {
  return instances.map(({ key }) => key as InstanceKey);
}
