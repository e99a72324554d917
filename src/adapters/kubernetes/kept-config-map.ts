/** A text kept in one key of a ConfigMap. Every write names the version that was read or written last. */
import { asAutoscalerError } from '../../domain/errors.ts';
import type { KeptText } from '../../ports/kept-text.ts';
import type { ObjectJson } from './api-json.ts';
import type { Rest } from './rest.ts';

export interface KeptPlace {
  readonly namespace: string;
  readonly name: string;
  readonly key: string;
}

interface ConfigMapJson extends ObjectJson {
  readonly data?: Readonly<Record<string, string>>;
}

/** Owns the version of its ConfigMap as last seen. */
export class KeptConfigMap implements KeptText {
  readonly #rest: Pick<Rest, 'json'>;
  readonly #place: KeptPlace;
  /** undefined: not known, so a write reads first. `absent`: there is none. */
  #present: ConfigMapJson | 'absent' | undefined;

  constructor(rest: Pick<Rest, 'json'>, place: KeptPlace) {
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
    // Until an answer has come the version is not known.
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
