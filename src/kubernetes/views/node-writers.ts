/**
 * Who last wrote the taints of one node and whether it takes pods, by the managed fields of the API object. The watches drop these fields, so
 * the node is read once for a person who asks. Must not know what a taint means.
 */
import type { NodeName } from '../../domain/ids.ts';
import type { FieldWriter, NodeWriters } from '../../domain/node.ts';
import { type ManagedFieldJson, type MetadataJson, timeOf } from '../api/core-json.ts';
import { getOrUndefined, type Rest } from '../api/rest.ts';

/** A person waits. */
const TIMEOUT_MS = 1_500;

/** undefined: there is no such node. @throws AutoscalerError */
export async function readNodeWriters(rest: Rest, name: NodeName, signal: AbortSignal): Promise<NodeWriters | undefined> {
  const node = await getOrUndefined(rest, `/api/v1/nodes/${encodeURIComponent(name)}`, signal, { timeoutMs: TIMEOUT_MS });
  return node === undefined ? undefined : nodeWritersOf(node);
}

export function nodeWritersOf({ metadata }: { readonly metadata?: MetadataJson }): NodeWriters {
  const fields = metadata?.managedFields ?? [];
  return { taints: lastWriter(fields, 'f:taints'), cordon: lastWriter(fields, 'f:unschedulable') };
}

/** A field may have several managers after server-side apply. */
function lastWriter(fields: readonly ManagedFieldJson[], path: string): FieldWriter | undefined {
  const writers = fields.flatMap(({ manager = '', time, fieldsV1 }): readonly FieldWriter[] =>
    manager === '' || fieldsV1?.['f:spec']?.[path] === undefined ? [] : [{ manager, atMs: timeOf(time) }],
  );
  return writers.sort((one, other) => (other.atMs ?? 0) - (one.atMs ?? 0))[0];
}
