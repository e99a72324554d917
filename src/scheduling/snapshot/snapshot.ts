/** The what-if model that planning uses, and the only two ways to try a change on it: always undo it, or keep it if its result is good. */
import type { NodeName } from '../../domain/ids.ts';
import type { Node } from '../../domain/node.ts';
import type { Pod } from '../../domain/pod.ts';
import type { FitReason } from '../../domain/reasons.ts';
import type { SlicedWork } from '../../lib/slices.ts';
import type { DeviceAllocationFailure } from './device-allocation-failure.ts';

interface Forkable {
  /** Everything after fork() can be dropped by revert() or kept by commit(). Forks nest; each costs O(changes). */
  fork(): void;
  commit(): void;
  revert(): void;
}

interface SlicedForkable extends Forkable {
  /** The same as revert(), which finishes it if it is abandoned. */
  revertInSlices(): SlicedWork<void>;
}

/** Runs `work` in a fork and undoes its changes, also if it throws. */
export function withFork<Result>(snapshot: Forkable, work: () => Result): Result {
  return tryInFork(snapshot, work, () => false);
}

/** Runs `work` in a fork. Its changes stay if `isGood` accepts the result; else, or if it throws, they are undone. */
export function tryInFork<Result>(snapshot: Forkable, work: () => Result, isGood: (result: Result) => boolean): Result {
  snapshot.fork();
  let keeps = false;
  try {
    const result = work();
    keeps = isGood(result);
    return result;
  } finally {
    if (keeps) snapshot.commit();
    else snapshot.revert();
  }
}

/** The same as {@link withFork} for work in slices. Nothing else may use the snapshot before it ends. */
export function withForkInSlices<Result>(snapshot: SlicedForkable, work: () => SlicedWork<Result>): SlicedWork<Result> {
  return tryInSlices(snapshot, work, () => false);
}

/** The same as {@link tryInFork} for work in slices. */
export function* tryInSlices<Result>(
  snapshot: SlicedForkable,
  work: () => SlicedWork<Result>,
  isGood: (result: Result) => boolean,
): SlicedWork<Result> {
  snapshot.fork();
  let isOpen = true;
  try {
    const result = yield* work();
    if (isGood(result)) snapshot.commit();
    else yield* snapshot.revertInSlices();
    isOpen = false;
    return result;
  } finally {
    // Thrown, or abandoned.
    if (isOpen) snapshot.revert();
  }
}

/** A node of the snapshot: present, upcoming, or made from a template during an estimate. */
export interface SnapshotNode {
  readonly node: Node;
  readonly pods: readonly Pod[];
}

/** The what-if model of the cluster. `cluster-snapshot.ts` implements it. Pure: no I/O, no clock. */
export interface Snapshot extends SlicedForkable {
  nodeNames(): readonly NodeName[];
  get(name: NodeName): SnapshotNode | undefined;
  addNode(node: Node, pods: readonly Pod[]): void;
  removeNode(name: NodeName): void;
  addPod(pod: Pod, node: NodeName): void;
  removePod(pod: Pod, node: NodeName): void;
  /** Makes the rules between pods that decide about these, in one walk over the cluster. Else each kind of pod is a walk when it is first placed. */
  prepareRules(pods: readonly Pod[]): void;
  /** The reasons of every predicate. Empty if the pod fits. */
  check(pod: Pod, node: NodeName): readonly FitReason[];
  /** The first node (stable order, starting after the last match for equal pods) that fits and that `accepts` allows. */
  findNode(pod: Pod, accepts?: (node: NodeName) => boolean): NodeName | undefined;
  /** Why kube-scheduler would give up the pod for every node. undefined: it would not. */
  deviceAllocationFailure(pod: Pod): DeviceAllocationFailure | undefined;
}
