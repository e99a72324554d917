/** What is asked of the store itself, through the JSON gateway of etcd. */
import { AutoscalerError } from '../../../src/lib/errors.ts';

interface Reply {
  readonly header?: { readonly revision?: string };
}

/** Drops the history up to now. @param etcd its URL */
export async function compactStore(etcd: string): Promise<void> {
  // A version of its own: no object has it, so a watch from any object's version is too old.
  const key = Buffer.from('compacted').toString('base64');
  const { header } = await call(etcd, 'kv/put', { key, value: key });
  await call(etcd, 'kv/compaction', { revision: header?.revision, physical: true });
}

async function call(etcd: string, path: string, body: unknown): Promise<Reply> {
  const response = await fetch(`${etcd}/v3/${path}`, { method: 'POST', body: JSON.stringify(body) });
  if (response.ok) return (await response.json()) as Reply;
  const message = `etcd answered ${response.status} to ${path}: ${await response.text()}`;
  throw new AutoscalerError({ kind: 'unavailable', effect: 'unknown' }, message);
}
