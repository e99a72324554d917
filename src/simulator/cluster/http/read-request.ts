/** Bytes from the socket, made a request. */
import type { IncomingMessage } from 'node:http';
import { AutoscalerError } from '../../../domain/errors.ts';
import { decodeProtobuf } from './protobuf.ts';
import type { ApiRequest } from './request.ts';

/** @throws AutoscalerError of kind `config` when the body is not what its type says. */
export async function readRequest(message: IncomingMessage): Promise<ApiRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  const bytes = Buffer.concat(chunks);
  const url = new URL(message.url ?? '/', 'https://localhost');
  const contentType = message.headers['content-type'] ?? '';
  return {
    method: message.method ?? 'GET',
    path: url.pathname,
    query: url.searchParams,
    accept: message.headers.accept ?? '',
    contentType,
    userAgent: message.headers['user-agent'] ?? '',
    authorization: message.headers.authorization ?? '',
    body: parseBody(bytes, contentType),
  };
}

/** Clients that send no type send JSON. */
export function isJson(contentType: string): boolean {
  return contentType === '' || /^(application|text)\/([a-z-]+\+)?(json|plain)/.test(contentType);
}

function parseBody(bytes: Buffer, contentType: string): unknown {
  if (contentType.startsWith('application/vnd.kubernetes.protobuf')) return decodeProtobuf(bytes);
  if (bytes.length === 0 || !isJson(contentType)) return undefined;
  try {
    return JSON.parse(bytes.toString('utf8')) as unknown;
  } catch (cause) {
    throw new AutoscalerError({ kind: 'config' }, 'the body of the request is not JSON', { cause });
  }
}
