import type { CapacityObjectRef, CapacityStatus } from '../capacity-objects.ts';
import type { NodeName, PodUid } from '../ids.ts';
import type { EvictOutcome } from '../outcome.ts';
import type { Taint } from '../taints.ts';

/** Changes to `spec.taints` and `spec.unschedulable`, always conditional on the resourceVersion that was read. */
export interface NodeTainter {
  /**
   * Adds or replaces the taint with this key and effect, cordons when asked. Conflicts are read again and retried.
   * `uncordonLater` says whether this call did the cordoning: only then may an undo un-cordon.
   * @throws AutoscalerError `not-found` when the node is gone, `kube-api` otherwise.
   */
  taint(
    node: NodeName,
    taint: Taint,
    options: { readonly cordon: boolean },
    signal: AbortSignal,
  ): Promise<{ readonly uncordonLater: boolean }>;
  /** Removes every taint with the key; un-cordons when asked. A node that is gone is success. */
  untaint(node: NodeName, key: string, options: { readonly uncordon: boolean }, signal: AbortSignal): Promise<void>;
}

/** One eviction call; retries and deadlines are the caller's. */
export interface PodEvictor {
  evict(
    pod: { readonly namespace: string; readonly name: string; readonly uid: PodUid },
    gracePeriodMs: number,
    signal: AbortSignal,
  ): Promise<EvictOutcome>;
}

/** Writes to objects by which people ask for capacity; each conditional on the state that was read. */
export interface CapacityObjectWriter {
  /**
   * Makes the object's status say `after` where it says `before`; what neither speaks of stays.
   * @throws AutoscalerError `conflict` when the object is not as it was read any more, `not-found` when it is gone.
   */
  writeStatus(
    ref: CapacityObjectRef,
    change: { readonly before: CapacityStatus; readonly after: CapacityStatus },
    signal: AbortSignal,
  ): Promise<void>;
  /** Deletes the object that was read. Gone already is success. @throws AutoscalerError `conflict` when it is another by now. */
  remove(ref: CapacityObjectRef, signal: AbortSignal): Promise<void>;
}
