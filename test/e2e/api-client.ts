/** A small client of the real API server, written apart from the daemon's own: it is what the tests see with. */
import { Agent, request } from 'undici';

export type Json = Readonly<Record<string, unknown>>;

interface Meta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly { readonly kind: string; readonly name: string }[];
}

export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Meta;
  readonly [field: string]: unknown;
}

export interface Answer {
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
const APPLY = 'application/apply-patch+yaml';
const FIELD_MANAGER = 'e2e';

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

export class ApiError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Owns the connections of one user. */
export class ApiClient {
  readonly server: string;
  readonly #token: string;
  readonly #agent: Agent;

  constructor({ server, caPem, token }: { readonly server: string; readonly caPem: string; readonly token: string }) {
    this.server = server;
    this.#token = token;
    this.#agent = new Agent({ connect: { ca: caPem, timeout: 60_000 }, bodyTimeout: 0 });
  }

  /** Whatever the server answers. Rejects only when it does not answer. */
  async call(method: Method, path: string, body?: unknown, contentType = 'application/json'): Promise<Answer> {
    const response = await request(this.server + path, {
      dispatcher: this.#agent,
      method,
      headers: {
        authorization: `Bearer ${this.#token}`,
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': contentType }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.body.text();
    return { status: response.statusCode, body: text.startsWith('{') ? (JSON.parse(text) as Json) : { text } };
  }

  /** @throws ApiError for every answer but a success. */
  async must(method: Method, path: string, body?: unknown, contentType?: string): Promise<Json> {
    const answer = await this.call(method, path, body, contentType);
    if (answer.status >= 300) {
      throw new ApiError(answer.status, `${method} ${path} answered ${answer.status}: ${messageOf(answer.body)}`);
    }
    return answer.body;
  }

  /** undefined: there is no such object. */
  async get(path: string): Promise<KubeObject | undefined> {
    const answer = await this.call('GET', path);
    if (answer.status === 404) return undefined;
    if (answer.status >= 300) throw new ApiError(answer.status, `GET ${path} answered ${answer.status}`);
    return answer.body as KubeObject;
  }

  async list(path: string): Promise<readonly KubeObject[]> {
    return (await this.must('GET', path))['items'] as readonly KubeObject[];
  }

  /** Server-side apply; `dryRun` asks for every check without the effect. */
  async apply(object: Json, options: { readonly dryRun?: boolean } = {}): Promise<KubeObject> {
    const query = `?fieldManager=${FIELD_MANAGER}&force=true&fieldValidation=Strict${options.dryRun === true ? '&dryRun=All' : ''}`;
    return (await this.must('PATCH', pathOf(object) + query, object, APPLY)) as KubeObject;
  }

  async delete(path: string, options: Json = {}): Promise<void> {
    const answer = await this.call('DELETE', path, options);
    if (answer.status >= 300 && answer.status !== 404) {
      throw new ApiError(answer.status, `DELETE ${path} answered ${answer.status}: ${messageOf(answer.body)}`);
    }
  }

  /** Follows a collection for ever: what is there as ADDED, then each change. Whatever breaks is begun anew. */
  follow(path: string, onEvent: (event: WatchEvent) => void): () => void {
    const stop = new AbortController();
    const run = async (): Promise<void> => {
      while (!stop.signal.aborted) {
        try {
          const list = await this.must('GET', path);
          const version = (list['metadata'] as Meta).resourceVersion;
          const item = list as { readonly kind: string; readonly apiVersion: string; readonly items: readonly KubeObject[] };
          for (const object of item.items) onEvent({ type: 'ADDED', object });
          await this.#watch(`${path}${path.includes('?') ? '&' : '?'}watch=true&resourceVersion=${version}`, onEvent, stop.signal);
        } catch {
          // The server is being restarted, or ended the watch: begun anew below.
          await new Promise((resolve) => setTimeout(resolve, 200));
        }
      }
    };
    void run();
    return () => stop.abort();
  }

  async #watch(path: string, onEvent: (event: WatchEvent) => void, signal: AbortSignal): Promise<void> {
    const response = await request(this.server + path, {
      dispatcher: this.#agent,
      headers: { authorization: `Bearer ${this.#token}` },
      signal,
    });
    let rest = '';
    response.body.setEncoding('utf8');
    for await (const chunk of response.body as AsyncIterable<string>) {
      const lines = `${rest}${chunk}`.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines.filter((text) => text !== '')) {
        const event = JSON.parse(line) as WatchEvent;
        if (event.type === 'ERROR') return;
        onEvent(event);
      }
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }
}

function messageOf({ message }: Json): string {
  return typeof message === 'string' ? message : '';
}

/** Where an object of any built-in kind lives. */
function pathOf(object: Json): string {
  const { apiVersion, kind } = object as { readonly apiVersion: string; readonly kind: string };
  const { name, namespace = 'default' } = object['metadata'] as { readonly name: string; readonly namespace?: string };
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const plural = PLURALS[kind] ?? `${kind.toLowerCase()}s`;
  return CLUSTER_WIDE.has(kind) ? `${root}/${plural}/${name}` : `${root}/namespaces/${namespace}/${plural}/${name}`;
}
