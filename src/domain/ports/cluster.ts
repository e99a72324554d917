import type { NodeName, PodUid } from '../ids.ts';
import type { Node } from '../node.ts';
import type { ClusterView } from '../observation.ts';
import type { Pod } from '../pod.ts';
import type { Owner, OwnerStates } from '../workloads.ts';

/** A node and its pods, read past every cache. */
export interface ReadNode {
  readonly node: Node;
  readonly pods: readonly Pod[];
  /** Volumes that are attached to the node, or mounted there, by the names that its status has for them. */
  readonly volumes: readonly string[];
}

/** Reads the cluster through watches that reconnect for ever. */
export interface ClusterReader {
  /** Resolves once every watch has delivered its first complete list. */
  start(signal: AbortSignal): Promise<void>;
  /** A frozen view of the watched objects. Cheap: unchanged objects are not copied. */
  observe(nowMs: number): ClusterView;
  /** Reads one node and its pods from the API server, without any cache. undefined: the node is gone. */
  readFresh(node: NodeName, signal: AbortSignal): Promise<ReadNode | undefined>;
  /** Asks the API server whether a pod with this uid still exists. */
  podExists(pod: { readonly namespace: string; readonly name: string; readonly uid: PodUid }, signal: AbortSignal): Promise<boolean>;
  /** Calls the listener when a pod becomes unschedulable. Returns a function that unsubscribes. */
  onUnschedulable(listener: (pod: Pod) => void): () => void;
  /** Calls the listener when the platform announces that it takes back a node's instance. Returns a function that unsubscribes. */
  onPreemption(listener: (node: Node) => void): () => void;
}

/** Reads the controllers of pods that are about to move. They are too many, and change too often, to be watched. */
export interface OwnerReader {
  /** What was read recently. Sends no request. */
  known(): OwnerStates;
  /**
   * Reads each owner without a recent result. Afterwards `known` contains them all.
   * @throws AutoscalerError if one could not be read; its state is unknown then.
   */
  read(owners: readonly Owner[], signal: AbortSignal): Promise<void>;
}
