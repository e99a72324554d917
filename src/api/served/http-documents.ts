/** JSON documents over HTTP: compressed where the caller accepts it, and not sent again where the caller has them. */
import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

/** Smaller bodies do not get smaller. */
const LEAST_GZIP_BYTES = 1_024;

const compress = promisify(gzip);

export interface HttpDocument {
  readonly status: number;
  readonly type: string;
  readonly text: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Answers 304 if the caller's `If-None-Match` names the same content. */
export async function sendDocument(headers: IncomingHttpHeaders, response: ServerResponse, document: HttpDocument): Promise<void> {
  const { status, type, text } = document;
  const etag = `"${createHash('sha256').update(text).digest('base64url').slice(0, 27)}"`;
  const common = {
    etag,
    vary: 'accept-encoding',
    'cache-control': 'private, no-cache',
    'x-content-type-options': 'nosniff',
    ...document.headers,
  };
  if (status === 200 && headers['if-none-match']?.includes(etag) === true) {
    response.writeHead(304, common).end();
    return;
  }
  const isCompressed = text.length >= LEAST_GZIP_BYTES && /\bgzip\b/.test(headers['accept-encoding'] ?? '');
  const body = isCompressed ? await compress(text) : Buffer.from(text);
  const encoding = isCompressed ? { 'content-encoding': 'gzip' } : {};
  response.writeHead(status, { ...common, ...encoding, 'content-type': type, 'content-length': body.length }).end(body);
}
