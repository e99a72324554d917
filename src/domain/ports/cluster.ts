import type { NodeName, PodUid } from '../ids.ts';
import type { Node } from '../node.ts';
import type { ClusterView } from '../observation.ts';
import type { Pod } from '../pod.ts';
import type { Owner, OwnerStates } from '../workloads.ts';

/** Reads the cluster through watches that never give up. */
export interface ClusterReader {
  /** Resolves once every watch has delivered its first full picture. */
  start(signal: AbortSignal): Promise<void>;
  /** A frozen view of what the watches hold. Cheap: what did not change is not copied. */
  observe(nowMs: number): ClusterView;
  /** Reads one node and its pods from the API server now, past every cache. undefined: the node is gone. */
  readFresh(node: NodeName, signal: AbortSignal): Promise<{ readonly node: Node; readonly pods: readonly Pod[] } | undefined>;
  /** Whether a pod still exists with this uid, asked of the API server. */
  podExists(pod: { readonly namespace: string; readonly name: string; readonly uid: PodUid }, signal: AbortSignal): Promise<boolean>;
  /** Called when a pod turns unschedulable. Returns the way to stop. */
  onUnschedulable(listener: (pod: Pod) => void): () => void;
  /** Called when the platform announces that it takes a node's machine back. Returns the way to stop. */
  onPreemption(listener: (node: Node) => void): () => void;
}

/** Asks after the controllers of pods that are about to move. There are too many of them, and they change too often, to watch. */
export interface OwnerReader {
  /** What was lately learned. Asks nothing. */
  known(): OwnerStates;
  /**
   * Learns of each owner of which nothing is known lately; afterwards `known` has them all.
   * @throws AutoscalerError when one could not be read: nothing is known of it then.
   */
  read(owners: readonly Owner[], signal: AbortSignal): Promise<void>;
}
