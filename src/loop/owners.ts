/** The controllers of a node's pods are asked for once, when the node is about to be touched, and what they said stays in view. */
import { asAutoscalerError } from '../domain/errors.ts';
import type { ClusterView } from '../domain/observation.ts';
import type { Pod } from '../domain/pod.ts';
import { ownerOf } from '../domain/workload.ts';
import type { OwnerReader } from '../ports/owner-reader.ts';

/** The view and what is known of owners by now. */
export function withOwners(cluster: ClusterView, owners: OwnerReader | undefined): ClusterView {
  return owners === undefined ? cluster : { ...cluster, owners: owners.known() };
}

/** Learns of the owners of these pods. Answers why that failed; undefined: it is known. Throws only `cancelled`. */
export async function learnOwners(pods: readonly Pod[], owners: OwnerReader | undefined, signal: AbortSignal): Promise<string | undefined> {
  if (owners === undefined) return undefined;
  const wanted = pods.flatMap((pod) => ownerOf(pod) ?? []);
  try {
    if (wanted.length > 0) await owners.read(wanted, signal);
    return undefined;
  } catch (thrown) {
    const error = asAutoscalerError(thrown);
    if (error.kind === 'cancelled') throw error;
    return `whether the controllers of its pods exist is not known: ${error.message}`;
  }
}
