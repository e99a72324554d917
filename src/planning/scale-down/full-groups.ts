/**
 * Groups for which pods wait, or may wait. A node removed from a group at its maximum would be requested again in the next loop; a node that
 * a pod could use whose place was not searched in time may be what the pod needs.
 */
import { podName, type NodeGroupId } from '../../domain/ids.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { Observation } from '../../domain/observation.ts';
import type { ScaleUpPlan } from '../../domain/plan.ts';
import type { Pod } from '../../domain/pod.ts';
import type { PodVerdict, SkipReason } from '../../domain/reasons.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import { finishAtOnce, type SlicedWork } from '../../lib/slices.ts';
import { groupsUsableBy } from './usable-groups.ts';

/** Groups whose maximum keeps pods pending, and groups that pods without a search could use, each with the name of one such pod. */
export type FullGroups = ReadonlyMap<NodeGroupId, string>;

/** What {@link waitedGroups} reads beside the plan. */
export interface WaitedGroupsInput {
  readonly observation: Pick<Observation, 'cluster' | 'cloud'>;
  readonly names: ResourceNames;
}

/** The groups at their maximum for which pods wait, and those that pods without a search could use. */
export function waitedGroups(plan: Pick<ScaleUpPlan, 'verdicts'>, input: WaitedGroupsInput): FullGroups {
  return finishAtOnce(waitedGroupsInSlices(plan, input));
}

/** The same in slices. */
export function* waitedGroupsInSlices(plan: Pick<ScaleUpPlan, 'verdicts'>, input: WaitedGroupsInput): SlicedWork<FullGroups> {
  const { groups } = input.observation.cloud;
  const leftOut = (what: 'search' | 'explanation'): readonly Pod[] =>
    [...plan.verdicts].filter(([, verdict]) => verdict.kind === 'waiting' && verdict.leftOut === what).map(([pod]) => pod);
  const usable = yield* groupsUsableBy(leftOut('search'), groups, input);
  // These were searched: nodes that are there do not help them.
  const wanted = yield* groupsUsableBy(leftOut('explanation'), groups.filter(isFull), input);
  // guard: no node is removed that a pod could use whose place was not searched in time
  return new Map([...usable, ...wanted, ...fullGroups(plan, groups)]);
}

function isFull({ target, maxSize }: NodeGroup): boolean {
  return target.known && target.value >= maxSize;
}

/** A pod that was not evaluated may need any of the groups that are at their maximum. Pods that the plan left out are not read. */
export function fullGroups({ verdicts }: Pick<ScaleUpPlan, 'verdicts'>, groups: readonly NodeGroup[]): FullGroups {
  const full = groups.filter(isFull).map(({ id }) => id);
  const found = new Map<NodeGroupId, string>();
  if (full.length === 0) return found;
  for (const [pod, verdict] of verdicts) {
    for (const group of groupsWaitedFor(verdict, full)) if (!found.has(group)) found.set(group, podName(pod));
    if (found.size === full.length) break;
  }
  return found;
}

const AT_MAXIMUM: ReadonlySet<SkipReason['kind']> = new Set(['max-size', 'pool-limit']);

function groupsWaitedFor(verdict: PodVerdict, full: readonly NodeGroupId[]): readonly NodeGroupId[] {
  // guard: pods that a plan left out stop no removal in full pools that they could not use
  if (verdict.kind === 'waiting') return verdict.leftOut === undefined ? full : [];
  if (verdict.kind !== 'helpless') return [];
  const waited = verdict.byGroup.filter(({ skip, fit = [] }) => skip !== undefined && AT_MAXIMUM.has(skip.kind) && fit.length === 0);
  return waited.map(({ group }) => group);
}
