/** LIST: selectors, pages that stay consistent while the world changes, and the 410 of an expired page token. */
import type { Api } from '../store/api.ts';
import { encodeObject } from '../store/storage-objects.ts';
import type { KubeObject, PodObject } from '../store/objects.ts';
import { apiVersionOf, type ResourceType } from '../store/resource-types.ts';
import { parseFieldSelector, parseLabelSelector, type Matcher } from '../store/selectors.ts';
import { badRequest, expiredStatus, success, tooLargeVersion, type Result } from '../store/status.ts';
import { keyOf } from '../store/store.ts';
import type { ResourceRoute } from './requests.ts';
import { compareBy } from '../../../../src/lib/comparison.ts';

export interface ObjectList {
  readonly kind: string;
  readonly apiVersion: string;
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string; readonly remainingItemCount?: number };
  readonly items: readonly KubeObject[];
}

/** The objects that list, watch and deletecollection select. */
export function matcherOf(route: ResourceRoute, query: URLSearchParams): Result<Matcher> {
  const labels = parseLabelSelector(query.get('labelSelector') ?? '');
  if (!labels.ok) return labels;
  const fields = parseFieldSelector(query.get('fieldSelector') ?? '', route.type);
  if (!fields.ok) return fields;
  const { namespace, name, type } = route;
  return success(
    (object) =>
      (namespace === undefined || object.metadata.namespace === namespace) &&
      (name === undefined || object.metadata.name === name) &&
      labels.value(object) &&
      fields.value(encodeObject(type, object)),
  );
}

interface OpenList {
  readonly version: number;
  readonly items: readonly KubeObject[];
  /** Number of items that earlier pages had. */
  readonly from: number;
}

const MAX_OPEN_LISTS = 1000;

/** Responds to lists and keeps the remaining pages for their client. */
export class Lists {
  readonly #open = new Map<string, OpenList>();
  readonly #api: Api;
  readonly #podsOfNode: (node: string) => readonly KubeObject[];
  #sequence = 0;

  constructor(api: Api) {
    this.#api = api;
    this.#podsOfNode = api.store.indexBy('pods', (pod) => (pod as PodObject).spec.nodeName);
  }

  /** Expires all page tokens issued so far. */
  expireAll(): void {
    this.#open.clear();
  }

  list(route: ResourceRoute, query: URLSearchParams): Result<ObjectList> {
    const limit = Number(query.get('limit') ?? '0');
    if (!Number.isInteger(limit) || limit < 0) return badRequest(`limit: Invalid value: "${query.get('limit') ?? ''}"`);
    const token = query.get('continue') ?? '';
    const opened = token === '' ? this.#begin(route, query) : this.#resume(token);
    if (!opened.ok) return opened;
    return success(this.#page(route.type, opened.value, { limit, counted: !query.has('labelSelector') && !query.has('fieldSelector') }));
  }

  #begin(route: ResourceRoute, query: URLSearchParams): Result<OpenList> {
    const { store } = this.#api;
    const requested = Number(query.get('resourceVersion') ?? '0');
    if (!Number.isInteger(requested)) return badRequest(`Invalid value: "${query.get('resourceVersion') ?? ''}"`);
    if (requested > store.version) return tooLargeVersion(requested, store.version);
    if (query.get('resourceVersionMatch') === 'Exact' && requested < store.compactedTo) {
      return { ok: false, refusal: expiredStatus(`The resourceVersion for the provided list is too old.`) };
    }
    const matcher = matcherOf(route, query);
    if (!matcher.ok) return matcher;
    return success({ version: store.version, items: this.#candidates(route, query).filter(matcher.value), from: 0 });
  }

  /** Sorted. An API server has an index of pods by node, too: kubelets ask for theirs. */
  #candidates({ type }: ResourceRoute, query: URLSearchParams): readonly KubeObject[] {
    const { store } = this.#api;
    const node = /(?:^|,)spec\.nodeName==?([^,]+)/.exec(query.get('fieldSelector') ?? '')?.[1];
    if (type.storage !== 'pods' || node === undefined) return store.list(type.storage);
    return this.#podsOfNode(node).toSorted(compareBy(keyOf));
  }

  #resume(token: string): Result<OpenList> {
    const open = this.#open.get(token);
    if (open !== undefined) return success(open);
    return {
      ok: false,
      refusal: expiredStatus(
        'The provided continue parameter is too old to display a consistent list result. You must start a new list without the continue parameter.',
      ),
    };
  }

  #page(type: ResourceType, open: OpenList, options: { readonly limit: number; readonly counted: boolean }): ObjectList {
    const { items, from } = open;
    const to = options.limit === 0 ? items.length : from + options.limit;
    const left = Math.max(0, items.length - to);
    const more =
      left === 0 ? {} : { continue: this.#keep({ ...open, from: to }), ...(options.counted ? { remainingItemCount: left } : {}) };
    return {
      kind: `${type.kind}List`,
      apiVersion: apiVersionOf(type),
      metadata: { resourceVersion: String(open.version), ...more },
      items: items.slice(from, to).map((object) => encodeObject(type, object)),
    };
  }

  #keep(open: OpenList): string {
    this.#sequence += 1;
    const token = Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', rv: open.version, page: this.#sequence })).toString('base64url');
    this.#open.set(token, open);
    const oldest = this.#open.keys().next().value;
    if (this.#open.size > MAX_OPEN_LISTS && oldest !== undefined) this.#open.delete(oldest);
    return token;
  }
}
