/** Taints, tolerations, and the names of those that carry meaning between the autoscaler and the cluster. */
export type TaintEffect = 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';

export interface Taint {
  readonly key: string;
  readonly value: string;
  readonly effect: TaintEffect;
}

export interface Toleration {
  /** Empty with operator `Exists`: tolerates every key. */
  readonly key: string;
  readonly operator: 'Equal' | 'Exists';
  readonly value: string;
  /** undefined: every effect. */
  readonly effect: TaintEffect | undefined;
}

/** Value: unix seconds. NoSchedule. Names that users and tools know from the Cluster Autoscaler. */
export const TO_BE_DELETED_TAINT = 'ToBeDeletedByClusterAutoscaler';
/** Value: unix seconds since when the node is unneeded. PreferNoSchedule. */
export const DELETION_CANDIDATE_TAINT = 'DeletionCandidateOfClusterAutoscaler';

export function tolerates(toleration: Toleration, taint: Taint): boolean {
  if (toleration.effect !== undefined && toleration.effect !== taint.effect) return false;
  if (toleration.key === '') return toleration.operator === 'Exists';
  if (toleration.key !== taint.key) return false;
  return toleration.operator === 'Exists' || toleration.value === taint.value;
}

/** The first taint that keeps a pod away (PreferNoSchedule never does), or undefined. */
export function untoleratedTaint(taints: readonly Taint[], tolerations: readonly Toleration[]): Taint | undefined {
  return taints.find((taint) => taint.effect !== 'PreferNoSchedule' && !tolerations.some((toleration) => tolerates(toleration, taint)));
}

export function hasTaint(taints: readonly Taint[], key: string): boolean {
  return taints.some((taint) => taint.key === key);
}
