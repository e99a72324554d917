/**
 * Requests that a client in this process has begun and whose response it has not read to the end. The server counts a request
 * only when it arrives; connection, handshake and load delay that.
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
  // A watch has no end. It counts as finished once its response begins.
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

/** Forgets all requests, since a dead client never reads their responses. */
export function forgetClientRequests(): void {
  open.clear();
}
