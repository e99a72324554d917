/** Sockets: TLS with h2 and http/1.1, request and response bodies, and the faults that interrupt a response. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import type { RequestFilter, RequestInfo } from '../../base/request-filter.ts';
import { mayHaveBody } from '../../base/request-body.ts';
import type { ServerTls } from '../../base/tls.ts';
import { armError } from './errors.ts';
import type { Json } from './json.ts';
import type { ArmReply, ArmRequest } from './messages.ts';

export type RawRequest = Omit<ArmRequest, 'seq' | 'occasion' | 'params' | 'body' | 'principal'>;

/** How a response is sent. `afterMs` is simulated time to wait first. */
export interface ResponseOptions {
  readonly reply: ArmReply;
  readonly afterMs: number;
  readonly manner: 'whole' | 'half' | 'none';
}

export interface ServerOptions {
  readonly tls: ServerTls;
  readonly port: number;
  /** Called once per request, in order of the arrival of their last byte. An exception becomes a 500. */
  readonly answer: (request: RawRequest) => ResponseOptions;
  /** Waits on the world's clock. */
  readonly after: (ms: number, action: () => void) => void;
  readonly requestFilter: RequestFilter;
}

export interface ListeningServer {
  readonly url: string;
  pendingRequests(): number;
  /** Requests whose response is delayed by the clock and whose client still listens. */
  delayedRequests(): number;
  /** Drops the responses that are delayed now. Their connections stay open, since their client is dead. */
  dropDelayedResponses(): void;
  stop(): Promise<void>;
}

const NO_BYTES = Buffer.alloc(0);
/**
 * How long an idle connection stays open: as long as Azure's load balancers keep one by default. Real time, since connections are real: with
 * the five seconds of Node, a client in virtual time on a busy machine writes to a connection that is just being closed.
 */
const IDLE_MS = 240_000;

type Incoming = Http2ServerRequest | IncomingMessage;
type Outgoing = Http2ServerResponse | ServerResponse;

/** Listens on loopback. Rejects when the port is taken. */
export async function listen(options: ServerOptions): Promise<ListeningServer> {
  const sockets = new Set<Socket>();
  const delayed = new Set<Outgoing>();
  let pending = 0;
  // Node obeys the last one for connections of HTTP/1.1, but its types do not have it.
  const settings = { key: options.tls.keyPem, cert: options.tls.certPem, allowHTTP1: true, keepAliveTimeout: IDLE_MS };
  const server = createSecureServer(settings);
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
  });
  server.on('request', (incoming: Incoming, outgoing: Outgoing) => {
    pending++;
    let isDone = false;
    const done = (): void => {
      if (!isDone) pending--;
      isDone = true;
    };
    readText(incoming)
      .then((text) => respondToRequest(options, rawRequest(incoming, text), { outgoing, done, delayed }))
      .catch((error: unknown) => {
        sendCrash(outgoing, incoming, error);
        done();
      });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `https://localhost:${port}`,
    pendingRequests: () => pending,
    delayedRequests: () => delayed.size,
    dropDelayedResponses: () => delayed.clear(),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/** A request whose response is delayed is no longer pending: only time completes it. */
function respondToRequest(
  options: ServerOptions,
  request: RawRequest,
  { outgoing, done, delayed }: { readonly outgoing: Outgoing; readonly done: () => void; readonly delayed: Set<Outgoing> },
): void {
  const info: RequestInfo = { side: 'arm', method: request.method, path: request.path };
  if (!options.requestFilter.admitsRequest(info)) {
    done();
    return;
  }
  const sending = options.answer(request);
  if (!options.requestFilter.sendsResponse(info)) {
    done();
    return;
  }
  if (sending.afterMs <= 0) {
    sendResponse(outgoing, request.method, sending);
    done();
    return;
  }
  delayed.add(outgoing);
  outgoing.once('close', () => delayed.delete(outgoing));
  done();
  options.after(sending.afterMs, () => {
    if (delayed.delete(outgoing)) sendResponse(outgoing, request.method, sending);
  });
}

/** A request with an incomplete body ends with its connection. An error of the emulator itself becomes a 500 with its stack. */
function sendCrash(outgoing: Outgoing, incoming: Incoming, error: unknown): void {
  if (!incoming.complete || outgoing.headersSent) {
    closeStream(outgoing);
    return;
  }
  const message = `The emulator failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
  sendResponse(outgoing, 'GET', { reply: armError(500, 'InternalServerError', message), afterMs: 0, manner: 'whole' });
}

export async function readText(incoming: Incoming): Promise<string> {
  if (!mayHaveBody(incoming)) return '';
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

export function rawRequest(incoming: Incoming, text: string): RawRequest {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(incoming.headers)) {
    if (value !== undefined) headers[name.toLowerCase()] = Array.isArray(value) ? value.join(', ') : value;
  }
  const base = `https://${headers[':authority'] ?? headers['host'] ?? 'localhost'}`;
  const url = new URL(`${base}${incoming.url ?? '/'}`);
  const query: Record<string, string> = {};
  for (const [name, value] of url.searchParams) query[name.toLowerCase()] = value;
  return { method: incoming.method ?? 'GET', path: url.pathname, query, headers, text, base };
}

function sendResponse(outgoing: Outgoing, method: string, { reply, manner }: ResponseOptions): void {
  if (manner === 'none') {
    closeStream(outgoing);
    return;
  }
  const { body } = reply;
  const isText = typeof body === 'string';
  const text = Buffer.from(body === undefined ? '' : isText ? body : textOf(body, reply.indented === true));
  const bodyless = reply.status === 204 || reply.status === 304 || method === 'HEAD';
  const headers = {
    ...(text.length === 0 ? {} : { 'content-type': isText ? 'text/html' : 'application/json; charset=utf-8' }),
    ...reply.headers,
    ...(bodyless ? {} : { 'content-length': String(text.length) }),
  };
  writeHead(outgoing, reply.status, headers);
  if (manner === 'half') write(outgoing, text.subarray(0, Math.floor(text.length / 2)), () => closeStream(outgoing));
  else end(outgoing, bodyless ? NO_BYTES : text);
}

function textOf(body: Json, indented: boolean): string {
  return indented ? JSON.stringify(body, null, 2).replaceAll('\n', '\r\n') : JSON.stringify(body);
}

function isHttp2(outgoing: Outgoing): outgoing is Http2ServerResponse {
  return 'stream' in outgoing && outgoing.stream !== undefined;
}

function writeHead(outgoing: Outgoing, status: number, headers: Readonly<Record<string, string>>): void {
  if (isHttp2(outgoing)) outgoing.writeHead(status, headers);
  else outgoing.writeHead(status, headers);
}

function write(outgoing: Outgoing, bytes: Buffer, then: () => void): void {
  if (isHttp2(outgoing)) outgoing.write(bytes, 'utf8', then);
  else outgoing.write(bytes, then);
}

function end(outgoing: Outgoing, bytes: Buffer): void {
  if (isHttp2(outgoing)) outgoing.end(bytes);
  else outgoing.end(bytes);
}

/** Ends the connection, or its stream, without a further message. */
function closeStream(outgoing: Outgoing): void {
  if (isHttp2(outgoing)) outgoing.stream.close(2);
  else outgoing.socket?.destroy();
}
