/**
 * The daemon's HTTP server: the page at /, /api/v1, /metrics, /healthz, /readyz and the documents under /debug, all from memory, and
 * POST /debug/refresh, which reads Azure again. Must not know where the documents come from.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { defined } from '../../lib/defined.ts';
import { parseDurationMs } from '../../lib/duration.ts';
import { type DebugAccess, debugRefusal } from './debug-access.ts';
import type { Api } from '../../api/served/api.ts';
import type { ApiReply } from '../../api/served/routes.ts';
import { sendEvents, sendPage, sendReply } from './responses.ts';
import type { Page } from './page-file.ts';
import type { Duty } from './duty.ts';
import { type ConnectionLimits, type HttpEndpoint, listen, type ListenOptions } from './listener.ts';
import { probeAnswer, type ProbeDeps } from './probes.ts';

export interface HttpDeps extends ProbeDeps {
  readonly metrics: () => Promise<{ readonly contentType: string; readonly text: string }>;
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

interface HttpOptions extends ListenOptions {
  readonly debug: DebugAccess;
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

/** Prometheus and a few browsers need far less. Everyone who comes through `kubectl port-forward` has one address. */
const LIMITS: ConnectionLimits = { connections: 64, perAddress: 16, headerBytes: 8 * 1024, requestMs: 10_000, idleMs: 30_000 };

/** @throws AutoscalerError `unavailable` when the address cannot be bound. */
export function serveHttp(options: HttpOptions, deps: HttpDeps, limits: ConnectionLimits = LIMITS): Promise<HttpEndpoint> {
  return listen(options, limits, (request, response) => {
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
  const probe = probeAnswer(path, deps);
  if (probe !== undefined) return send(response, probe.status, { type: 'text/plain', text: probe.text });
  switch (path) {
    case PAGE:
      return sendPage(asked.request, response, await deps.page());
    case '/metrics': {
      const { contentType, text } = await deps.metrics();
      return send(response, 200, { type: contentType, text });
    }
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
