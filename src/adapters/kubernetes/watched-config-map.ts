/** One ConfigMap, kept current by a watch of its name alone, so that a role need not allow more than that name. */
import { asAutoscalerError } from '../../domain/errors.ts';
import type { ObjectJson } from './api-json.ts';
import type { ConfigMapListener, ConfigMapName } from './options.ts';
import { Reflector } from './reflector.ts';
import type { ReflectorDeps } from './reflector-options.ts';
import { Table } from './table.ts';

interface ConfigMapJson extends ObjectJson {
  readonly data?: Readonly<Record<string, string>>;
}

/** Owns the watch. */
export class WatchedConfigMap {
  readonly #reflector: Reflector;
  readonly #deps: Omit<ReflectorDeps, 'resource' | 'path' | 'table'>;
  readonly #name: string;

  constructor(deps: Omit<ReflectorDeps, 'resource' | 'path' | 'table'>, { namespace, name }: ConfigMapName, listener: ConfigMapListener) {
    this.#deps = deps;
    this.#name = name;
    const table = new Table<Readonly<Record<string, string>>>({
      keyOf: ({ metadata }) => metadata?.name ?? '',
      project: ({ data = {} }: ConfigMapJson) => data,
      onChange: (_, after) => listener(after),
    });
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/configmaps`;
    const query = { fieldSelector: `metadata.name=${name}` };
    // Roles without this right are known, and nobody shall wait for them.
    this.#reflector = new Reflector({ ...deps, resource: 'configmaps', path, table, query, refusalGraceMs: 0 });
  }

  /** Resolves when it is known what stands there, or that we may not read it: then it counts as not there. */
  async start(signal: AbortSignal): Promise<void> {
    this.#reflector.start(signal);
    try {
      await this.#reflector.synced;
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      this.#deps.log.warn({ what: this.#name, kind: error.kind, error: error.message }, 'a ConfigMap cannot be read and counts as absent');
    }
  }

  ended(): Promise<void> {
    return this.#reflector.ended();
  }
}
