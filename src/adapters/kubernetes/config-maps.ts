/** Writes a ConfigMap whole, creating it when it is not there, and deletes it. */
import { asAutoscalerError } from '../../domain/errors.ts';
import { retrying, type Retry } from './backoff.ts';
import type { ConfigMapContent, ConfigMapName } from './options.ts';
import { getOrUndefined, type Rest } from './rest.ts';

/** Foreign labels and annotations of a present one are kept. @throws AutoscalerError */
export async function writeConfigMap(
  deps: { readonly rest: Rest; readonly retry: Retry },
  wanted: ConfigMapContent,
  signal: AbortSignal,
): Promise<void> {
  const collection = `/api/v1/namespaces/${encodeURIComponent(wanted.namespace)}/configmaps`;
  const path = `${collection}/${encodeURIComponent(wanted.name)}`;
  const attempt = async (): Promise<void> => {
    const present = await getOrUndefined(deps.rest, path, signal);
    const metadata = {
      ...present?.metadata,
      namespace: wanted.namespace,
      name: wanted.name,
      annotations: { ...present?.metadata?.annotations, ...wanted.annotations },
    };
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: wanted.content };
    const target = present === undefined ? ({ method: 'POST', path: collection } as const) : ({ method: 'PUT', path } as const);
    await deps.rest.json({ ...target, body, operation: 'config-map' }, signal);
  };
  await retrying(deps.retry, attempt, signal);
}

/** One that is not there is done. @throws AutoscalerError */
export async function deleteConfigMap(rest: Rest, { namespace, name }: ConfigMapName, signal: AbortSignal): Promise<void> {
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/configmaps/${encodeURIComponent(name)}`;
  try {
    await rest.json({ method: 'DELETE', path, operation: 'config-map' }, signal);
  } catch (thrown) {
    const error = asAutoscalerError(thrown);
    if (error.kind !== 'not-found') throw error;
  }
}
