/**
 * The daemon's HTTP server: the page at /, /api/v1, /metrics, /healthz, /readyz and the documents under /debug, all from memory, and
 * POST /debug/refresh, which reads Azure again. Must not know where the documents come from.
 */
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { AutoscalerError } from '../../lib/errors.ts';
import { defined } from '../../lib/defined.ts';
import { parseDurationMs } from '../../lib/duration.ts';
import { type DebugAccess, debugRefusal } from './debug-access.ts';
import type { Api } from '../../api/served/api.ts';
import type { ApiReply } from '../../api/served/routes.ts';
import { sendEvents, sendPage, sendReply } from './responses.ts';
import type { Page } from './page-file.ts';
import type { Duty } from './duty.ts';

export interface HttpDeps {
  readonly metrics: () => Promise<{ readonly contentType: string; readonly text: string }>;
  readonly health: () => { readonly healthy: boolean; readonly reason: string };
  readonly ready: () => boolean;
  /** Whether this replica may change anything, and why not. */
  readonly duty: () => Duty;
  readonly agents: () => readonly object[];
  /** With whom this process shares what it reads of Azure. */
  readonly clusters: () => object;
  /** The template of each node group's next node, and the source of each part of it. */
  readonly templates: () => readonly object[];
  /** The last loop that observed the cluster: what it saw, decided and left. undefined: no such loop yet. */
  readonly snapshot: () => object | undefined;
  /** What a dry run would have written. undefined: not a dry run. */
  readonly withheld: () => readonly object[] | undefined;
  /** What a dry run would have done against what others did, in this long, milliseconds. undefined: not a dry run. */
  readonly report: (spanMs: number) => object | undefined;
  readonly api: Pick<Api, 'reply' | 'stream'>;
  /** The page at `/`. undefined: this build does not contain it. */
  readonly page: () => Promise<Page | undefined>;
  /** Invalidates the cached data of one node group, so it is read again. undefined: of all node groups. */
  readonly refresh: (group: string | undefined) => RefreshResult;
}

/** `reason` is one sentence. */
export type RefreshResult =
  | { readonly kind: 'begun' }
  | { readonly kind: 'deferred'; readonly startsInMs: number }
  | { readonly kind: 'not-ready' | 'unknown-group'; readonly reason: string };

export interface HttpEndpoint {
  /** For example `http://127.0.0.1:8085`. */
  readonly url: string;
  close(): Promise<void>;
}

interface HttpOptions {
  readonly debug: DebugAccess;
  readonly address: string;
  readonly host: string | undefined;
  readonly port: number;
}

const REFRESH = '/debug/refresh';
const REPORT = '/api/v1/report';
const EVENTS = '/api/v1/events';
const JSON_TYPE = 'application/json';
/** Another replica must be asked; the same request here stays refused. */
const STANDBY_STATUS = 409;
const REFRESH_STATUS = { begun: 202, deferred: 202, 'not-ready': 503, 'unknown-group': 404 } as const;
const PATHS =
  '/, /metrics, /healthz, /health-check, /readyz, /debug/agents, /debug/templates, /debug/snapshot, /debug/withheld, /debug/refresh, ' +
  '/api/v1/report?since=SPAN, /api/v1/openapi.json';

/** What clients can make the server hold. Probes, Prometheus and a few people need far less. */
interface HttpLimits {
  readonly connections: number;
  /** Of all headers of one request, in bytes. */
  readonly headerBytes: number;
  /** From the start of a connection or request until the last byte of the request. */
  readonly requestMs: number;
  /** Without a byte in either direction, so that a client that does not read its response is cut off. */
  readonly idleMs: number;
}

const LIMITS: HttpLimits = { connections: 64, headerBytes: 8 * 1024, requestMs: 10_000, idleMs: 30_000 };
const TIMEOUT_CHECKS = 2;

/** @throws AutoscalerError `unavailable` when the address cannot be bound. */
export async function serveHttp(options: HttpOptions, deps: HttpDeps, limits: HttpLimits = LIMITS): Promise<HttpEndpoint> {
  const server = createLimitedServer(limits, (request, response) => {
    const [path = '/', query = ''] = (request.url ?? '/').split('?');
    const refusal =
      isProtected(path) || (path === PAGE && options.debug.token === undefined) ? debugRefusal(request, options.debug) : undefined;
    if (refusal !== undefined) {
      request.resume();
      return send(response, refusal.status, { type: 'text/plain', text: `${refusal.text}\n`, headers: refusal.headers });
    }
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    const asked = { request, query: new URLSearchParams(query) };
    const responded =
      path === REFRESH && request.method === 'POST'
        ? respondToRefresh(asked.query.get('group') ?? undefined, response, deps)
        : respond({ ...asked, path: isRead && path !== REFRESH ? path : 'not allowed' }, response, deps);
    responded.catch((error: unknown) => {
      if (!response.headersSent)
        send(response, 500, { type: 'text/plain', text: `${error instanceof Error ? error.message : 'failed'}\n` });
    });
  });
  await listen(server, options);
  return { url: urlOf(server, options), close: () => close(server) };
}

/** Connections above the limit are closed at once. Headers above it are answered with 431. */
function createLimitedServer(limits: HttpLimits, listener: RequestListener): Server {
  const options = {
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.requestMs,
    requestTimeout: limits.requestMs,
    connectionsCheckingInterval: limits.requestMs / TIMEOUT_CHECKS,
  };
  const server = createServer(options, listener);
  server.maxConnections = limits.connections;
  server.timeout = limits.idleMs;
  return server;
}

interface Asked {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly request: IncomingMessage;
}

