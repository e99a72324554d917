import type { InstanceKey, NodeGroupId } from '../ids.ts';
import type { DeleteOutcome, IncreaseOutcome } from '../outcome.ts';
import type { CloudView, ClusterView } from '../observation.ts';

export interface IncreaseRequest {
  readonly group: NodeGroupId;
  /** The size and version that the plan was made from. */
  readonly from: number;
  readonly version: string;
  readonly to: number;
}

export interface DeleteRequest {
  readonly group: NodeGroupId;
  readonly instances: readonly InstanceKey[];
  /** Failed instances may go below the minimum size; nodes may not. */
  readonly allowBelowMin: boolean;
}

/** The cloud's node groups. Reads are served from a cache and never wait for the network; writes are conditional. */
export interface CloudNodeGroups {
  /** Fills what a first decision needs. Resolves when it may be made; rejects with the AutoscalerError that prevents it. */
  start(signal: AbortSignal): Promise<void>;
  /** A frozen view. Events that happened since the previous call are handed over exactly once. */
  observe(cluster: ClusterView, nowMs: number): CloudView;
  /** Raises a target size. Never lowers. At most one write per group is under way; returns once Azure has answered. */
  increase(request: IncreaseRequest, signal: AbortSignal): Promise<IncreaseOutcome>;
  /**
   * Resolves when a deletion in the group would be sent at once: what is looked at after that is what it acts on. Rejects as
   * `conflict` when that takes too long.
   */
  untilRemovable(group: NodeGroupId, signal: AbortSignal): Promise<void>;
  /** Deletes instances by id after a fresh read that each still is what the caller means. Already gone is success. */
  deleteInstances(request: DeleteRequest, signal: AbortSignal): Promise<DeleteOutcome>;
  /** Reads the group from Azure now (one GET and its instances), for a decision that must not act on old data. */
  refresh(group: NodeGroupId, signal: AbortSignal): Promise<void>;
  /** Drops trust in what is cached: everything, or one group. The next reads go to Azure. */
  invalidate(group?: NodeGroupId): void;
  /** Called when something happened that is worth a loop before the next tick. Returns the way to stop. */
  onWake(listener: () => void): () => void;
}
