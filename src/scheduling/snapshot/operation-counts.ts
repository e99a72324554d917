/**
 * How often planning did what its time goes into. The numbers do not depend on the machine, so that a test can notice an algorithm that
 * became slower. Decisions must not read them.
 */
export interface OperationCounts {
  /** Nodes, or runs and blocks of equal nodes, at which a search looked. */
  nodesVisited: number;
  /** Questions whether rules between pods admit a pod to a node. */
  predicatesCalled: number;
  /** Packings of pods on new nodes of a group or a family of groups. */
  templatesPacked: number;
  /** Groups of equal pods that such a packing took into account. */
  groupsPacked: number;
  /** How often an estimate found out in how many domains its new nodes are, for some spread constraint. */
  scopesRead: number;
}

export function noOperations(): OperationCounts {
  return { nodesVisited: 0, predicatesCalled: 0, templatesPacked: 0, groupsPacked: 0, scopesRead: 0 };
}
