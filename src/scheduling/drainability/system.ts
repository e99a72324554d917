import { block, type DrainRule } from './drain-rule.ts';

/** The Cluster Autoscaler's default of `--blocking-system-pod-distruption-timeout`. */
const BLOCKS_FOR_MS = 3_600_000;

/**
 * A young kube-system pod without a budget holds its node. An old one does not; unlike in the Cluster Autoscaler the
 * rules that follow are still asked, so its annotations and volumes count.
 */
export const systemPod: DrainRule = (pod, context) => {
  if (!context.policy.skipNodesWithSystemPods || pod.namespace !== 'kube-system') return undefined;
  const { systemPodBlocksForMs = BLOCKS_FOR_MS } = context.policy;
  if (context.budgetsOf(pod).length > 0 || pod.createdAtMs + systemPodBlocksForMs < context.nowMs) return undefined;
  return block('UnmovableKubeSystemPod', 'in kube-system without a disruption budget');
};
