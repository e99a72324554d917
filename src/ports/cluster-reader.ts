import type { ClusterView } from '../domain/observation.ts';
import type { NodeName, PodUid } from '../domain/ids.ts';
import type { Node } from '../domain/node.ts';
import type { Pod } from '../domain/pod.ts';

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
