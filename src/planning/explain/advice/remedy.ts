/** What a change is worth trying for: the vocabulary of remedies. */
import type { CapacityQuota } from '../../../domain/capacity-objects.ts';
import type { NodeGroupId } from '../../../domain/ids.ts';
import type { NodeGroup } from '../../../domain/node-group.ts';
import type { Observation } from '../../../domain/observation.ts';
import type { PodShape } from '../../../domain/pod.ts';
import type { ScaleUpPolicy } from '../../../domain/policy.ts';
import type { GroupRefusal } from '../../../domain/reasons.ts';
import type { ResourceNames } from '../../../domain/resources.ts';
import type { Change } from '../fix.ts';

/** The new nodes that limits must allow. */
export interface NodesToAllow {
  readonly of: (group: NodeGroupId) => number;
  readonly all: number;
}

export interface CandidateInput {
  readonly refusal: GroupRefusal;
  readonly group: NodeGroup;
  readonly shape: PodShape;
  readonly quotas: readonly CapacityQuota[];
  readonly names: ResourceNames;
  readonly observation: Observation;
  readonly limits: ScaleUpPolicy;
}

/** A change with its effort: 1 is a number in our own configuration. A limit is raised by what the nodes need. */
export type Remedy = readonly [change: Change | ((nodes: NodesToAllow) => Change), effort: number];
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
