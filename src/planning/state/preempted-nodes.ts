/** Nodes that the platform takes back soon: no capacity any more, although their pods still run. Pure. */
import type { NodeName } from '../../domain/ids.ts';
import type { Node } from '../../domain/node.ts';
import type { Observation } from '../../domain/observation.ts';

/**
 * An instance is gone within seconds of its deadline. A node that outlives the deadline by this much was spared, or is
 * deallocated and kept its last conditions. In both cases the announcement no longer counts.
 */
const OUTLIVED_AFTER_MS = 300_000;

export function isPreempted({ preemption }: Pick<Node, 'preemption'>, nowMs: number): boolean {
  return preemption !== undefined && nowMs < preemption.deadlineMs + OUTLIVED_AFTER_MS;
}

/** Announced nodes of managed groups, in the order of the view. Other nodes are not ours to replace. */
export function preemptedNodes({ cluster, cloud, nowMs }: Pick<Observation, 'cluster' | 'cloud' | 'nowMs'>): readonly NodeName[] {
  const names: NodeName[] = [];
  for (const node of cluster.nodes.values())
    if (node.preemption !== undefined && isPreempted(node, nowMs) && cloud.groupOfNode.has(node.name)) names.push(node.name);
  return names;
}
