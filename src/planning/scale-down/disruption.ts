/** What it costs the workloads when pods are moved, in pods: an ordinary pod costs 1. */
import type { Pod } from '../../domain/pod.ts';

/** A priority, or a deletion cost, of this much weighs as much as one more ordinary pod. */
const WORTH_ONE_POD = 100_000_000;
/** However unimportant a pod is, moving it costs something. */
const LEAST = 0.1;
/** What a pod has built up by running (caches, connections, work half done): in steps, so that equal loads stay equal. */
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Sums of fractions in another order must still be equal. */
const PRECISION = 1e6;

/** The sum over the pods, each by its priority, its `pod-deletion-cost` and its age. 0 only for no pods. */
export function disruptionCost(pods: readonly Pod[], nowMs: number): number {
  const sum = pods.reduce((total, pod) => {
    const weight = (pod.shape.priority ?? 0) + (pod.deletionCost ?? 0);
    return total + Math.max(LEAST, 1 + weight / WORTH_ONE_POD) + ageCost(nowMs - pod.createdAtMs);
  }, 0);
  return Math.round(sum * PRECISION) / PRECISION;
}

/** From nothing for a young pod to half a pod's worth for one of a day. */
function ageCost(ageMs: number): number {
  return ageMs < HOUR_MS ? 0 : ageMs < DAY_MS ? 0.25 : 0.5;
}
