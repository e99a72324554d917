/** What a change is worth trying for: the vocabulary of remedies. */
import type { NodeGroup } from '../../../domain/node-group.ts';
import type { PodShape } from '../../../domain/pod.ts';
import type { GroupRefusal } from '../../../domain/reasons.ts';
import type { ScaleUpInput } from '../../scale-up/plan-input.ts';
import type { Change } from '../changes/change-kinds.ts';

export interface CandidateInput extends Pick<ScaleUpInput, 'observation' | 'names' | 'policy'> {
  readonly refusal: GroupRefusal;
  readonly group: NodeGroup;
  readonly shape: PodShape;
}

/** A change with its effort: 1 is a number in our own configuration. A limit is raised by what so many new nodes need. */
export type Remedy = readonly [change: Change | ((nodes: number) => Change), effort: number];
/** undefined: nothing that a person could change is known to remove the obstacle. */
export type Remedies = readonly (readonly Remedy[])[] | undefined;

/** What adding a pool asks of people. */
export const NEW_POOL_EFFORT = 6;

/** One remedy of each obstacle, in all ways. */
export function combine(obstacles: readonly Remedies[]): readonly (readonly Remedy[])[] {
  return obstacles.reduce<readonly (readonly Remedy[])[]>(
    (sets, remedies) => sets.flatMap((set) => (remedies ?? []).map((more) => [...set, ...more])).slice(0, MOST_SETS),
    [[]],
  );
}

const MOST_SETS = 16;
