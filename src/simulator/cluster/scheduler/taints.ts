/** Taints and tolerations as the API spells them. */
import type { NodeTaint, PodToleration } from '../objects.ts';

export function toleratesTaint(toleration: PodToleration, taint: NodeTaint): boolean {
  if (toleration.effect !== undefined && toleration.effect !== taint.effect) return false;
  const isExists = toleration.operator === 'Exists';
  if (toleration.key === undefined || toleration.key === '') return isExists;
  if (toleration.key !== taint.key) return false;
  return isExists || (toleration.value ?? '') === (taint.value ?? '');
}

/** The first taint that keeps a pod away. PreferNoSchedule keeps nobody away. */
export function firstUntolerated(taints: readonly NodeTaint[], tolerations: readonly PodToleration[]): NodeTaint | undefined {
  return taints.find(
    (taint) => taint.effect !== 'PreferNoSchedule' && !tolerations.some((toleration) => toleratesTaint(toleration, taint)),
  );
}

/** How many soft taints a pod would put up with on the node; fewer is better. */
export function untoleratedPreferences(taints: readonly NodeTaint[], tolerations: readonly PodToleration[]): number {
  return taints.filter(
    (taint) => taint.effect === 'PreferNoSchedule' && !tolerations.some((toleration) => toleratesTaint(toleration, taint)),
  ).length;
}
