/** A small client of the real API server. It shares no code with the client of the program under test. */
import { text } from 'node:stream/consumers';
import { AutoscalerError } from '../../../src/lib/errors.ts';
import { HttpsConnections } from './https-connections.ts';
import { pause } from './waits.ts';

export type Json = Readonly<Record<string, unknown>>;

interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly { readonly kind: string; readonly name: string; readonly controller?: boolean }[];
}

export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
}

export interface ApiReply {
  readonly status: number;
  readonly body: Json;
}

export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: KubeObject;
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export const MERGE = 'application/merge-patch+json';
export const STRATEGIC = 'application/strategic-merge-patch+json';
const FOLLOW_AGAIN_MS = 200;
const APPLY = 'application/apply-patch+yaml';
const FIELD_MANAGER = 'world';

/** Kinds whose plural is not the kind in lower case with an s. */
const PLURALS: Readonly<Record<string, string>> = {
  NetworkPolicy: 'networkpolicies',
  PriorityClass: 'priorityclasses',
  StorageClass: 'storageclasses',
};
const CLUSTER_WIDE = new Set([
  'Namespace',
  'Node',
  'ClusterRole',
  'ClusterRoleBinding',
  'PriorityClass',
  'StorageClass',
  'PersistentVolume',
  'CSINode',
  'CSIDriver',
  'CustomResourceDefinition',
]);

function apiError(status: number, message: string): AutoscalerError {
  return new AutoscalerError({ kind: 'kube-api', status }, message);
}

interface ApiClientOptions {
  readonly server: string;
  readonly caPem: string;
  readonly token: string;
}

/** Owns the connections of one user. */
export class ApiClient {
  readonly server: string;
  readonly #token: string;
  readonly #connections: HttpsConnections;

  constructor({ server, caPem, token }: ApiClientOptions) {
    this.server = server;
    this.#token = token;
    this.#connections = new HttpsConnections(server, caPem);
  }

  /** Returns any response. Rejects only without one. */
  async call(method: Method, path: string, body?: unknown, contentType = 'application/json'): Promise<ApiReply> {
    const type = body === undefined ? {} : { 'content-type': contentType };
    const headers = { authorization: `Bearer ${this.#token}`, accept: 'application/json', ...type };
    const content = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await this.#connections.send({ method, path, headers, ...content });
    const reply = await text(response);
    return { status: response.statusCode ?? 0, body: reply.startsWith('{') ? (JSON.parse(reply) as Json) : { text: reply } };
  }

  /** @throws AutoscalerError of kind `kube-api` for a response that is no success. */
  async must(method: Method, path: string, body?: unknown, contentType?: string): Promise<Json> {
    const answer = await this.call(method, path, body, contentType);
    if (answer.status >= 300) {
      throw apiError(answer.status, `${method} ${path} answered ${answer.status}: ${messageOf(answer.body)}`);
    }
    return answer.body;
  }

  /** undefined: the object does not exist. */
  async get(path: string): Promise<KubeObject | undefined> {
    const answer = await this.call('GET', path);
    if (answer.status === 404) return undefined;
    if (answer.status >= 300) throw apiError(answer.status, `GET ${path} answered ${answer.status}`);
    return answer.body as KubeObject;
  }

  async list(path: string): Promise<readonly KubeObject[]> {
    return (await this.must('GET', path))['items'] as readonly KubeObject[];
  }

  /** Server-side apply; with `dryRun`, every check without the effect. */
  async apply(object: Json, options: { readonly dryRun?: boolean } = {}): Promise<KubeObject> {
    const query = `?fieldManager=${FIELD_MANAGER}&force=true&fieldValidation=Strict${options.dryRun === true ? '&dryRun=All' : ''}`;
    return (await this.must('PATCH', pathOf(object) + query, object, APPLY)) as KubeObject;
  }

  async delete(path: string, options: Json = {}): Promise<void> {
    const answer = await this.call('DELETE', path, options);
    if (answer.status >= 300 && answer.status !== 404) {
      throw apiError(answer.status, `DELETE ${path} answered ${answer.status}: ${messageOf(answer.body)}`);
    }
  }

  /** Follows a collection until the returned function is called: what exists as ADDED, then each change. After an error it begins again. */
  follow(path: string, onEvent: (event: WatchEvent) => void): () => void {
    const stop = new AbortController();
    const run = async (): Promise<void> => {
      while (!stop.signal.aborted) {
        try {
          const list = await this.must('GET', path);
          const version = (list['metadata'] as ObjectMeta).resourceVersion;
          const item = list as { readonly kind: string; readonly apiVersion: string; readonly items: readonly KubeObject[] };
          for (const object of item.items) onEvent({ type: 'ADDED', object });
          await this.#watch(`${path}${path.includes('?') ? '&' : '?'}watch=true&resourceVersion=${version}`, onEvent, stop.signal);
        } catch {
          // The server restarts, or ended the watch.
          await pause(FOLLOW_AGAIN_MS);
        }
      }
    };
    void run();
    return () => stop.abort();
  }

  async #watch(path: string, onEvent: (event: WatchEvent) => void, signal: AbortSignal): Promise<void> {
    const headers = { authorization: `Bearer ${this.#token}` };
    const response = await this.#connections.send({ method: 'GET', path, headers, signal });
    let rest = '';
    response.setEncoding('utf8');
    for await (const chunk of response as AsyncIterable<string>) {
      const lines = `${rest}${chunk}`.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines.filter((each) => each !== '')) {
        const event = JSON.parse(line) as WatchEvent;
        if (event.type === 'ERROR') return;
        onEvent(event);
      }
    }
  }

  close(): void {
    this.#connections.close();
  }
}

function messageOf({ message }: Json): string {
  return typeof message === 'string' ? message : '';
}

/** The path of an object of any built-in kind. */
function pathOf(object: Json): string {
  const { apiVersion, kind } = object as { readonly apiVersion: string; readonly kind: string };
  const { name, namespace = 'default' } = object['metadata'] as { readonly name: string; readonly namespace?: string };
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const plural = PLURALS[kind] ?? `${kind.toLowerCase()}s`;
  return CLUSTER_WIDE.has(kind) ? `${root}/${plural}/${name}` : `${root}/namespaces/${namespace}/${plural}/${name}`;
}
