/**
 * Keeps the zones of sibling groups even while a set is searched: no removal and no new node makes the difference between the fullest and
 * the emptiest zone larger than one node, or larger than it is. Only where growth balances siblings.
 */
import type { NodeGroupId } from '../../../domain/ids.ts';
import type { SiblingFamily } from '../../scale-up/groups/sibling-groups.ts';
import { isLeaving, type ScaleDownContext } from '../plan-context.ts';

/** Nodes by zone, of each family. */
type Counts = ReadonlyMap<SiblingFamily, Map<string, number>>;

export class EvenZones {
  readonly #families: ScaleDownContext['families'];
  readonly #counts: Counts;

  private constructor(families: ScaleDownContext['families'], counts: Counts) {
    this.#families = families;
    this.#counts = counts;
  }

  static of(context: ScaleDownContext): EvenZones {
    const { families, observation, policy } = context;
    if (!policy.scaleUp.balanceSimilarGroups || families.size === 0) return new EvenZones(new Map(), new Map());
    const counts = new Map([...families.values()].map((family) => [family, new Map([...family.zoneOf.values()].map((zone) => [zone, 0]))]));
    const { cluster, cloud } = observation;
    for (const [name, node] of cluster.nodes) {
      const group = cloud.groupOfNode.get(name);
      if (group !== undefined && families.has(group) && !isLeaving(node, context)) countIn(families, counts, group, 1);
    }
    return new EvenZones(families, counts);
  }

  /** What is counted in it is not counted here. */
  copy(): EvenZones {
    return new EvenZones(this.#families, new Map([...this.#counts].map(([family, counts]) => [family, new Map(counts)])));
  }

  count(group: NodeGroupId, nodes: number): void {
    countIn(this.#families, this.#counts, group, nodes);
  }

  allowsRemoval(group: NodeGroupId): boolean {
    const seen = this.#surplusOf(group);
    // guard: no repack leaves the zones of sibling groups less even
    return seen === undefined || seen.surplus >= 1 || seen.skew === 0;
  }

  allowsNew(group: NodeGroupId, nodes: number): boolean {
    const seen = this.#surplusOf(group);
    return seen === undefined || seen.surplus + nodes <= Math.max(1, seen.skew);
  }

  /** How many nodes more than the emptiest zone the zone of the group has, and the fullest one. undefined: it has no siblings. */
  #surplusOf(group: NodeGroupId): { readonly surplus: number; readonly skew: number } | undefined {
    const family = this.#families.get(group);
    const counts = family === undefined ? undefined : this.#counts.get(family);
    if (family === undefined || counts === undefined) return undefined;
    const all = [...counts.values()];
    const least = Math.min(...all);
    return { surplus: (counts.get(family.zoneOf.get(group) ?? '') ?? least) - least, skew: Math.max(...all) - least };
  }
}

function countIn(families: ScaleDownContext['families'], counts: Counts, group: NodeGroupId, nodes: number): void {
  const family = families.get(group);
  const zone = family?.zoneOf.get(group);
  const zones = family === undefined ? undefined : counts.get(family);
  if (zone !== undefined && zones !== undefined) zones.set(zone, (zones.get(zone) ?? 0) + nodes);
}
