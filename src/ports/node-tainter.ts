import type { NodeName } from '../domain/ids.ts';
import type { Taint } from '../domain/taint.ts';

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
