import type { Pod } from '../../domain/pod.ts';
import type { DrainRule } from './drain-rule.ts';

/**
 * A pod of an explicit priority below the cutoff: it neither holds a node nor needs a place elsewhere, as it causes no
 * scale-up either. Its owner's word against eviction counts all the same; the Cluster Autoscaler would not hear it.
 */
export const expendable: DrainRule = (pod, { policy }) =>
  isExpendable(pod, policy.expendablePriorityCutoff) ? { kind: 'expendable' } : undefined;

/** `cutoff` undefined: no pod is. */
export function isExpendable(pod: Pod, cutoff: number | undefined): boolean {
  const { priority } = pod.shape;
  if (cutoff === undefined || priority === undefined || priority >= cutoff) return false;
  return !pod.doNotDisrupt && pod.safeToEvict !== 'false' && pod.safeToEvict !== 'on-completion';
}
