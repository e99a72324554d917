import type { CapacityObjectRef, CapacityStatus } from '../capacity-objects.ts';
import type { NodeName, PodUid } from '../ids.ts';
import type { EvictOutcome } from '../outcome.ts';
import type { Taint, TaintNote, TaintOwner } from '../taints.ts';

/** Changes to `spec.taints` and `spec.unschedulable`, always conditional on the resourceVersion that was read. */
export interface NodeTainter {
  /**
   * Adds or replaces the taint with this key and effect, and cordons if requested. On a conflict it reads again and retries.
   * `uncordonLater` is true if this call cordoned the node: only then may an undo un-cordon it. With `owner`, nothing is written if the
   * node already has such a taint of another writer, whom `heldBy` then names. `note` is an annotation of the same write.
   * @throws AutoscalerError `not-found` if the node is gone, `kube-api` otherwise.
   */
  taint(
    node: NodeName,
    taint: Taint,
    options: { readonly cordon: boolean; readonly owner?: TaintOwner; readonly note?: TaintNote },
    signal: AbortSignal,
  ): Promise<{ readonly uncordonLater: boolean; readonly heldBy?: string }>;
  /**
   * Removes every taint with the key, and un-cordons if requested and there was one. With `owner`, nothing is changed while the annotation names another
   * writer; the annotation goes with the last of these taints. A node that is gone is a success. Resolves to whether this call removed a taint.
   */
  untaint(
    node: NodeName,
    key: string,
    options: { readonly uncordon: boolean; readonly owner?: TaintOwner },
    signal: AbortSignal,
  ): Promise<boolean>;
}

/** On nodes that are not removed: the reason code, since when, and the cause. People read it; the autoscaler compares the code. */
export const UNREMOVABLE_ANNOTATION = 'aks-autoscaler.io/unremovable';

/** Writes {@link UNREMOVABLE_ANNOTATION}. */
export interface NodeAnnotator {
  /** If `value` is undefined, removes it. A node that is gone is a success. @throws AutoscalerError `conflict` if the node changed meanwhile. */
  annotate(node: NodeName, value: string | undefined, signal: AbortSignal): Promise<void>;
}

/** One eviction call. The caller owns retries, deadlines, and the number of calls at once. */
export interface PodEvictor {
  /** `gracePeriodMs` below a second counts as a second: 0 would delete the Pod object while its containers may still run. */
  evict(
    pod: { readonly namespace: string; readonly name: string; readonly uid: PodUid },
    gracePeriodMs: number,
    signal: AbortSignal,
  ): Promise<EvictOutcome>;
}

/** Writes to capacity objects, each conditional on the state that was read. */
export interface CapacityObjectWriter {
  /**
   * Changes the object's status from `before` to `after`. Fields that neither contains stay as they are.
   * @throws AutoscalerError `conflict` if the object changed since it was read, `not-found` if it is gone.
   */
  writeStatus(
    ref: CapacityObjectRef,
    change: { readonly before: CapacityStatus; readonly after: CapacityStatus },
    signal: AbortSignal,
  ): Promise<void>;
  /**
   * Deletes the object that was read. An object that is gone is a success. @throws AutoscalerError `conflict` if another object has its
   * name now.
   */
  remove(ref: CapacityObjectRef, signal: AbortSignal): Promise<void>;
}

/** Writes `status.nominatedNodeName` of pending pods, for nodes that are not ready yet. */
export interface PodNominator {
  /**
   * Names the node, or withdraws our own name if `node` is undefined. `kept`: nothing was written, since another writer has named a node, or
   * the pod is gone or another one has its name.
   * @throws AutoscalerError
   */
  nominate(
    pod: { readonly namespace: string; readonly name: string; readonly uid: PodUid },
    node: NodeName | undefined,
    signal: AbortSignal,
  ): Promise<'written' | 'kept'>;
}
