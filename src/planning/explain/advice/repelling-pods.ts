import type { NodeName } from '../../../domain/ids.ts';
import type { ClusterView } from '../../../domain/observation.ts';
import type { Pod, PodShape } from '../../../domain/pod.ts';
import { termMatches, withNamespaces } from '../../../scheduling/predicates/pod-affinity.ts';
import { keyOf } from '../changes/change.ts';
import { workloadOf, type Workload } from '../changes/workload.ts';

interface Repelled {
  readonly shape: PodShape;
  readonly topologyKey: string;
  /** The domain of this node counts. If undefined, every domain. */
  readonly near: NodeName | undefined;
}

/** The workloads whose running pods keep such a pod away by a required anti-affinity rule, each once. */
export function repellingWorkloads(
  { nodes, podsByNode, namespaces }: ClusterView,
  { shape, topologyKey, near }: Repelled,
): readonly Workload[] {
  const domain = near === undefined ? undefined : nodes.get(near)?.labels[topologyKey];
  const found = new Map<string, Workload>();
  for (const [name, pods] of podsByNode) {
    const value = nodes.get(name)?.labels[topologyKey];
    if (value === undefined || (near !== undefined && value !== domain)) continue;
    for (const pod of pods) {
      if (!repels(pod, { shape, topologyKey }, namespaces)) continue;
      const workload = workloadOf(pod);
      found.set(keyOf(workload), workload);
    }
  }
  return [...found.values()];
}

function repels(
  { shape: { podAntiAffinity, namespace } }: Pod,
  { shape, topologyKey }: Omit<Repelled, 'near'>,
  namespaces: ClusterView['namespaces'],
): boolean {
  return podAntiAffinity.some(
    (term) => term.topologyKey === topologyKey && termMatches(withNamespaces(term, namespace), shape, (name) => namespaces.get(name) ?? {}),
  );
}
