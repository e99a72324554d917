/**
 * Requests that a client in this process has begun and whose answer it has not read to the end. The server's own count
 * starts only when a request arrives: between the two lie a connection, a handshake and, on a busy machine, some time.
 */
import { subscribe } from 'node:diagnostics_channel';

interface RequestMessage {
  readonly request: { readonly path?: string };
}

const open = new Set<object>();

function requestOf(message: unknown): RequestMessage['request'] {
  return (message as RequestMessage).request;
}

subscribe('undici:request:create', (message) => {
  open.add(requestOf(message));
});
subscribe('undici:request:headers', (message) => {
  // A watch has no end; it is under way as soon as it is answered.
  const request = requestOf(message);
  if (/[?&]watch=/.test(request.path ?? '')) open.delete(request);
});
for (const end of ['undici:request:trailers', 'undici:request:error']) {
  subscribe(end, (message) => {
    open.delete(requestOf(message));
  });
}

export function openClientRequests(): number {
  return open.size;
}

/** The client is dead: what it began has no end. */
export function forgetClientRequests(): void {
  open.clear();
}
