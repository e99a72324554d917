/**
 * How well new nodes meet what their pods prefer, and do not require: preferred node affinity, soft spread, and taints that only repel. kube-scheduler
 * scores nodes by all three (pkg/scheduler/framework/plugins/nodeaffinity, podtopologyspread/scoring.go and tainttoleration, 1.37). Must not know what
 * follows.
 */
import type { NodeTemplate } from '../../../domain/node-template.ts';
import type { Node } from '../../../domain/node.ts';
import { matchesSelector } from '../../../domain/labels.ts';
import type { ClusterView } from '../../../domain/observation.ts';
import type { Pod, PodShape, TopologySpreadConstraint } from '../../../domain/pod.ts';
import { tolerates } from '../../../domain/taints.ts';
import { matchesTerms } from '../../../scheduling/predicates/node-affinity.ts';
import type { GroupTemplate } from '../groups/template-node.ts';
import type { Estimate } from './estimate.ts';

/**
 * The mean over the pods that an option places: the part of the weights of a pod's preferred terms that the new node meets in every zone where it may
 * come, from 0 to 1; with soft spread, as much for the domains with the fewest pods that
 * count; less 1 for each `PreferNoSchedule` taint that the pod does not tolerate.
 */
export function preferenceScore({ placed }: Estimate, { template, variants }: GroupTemplate, domains: SpreadDomains): number {
  let [sum, pods] = [0, 0];
  for (const [{ shape }, count] of placed) {
    sum += count * (affinityOf(shape, variants) + evennessOf(shape, variants, domains) - repellingTaints(shape, template));
    pods += count;
  }
  return pods === 0 ? 0 : sum / pods;
}

function affinityOf({ preferred }: PodShape, variants: readonly Node[]): number {
  const all = preferred.reduce((sum, { weight }) => sum + weight, 0);
  const met = preferred.filter(({ term }) => variants.every((node) => matchesTerms([term], node)));
  return all === 0 ? 0 : met.reduce((sum, { weight }) => sum + weight, 0) / all;
}

/** The pods that a soft constraint counts, by the value of its topology key. */
export type SpreadDomains = (namespace: string, constraint: TopologySpreadConstraint) => ReadonlyMap<string, number>;

const HOSTNAME = 'kubernetes.io/hostname';

/** Pods that this plan has placed before do not count: which pool grows is decided for each kind of pods at once. */
export function spreadDomainsIn({ nodes, podsByNode }: Pick<ClusterView, 'nodes' | 'podsByNode'>): SpreadDomains {
  const known = new Map<string, ReadonlyMap<string, number>>();
  return (namespace, constraint) => {
    const { topologyKey, selector } = constraint;
    const key = JSON.stringify([namespace, topologyKey, selector]);
    const found =
      known.get(key) ??
      countByDomain(
        nodes,
        podsByNode,
        (pod) => {
          return pod.shape.namespace === namespace && pod.deletionAtMs === undefined && matchesSelector(selector, pod.shape.labels);
        },
        topologyKey,
      );
    known.set(key, found);
    return found;
  };
}

function countByDomain(
  nodes: ClusterView['nodes'],
  podsByNode: ClusterView['podsByNode'],
  counts: (pod: Pod) => boolean,
  topologyKey: string,
): ReadonlyMap<string, number> {
  const domains = new Map<string, number>();
  for (const node of nodes.values()) {
    const value = node.labels[topologyKey];
    if (value === undefined) continue;
    const pods = (podsByNode.get(node.name) ?? []).filter(counts).length;
    domains.set(value, (domains.get(value) ?? 0) + pods);
  }
  return domains;
}

/** 1 for a domain without such pods, 0 for the fullest and for nodes without the key; the mean over the zones where the node may come. */
function evennessOf({ namespace, softSpread }: PodShape, variants: readonly Node[], domains: SpreadDomains): number {
  // Each new node is a host of its own, in every pool.
  const rules = softSpread.filter(({ topologyKey }) => topologyKey !== HOSTNAME);
  const scores = rules.flatMap((rule) => {
    const counts = domains(namespace, rule);
    const most = Math.max(0, ...counts.values());
    return variants.map(({ labels }) => {
      const value = labels[rule.topologyKey];
      return value === undefined ? 0 : most === 0 ? 1 : 1 - (counts.get(value) ?? 0) / most;
    });
  });
  return scores.length === 0 ? 0 : scores.reduce((sum, score) => sum + score, 0) / scores.length;
}

function repellingTaints({ tolerations }: PodShape, { taints }: Pick<NodeTemplate, 'taints'>): number {
  return taints.filter((taint) => taint.effect === 'PreferNoSchedule' && !tolerations.some((toleration) => tolerates(toleration, taint)))
    .length;
}
