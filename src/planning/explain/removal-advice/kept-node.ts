import type { NodeGroup } from '../../../domain/node-group.ts';
import type { Node } from '../../../domain/node.ts';
import type { Candidate } from '../advice/search.ts';
import type { Change } from '../changes/change-kinds.ts';
import type { Workload } from '../changes/workload.ts';
import type { RemovalInput, RemovalSimulator, RemovalsInTime } from './simulate-removals.ts';

/** A candidate of the search whose changes need no number of nodes. */
export interface RemovalRemedy extends Candidate {
  readonly changes: readonly Change[];
  /** Whose pod template the changes are about, for those that do not name it. */
  readonly workload?: Workload;
}

/** One node that is not removed in a plan. */
export interface KeptNode {
  readonly input: RemovalInput;
  readonly plan: RemovalsInTime;
  readonly node: Node;
  readonly group: NodeGroup | undefined;
  readonly simulator: RemovalSimulator;
}
