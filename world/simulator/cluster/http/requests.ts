/** A request and a response of the API, and the resource that a path names. */
import type { IncomingMessage } from 'node:http';
import { parse } from 'yaml';
import { AutoscalerError } from '../../../../src/lib/errors.ts';
import { mayHaveBody } from '../../base/request-body.ts';
import type { KindTable } from '../schemas/kind-table.ts';
import type { ResourceType, Subresource } from '../store/resource-types.ts';
import type { KubeStatus } from '../store/status.ts';
import { decodeProtobuf } from '../protobuf/protobuf.ts';

export interface ApiRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly accept: string;
  readonly contentType: string;
  readonly userAgent: string;
  readonly authorization: string;
  /** Parsed JSON; undefined for an empty body. */
  readonly body: unknown;
}

export interface ApiReply {
  readonly status: number;
  /** A string is sent as text, anything else as JSON. */
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ResourceRoute {
  readonly type: ResourceType;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: Subresource | undefined;
}

export function refusalReply(refusal: KubeStatus): ApiReply {
  const retryAfter = refusal.details?.retryAfterSeconds;
  return { status: refusal.code, body: refusal, ...(retryAfter === undefined ? {} : { headers: { 'retry-after': String(retryAfter) } }) };
}

function isSubresource(type: ResourceType, text: string | undefined): text is Subresource {
  return type.subresources.some((subresource) => subresource === text);
}

/** Splits `/api/v1/...` and `/apis/<group>/<version>/...`; undefined if it names no resource of this server. */
export function parseResourcePath(path: string, kinds: Pick<KindTable, 'find'>): ResourceRoute | undefined {
  const parts = path
    .split('/')
    .filter((part) => part !== '')
    .map(decodeURIComponent);
  const [root, first = '', second = ''] = parts;
  if (root === 'api') return routeOf(kinds, first, parts.slice(2));
  if (root === 'apis') return routeOf(kinds, `${first}/${second}`, parts.slice(3));
  return undefined;
}

function routeOf(kinds: Pick<KindTable, 'find'>, apiVersion: string, rest: readonly string[]): ResourceRoute | undefined {
  const [head, namespace, plural, name, subresource, ...more] = rest;
  if (more.length > 0) return undefined;
  const namespaced = head === 'namespaces' && plural !== undefined ? kinds.find(apiVersion, plural) : undefined;
  if (namespaced?.namespaced === true)
    return withKnownSubresource({ type: namespaced, namespace, name, subresource: undefined }, subresource);
  const type = kinds.find(apiVersion, head ?? '');
  if (type === undefined || name !== undefined) return undefined;
  return withKnownSubresource({ type, namespace: undefined, name: namespace, subresource: undefined }, plural);
}

function withKnownSubresource(route: ResourceRoute, subresource: string | undefined): ResourceRoute | undefined {
  if (subresource === undefined)
    return route.type.namespaced && route.name !== undefined && route.namespace === undefined ? undefined : route;
  return isSubresource(route.type, subresource) && route.name !== undefined ? { ...route, subresource } : undefined;
}

/** The verb of a request in the audit log. */
export function verbOf(request: Pick<ApiRequest, 'method' | 'query'>, route: ResourceRoute | undefined): string {
  const single = route?.name !== undefined;
  switch (request.method) {
    case 'GET':
      if (isWatch(request)) return 'watch';
      return single || route === undefined ? 'get' : 'list';
    case 'POST':
      return 'create';
    case 'PUT':
      return 'update';
    case 'PATCH':
      return 'patch';
    case 'DELETE':
      return single ? 'delete' : 'deletecollection';
    default:
      return request.method.toLowerCase();
  }
}

export function isWatch(request: Pick<ApiRequest, 'method' | 'query'>): boolean {
  return request.method === 'GET' && ['true', '1'].includes(request.query.get('watch') ?? '');
}

// Reads a request from a socket.

const NO_BYTES = Buffer.alloc(0);

async function readBody(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** @throws AutoscalerError of kind `config` if the body does not match its content type. */
export async function readRequest(message: IncomingMessage): Promise<ApiRequest> {
  const bytes = mayHaveBody(message) ? await readBody(message) : NO_BYTES;
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

function parseYaml(text: string): unknown {
  try {
    return parse(text) as unknown;
  } catch (cause) {
    const [problem = ''] = String(cause instanceof Error ? cause.message : cause).split('\n');
    throw new AutoscalerError({ kind: 'config' }, `error decoding YAML: error converting YAML to JSON: yaml: ${problem}`, { cause });
  }
}

/** A missing content type means JSON. */
export function isJson(contentType: string): boolean {
  return contentType === '' || /^(application|text)\/([a-z-]+\+)?(json|plain)/.test(contentType);
}

function parseBody(bytes: Buffer, contentType: string): unknown {
  if (contentType.startsWith('application/vnd.kubernetes.protobuf')) return decodeProtobuf(bytes);
  if (contentType.startsWith('application/apply-patch+yaml')) return parseYaml(bytes.toString('utf8'));
  if (bytes.length === 0 || !isJson(contentType)) return undefined;
  try {
    return JSON.parse(bytes.toString('utf8')) as unknown;
  } catch (cause) {
    throw new AutoscalerError({ kind: 'config' }, 'the body of the request is not JSON', { cause });
  }
}