async function respond(asked: Asked, response: ServerResponse, deps: HttpDeps): Promise<void> {
  const { path } = asked;
  const duty = deps.duty();
  // A standby has read nothing from Azure and decided nothing: its documents would be empty.
  if (isProtected(path) && !duty.leads) return sendStandby(response, duty);
  if (path.startsWith(API)) return respondFromApi(asked, response, deps);
  switch (path) {
    case PAGE:
      return sendPage(asked.request, response, await deps.page());
    case '/metrics': {
      const { contentType, text } = await deps.metrics();
      return send(response, 200, { type: contentType, text });
    }
    // The path and the texts that probes of a Cluster Autoscaler's Deployment expect.
    case '/health-check': {
      const { healthy, reason } = deps.health();
      return send(response, healthy ? 200 : 500, { type: 'text/plain', text: healthy ? 'OK' : `Error: ${reason}` });
    }
    case '/healthz': {
      const { healthy, reason } = deps.health();
      return send(response, healthy ? 200 : 500, { type: 'text/plain', text: `${healthy ? 'ok' : 'failing'}: ${reason}\n` });
    }
    case '/readyz':
      return deps.ready()
        ? send(response, 200, { type: 'text/plain', text: `ok: ${deps.duty().sentence}\n` })
        : send(response, 503, { type: 'text/plain', text: `no loop has completed yet: ${deps.duty().sentence}\n` });
    case '/debug/agents':
      return sendJson(response, asked.query.get('view') === 'clusters' ? deps.clusters() : deps.agents());
    case '/debug/templates':
      return sendJson(response, deps.templates());
    case '/debug/snapshot':
      return sendOrMissing(response, deps.snapshot(), 503, 'no loop has observed the cluster yet');
    case '/debug/withheld':
      return sendOrMissing(response, deps.withheld(), 404, 'no writes are withheld: this is not a dry run (--dry-run)');
    case 'not allowed':
      return send(response, 405, { type: 'text/plain', text: 'only GET, HEAD and POST /debug/refresh[?group=<name>] are allowed\n' });
    default:
      return send(response, 404, { type: 'text/plain', text: `not found; paths: ${PATHS}\n` });
  }
}

const API = '/api/v1/';
const PAGE = '/';

/** Documents about the cluster. Metrics and health are for everyone. So is the page where a token protects the documents: it contains none. */
function isProtected(path: string): boolean {
  return path.startsWith('/debug/') || path.startsWith(API);
}

/** The leader has the documents; nothing is forwarded silently. */
function sendStandby(response: ServerResponse, { sentence, leader, command }: Duty): void {
  const text = JSON.stringify({ message: `this replica ${sentence}`, ...defined({ leader, command }) });
  send(response, STANDBY_STATUS, { type: JSON_TYPE, text: `${text}\n` });
}

async function respondFromApi({ request, path, query }: Asked, response: ServerResponse, { api, report }: HttpDeps): Promise<void> {
  if (path === REPORT) return sendReply(request, response, reportReply(query, report));
  if (path === EVENTS) return sendEvents(request, response, api);
  await sendReply(request, response, await api.reply(path.slice(API.length), query));
}

/** `since` is a span such as `12h` or `7d`. */
function reportReply(query: URLSearchParams, report: HttpDeps['report']): ApiReply {
  const since = query.get('since') ?? '7d';
  const spanMs = parseDurationMs(since, { days: true });
  if (spanMs === undefined) return { status: 400, document: { message: `since is "${since}"; it must be a span such as 12h or 7d` } };
  const document = report(spanMs);
  if (document === undefined) return { status: 404, document: { message: 'nothing is compared: this is not a dry run (--dry-run)' } };
  return { status: 200, document };
}

async function respondToRefresh(group: string | undefined, response: ServerResponse, deps: HttpDeps): Promise<void> {
  const result = deps.refresh(group);
  send(response, REFRESH_STATUS[result.kind], { type: 'text/plain', text: `${refreshText(group ?? 'all node groups', result)}\n` });
}

function refreshText(what: string, result: RefreshResult): string {
  const outcome = '/debug/agents shows when it is done';
  switch (result.kind) {
    case 'begun':
      return `refresh of ${what} from Azure requested; ${outcome}`;
    case 'deferred':
      return `refresh of ${what} from Azure requested; it starts in ${Math.ceil(result.startsInMs / 1_000)} s (at most one in 10 s); ${outcome}`;
    default:
      return result.reason;
  }
}

function sendJson(response: ServerResponse, value: unknown): void {
  send(response, 200, { type: 'application/json', text: `${JSON.stringify(value, undefined, 2)}\n` });
}

function sendOrMissing(response: ServerResponse, value: unknown, status: number, text: string): void {
  if (value === undefined) send(response, status, { type: 'text/plain', text: `${text}\n` });
  else sendJson(response, value);
}

interface Body {
  readonly type: string;
  readonly text: string;
  readonly headers?: Readonly<Record<string, string>>;
}

function send(response: ServerResponse, status: number, body: Body): void {
  response.writeHead(status, { 'content-type': body.type, ...body.headers }).end(body.text);
}

function listen(server: Server, { address, host, port }: HttpOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const why = cause.code === 'EADDRINUSE' ? 'another process listens there' : (cause.code ?? cause.message);
      reject(new AutoscalerError({ kind: 'unavailable', effect: 'none' }, `Cannot listen on ${address}: ${why}.`, { cause }));
    });
    server.listen({ port, ...defined({ host }) }, () => resolve());
  });
}

function urlOf(server: Server, options: HttpOptions): string {
  const bound = server.address();
  const port = typeof bound === 'object' && bound !== null ? bound.port : options.port;
  const host = options.host ?? '0.0.0.0';
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
