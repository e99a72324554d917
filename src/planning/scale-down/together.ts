/**
 * Groups that are of use only as a whole (zero or max): their nodes go together or not at all. The Cluster Autoscaler's
 * `AtomicScaleDownFailed`. Must not know the budgets (select.ts).
 */
import type { NodeGroupId } from '../../domain/ids.ts';
import { isWhole } from '../../domain/node-group.ts';
import type { KeptNode } from '../../domain/plan.ts';
import { byName, isLeaving, type Scope } from './scope.ts';
import type { Unneeded } from './unneeded.ts';

/** All nodes of one group, each of which may go now; by name. */
export type Whole = readonly Unneeded[];

export interface SortedByUnity {
  /** Groups with an empty node first, then by id. */
  readonly wholes: readonly Whole[];
  readonly singles: readonly Unneeded[];
  /** Nodes that may go, of groups of which others may not. */
  readonly kept: readonly KeptNode[];
}

/** Tells the nodes that go one by one from the groups that go whole, and those from groups that are not complete. */
export function sortByUnity(scope: Scope, due: readonly Unneeded[]): SortedByUnity {
  const groups = new Map<NodeGroupId, Unneeded[]>();
  const singles: Unneeded[] = [];
  for (const candidate of due) {
    if (!isWhole(candidate.group)) singles.push(candidate);
    else groups.set(candidate.group.id, [...(groups.get(candidate.group.id) ?? []), candidate]);
  }
  const wholes: Whole[] = [];
  const kept: KeptNode[] = [];
  for (const [id, candidates] of [...groups].sort(([left], [right]) => byName(left, right))) {
    const missing = whatIsMissing(scope, id, candidates.length);
    if (missing === undefined) wholes.push([...candidates].sort((left, right) => byName(left.node.name, right.node.name)));
    else {
      kept.push(
        ...candidates.map(({ node, utilization }) => ({
          node: node.name,
          reason: 'AtomicScaleDownFailed' as const,
          detail: missing,
          utilization,
        })),
      );
    }
  }
  const rank = (whole: Whole): number => (whole.some(({ drain }) => drain.movable.length === 0) ? 0 : 1);
  return { wholes: wholes.sort((left, right) => rank(left) - rank(right)), singles, kept };
}

/** Complete by what Azure was asked for or by what has registered: an instance that never came up holds nobody back. */
function whatIsMissing(scope: Scope, id: NodeGroupId, ready: number): string | undefined {
  const group = scope.groups.get(id);
  if (group === undefined) return 'its group is gone';
  const { cluster, cloud } = scope.observation;
  let registered = 0;
  for (const [name, node] of cluster.nodes) if (cloud.groupOfNode.get(name) === id && !isLeaving(node, scope)) registered += 1;
  const target = group.target.known ? group.target.value - (scope.draining.get(id)?.length ?? 0) : undefined;
  if (ready === registered || ready === target) return undefined;
  return `the group goes as a whole and only ${ready} of its ${registered} nodes may go`;
}
