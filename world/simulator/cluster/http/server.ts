/**
 * The HTTPS front of the simulated API server: sockets, bearer tokens, the journal of requests, and the faults that the control
 * surface sets. Must not know what any resource means.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { AutoscalerError } from '../../../../src/lib/errors.ts';
import type { RequestFilter, RequestInfo } from '../../base/request-filter.ts';
import type { ServerTls } from '../../base/tls.ts';
import type { KindTable } from '../schemas/kind-table.ts';
import type { Api } from '../store/api.ts';
import { failureStatus } from '../store/status.ts';
import { ClientConnections } from '../../base/client-connections.ts';
import { handleDiscovery, isReview, reviewAccess } from './discovery.ts';
import { Lists } from './lists.ts';
import { isLongList, sendLongList } from './portions.ts';
import { forwardPort, forwardTarget, type ForwardRequest } from './port-forward-server.ts';
import {
  isJson,
  readRequest,
  isWatch,
  parseResourcePath,
  refusalReply,
  verbOf,
  type ApiReply,
  type ApiRequest,
  type ResourceRoute,
} from './requests.ts';
import { handleRequest } from './resources.ts';
import { wantsTable } from './tables.ts';
import { Watches, type WatchOptions } from './watches.ts';

/** One request as the server saw it. A watch is recorded when its stream begins. */
export interface JournalEntry {
  readonly seq: number;
  readonly atMs: number;
  readonly method: string;
  readonly verb: string;
  /** Plural and subresource: `pods`, `pods/eviction`; empty for other paths. */
  readonly resource: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly url: string;
  readonly userAgent: string;
  readonly status: number;
  /** A warning for people, such as a path that this server does not know. */
  readonly note?: string;
}

export interface Fault {
  remaining: number;
  readonly status: number;
  readonly matches: (request: { readonly verb: string; readonly resource: string }) => boolean;
}

export interface ServerOptions {
  readonly api: Api;
  readonly kinds: KindTable;
  readonly tls: ServerTls;
  readonly token: string;
  readonly port: number;
  readonly watchKnobs: WatchOptions;
  /** `verb resource` pairs that this server refuses to its only user. */
  readonly forbidden: ReadonlySet<string>;
  readonly requestFilter: RequestFilter;
}

interface HandledRequest {
  readonly request: ApiRequest;
  readonly route: ResourceRoute | undefined;
  readonly reply: ApiReply;
  readonly info: RequestInfo;
}

/** How long an idle connection stays open: `IdleTimeout` of k8s.io/apiserver's secure serving. */
const IDLE_MS = 90_000;
const MAX_JOURNAL_ENTRIES = 4_000;
const REASONS: Readonly<Record<number, string>> = {
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
  403: 'Forbidden',
  409: 'Conflict',
};

export class ApiServer {
  readonly watches: Watches;
  readonly lists: Lists;
  readonly #options: ServerOptions;
  readonly #server: Server;
  readonly #connections: ClientConnections;
  readonly #faults: Fault[] = [];
  /** By `namespace/name:port`. */
  readonly #podPorts = new Map<string, number>();
  #journal: JournalEntry[] = [];
  readonly #listeners = new Set<(entry: JournalEntry) => void>();
  #sequence = 0;
  #pending = 0;

