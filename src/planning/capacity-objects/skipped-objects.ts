/** The objects that ask for capacity and are skipped, with the reason: for events. Every other object is served. Pure. */
import { type CapacityBuffer, conditionOf } from '../../domain/capacity-objects.ts';
import type { ClusterView } from '../../domain/observation.ts';
import { MAX_CLUSTER_PODS, wholeNumberUpTo } from '../../domain/platform-limits.ts';
import type { EventSubject } from '../../domain/ports/records.ts';
import type { ReplicatedWorkload } from '../../domain/workloads.ts';
import { ACTIVE_STRATEGY, READY, WHOLE_PODS } from './buffer-pods.ts';

export interface SkippedObject {
  readonly subject: EventSubject;
  readonly reason: string;
}

/** In the order of the observation. */
export function skippedObjects({ capacity, workloads }: Pick<ClusterView, 'capacity' | 'workloads'>): readonly SkippedObject[] {
  const { buffers, requests } = capacity;
  return [
    ...buffers.flatMap((buffer) => skipped('CapacityBuffer', buffer.ref, problemOfBuffer(buffer))),
    ...requests.flatMap(({ ref, problem }) => skipped('ProvisioningRequest', ref, problem?.message)),
    ...workloads.flatMap((workload) => skipped(workload.kind, workload, problemOfWorkload(workload))),
  ];
}

type Named = { readonly [Field in 'namespace' | 'name' | 'uid']: string };

function skipped(
  kind: 'CapacityBuffer' | 'ProvisioningRequest' | ReplicatedWorkload['kind'],
  { namespace, name, uid }: Named,
  reason: string | undefined,
): readonly SkippedObject[] {
  return reason === undefined ? [] : [{ subject: { kind, namespace, name, uid }, reason }];
}

function problemOfWorkload({ desired }: ReplicatedWorkload): string | undefined {
  return desired > MAX_CLUSTER_PODS ? `it wants ${desired} pods; ${WHOLE_PODS}` : undefined;
}

/** The condition has what the buffer's controller found, also of templates and workloads. */
function problemOfBuffer({ problem, status, strategy }: CapacityBuffer): string | undefined {
  if (strategy !== ACTIVE_STRATEGY) return undefined;
  if (problem !== undefined) return problem.message;
  const { replicas } = status;
  if (replicas !== undefined && wholeNumberUpTo(replicas, MAX_CLUSTER_PODS) === undefined)
    return `status.replicas is ${replicas}; ${WHOLE_PODS}`;
  const ready = conditionOf(status, READY);
  return ready?.status === 'False' && ready.reason === 'error' ? ready.message : undefined;
}
