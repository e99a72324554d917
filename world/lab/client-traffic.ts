/**
 * Requests that a client in this process has begun and whose response it has not read to the end. The server counts a request
 * only when it arrives; connection, handshake and load delay that. Also the connections of these clients.
 */
import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';

interface RequestMessage {
  readonly request: { readonly path?: string };
}

const open = new Set<object>();
const sockets = new Set<Socket>();
let changes = 0;

function requestOf(message: unknown): RequestMessage['request'] {
  return (message as RequestMessage).request;
}

subscribe('undici:request:create', (message) => {
  open.add(requestOf(message));
});
subscribe('undici:request:headers', (message) => {
  // A watch has no end. It counts as finished once its response begins.
  const request = requestOf(message);
  if (/[?&]watch=/.test(request.path ?? '')) open.delete(request);
});
for (const end of ['undici:request:trailers', 'undici:request:error']) {
  subscribe(end, (message) => {
    open.delete(requestOf(message));
  });
}

subscribe('undici:client:connected', (message) => {
  const { socket } = message as { readonly socket: Socket };
  sockets.add(socket);
  changes++;
  socket.once('close', () => {
    sockets.delete(socket);
    changes++;
  });
});

/** Connections that are not closed. */
export function clientSockets(): Iterable<Socket> {
  return sockets;
}

/** Number of connections that were opened or closed so far. */
export function clientConnectionChanges(): number {
  return changes;
}

export function openClientRequests(): number {
  return open.size;
}

/** Forgets all requests, since a dead client never reads their responses. */
export function forgetClientRequests(): void {
  open.clear();
}
