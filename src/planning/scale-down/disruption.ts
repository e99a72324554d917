/** What it costs the workloads when pods are moved, in pods: an ordinary pod costs 1. */
import type { Pod } from '../../domain/pod.ts';

/** A priority, or a deletion cost, of this much weighs as much as one more ordinary pod. */
const WORTH_ONE_POD = 100_000_000;
/** However unimportant a pod is, moving it costs something. */
const LEAST = 0.1;
/** Sums of fractions in another order must still be equal. */
const PRECISION = 1e6;

/** The sum over the pods, each by its priority and its `pod-deletion-cost`. 0 only for no pods. */
export function disruptionCost(pods: readonly Pod[]): number {
  const sum = pods.reduce((total, pod) => {
    const weight = (pod.shape.priority ?? 0) + (pod.deletionCost ?? 0);
    return total + Math.max(LEAST, 1 + weight / WORTH_ONE_POD);
  }, 0);
  return Math.round(sum * PRECISION) / PRECISION;
}
