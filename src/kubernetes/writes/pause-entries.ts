/**
 * The entries of the ConfigMap of pauses, for commands: with the rights of the person who asks. Each write changes the entries that it names, so
 * two people who pause two pools at once do not undo each other. Must not know what an entry means.
 */
import type { Clock } from '../../lib/clock.ts';
import { asAutoscalerError, AutoscalerError } from '../../lib/errors.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { openConnection } from '../api/connection.ts';
import type { ObjectJson } from '../api/core-json.ts';
import { statusOf } from '../api/errors.ts';
import type { ConfigMapName, KubernetesOptions } from '../api/options.ts';
import { createRest, type Rest, type RestCall } from '../api/rest.ts';

type Entries = Readonly<Record<string, string>>;

export interface PauseEntries {
  /** @throws AutoscalerError `auth` without the right. */
  read(signal: AbortSignal): Promise<Entries>;
  /** Changes these entries alone; null removes one. Creates the ConfigMap if it is needed. @returns all entries. @throws as `read` */
  change(entries: Readonly<Record<string, string | null>>, signal: AbortSignal): Promise<Entries>;
  close(): Promise<void>;
}

interface PauseEntriesDeps {
  readonly options: Pick<KubernetesOptions, 'kubeconfigPath' | 'context'>;
  readonly name: ConfigMapName;
  readonly clock: Clock;
  readonly metrics: Metrics;
}

interface ConfigMapJson extends ObjectJson {
  readonly data?: Entries;
}

const TIMEOUT_MS = 10_000;

/** Connects. @throws AutoscalerError `config` if the kubeconfig cannot be read. */
export async function openPauseEntries({ options, name, clock, metrics }: PauseEntriesDeps): Promise<PauseEntries> {
  const connection = await openConnection(
    { ...options, namespace: name.namespace, leaseName: '', identity: '', leaderElect: false },
    clock,
  );
  const rest = createRest({ connection, clock, metrics, userAgent: 'aks-autoscaler-pause', timeoutMs: TIMEOUT_MS });
  return {
    read: async (signal) => (await call(rest, name, { method: 'GET' }, signal)) ?? {},
    change: (entries, signal) => changeEntries(rest, name, entries, signal),
    close: () => connection.close(),
  };
}

async function changeEntries(
  rest: Rest,
  name: ConfigMapName,
  entries: Readonly<Record<string, string | null>>,
  signal: AbortSignal,
): Promise<Entries> {
  // guard: a command changes the entries that it names, and no others
  const patch = { method: 'PATCH', body: { data: entries }, contentType: 'application/merge-patch+json' } as const;
  const patched = await call(rest, name, patch, signal);
  const added = Object.fromEntries(Object.entries(entries).flatMap(([key, text]) => (text === null ? [] : [[key, text]])));
  if (patched !== undefined || Object.keys(added).length === 0) return patched ?? {};
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: name, data: added };
  try {
    return (await call(rest, name, { method: 'POST', body }, signal)) ?? {};
  } catch (thrown) {
    // Another person created it in the meantime.
    if (asAutoscalerError(thrown).kind !== 'conflict') throw thrown;
    return (await call(rest, name, patch, signal)) ?? {};
  }
}

/** @returns the entries; undefined: the ConfigMap does not exist. */
async function call(
  rest: Rest,
  { namespace, name }: ConfigMapName,
  { method, ...more }: Pick<RestCall, 'method' | 'body' | 'contentType'>,
  signal: AbortSignal,
): Promise<Entries | undefined> {
  const collection = `/api/v1/namespaces/${encodeURIComponent(namespace)}/configmaps`;
  const path = method === 'POST' ? collection : `${collection}/${encodeURIComponent(name)}`;
  try {
    const { data = {} } = (await rest.json({ method, path, ...more }, signal)) as ConfigMapJson;
    return data;
  } catch (thrown) {
    const error = asAutoscalerError(thrown);
    if (error.kind === 'not-found' && method !== 'POST') return undefined;
    if (statusOf(error) !== 403) throw error;
    const rule = `{apiGroups: [""], resources: [configmaps], resourceNames: [${name}], verbs: [get, patch]}, and create of configmaps`;
    throw new AutoscalerError(
      { kind: 'auth' },
      `You have no right to ${VERBS[method]} the ConfigMap ${namespace}/${name}. A Role grants it: ${rule}.`,
    );
  }
}

const VERBS = { GET: 'read', PATCH: 'change', POST: 'create', PUT: 'replace', DELETE: 'delete' } as const;
