/** The room holds the interfaces between the loop and the world. Must not know Azure, Kubernetes clients, or who implements them. */
import type { InstanceKey, NodeGroupId } from '../ids.ts';
import type { AnsweredIncrease, DeleteOutcome, SentIncrease } from '../outcome.ts';
import type { CloudView, ClusterView } from '../observation.ts';
import type { SlicedWork } from '../../lib/slices.ts';

export interface IncreaseRequest {
  readonly group: NodeGroupId;
  /** The size and version that the plan was made from. */
  readonly from: number;
  readonly version: string;
  readonly to: number;
  /** Nothing but headroom asks for the nodes: a failure is no cause for an alarm. */
  readonly forHeadroom?: true;
}

/** A write that Azure has not answered soon. */
export interface UnansweredIncrease extends SentIncrease {
  /** Rejects only with a defect of the adapter. */
  readonly answer: Promise<AnsweredIncrease>;
}

export interface DeleteRequest {
  readonly group: NodeGroupId;
  readonly instances: readonly InstanceKey[];
  /** Failed instances may be deleted below the minimum size; nodes may not. */
  readonly allowBelowMin: boolean;
  /** Instances to be deleted because they failed: one that a fresh read shows in another state stays. */
  readonly failed: ReadonlySet<InstanceKey>;
  /**
   * The `uid` of instances as planned: another instance that has the same key by then is not deleted. Without it, the instance is meant
   * that has the key when the request is made.
   */
  readonly uids: ReadonlyMap<InstanceKey, string>;
  /** Instances that worked until now: where their group does so, they are stopped instead of deleted. */
  readonly mayStop: ReadonlySet<InstanceKey>;
  /** The instance is reimaged instead: it and its node remain. There is one then. */
  readonly reimages: boolean;
  /**
   * The caller's last look: called right before each request is sent, after every wait and every read of Azure. Returns, by instance,
   * why one must not be deleted any more; the others are deleted.
   */
  readonly objections: (instances: readonly InstanceKey[], signal: AbortSignal) => Promise<ReadonlyMap<InstanceKey, string>>;
}

const NO_INSTANCES: ReadonlySet<InstanceKey> = new Set();

/** A deletion of what has the keys now, whatever it is, and without a last look of the caller. */
export const PLAIN_DELETE: Omit<DeleteRequest, 'group' | 'instances' | 'allowBelowMin'> = {
  failed: NO_INSTANCES,
  uids: new Map(),
  mayStop: NO_INSTANCES,
  reimages: false,
  objections: () => Promise.resolve(new Map()),
};

/** The node groups of the cloud. Reads come from a cache and never wait for the network; writes are conditional. */
export interface CloudNodeGroups {
  /** Reads what the first decision needs. Rejects with the AutoscalerError that prevents the decision. */
  start(signal: AbortSignal): Promise<void>;
  /**
   * The cluster without the nodes of stopped instances, and of started ones whose node is not ready yet: to plans they are instances that may
   * come. The same object if there are none.
   */
  withoutStopped(cluster: ClusterView): ClusterView;
  /** Does in slices, as far as that can be, what the next `observe` with the same arguments would do at once. Changes nothing that can be seen. */
  prepare(cluster: ClusterView, nowMs: number): SlicedWork<void>;
  /** A frozen view. Each event since the previous call is returned exactly once. */
  observe(cluster: ClusterView, nowMs: number): CloudView;
  /**
   * Increases a target size, never decreases it. At most one write per group is in flight. Returns once Azure has answered, or about a second
   * after a write was sent that takes longer. The signal ends the write in either case.
   */
  increase(request: IncreaseRequest, signal: AbortSignal): Promise<AnsweredIncrease | UnansweredIncrease>;
  /** Why removals from the group are paused now; undefined: they are not. */
  removalPausedBecause(group: NodeGroupId): string | undefined;
  /**
   * Resolves when a deletion in the group would be sent at once, so that a check made after it is still valid for the deletion. Rejects
   * with `conflict` if that takes too long.
   */
  untilRemovable(group: NodeGroupId, signal: AbortSignal): Promise<void>;
  /**
   * Deletes instances by id, after a fresh read that each is still the one that the caller means. An instance that is gone is a success.
   * Refuses if the caller objects to all of them.
   */
  deleteInstances(request: DeleteRequest, signal: AbortSignal): Promise<DeleteOutcome>;
  /**
   * Brings a count that the cloud keeps beside a size in step with it, if so configured and if the group is not `busy`. Never changes a size.
   * Called once in each loop.
   */
  syncCounts(busy: ReadonlySet<NodeGroupId>, signal: AbortSignal): Promise<void>;
  /** Reads the group from Azure now (one GET and its instances), for a decision that must not use old data. */
  refresh(group: NodeGroupId, signal: AbortSignal): Promise<void>;
  /** Makes the cache of everything, or of one group, outdated: the next reads go to Azure. */
  invalidate(group?: NodeGroupId): void;
  /** Calls the listener when a loop should start before the next tick. Returns a function that unsubscribes. */
  onWake(listener: () => void): () => void;
}
