/**
 * Pods that are nominated for a node, as kube-scheduler treats them (v1.37.2; the same in 1.36.3): a pod tries its own node first
 * (`pkg/scheduler/schedule_one.go`: `findNodesThatFitPod`, `evaluateNominatedNode`), and a nominated pod counts on its node for pods of lower or
 * equal priority (`pkg/scheduler/framework/runtime/framework.go`: `addGENominatedPods`). A pod that fits nowhere, and for which preemption finds no
 * candidate, loses its nomination (`pkg/scheduler/framework/preemption/preemption.go`: `evaluate`). Pure.
 */
import type { PodObject } from '../store/objects.ts';
import { addUsage, copyOfUsage, type NodeUsage } from './node-filters.ts';
import { type Decision, refusalsBy, scheduleOne } from './placement.ts';
import type { TopologyView } from './topology.ts';

export function nominatedNodeOf({ status }: Pick<PodObject, 'status'>): string | undefined {
  const name = status['nominatedNodeName'];
  return typeof name === 'string' && name !== '' ? name : undefined;
}

function priorityOf({ spec }: PodObject): number {
  return spec.priority ?? 0;
}

/** Decides for a pod where nominated pods wait for their nodes. undefined: none of them matters to it. */
export function decideBesideNominated(pod: PodObject, nominated: Iterable<PodObject>, view: TopologyView): Decision | undefined {
  const rivals = [...nominated].filter((other) => other !== pod && priorityOf(other) >= priorityOf(pod));
  const own = nominatedNodeOf(pod);
  if (own === undefined && rivals.length === 0) return undefined;
  const byNode = Map.groupBy(rivals, (other) => nominatedNodeOf(other) ?? '');
  const originals = new Map<NodeUsage, NodeUsage>();
  const nodes = view.nodes.map((usage) => {
    const counted = byNode.get(usage.node.metadata.name) ?? [];
    const copy = counted.length === 0 ? usage : copyOfUsage(usage);
    for (const other of counted) addUsage(copy, other);
    originals.set(copy, usage);
    return copy;
  });
  const beside = { ...view, nodes };
  const first = nodes.find(({ node }) => node.metadata.name === own);
  const decision: Decision =
    first !== undefined && refusalsBy(beside, pod)(first).length === 0 ? { kind: 'bind', usage: first } : scheduleOne(pod, beside);
  return decision.kind === 'bind' ? { kind: 'bind', usage: originals.get(decision.usage) ?? decision.usage } : decision;
}
