import type { NodeName } from '../domain/ids.ts';
import type { Node } from '../domain/node.ts';
import type { Pod } from '../domain/pod.ts';
import type { DeviceFault } from './device-faults.ts';
import type { FitReason } from '../domain/reasons.ts';

/** A node that could be: an upcoming node or a template during an estimate. */
export interface SnapshotNode {
  readonly node: Node;
  readonly pods: readonly Pod[];
}

/** The what-if model of the cluster. `cluster-snapshot.ts` implements it; planning talks to this. Pure: no I/O, no clock. */
export interface Snapshot {
  nodeNames(): readonly NodeName[];
  get(name: NodeName): SnapshotNode | undefined;
  addNode(node: Node, pods: readonly Pod[]): void;
  removeNode(name: NodeName): void;
  addPod(pod: Pod, node: NodeName): void;
  removePod(pod: Pod, node: NodeName): void;
  /** Every predicate; empty when the pod fits. */
  check(pod: Pod, node: NodeName): readonly FitReason[];
  /** The first node (stable order, starting after the last match for equal pods) that fits and that `accepts` allows. */
  findNode(pod: Pod, accepts?: (node: NodeName) => boolean): NodeName | undefined;
  /** Set: kube-scheduler binds the pod to no node at all, as it cannot judge its claims on this one. */
  deviceFault(pod: Pod): DeviceFault | undefined;
  /** Everything after fork() can be dropped by revert() or kept by commit(). Forks nest; each costs O(changes). */
  fork(): void;
  commit(): void;
  revert(): void;
}
