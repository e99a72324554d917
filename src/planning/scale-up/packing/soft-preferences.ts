/**
 * How well new nodes meet what their pods prefer, and do not require: preferred node affinity, and taints that only repel. kube-scheduler scores
 * nodes by both (pkg/scheduler/framework/plugins/nodeaffinity and tainttoleration, 1.37). Must not know what follows.
 */
import type { NodeTemplate } from '../../../domain/node-template.ts';
import type { Node } from '../../../domain/node.ts';
import type { PodShape } from '../../../domain/pod.ts';
import { tolerates } from '../../../domain/taints.ts';
import { matchesTerms } from '../../../scheduling/predicates/node-affinity.ts';
import type { GroupTemplate } from '../groups/template-node.ts';
import type { Estimate } from './estimate.ts';

/**
 * The mean over the pods that an option places: the part of the weights of a pod's preferred terms that the new node meets in every zone where it may
 * come, from 0 to 1, less 1 for each `PreferNoSchedule` taint that the pod does not tolerate.
 */
export function preferenceScore({ placed }: Estimate, { template, variants }: GroupTemplate): number {
  let [sum, pods] = [0, 0];
  for (const [{ shape }, count] of placed) {
    sum += count * (affinityOf(shape, variants) - repellingTaints(shape, template));
    pods += count;
  }
  return pods === 0 ? 0 : sum / pods;
}

function affinityOf({ preferred = [] }: PodShape, variants: readonly Node[]): number {
  const all = preferred.reduce((sum, { weight }) => sum + weight, 0);
  const met = preferred.filter(({ term }) => variants.every((node) => matchesTerms([term], node)));
  return all === 0 ? 0 : met.reduce((sum, { weight }) => sum + weight, 0) / all;
}

function repellingTaints({ tolerations }: PodShape, { taints }: Pick<NodeTemplate, 'taints'>): number {
  return taints.filter((taint) => taint.effect === 'PreferNoSchedule' && !tolerations.some((toleration) => tolerates(toleration, taint)))
    .length;
}
