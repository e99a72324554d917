/** One limit on what nodes may use. The cluster, an object in it, the cloud, a pool or the plan itself sets it. */
import type { Labels } from '../../domain/labels.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { QuotaDraw } from '../../domain/quotas-and-prices.ts';
import type { Resources } from '../../domain/resources.ts';

/** What quotas read of a node, or of the template of a new one. */
export interface CountedNode {
  readonly labels: Labels;
  readonly capacity: Resources;
  readonly draws?: readonly QuotaDraw[];
}

/** What one node uses of a quota; 0 if the quota is not for it. Size and labels of a node that is undefined are unknown. */
export type UsedBy = (node: CountedNode | undefined, group?: Pick<NodeGroup, 'sharedPool'>) => number;

export interface Quota {
  readonly kind: 'plan' | 'cluster' | 'capacity-quota' | 'cloud' | 'pool';
  /** The limit, object or pool that it is part of: all quotas of one object have the same. */
  readonly id: string;
  /** `nodes`, `cpu`, `family standardDSv5Family`: for messages, and the unit and the name of a limit of the cluster follow from it. */
  readonly resource: string;
  /** In the unit of `usedBy`. */
  readonly limit: number;
  /** Negative if more is in use than the limit allows. */
  readonly left: number;
  readonly usedBy: UsedBy;
}

/** What these nodes use together. */
export function usedByAll(nodes: Iterable<CountedNode>, usedBy: UsedBy): number {
  let used = 0;
  for (const node of nodes) used += usedBy(node);
  return used;
}

/** Nodes without an instance of their own. They count as nodes, and their resources do not count. */
export function isVirtual(labels: Labels): boolean {
  return labels['type'] === 'virtual-kubelet';
}
