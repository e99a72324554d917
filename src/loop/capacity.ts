/** What a loop has to say to those who limit, reserve and ask for capacity. Gathers; the words are planning's. */
import type { CapacityObjectRef, CapacityStatus } from '../domain/capacity-objects.ts';
import type { Observation } from '../domain/observation.ts';
import type { Policy } from '../domain/policy.ts';
import type { ResourceNames } from '../domain/resources.ts';
import { bufferStatus } from '../planning/buffers/status.ts';
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
  const { capacity: objects } = cluster;
  if (objects === undefined || policy.capacity === undefined) return [];
  const { bufferController: controls, bufferInjection: injects } = policy.capacity;
  const nodes = [...cluster.nodes.values()];
  const quotas = (objects.quotas ?? []).map((quota) => wish(quota, quotaStatus(quota, nodes, names, nowMs)));
  const input = { objects, names, nowMs, controls, injects };
  const buffers = (objects.buffers ?? []).map((buffer) => wish(buffer, bufferStatus(buffer, input)));
  return [...buffers, ...quotas];
}

function wish({ ref, status }: { readonly ref: CapacityObjectRef; readonly status: CapacityStatus }, after: CapacityStatus): StatusWish {
  return { ref, before: status, after };
}
