/** Nodes whose end the platform has announced: no capacity any more, though their pods still run. Pure. */
import type { NodeName } from '../../domain/ids.ts';
import type { Node } from '../../domain/node.ts';
import type { ClusterView, Observation } from '../../domain/observation.ts';

/**
 * A machine is gone within seconds of its deadline. A node that outlives it by so much was spared, or is deallocated and
 * keeps its last words: either way the announcement says nothing any more.
 */
const OUTLIVED_AFTER_MS = 300_000;

export function isPreempted({ preemption }: Pick<Node, 'preemption'>, nowMs: number): boolean {
  return preemption !== undefined && nowMs < preemption.deadlineMs + OUTLIVED_AFTER_MS;
}

/** One search per set of nodes: it is asked for several times in a loop, and the answer is nearly always nobody. */
const announced = new WeakMap<ClusterView['nodes'], readonly Node[]>();

/** Announced nodes of our groups; nobody else's are ours to replace. Ordered as the view is. */
export function preemptedNodes({ cluster, cloud, nowMs }: Pick<Observation, 'cluster' | 'cloud' | 'nowMs'>): readonly NodeName[] {
  let nodes = announced.get(cluster.nodes);
  if (nodes === undefined) {
    nodes = [...cluster.nodes.values()].filter(({ preemption }) => preemption !== undefined);
    announced.set(cluster.nodes, nodes);
  }
  return nodes.filter((node) => isPreempted(node, nowMs) && cloud.groupOfNode.has(node.name)).map(({ name }) => name);
}
