/** Spreads new nodes over groups so that their sizes end as level as their limits allow. */
import type { NodeGroupId } from '../../domain/ids.ts';

export interface Levelled {
  readonly id: NodeGroupId;
  readonly size: number;
  readonly maxSize: number;
}

/** New nodes per group: one by one to the smallest that is below its maximum. Groups that get none are absent. */
export function levelOut(groups: readonly Levelled[], nodes: number): ReadonlyMap<NodeGroupId, number> {
  const sizes = groups.map(({ id, size, maxSize }) => ({ id, maxSize, size, added: 0 }));
  for (let left = nodes; left > 0; left--) {
    const open = sizes.filter(({ size, maxSize }) => size < maxSize);
    const smallest = open.reduce<(typeof sizes)[number] | undefined>(
      (least, group) =>
        least === undefined || group.size < least.size || (group.size === least.size && group.id < least.id) ? group : least,
      undefined,
    );
    if (smallest === undefined) break;
    smallest.size += 1;
    smallest.added += 1;
  }
  return new Map(sizes.filter(({ added }) => added > 0).map(({ id, added }) => [id, added]));
}
