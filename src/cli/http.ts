/**
 * The daemon's HTTP server: /metrics, /healthz, /readyz and the documents under /debug, all from memory, and
 * POST /debug/refresh, which reads Azure again. Must not know where the documents come from.
 */
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { AutoscalerError } from '../lib/errors.ts';
import { defined } from '../lib/defined.ts';
import { parseDurationMs } from '../lib/duration.ts';
import { type DebugAccess, debugRefusal } from './debug-access.ts';
import { SUBJECT_KINDS, type Subject } from '../planning/explain/answers/answer.ts';
import type { HistoryReader } from '../domain/history.ts';
import type { Duty } from './duty.ts';

export interface HttpDeps {
  readonly metrics: () => Promise<{ readonly contentType: string; readonly text: string }>;
  readonly health: () => { readonly healthy: boolean; readonly reason: string };
  readonly ready: () => boolean;
  /** Whether this replica may change anything, and why not. */
  readonly duty: () => Duty;
  readonly agents: () => readonly object[];
  /** The template of each node group's next node, and the source of each part of it. */
  readonly templates: () => readonly object[];
  /** The last loop that observed the cluster: what it saw, decided and left. undefined: no such loop yet. */
  readonly snapshot: () => object | undefined;
  /** What a dry run would have written. undefined: not a dry run. */
  readonly withheld: () => readonly object[] | undefined;
  /** The answer of `explain` about one subject, from the last decision. undefined: nothing was decided yet. */
  readonly explain: (subject: Subject) => object | 'missing' | undefined;
  /** Changes, sizes, scale-ups and decisions of the last day. */
  readonly history: HistoryReader;
  /** What a dry run would have done against what others did, in this long, milliseconds. undefined: not a dry run. */
  readonly report: (spanMs: number) => object | undefined;
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
const REFRESH_STATUS = { begun: 202, deferred: 202, 'not-ready': 503, 'unknown-group': 404 } as const;
const PATHS =
  '/metrics, /healthz, /health-check, /readyz, /debug/agents, /debug/templates, /debug/snapshot, /debug/withheld, /debug/refresh, /api/v1/pods/NAMESPACE/NAME, ' +
  '/api/v1/nodes/NAME, /api/v1/pools/NAME, /api/v1/decisions/ID, /api/v1/report?since=SPAN';

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
    const refusal = isProtected(path) ? debugRefusal(request, options.debug) : undefined;
    if (refusal !== undefined) {
      request.resume();
      return send(response, refusal.status, { type: 'text/plain', text: `${refusal.text}\n`, headers: refusal.headers });
    }
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    const responded =
      path === REFRESH && request.method === 'POST'
        ? respondToRefresh(new URLSearchParams(query).get('group') ?? undefined, response, deps)
        : isRead && path === REPORT
          ? respondToReport(query, response, deps)
          : respond(isRead && path !== REFRESH ? path : 'not allowed', response, deps);
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

async function respond(path: string, response: ServerResponse, deps: HttpDeps): Promise<void> {
  const duty = deps.duty();
  // A standby has read nothing from Azure and decided nothing: its documents would be empty.
  if (isProtected(path) && !duty.leads) return send(response, 503, { type: 'text/plain', text: `this replica ${duty.sentence}\n` });
  if (path.startsWith(API)) return respondToQuestion(path, response, deps);
  switch (path) {
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
      return sendJson(response, deps.agents());
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

/** Documents about the cluster. Metrics and health are for everyone. */
function isProtected(path: string): boolean {
  return path.startsWith('/debug/') || path.startsWith(API);
}

/** `/api/v1/pods/NAMESPACE/NAME`, `/api/v1/nodes/NAME`, `/api/v1/pools/NAME`, `/api/v1/decisions/ID`. A name may be percent-encoded. */
function respondToQuestion(path: string, response: ServerResponse, { explain }: HttpDeps): void {
  const [first = '', ...rest] = path.slice(API.length).split('/');
  const kind = SUBJECT_KINDS.find((each) => `${each}s` === first);
  const name = decodedName(rest.join('/'));
  if (kind === undefined || name === undefined || name === '')
    return send(response, 404, {
      type: 'text/plain',
      text: `not found; questions: ${SUBJECT_KINDS.map((each) => `${API}${each}s/NAME`).join(', ')}\n`,
    });
  const answer = explain({ kind, name });
  if (answer === 'missing') return send(response, 404, { type: 'text/plain', text: `${kind} ${name} not found\n` });
  return sendOrMissing(response, answer, 503, 'no loop has decided anything yet');
}

/** `since` is a span such as `12h` or `7d`. */
async function respondToReport(query: string, response: ServerResponse, { duty, report }: HttpDeps): Promise<void> {
  const since = new URLSearchParams(query).get('since') ?? '7d';
  const spanMs = parseDurationMs(since, { days: true });
  const { leads, sentence } = duty();
  if (spanMs === undefined)
    return send(response, 400, { type: 'text/plain', text: `since is "${since}"; it must be a span such as 12h or 7d\n` });
  if (!leads) return send(response, 503, { type: 'text/plain', text: `this replica ${sentence}\n` });
  sendOrMissing(response, report(spanMs), 404, 'nothing is compared: this is not a dry run (--dry-run)');
}

/** undefined: a percent sign that encodes nothing. */
function decodedName(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
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
