import { block, type DrainRule } from './drain-rule.ts';

/** `safe-to-evict: "false"`, or Karpenter's `do-not-disrupt`: many workloads carry that one. */
export const notSafeToEvict: DrainRule = (pod) => {
  if (pod.safeToEvict === 'false') return block('NotSafeToEvictAnnotation', 'cluster-autoscaler.kubernetes.io/safe-to-evict: "false"');
  return pod.doNotDisrupt ? block('DoNotDisruptAnnotation', 'karpenter.sh/do-not-disrupt: "true"') : undefined;
};
