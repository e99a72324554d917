/** Which controllers of pods exist, by a file: a kind that is there is there whole; of a kind that is not, nothing is known. */
import type { FileObject } from '../../config/objects-file.ts';
import type { Pod } from '../../domain/pod.ts';
import { isOwnerKind, ownerKey, ownerOf, type OwnerState, type OwnerStates } from '../../domain/workload.ts';

interface WorkloadJson extends FileObject {
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly spec?: { readonly replicas?: number | null } | null;
}

export interface FileOwners {
  readonly states: OwnerStates;
  /** Kinds that pods name and the file does not hold: those controllers are taken to exist. Sorted. */
  readonly missing: readonly string[];
}

/** What the objects say of the controllers of these pods. */
export function ownersOf(objects: readonly FileObject[], pods: Iterable<readonly Pod[]>): FileOwners {
  const kinds = new Set(objects.map(({ kind }) => kind));
  const found = presentOwners(objects);
  const states = new Map<string, OwnerState>();
  const missing = new Set<string>();
  for (const onNode of pods) {
    for (const pod of onNode) {
      if (pod.controller?.kind === 'DaemonSet' && !kinds.has('DaemonSet')) missing.add('DaemonSet');
      const owner = ownerOf(pod);
      if (owner === undefined) continue;
      if (kinds.has(owner.kind)) states.set(ownerKey(owner), found.get(ownerKey(owner)) ?? { exists: false });
      else missing.add(owner.kind);
    }
  }
  return { states, missing: [...missing].sort() };
}

/** As the daemon reads them one by one; only these two kinds have a number of replicas that a drain asks for. */
function presentOwners(objects: readonly FileObject[]): OwnerStates {
  const states = new Map<string, OwnerState>();
  for (const object of objects) {
    // Nothing is known of the form of kinds that no decision reads.
    const { kind } = object;
    if (!isOwnerKind(kind)) continue;
    const { metadata, spec } = object as WorkloadJson;
    const hasReplicas = kind === 'ReplicaSet' || kind === 'ReplicationController';
    const key = ownerKey({ kind, namespace: metadata.namespace ?? 'default', name: metadata.name });
    states.set(key, { exists: true, desired: hasReplicas ? (spec?.replicas ?? 1) : undefined });
  }
  return states;
}
