/**
 * Who wrote a deletion taint. The writer's name is an annotation of the node: the holder of the lease with the lease's transition number,
 * or, without a lease, a name of this one process. Decides whether the writer may still rely on its taint.
 */
import type { Node } from './node.ts';
import { CORDONED_BEFORE_TAINT, DELETION_OWNER_ANNOTATION, TO_BE_DELETED_TAINT, hasTaint, type TaintOwner } from './taints.ts';

/** The name of a lease's holder. `transitions` is the number of changes of holder that the lease states. */
export function leaseOwnerName(holder: string, transitions: number): string {
  return `${holder}/${transitions}`;
}

/** The name of a process that needs no lease. Two of them may run at once, and neither knows when the other ends. */
export function processOwnerName(identity: string, startedAtMs: number): string {
  return `${identity}/since-${startedAtMs}`;
}

/** The owner of a deletion taint, and of the taint that remembers a cordon, in the words of the port. An empty name is no name. */
export function deletionTaintOwner(value: string): TaintOwner {
  return { annotation: DELETION_OWNER_ANNOTATION, value, covers: [TO_BE_DELETED_TAINT, CORDONED_BEFORE_TAINT] };
}

/**
 * Whether the process that wrote `owner` is known to have ended, or to be `self`: `self` holds the lease, and got it after `owner` did.
 * A lease that was deleted counts from 0 again; then nothing is known.
 */
export function isOwnerOver(owner: string, self: string): boolean {
  if (owner === self) return true;
  const [theirs, ours] = [transitionsOf(owner), transitionsOf(self)];
  return theirs !== undefined && ours !== undefined && theirs < ours;
}

function transitionsOf(owner: string): number | undefined {
  const number = /\/(\d{1,9})$/.exec(owner)?.[1];
  return number === undefined ? undefined : Number(number);
}

/** Why the node no longer has the deletion taint that `self` wrote; undefined: it has. */
export function lostTaintReason(node: Pick<Node, 'taints' | 'deletionOwner' | 'unschedulable'>, self: string): string | undefined {
  if (!hasTaint(node.taints, TO_BE_DELETED_TAINT))
    return `its deletion taint was removed by another writer${node.unschedulable ? '; the node stays cordoned' : ''}`;
  if (node.deletionOwner === self) return undefined;
  return `its deletion taint now belongs to ${node.deletionOwner || 'another writer'}`;
}
