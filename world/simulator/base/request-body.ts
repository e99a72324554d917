/** Whether a request has a body at all: to wait for the end of one that is not there costs as much as an answer. */

interface RequestHead {
  readonly httpVersionMajor: number;
  readonly headers: { readonly 'content-length'?: string | undefined; readonly 'transfer-encoding'?: string | undefined };
}

/** In HTTP/1.1 the head says so (RFC 9112, 6.3); in HTTP/2 only the end of the stream does. */
export function mayHaveBody({ httpVersionMajor, headers }: RequestHead): boolean {
  if (httpVersionMajor !== 1) return true;
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}
