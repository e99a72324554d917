/**
 * Whether a pod's requests fit the free resources of a node. Hot: called once per pod and node of every search. The room has one file per
 * kube-scheduler filter. Must not know snapshots or node groups.
 */
import type { FitReason } from '../../domain/reasons.ts';
import { plainResource, type Resources, type ResourceNames } from '../../domain/resources.ts';

/** The part of a request that is above zero. A resource that is not requested never excludes a pod. */
export interface Need {
  readonly indexes: readonly number[];
  readonly amounts: readonly number[];
  /** A free vector must be at least this long. */
  readonly length: number;
}

export function needOf(requests: Resources): Need {
  const indexes: number[] = [];
  requests.forEach((amount, index) => {
    if (amount > 0) indexes.push(index);
  });
  return { indexes, amounts: indexes.map((index) => requests[index] ?? 0), length: (indexes.at(-1) ?? -1) + 1 };
}

/** `free` holds the vectors of many nodes. The node's vector begins at `offset` and is at least `need.length` long. */
export function fitsFree(need: Need, free: Resources, offset: number): boolean {
  const { indexes, amounts } = need;
  for (let at = 0; at < indexes.length; at++) {
    if ((amounts[at] ?? 0) > (free[offset + (indexes[at] ?? 0)] ?? 0)) return false;
  }
  return true;
}

/** How many equal pods fit in the free vector that begins at `offset`. Infinity for a pod without requests. */
export function countFits(need: Need, free: Resources, offset = 0): number {
  const { indexes, amounts } = need;
  let count = Number.POSITIVE_INFINITY;
  for (let at = 0; at < indexes.length; at++) {
    const amount = amounts[at] ?? 1;
    const room = free[offset + (indexes[at] ?? 0)] ?? 0;
    // Most visits of a search end here, without a division.
    if (room < amount) return 0;
    count = Math.min(count, Math.floor(room / amount));
  }
  return count;
}

/** Every short resource, as kube-scheduler reports them. */
export function insufficientResources(requests: Resources, free: Resources, names: ResourceNames): readonly FitReason[] {
  const reasons: FitReason[] = [];
  requests.forEach((requested, index) => {
    const left = free[index] ?? 0;
    if (requested > 0 && requested > left) {
      reasons.push({ kind: 'insufficient-resource', resource: plainResource(names.nameOf(index)), requested, free: left });
    }
  });
  return reasons;
}
