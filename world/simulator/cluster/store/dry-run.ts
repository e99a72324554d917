/** Requests with `dryRun=All`: a write is checked completely, but nothing is stored and no listener is called. */
import { createApi, type Api } from './api.ts';
import { isRecord } from './patches.ts';
import { refuse, type KubeStatus } from './status.ts';

/** The API over the same objects; its writes have no effect. */
export function dryRunStore({ store, timers, podWebhooks }: Api): Api {
  const writes = {
    put: <Item>(_storage: string, object: Item): Item => object,
    remove: (storage: string, key: string) => store.get(storage, key),
  };
  return createApi(store, timers, 1, { writes, podWebhooks });
}

interface DryRunInput {
  readonly method: string;
  readonly query: URLSearchParams;
  readonly body: unknown;
}

/** Whether a request is a dry run, by its query or its DeleteOptions, also inside an Eviction. An unknown value is refused. */
export function isDryRun({ method, query, body }: DryRunInput): boolean | { readonly ok: false; readonly refusal: KubeStatus } {
  if (method === 'GET') return false;
  const values = [...query.getAll('dryRun'), ...inOptions(method === 'DELETE' ? body : isRecord(body) ? body['deleteOptions'] : undefined)];
  const wrong = values.find((value) => value !== 'All');
  if (wrong === undefined) return values.length > 0;
  const kind = { POST: 'CreateOptions', PATCH: 'PatchOptions', DELETE: 'DeleteOptions' }[method] ?? 'UpdateOptions';
  const problem = `dryRun: Unsupported value: ${JSON.stringify(wrong)}: supported values: "All"`;
  return refuse(422, 'Invalid', `${kind}.meta.k8s.io "" is invalid: ${problem}`);
}

function inOptions(body: unknown): readonly unknown[] {
  const values = isRecord(body) ? body['dryRun'] : undefined;
  return Array.isArray(values) ? values : [];
}
