/**
 * The daemon's HTTP server: /metrics, /healthz, /readyz and the documents under /debug, all from memory, and
 * POST /debug/refresh, which reads Azure again. Must not know where the documents come from.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { type IncomingMessage, createServer, type Server, type ServerResponse } from 'node:http';
import { AutoscalerError } from '../lib/errors.ts';
import { defined } from '../lib/defined.ts';

/**
 * Access to /debug. With a token file, requests need its content as bearer token. Without one, only requests from
 * localhost have access; `kubectl port-forward` is one of them.
 */
export interface DebugAccess {
  /** Returns the token now in the file; throws when the file cannot be read. undefined: no file is configured. */
  readonly token: (() => string) | undefined;
}

interface DebugRefusal {
  readonly status: 401 | 403 | 503;
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Why the request may not read /debug. undefined: it may. */
export function debugRefusal(
  request: Pick<IncomingMessage, 'headers'> & { readonly socket: { readonly remoteAddress?: string | undefined } },
  { token }: DebugAccess,
): DebugRefusal | undefined {
  if (token === undefined) {
    if (isLoopback(request.socket.remoteAddress ?? '')) return undefined;
    const text = '/debug is served to localhost only: use kubectl port-forward, or set http.debugTokenFile and send its bearer token';
    return { status: 403, text, headers: {} };
  }
  const expected = contentOf(token);
  // A missing or empty file must not grant access.
  if (expected === '') return { status: 503, text: 'the file of http.debugTokenFile is empty or cannot be read', headers: {} };
  const given = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
  if (sameText(given, expected)) return undefined;
  return {
    status: 401,
    text: '/debug needs the bearer token of http.debugTokenFile',
    headers: { 'www-authenticate': 'Bearer realm="aks-autoscaler"' },
  };
}

function contentOf(token: () => string): string {
  try {
    return token().trim();
  } catch {
    return '';
  }
}

function isLoopback(address: string): boolean {
  return address === '::1' || /^(::ffff:)?127\./.test(address);
}

/** Compares in constant time: the duration reveals neither the first difference nor the expected length. */
function sameText(left: string, right: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(left), digest(right));
}

export interface HttpDeps {
  readonly metrics: () => Promise<{ readonly contentType: string; readonly text: string }>;
  readonly health: () => { readonly healthy: boolean; readonly reason: string };
  readonly ready: () => boolean;
  readonly agents: () => readonly object[];
  /** The template of each node group's next node, and the source of each part of it. */
  readonly templates: () => readonly object[];
  /** The last loop that observed the cluster: what it saw, decided and left. undefined: no such loop yet. */
  readonly snapshot: () => object | undefined;
  /** What a dry run would have written. undefined: not a dry run. */
  readonly withheld: () => readonly object[] | undefined;
  /** Invalidates the cached data of one node group, so it is read again. undefined: of all node groups. */
  readonly refresh: (group: string | undefined) => RefreshResult;
}

/** `reason` is one sentence. */
export type RefreshResult = { readonly kind: 'begun' } | { readonly kind: 'not-ready' | 'unknown-group'; readonly reason: string };

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
const REFRESH_STATUS = { begun: 202, 'not-ready': 503, 'unknown-group': 404 } as const;
const PATHS =
  '/metrics, /healthz, /health-check, /readyz, /debug/agents, /debug/templates, /debug/snapshot, /debug/withheld, /debug/refresh';

/** @throws AutoscalerError `unavailable` when the address cannot be bound. */
export async function serveHttp(options: HttpOptions, deps: HttpDeps): Promise<HttpEndpoint> {
  const server = createServer((request, response) => {
    const [path = '/', query = ''] = (request.url ?? '/').split('?');
    const refusal = path.startsWith('/debug/') ? debugRefusal(request, options.debug) : undefined;
    if (refusal !== undefined) {
      request.resume();
      return send(response, refusal.status, { type: 'text/plain', text: `${refusal.text}\n`, headers: refusal.headers });
    }
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    const responded =
      path === REFRESH && request.method === 'POST'
        ? respondToRefresh(new URLSearchParams(query).get('group') ?? undefined, response, deps)
        : respond(isRead && path !== REFRESH ? path : 'not allowed', response, deps);
    responded.catch((error: unknown) => {
      if (!response.headersSent)
        send(response, 500, { type: 'text/plain', text: `${error instanceof Error ? error.message : 'failed'}\n` });
    });
  });
  await listen(server, options);
  return { url: urlOf(server, options), close: () => close(server) };
}

async function respond(path: string, response: ServerResponse, deps: HttpDeps): Promise<void> {
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
        ? send(response, 200, { type: 'text/plain', text: 'ok\n' })
        : send(response, 503, { type: 'text/plain', text: 'no loop has completed yet\n' });
    case '/debug/agents':
      return sendJson(response, deps.agents());
    case '/debug/templates':
      return sendJson(response, deps.templates());
    case '/debug/snapshot':
      return sendOrMissing(response, deps.snapshot(), 503, 'no loop has observed the cluster yet, or this replica is not the leader');
    case '/debug/withheld':
      return sendOrMissing(response, deps.withheld(), 404, 'no writes are withheld: this is not a dry run (--dry-run)');
    case 'not allowed':
      return send(response, 405, { type: 'text/plain', text: 'only GET, HEAD and POST /debug/refresh[?group=<name>] are allowed\n' });
    default:
      return send(response, 404, { type: 'text/plain', text: `not found; paths: ${PATHS}\n` });
  }
}

async function respondToRefresh(group: string | undefined, response: ServerResponse, deps: HttpDeps): Promise<void> {
  const result = deps.refresh(group);
  const text =
    result.kind === 'begun'
      ? `refresh of ${group ?? 'all node groups'} from Azure requested; /debug/agents shows when it is done`
      : result.reason;
  send(response, REFRESH_STATUS[result.kind], { type: 'text/plain', text: `${text}\n` });
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
