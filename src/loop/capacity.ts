/** What a loop has to say to those who limit, reserve and ask for capacity. Gathers; the words are planning's. */
import type { Observation } from '../domain/observation.ts';
import type { Policy } from '../domain/policy.ts';
import type { ResourceNames } from '../domain/resources.ts';
import { quotaStatus } from '../planning/quotas/status.ts';
import type { StatusWish } from './capacity-statuses.ts';

export interface CapacityInput {
  readonly observation: Observation;
  readonly policy: Policy;
  readonly names: ResourceNames;
}

/** Statuses as they should be, those that are so already included. */
export function capacityWishes({ observation, policy, names }: CapacityInput): readonly StatusWish[] {
  const { cluster, nowMs } = observation;
  const { quotas = [] } = cluster.capacity ?? {};
  if (policy.capacity?.quotas !== true) return [];
  const nodes = [...cluster.nodes.values()];
  return quotas.map((quota) => ({ ref: quota.ref, before: quota.status, after: quotaStatus(quota, nodes, names, nowMs) }));
}