  constructor(options: ServerOptions) {
    this.#options = options;
    this.lists = new Lists(options.api);
    this.watches = new Watches(options.api, options.watchKnobs);
    this.#server = createServer(
      { cert: options.tls.certPem, key: options.tls.keyPem, ALPNProtocols: ['http/1.1'], keepAliveTimeout: IDLE_MS },
      (request, response) => {
        this.#receive(request, response).catch((error: unknown) => {
          this.#fail(response, error);
        });
      },
    );
    this.#connections = new ClientConnections(this.#server);
    this.#server.on('upgrade', (message: IncomingMessage, socket: Duplex) => this.#upgrade(message, socket));
  }

  /** Starts to listen on loopback. Rejects if the port is taken. */
  listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', (cause) => {
        reject(
          new AutoscalerError(
            { kind: 'unavailable', effect: 'none' },
            `The simulated API server cannot listen on port ${this.#options.port}.`,
            { cause },
          ),
        );
      });
      this.#server.listen(this.#options.port, '127.0.0.1', () => resolve());
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Requests without a response yet, without open watches. */
  get pending(): number {
    return this.#pending;
  }

  /** Bytes sent so far to the client at this port, before encryption; undefined: there is no such connection. */
  bytesSentTo(clientPort: number): number | undefined {
    return this.#connections.bytesSentTo(clientPort);
  }

  /** Grows with each write to a client and with each connection that begins or ends. */
  get activity(): number {
    return this.#connections.activity;
  }

  get journal(): readonly JournalEntry[] {
    return this.#journal;
  }

  /** Calls back for each request: the journal keeps only the last ones. Returns a function that unsubscribes. */
  subscribe(listener: (entry: JournalEntry) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** A pod has no network of its own: its port leads to a port of this machine. */
  listenInPod(pod: string, port: number, localPort: number): void {
    this.#podPorts.set(`${pod}:${port}`, localPort);
  }

  addFault(fault: Fault): void {
    this.#faults.push(fault);
  }

  /** While unreachable, it closes present and new connections at once. */
  setReachable(reachable: boolean): void {
    this.#connections.setReachable(reachable);
  }

  async stop(): Promise<void> {
    this.#connections.cutAll();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  async #receive(message: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#pending += 1;
    try {
      response.on('error', () => response.destroy());
      const request = await readRequest(message);
      const info: RequestInfo = { side: 'cluster', method: request.method, path: request.path };
      if (this.#options.requestFilter.admitsRequest(info)) await this.#serve(request, response, info);
    } finally {
      this.#pending -= 1;
    }
  }

  async #serve(request: ApiRequest, response: ServerResponse, info: RequestInfo): Promise<void> {
    const route = parseResourcePath(request.path, this.#options.kinds);
    const early = this.#refuseEarly(request, route);
    if (early !== undefined || route === undefined || !isWatch(request)) {
      await this.#send(response, { request, route, reply: early ?? this.#answer(request, route), info });
      return;
    }
    const plan = this.watches.plan(route, request, wantsTable(request.accept));
    if (!plan.ok) {
      await this.#send(response, { request, route, reply: refusalReply(plan.refusal), info });
      return;
    }
    this.#record(request, route, { status: 200 });
    if (this.#options.requestFilter.sendsResponse(info)) this.watches.begin(plan.value, response);
  }

  /** The only WebSockets are those to ports of pods. */
  #upgrade(message: IncomingMessage, socket: Duplex): void {
    const target = forwardTarget(message.url ?? '');
    const refusal = this.#upgradeRefusal(message, target);
    if (target === undefined || refusal !== undefined) return refuseUpgrade(socket, refusal ?? UNKNOWN);
    forwardPort(message, socket, target, (pod, port) => this.#podPorts.get(`${pod}:${port}`));
  }

  #upgradeRefusal({ headers }: IncomingMessage, target: ForwardRequest | undefined): ApiReply | undefined {
    if (headers.authorization !== `Bearer ${this.#options.token}`) return refusalReply(failureStatus(401, 'Unauthorized', 'Unauthorized'));
    // Authorised like `kubectl port-forward`: https://kubernetes.io/docs/reference/access-authn-authz/rbac/ (subresources).
    if (['create', 'get'].some((verb) => this.#options.forbidden.has(`${verb} pods/portforward`)))
      return refusalReply(failureStatus(403, 'Forbidden', 'pods is forbidden: the user cannot create resource "pods/portforward"'));
    return target === undefined || this.#options.api.store.get('pods', target.pod) === undefined ? UNKNOWN : undefined;
  }

  #refuseEarly(request: ApiRequest, route: ResourceRoute | undefined): ApiReply | undefined {
    const access = { verb: verbOf(request, route), resource: resourceOf(route) };
    const fault = this.#faults.find((candidate) => candidate.remaining > 0 && candidate.matches(access));
    if (fault !== undefined) {
      fault.remaining -= 1;
      return refusalReply(
        failureStatus(fault.status, REASONS[fault.status] ?? 'InternalError', 'the control surface requested this server error'),
      );
    }
    if (request.authorization !== `Bearer ${this.#options.token}`) return refusalReply(failureStatus(401, 'Unauthorized', 'Unauthorized'));
    if (this.#options.forbidden.has(`${access.verb} ${access.resource}`)) return forbiddenReply(access, route);
    return isUnreadable(request) ? UNREADABLE : undefined;
  }

  #answer(request: ApiRequest, route: ResourceRoute | undefined): ApiReply {
    const { api, kinds } = this.#options;
    if (route !== undefined) return handleRequest({ api, lists: this.lists, kinds }, route, request);
    return handleDiscovery(request, kinds) ?? reviewAccess(request, this.#options.forbidden) ?? UNKNOWN;
  }

  async #send(response: ServerResponse, { request, route, reply, info }: HandledRequest): Promise<void> {
    this.#record(request, route, reply);
    if (!this.#options.requestFilter.sendsResponse(info)) return;
    if (isLongList(reply.body)) {
      response.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers });
      return sendLongList(response, reply.body);
    }
    const bytes = Buffer.from(textOf(reply.body));
    const type = typeof reply.body === 'string' ? 'text/plain' : 'application/json';
    response.writeHead(reply.status, { 'content-type': type, 'content-length': bytes.length, ...reply.headers });
    response.end(bytes);
  }

  #record(request: ApiRequest, route: ResourceRoute | undefined, reply: Pick<ApiReply, 'status'>): void {
    if (this.#journal.length >= MAX_JOURNAL_ENTRIES) this.#journal = this.#journal.slice(MAX_JOURNAL_ENTRIES / 2);
    this.#sequence += 1;
    const { method, userAgent, query, path } = request;
    const text = query.toString();
    const entry: JournalEntry = {
      seq: this.#sequence,
      atMs: this.#options.api.timers.now(),
      method,
      verb: verbOf(request, route),
      resource: resourceOf(route),
      namespace: route?.namespace,
      name: route?.name,
      url: text === '' ? path : `${path}?${text}`,
      userAgent,
      status: reply.status,
      ...(reply === UNKNOWN ? { note: 'UNKNOWN ROUTE: the simulated API server has no such path' } : {}),
    };
    this.#journal.push(entry);
    for (const listener of this.#listeners) listener(entry);
  }

  #fail(response: ServerResponse, error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    if (response.headersSent || response.destroyed) {
      response.destroy();
      return;
    }
    const code = error instanceof AutoscalerError && error.kind === 'config' ? 400 : 500;
    response.writeHead(code, { 'content-type': 'application/json' });
    response.end(JSON.stringify(failureStatus(code, code === 400 ? 'BadRequest' : 'InternalError', message)));
  }
}

