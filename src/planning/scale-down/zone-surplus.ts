import type { NodeGroupId } from '../../domain/ids.ts';
import type { Node } from '../../domain/node.ts';
import { isLeaving, type Scope } from './scope.ts';

const ZONE_LABEL = 'topology.kubernetes.io/zone';

/** How many more nodes a group has in one zone than in its emptiest. Follows the plan as nodes are taken. */
export class ZoneSurplus {
  readonly #counts = new Map<NodeGroupId, Map<string, number>>();

  constructor(scope: Scope) {
    const { cluster, cloud } = scope.observation;
    for (const [name, node] of cluster.nodes) {
      const group = cloud.groupOfNode.get(name);
      const zone = zoneOf(node);
      if (group === undefined || zone === undefined || isLeaving(node, scope)) continue;
      const zones = this.#counts.get(group) ?? new Map<string, number>();
      this.#counts.set(group, zones.set(zone, (zones.get(zone) ?? 0) + 1));
    }
  }

  of(group: NodeGroupId, node: Node): number {
    const zones = this.#counts.get(group);
    const zone = zoneOf(node);
    if (zones === undefined || zone === undefined) return 0;
    return (zones.get(zone) ?? 0) - Math.min(...zones.values());
  }

  /** Whether the group has no other node in that zone that stays. */
  isLast(group: NodeGroupId, node: Node): boolean {
    const zone = zoneOf(node);
    return zone !== undefined && (this.#counts.get(group)?.get(zone) ?? 0) <= 1;
  }

  /** Whether none of the group's nodes stays in that zone. */
  isGone(group: NodeGroupId, node: Node): boolean {
    const zone = zoneOf(node);
    return zone !== undefined && (this.#counts.get(group)?.get(zone) ?? 0) === 0;
  }

  take(group: NodeGroupId, node: Node): void {
    const zones = this.#counts.get(group);
    const zone = zoneOf(node);
    if (zones !== undefined && zone !== undefined) zones.set(zone, (zones.get(zone) ?? 0) - 1);
  }
}

export function zoneOf(node: Node): string | undefined {
  return node.labels[ZONE_LABEL];
}
