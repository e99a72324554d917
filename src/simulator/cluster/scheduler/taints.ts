/** Taints and tolerations as the API spells them. */
import type { NodeTaint, PodToleration } from '../objects.ts';

export function toleratesTaint(toleration: PodToleration, taint: NodeTaint): boolean {
  if (toleration.effect !== undefined && toleration.effect !== taint.effect) return false;
  const isExists = toleration.operator === 'Exists';
  if (toleration.key === undefined || toleration.key === '') return isExists;
  if (toleration.key !== taint.key) return false;
  if (toleration.operator === 'Lt' || toleration.operator === 'Gt') return compares(toleration, taint);
  return isExists || (toleration.value ?? '') === (taint.value ?? '');
}

/** Whole numbers only, as KEP-5471 has it. */
function compares({ operator, value: bound = '' }: PodToleration, { value = '' }: NodeTaint): boolean {
  if (![bound, value].every((text) => /^-?\d{1,18}$/.test(text))) return false;
  return operator === 'Lt' ? BigInt(value) < BigInt(bound) : BigInt(value) > BigInt(bound);
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
