/** Writes, deletes, keeps and watches single ConfigMaps. Must not know what their texts mean. */
import type { StoredText } from '../../domain/ports/stored-text.ts';
import { asAutoscalerError } from '../../lib/errors.ts';
import { retrying, type Retry } from '../api/backoff.ts';
import type { MetadataJson, ObjectJson } from '../api/core-json.ts';
import type { ConfigMapContent, ConfigMapName, ConfigMapListener } from '../api/options.ts';
import { getOrUndefined, type Rest } from '../api/rest.ts';
import { Table } from '../watch/object-table.ts';
import type { ReflectorDeps } from '../watch/reflector-options.ts';
import { Reflector } from '../watch/reflector.ts';

interface ConfigMapDeps {
  readonly rest: Rest;
  readonly retry: Retry;
}

/**
 * ConfigMaps that this program writes as a whole. Labels and annotations of others are kept. A write names the version that the last write
 * returned, so a usual write is one call; after a change by another writer it reads first.
 */
export class ReplacedConfigMaps {
  readonly #deps: ConfigMapDeps;
  /** By path: the metadata that the last write returned. */
  readonly #written = new Map<string, MetadataJson>();

  constructor(deps: ConfigMapDeps) {
    this.#deps = deps;
  }

  /** Creates or replaces the ConfigMap. @throws AutoscalerError */
  async write(wanted: ConfigMapContent, signal: AbortSignal): Promise<void> {
    await retrying(this.#deps.retry, () => this.#attempt(wanted, signal), signal);
  }

  /** A missing ConfigMap counts as deleted. @throws AutoscalerError */
  async delete(name: ConfigMapName, signal: AbortSignal): Promise<void> {
    const { path } = pathsOf(name);
    this.#written.delete(path);
    try {
      await this.#deps.rest.json({ method: 'DELETE', path, operation: 'config-map' }, signal);
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      if (error.kind !== 'not-found') throw error;
    }
  }

  async #attempt(wanted: ConfigMapContent, signal: AbortSignal): Promise<void> {
    const { path } = pathsOf(wanted);
    const written = this.#written.get(path);
    // The version is unknown until the answer arrives.
    this.#written.delete(path);
    try {
      const present = written ?? (await getOrUndefined(this.#deps.rest, path, signal))?.metadata;
      await this.#put(wanted, present, signal);
    } catch (thrown) {
      const { kind } = asAutoscalerError(thrown);
      if (written === undefined || (kind !== 'conflict' && kind !== 'not-found')) throw thrown;
      await this.#attempt(wanted, signal);
    }
  }

  /** `present`: the metadata of the ConfigMap; undefined: it does not exist. */
  async #put(wanted: ConfigMapContent, present: MetadataJson | undefined, signal: AbortSignal): Promise<void> {
    const { namespace, name, content: data } = wanted;
    const { path, collection } = pathsOf(wanted);
    const metadata = { ...present, namespace, name, annotations: { ...present?.annotations, ...wanted.annotations } };
    const target = present === undefined ? ({ method: 'POST', path: collection } as const) : ({ method: 'PUT', path } as const);
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data };
    const answer = (await this.#deps.rest.json({ ...target, body, operation: 'config-map' }, signal)) as ObjectJson;
    if (answer.metadata?.resourceVersion !== undefined) this.#written.set(path, answer.metadata);
  }
}

function pathsOf({ namespace, name }: ConfigMapName): { readonly collection: string; readonly path: string } {
  const collection = `/api/v1/namespaces/${encodeURIComponent(namespace)}/configmaps`;
  return { collection, path: `${collection}/${encodeURIComponent(name)}` };
}

interface ConfigMapKey {
  readonly namespace: string;
  readonly name: string;
  readonly key: string;
}

interface ConfigMapJson extends ObjectJson {
  readonly data?: Readonly<Record<string, string>>;
}

/** A text in one key of a ConfigMap. Every write names the version that was read or written last. */
export class StoredConfigMap implements StoredText {
  readonly #rest: Pick<Rest, 'json'>;
  readonly #place: ConfigMapKey;
  /** If undefined, the content is unknown and a write reads first. `absent`: the ConfigMap does not exist. */
  #present: ConfigMapJson | 'absent' | undefined;

  constructor(rest: Pick<Rest, 'json'>, place: ConfigMapKey) {
    this.#rest = rest;
    this.#place = place;
  }

  async read(signal: AbortSignal): Promise<string | undefined> {
    const present = await this.#look(signal);
    return present === 'absent' ? undefined : present.data?.[this.#place.key];
  }

  async write(text: string, signal: AbortSignal): Promise<void> {
    const { namespace, name, key } = this.#place;
    const present = this.#present ?? (await this.#look(signal));
    // The version is unknown until the answer arrives.
    this.#present = undefined;
    const data = { [key]: text };
    const collection = `/api/v1/namespaces/${encodeURIComponent(namespace)}/configmaps`;
    const body =
      present === 'absent'
        ? { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace, name }, data }
        : { ...present, apiVersion: 'v1', kind: 'ConfigMap', data };
    const target =
      present === 'absent'
        ? ({ method: 'POST', path: collection } as const)
        : ({ method: 'PUT', path: `${collection}/${encodeURIComponent(name)}` } as const);
    this.#present = (await this.#rest.json({ ...target, body, operation: 'config-map' }, signal)) as ConfigMapJson;
  }

  async #look(signal: AbortSignal): Promise<ConfigMapJson | 'absent'> {
    const { namespace, name } = this.#place;
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/configmaps/${encodeURIComponent(name)}`;
    try {
      this.#present = (await this.#rest.json({ method: 'GET', path }, signal)) as ConfigMapJson;
    } catch (thrown) {
      if (asAutoscalerError(thrown).kind !== 'not-found') throw thrown;
      this.#present = 'absent';
    }
    return this.#present;
  }
}

/** Keeps one ConfigMap current by a watch of its name alone, so that a role needs no permission beyond that name. */
export class WatchedConfigMap {
  readonly #reflector: Reflector;
  readonly #deps: Omit<ReflectorDeps, 'resource' | 'path' | 'table'>;
  readonly #name: string;

  /** `refusalGraceMs`: how long refusals are tolerated before the ConfigMap counts as absent. Some roles lack the permission. */
  constructor(
    deps: Omit<ReflectorDeps, 'resource' | 'path' | 'table'>,
    { namespace, name }: ConfigMapName,
    listener: ConfigMapListener,
    refusalGraceMs = 0,
  ) {
    this.#deps = deps;
    this.#name = name;
    const table = new Table<Readonly<Record<string, string>>>({
      keyOf: ({ metadata }) => metadata?.name ?? '',
      project: ({ data = {} }: ConfigMapJson) => data,
      onChange: (_, after) => listener(after),
    });
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/configmaps`;
    const query = { fieldSelector: `metadata.name=${name}` };
    this.#reflector = new Reflector({ ...deps, resource: 'configmaps', path, table, query, refusalGraceMs });
  }

  /** Resolves when the content is known. Resolves too if reading is forbidden; the ConfigMap then counts as absent. */
  async start(signal: AbortSignal): Promise<void> {
    this.#reflector.start(signal);
    try {
      await this.#reflector.synced;
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      this.#deps.log.warn({ what: this.#name, kind: error.kind, error: error.message }, 'ConfigMap could not be read and counts as absent');
    }
  }

  ended(): Promise<void> {
    return this.#reflector.ended();
  }
}
