/** Who put a taint on a node: by its key where that says it, else the last writer of the node's taints, where that is known. */
import type { FieldWriter } from '../../../domain/node.ts';
import type { NodeGroup } from '../../../domain/node-group.ts';
import { DELETION_CANDIDATE_TAINT, type Taint, TO_BE_DELETED_TAINT } from '../../../domain/taints.ts';

/** A writer as people read it. */
export interface NamedWriter {
  readonly by: string;
  /** When the taints were last written. Absent if that is not known, or not what the name rests on. */
  readonly at?: string;
}

const OWN = 'autoscaler';
const UNKNOWN = 'another writer';
/** The client that writes our own taints, which makes it the last writer of all of them. */
const OWN_MANAGER = /^aks-autoscaler/;

/** The first that matches. */
const WRITERS_BY_KEY: readonly (readonly [key: RegExp, writer: string])[] = [
  [/^node\.cloudprovider\.kubernetes\.io\//, 'the cloud controller manager'],
  [/^node\.kubernetes\.io\//, 'the node controllers of Kubernetes'],
  [/^remediator\.kubernetes\.azure\.com\//, "AKS's automatic repair of nodes"],
  [/(?:^|\.)kubernetes\.azure\.com\//, 'AKS'],
  [/^cloudprovider\.azure\.microsoft\.com\//, "AKS's node problem detector"],
];

export function taintWriter(
  { key, effect }: Taint,
  { group, last }: { readonly group: NodeGroup | undefined; readonly last: FieldWriter | undefined },
): NamedWriter {
  if (key === TO_BE_DELETED_TAINT || key === DELETION_CANDIDATE_TAINT) return { by: OWN };
  // The pool's next node would have it, too.
  if (group?.template?.taints.some((taint) => taint.key === key && taint.effect === effect) === true) return { by: `pool ${group.id}` };
  const known = WRITERS_BY_KEY.find(([pattern]) => pattern.test(key));
  return known === undefined ? namedWriter(last) : { by: known[1] };
}

/** A cordon is one field: its manager is who cordoned the node. */
export function cordonWriter(last: FieldWriter | undefined): NamedWriter {
  return last !== undefined && OWN_MANAGER.test(last.manager) ? { by: OWN } : namedWriter(last);
}

/** The manager of the list of taints, unless that is this program, which then wrote it for another taint. */
function namedWriter(last: FieldWriter | undefined): NamedWriter {
  if (last === undefined || OWN_MANAGER.test(last.manager)) return { by: UNKNOWN };
  return { by: last.manager, ...(last.atMs === undefined ? {} : { at: new Date(last.atMs).toISOString() }) };
}
