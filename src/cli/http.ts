/**
 * The daemon's own HTTP: /metrics, /healthz, /readyz and what stands under /debug, from memory, and POST /debug/refresh, by
 * which an operator has Azure read anew. Decides nothing; who may see /debug is debug-access.ts.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { type IncomingMessage, createServer, type Server, type ServerResponse } from 'node:http';
import { AutoscalerError } from '../lib/errors.ts';
import { defined } from '../lib/defined.ts';

// Who may see /debug: with a token file, who sends its content as bearer token; without one, this machine alone (a pod's
// `kubectl port-forward` comes from there). The file is read anew each time, so that a rotated secret counts at once.

export interface DebugAccess {
  /** The token as the file holds it now; throws when it cannot be read. undefined: there is no such file by configuration. */
  readonly token: (() => string) | undefined;
}

export interface DebugRefusal {
  readonly status: 401 | 403 | 503;
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Why the request may not see /debug; undefined: it may. */
export function debugRefusal(
  request: Pick<IncomingMessage, 'headers'> & { readonly socket: { readonly remoteAddress?: string | undefined } },
  { token }: DebugAccess,
): DebugRefusal | undefined {
  if (token === undefined) {
    if (isLoopback(request.socket.remoteAddress ?? '')) return undefined;
    const text = '/debug answers on this machine only (kubectl port-forward), or with http.debugTokenFile to who has the token';
    return { status: 403, text, headers: {} };
  }
  const expected = contentOf(token);
  // A file that is away or empty opens no door.
  if (expected === '') return { status: 503, text: 'the file of http.debugTokenFile cannot be read or is empty', headers: {} };
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

/** In a time that tells nothing of where they differ, nor of how long the expected one is. */
function sameText(left: string, right: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(left), digest(right));
}

export interface HttpAnswers {
  readonly metrics: () => Promise<{ readonly contentType: string; readonly text: string }>;
  readonly health: () => { readonly healthy: boolean; readonly reason: string };
  readonly ready: () => boolean;
  readonly agents: () => readonly object[];
  /** What each node group's next node is taken to be, and where each part of that is known from. */
  readonly templates: () => readonly object[];
  /** The last loop that observed: what it saw, decided and left; undefined: there was none yet. */
  readonly snapshot: () => object | undefined;
  /** What a dry run would have written; undefined: this is none. */
  readonly withheld: () => readonly object[] | undefined;
  /** Drops trust in what is cached of one node group, or of all (undefined), so that it is read anew. */
  readonly refresh: (group: string | undefined) => RefreshAnswer;
}

/** Why a refresh was not begun is one sentence. */
export type RefreshAnswer = { readonly kind: 'begun' } | { readonly kind: 'not-ready' | 'unknown-group'; readonly reason: string };

export interface HttpEndpoint {
  /** For example `http://127.0.0.1:8085`. */
  readonly url: string;
  close(): Promise<void>;
}

export interface HttpBinding {
  readonly debug: DebugAccess;
  readonly address: string;
  readonly host: string | undefined;
  readonly port: number;
}

const REFRESH = '/debug/refresh';
const REFRESH_STATUS = { begun: 202, 'not-ready': 503, 'unknown-group': 404 } as const;

/** @throws AutoscalerError `unavailable` when the address cannot be bound. */
export async function serveHttp(binding: HttpBinding, answers: HttpAnswers): Promise<HttpEndpoint> {
  const server = createServer((request, response) => {
    const [path = '/', query = ''] = (request.url ?? '/').split('?');
    const refusal = path.startsWith('/debug/') ? debugRefusal(request, binding.debug) : undefined;
    if (refusal !== undefined) {
      request.resume();
      return send(response, refusal.status, { type: 'text/plain', text: `${refusal.text}\n`, headers: refusal.headers });
    }
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    const answered =
      path === REFRESH && request.method === 'POST'
        ? answerRefresh(new URLSearchParams(query).get('group') ?? undefined, response, answers)
        : answer(isRead && path !== REFRESH ? path : 'not allowed', response, answers);
    answered.catch((error: unknown) => {
      if (!response.headersSent)
        send(response, 500, { type: 'text/plain', text: `${error instanceof Error ? error.message : 'failed'}\n` });
    });
  });
  await listen(server, binding);
  return { url: urlOf(server, binding), close: () => close(server) };
}

async function answer(path: string, response: ServerResponse, answers: HttpAnswers): Promise<void> {
  switch (path) {
    case '/metrics': {
      const { contentType, text } = await answers.metrics();
      return send(response, 200, { type: contentType, text });
    }
    // Where the probes of a Cluster Autoscaler's Deployment look, and what they find there.
    case '/health-check': {
      const { healthy, reason } = answers.health();
      return send(response, healthy ? 200 : 500, { type: 'text/plain', text: healthy ? 'OK' : `Error: ${reason}` });
    }
    case '/healthz': {
      const { healthy, reason } = answers.health();
      return send(response, healthy ? 200 : 500, { type: 'text/plain', text: `${healthy ? 'ok' : 'failing'}: ${reason}\n` });
    }
    case '/readyz':
      return answers.ready()
        ? send(response, 200, { type: 'text/plain', text: 'ok\n' })
        : send(response, 503, { type: 'text/plain', text: 'no loop has completed yet\n' });
    case '/debug/agents':
      return sendJson(response, answers.agents());
    case '/debug/templates':
      return sendJson(response, answers.templates());
    case '/debug/snapshot':
      return sendOrMissing(response, answers.snapshot(), 503, 'no loop has observed yet; a replica that does not lead decides nothing');
    case '/debug/withheld':
      return sendOrMissing(response, answers.withheld(), 404, 'nothing is withheld: this is no dry run');
    case 'not allowed':
      return send(response, 405, { type: 'text/plain', text: 'GET is answered, and POST of /debug/refresh[?group=<name>]\n' });
    default:
      return send(response, 404, {
        type: 'text/plain',
        text: 'here are /metrics, /healthz, /health-check, /readyz, /debug/agents, /debug/templates, /debug/snapshot, /debug/withheld and /debug/refresh\n',
      });
  }
}

async function answerRefresh(group: string | undefined, response: ServerResponse, answers: HttpAnswers): Promise<void> {
  const outcome = answers.refresh(group);
  const text = outcome.kind === 'begun' ? `${group ?? 'everything'} is read anew from Azure; /debug/agents shows when` : outcome.reason;
  send(response, REFRESH_STATUS[outcome.kind], { type: 'text/plain', text: `${text}\n` });
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

function listen(server: Server, binding: HttpBinding): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const why = cause.code === 'EADDRINUSE' ? 'another process listens there' : (cause.code ?? cause.message);
      reject(new AutoscalerError({ kind: 'unavailable', effect: 'none' }, `Cannot listen on ${binding.address}: ${why}.`, { cause }));
    });
    server.listen({ port: binding.port, ...defined({ host: binding.host }) }, () => resolve());
  });
}

function urlOf(server: Server, binding: HttpBinding): string {
  const bound = server.address();
  const port = typeof bound === 'object' && bound !== null ? bound.port : binding.port;
  const host = binding.host ?? '0.0.0.0';
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
