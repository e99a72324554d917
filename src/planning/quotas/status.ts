/** What a quota's status should say. Pure; the words are those of upstream's quota controller. */
import { withCondition, type CapacityQuota, type CapacityStatus } from '../../domain/capacity-objects.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import { usedOf, type Measured } from './rooms.ts';

export const QUOTA_VALID = 'cluster-autoscaler.kubernetes.io/valid';
const RECONCILED = 'Reconciled';

/** The present status itself when nothing about it is to be changed. */
export function quotaStatus(quota: CapacityQuota, nodes: Iterable<Measured>, names: ResourceNames, nowMs: number): CapacityStatus {
  const { problem, ref } = quota;
  const observedGeneration = ref.generation;
  const valid = withCondition(
    quota.status,
    problem === undefined
      ? { type: QUOTA_VALID, status: 'True', reason: 'ValidationSucceeded', message: 'The quota is valid.', observedGeneration }
      : { type: QUOTA_VALID, status: 'False', reason: 'ValidationFailed', message: problem.message, observedGeneration },
    nowMs,
  );
  if (problem !== undefined) return valid;
  const reconciled = { type: RECONCILED, status: 'True', reason: 'ReconciliationSucceeded', message: 'The usage is current.' } as const;
  const told = withCondition(valid, { ...reconciled, observedGeneration }, nowMs);
  const used = usedOf(quota, nodes, names);
  return sameAmounts(told.used, used) ? told : { ...told, used };
}

function sameAmounts(left: Readonly<Record<string, number>> = {}, right: Readonly<Record<string, number>>): boolean {
  const keys = Object.keys(right);
  return keys.length === Object.keys(left).length && keys.every((key) => left[key] === right[key]);
}
