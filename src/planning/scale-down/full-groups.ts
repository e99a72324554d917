/**
 * Groups at their maximum for which pods wait. A node removed from such a group would be requested again in the next loop.
 */
import { podName, type NodeGroupId } from '../../domain/ids.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { ScaleUpPlan } from '../../domain/plan.ts';
import type { PodVerdict, SkipReason } from '../../domain/reasons.ts';

/** Groups whose maximum keeps pods pending, each with the name of one such pod. */
export type FullGroups = ReadonlyMap<NodeGroupId, string>;

/** A pod that was not evaluated may need any of the groups that are at their maximum. */
export function fullGroups({ verdicts }: Pick<ScaleUpPlan, 'verdicts'>, groups: readonly NodeGroup[]): FullGroups {
  const full = groups.filter(({ target, maxSize }) => target.known && target.value >= maxSize).map(({ id }) => id);
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
  if (verdict.kind === 'waiting') return full;
  if (verdict.kind !== 'helpless') return [];
  const waited = verdict.byGroup.filter(({ skip, fit = [] }) => skip !== undefined && AT_MAXIMUM.has(skip.kind) && fit.length === 0);
  return waited.map(({ group }) => group);
}
