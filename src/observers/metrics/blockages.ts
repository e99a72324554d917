/** Why each node that is not removed is unremovable, also where the plan only repeats an earlier check. */
import type { Node } from '../../domain/node.ts';
import type { Observation } from '../../domain/observation.ts';
import type { ScaleDownPlan } from '../../domain/plan.ts';

/** Nodes under removal, and nodes that are not managed: their capacity is no waste that can be saved. */
export const NOT_OURS: ReadonlySet<string> = new Set(['CurrentlyBeingDeleted', 'NotAutoscaled']);

export interface Blockage {
  readonly reason: string;
  /** Why a pod blocks the node; empty if none does. */
  readonly blocker: string;
}

/** Every node of the plan that is not removed. While removals are inhibited, the other managed nodes are `Inhibited`. */
export function blockagesOf(plan: ScaleDownPlan, { cluster, cloud }: Observation): readonly (readonly [Node, Blockage])[] {
  const kept = plan.kept.flatMap(({ node: name, reason, cause = reason, blocker }): readonly (readonly [Node, Blockage])[] => {
    const node = cluster.nodes.get(name);
    return node === undefined ? [] : [[node, { reason: cause, blocker: blocker?.reason ?? '' }]];
  });
  if (plan.inhibited === undefined) return kept;
  const covered = new Set([...plan.kept.map(({ node }) => node), ...plan.removals.map(({ node }) => node)]);
  const others = [...cluster.nodes.values()].filter(({ name }) => !covered.has(name) && cloud.groupOfNode.has(name));
  return [...kept, ...others.map((node) => [node, { reason: 'Inhibited', blocker: '' }] as const)];
}
