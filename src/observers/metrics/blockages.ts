/** Why each node that is not removed is unremovable, also where the plan only repeats an earlier check. */
import type { NodeName } from '../../domain/ids.ts';
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

export class Blockages {
  /** A remembered verdict no longer contains its cause, so the last cause is kept here. */
  readonly #lastSeen = new Map<NodeName, Blockage>();

  /** Every node of the plan that is not removed. While removals are inhibited, the other managed nodes are `Inhibited`. */
  observe(plan: ScaleDownPlan, { cluster, cloud }: Observation): readonly (readonly [Node, Blockage])[] {
    for (const name of this.#lastSeen.keys()) if (!cluster.nodes.has(name)) this.#lastSeen.delete(name);
    const kept = plan.kept.flatMap(({ node: name, reason, blocker }): readonly (readonly [Node, Blockage])[] => {
      const node = cluster.nodes.get(name);
      return node === undefined ? [] : [[node, this.#causeOf(name, { reason, blocker: blocker?.reason ?? '' })]];
    });
    if (plan.inhibited === undefined) return kept;
    const covered = new Set([...plan.kept.map(({ node }) => node), ...plan.removals.map(({ node }) => node)]);
    const others = [...cluster.nodes.values()].filter(({ name }) => !covered.has(name) && cloud.groupOfNode.has(name));
    return [...kept, ...others.map((node) => [node, { reason: 'Inhibited', blocker: '' }] as const)];
  }

  #causeOf(name: NodeName, seen: Blockage): Blockage {
    const known = seen.reason === 'RecentlyUnremovable' ? (this.#lastSeen.get(name) ?? seen) : seen;
    this.#lastSeen.set(name, known);
    return known;
  }
}