function forbiddenReply(
  { verb, resource }: { readonly verb: string; readonly resource: string },
  route: ResourceRoute | undefined,
): ApiReply {
  const where = route?.namespace === undefined ? 'at the cluster scope' : `in the namespace "${route.namespace}"`;
  const message = `${resource} is forbidden: User "daemon" cannot ${verb} resource "${resource}" in API group "${route?.type.group ?? ''}" ${where}`;
  return refusalReply(failureStatus(403, 'Forbidden', message));
}

const UNREADABLE: ApiReply = refusalReply(
  failureStatus(
    415,
    'UnsupportedMediaType',
    'the simulated API server reads JSON, and protobuf of some kinds only; `kubectl create -f` sends JSON',
  ),
);

/** An access review is handled without its body being decoded. A patch checks its content type itself. */
function isUnreadable(request: ApiRequest): boolean {
  return ['POST', 'PUT'].includes(request.method) && request.body === undefined && !isJson(request.contentType) && !isReview(request);
}

const UNKNOWN: ApiReply = refusalReply(failureStatus(404, 'NotFound', 'the server could not find the requested resource', {}));

function textOf(body: unknown): string {
  if (body === undefined) return '';
  return typeof body === 'string' ? body : JSON.stringify(body);
}

function resourceOf(route: ResourceRoute | undefined): string {
  if (route === undefined) return '';
  return route.subresource === undefined ? route.type.plural : `${route.type.plural}/${route.subresource}`;
}

/** A refused upgrade is answered like any other request: with a Status. */
function refuseUpgrade(socket: Duplex, { status, body }: ApiReply): void {
  const text = JSON.stringify(body);
  const head = ['connection: close', 'content-type: application/json', `content-length: ${Buffer.byteLength(text)}`];
  socket.end([`HTTP/1.1 ${status} Refused`, ...head, '', text].join('\r\n'));
}
