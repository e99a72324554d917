/**
 * An HTTP server with an address, whose connections are limited in total and for each remote address. A new connection is never refused: it
 * takes the place of the oldest one that waits for a request, or of the oldest one if all have requests. Must not know what is served.
 */
import { createServer, type RequestListener, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { defined } from '../../lib/defined.ts';
import { AutoscalerError } from '../../lib/errors.ts';

export interface HttpEndpoint {
  /** For example `http://127.0.0.1:8085`. */
  readonly url: string;
  close(): Promise<void>;
}

export interface ListenOptions {
  /** As the user wrote it, for messages. */
  readonly address: string;
  /** If undefined, every address of the host. */
  readonly host: string | undefined;
  /** 0 is any free port. */
  readonly port: number;
}

/** What clients can make a server hold. */
export interface ConnectionLimits {
  /** Of all remote addresses together. */
  readonly connections: number;
  /** So that one pod takes no other client's place. */
  readonly perAddress: number;
  /** Of all headers of one request, in bytes. */
  readonly headerBytes: number;
  /** From the start of a connection or request until the last byte of the request. */
  readonly requestMs: number;
  /** Without a byte in either direction, so that a client that does not read its response is cut off. */
  readonly idleMs: number;
}

const TIMEOUT_CHECKS = 2;

/**
 * Headers above the limit are answered with 431.
 * @throws AutoscalerError `unavailable` when the address cannot be bound.
 */
export async function listen(options: ListenOptions, limits: ConnectionLimits, listener: RequestListener): Promise<HttpEndpoint> {
  const server = createServer(
    {
      maxHeaderSize: limits.headerBytes,
      headersTimeout: limits.requestMs,
      requestTimeout: limits.requestMs,
      connectionsCheckingInterval: limits.requestMs / TIMEOUT_CHECKS,
    },
    listener,
  );
  // guard: idle connections of the server are closed
  server.timeout = limits.idleMs;
  limitConnections(server, limits);
  await bind(server, options);
  return { url: urlOf(server, options), close: () => close(server) };
}

interface Connection {
  readonly socket: Socket;
  readonly address: string;
  /** Requests without a complete response. */
  requests: number;
}

/** `server.maxConnections` would refuse the new connection: a client that holds that many would keep all others out. */
function limitConnections(server: Server, { connections, perAddress }: ConnectionLimits): void {
  /** The one that is waiting for longest, or came first, is the first. */
  const open = new Map<Socket, Connection>();
  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? '';
    const ofAddress = [...open.values()].filter((one) => one.address === address);
    // guard: the connections of one address are limited
    if (ofAddress.length >= perAddress) cutOne(ofAddress);
    // guard: the connections of all addresses together are limited
    else if (open.size >= connections) cutOne([...open.values()]);
    open.set(socket, { socket, address, requests: 0 });
    socket.once('close', () => open.delete(socket));
  });
  server.on('request', ({ socket }, response) => {
    const connection = open.get(socket);
    if (connection === undefined) return;
    connection.requests += 1;
    response.once('close', () => {
      connection.requests -= 1;
      // It waits for its next request from now on.
      if (open.delete(socket) && !socket.destroyed) open.set(socket, connection);
    });
  });

  function cutOne(among: readonly Connection[]): void {
    // guard: a new connection takes the place of one that waits for a request
    const cut = among.find(({ requests }) => requests === 0) ?? among[0];
    if (cut === undefined) return;
    // It counts no longer, although its end is reported later.
    open.delete(cut.socket);
    cut.socket.destroy();
  }
}

function bind(server: Server, { address, host, port }: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const why = cause.code === 'EADDRINUSE' ? 'another process listens there' : (cause.code ?? cause.message);
      reject(new AutoscalerError({ kind: 'unavailable', effect: 'none' }, `Cannot listen on ${address}: ${why}.`, { cause }));
    });
    server.listen({ port, ...defined({ host }) }, () => resolve());
  });
}

function urlOf(server: Server, options: ListenOptions): string {
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
