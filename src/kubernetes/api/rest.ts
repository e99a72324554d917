/**
 * JSON over HTTP to the API server, on shared connections. Every call has a caller's signal and a limit on the injected clock, so that
 * a run in virtual time does not depend on the machine. Must not know any resource.
 */
import { isDeepStrictEqual } from 'node:util';
import { request, type Dispatcher } from 'undici';
import type { Clock } from '../../lib/clock.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { endWaits, linkedSignal, Slots, withAbort, type LinkedSignal } from '../../lib/abort.ts';
import { asAutoscalerError, AutoscalerError } from '../../lib/errors.ts';
import { refusalError, retryAfterMs, transportError, type Call } from './errors.ts';
import type { ObjectJson, StatusJson } from './core-json.ts';
import type { Connection } from './connection.ts';

export type Query = Readonly<Record<string, string | number | boolean>>;

export interface RestCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly query?: Query;
  readonly body?: unknown;
  readonly contentType?: string;
  /** A word from a closed set for the metric of writes. If absent, the write is not counted. */
  readonly operation?: string;
  /** Milliseconds. If absent, the client's limit. */
  readonly timeoutMs?: number;
  /** Uses the lease's own connection. */
  readonly onLease?: boolean;
  /** Has slots apart from those of all other calls, which then do not wait for it. */
  readonly isEviction?: boolean;
  /** The result is undefined. The API server answers each write with the whole object, which takes more memory than the write. */
  readonly ignoresAnswer?: boolean;
}

export interface Rest {
  /** @throws AutoscalerError for every answer of 400 or more and for every failure before an answer. */
  json(call: RestCall, signal: AbortSignal): Promise<unknown>;
  /** A GET whose body is read as it arrives. After the headers, only the signal limits it. */
  stream(path: string, query: Query, signal: AbortSignal): Promise<AsyncIterable<Buffer>>;
}

interface RestDeps {
  readonly clock: Pick<Clock, 'sleep'>;
  readonly connection: Connection;
  readonly metrics: Metrics;
  readonly userAgent: string;
  readonly timeoutMs: number;
  /** Called right before each write except the lease's. A process that may no longer write aborts the call's signal. */
  readonly beforeWrite?: () => void;
}

export function createRest(deps: RestDeps): Rest {
  const slots = new Slots(MOST_CALLS);
  const evictionSlots = new Slots(MOST_EVICTIONS);
  return {
    json: async (call, signal) => {
      try {
        const send = (): Promise<unknown> => readJson(deps, { call, signal });
        // The time of a call begins with its slot.
        const answer = await (call.onLease === true ? send() : (call.isEviction === true ? evictionSlots : slots).run(send, signal));
        countCall(deps.metrics, call, 'ok');
        return answer;
      } catch (thrown) {
        const error = transportError(call, thrown, signal);
        countCall(deps.metrics, call, error.kind);
        throw error;
      }
    },
    stream: async (path, query, signal) => {
      const call: RestCall = { method: 'GET', path, query };
      const limit = limitOf(deps, call, []);
      try {
        return (await sendAuthorized(deps, { call, signal: AbortSignal.any([signal, limit.signal]) })).body as AsyncIterable<Buffer>;
      } catch (thrown) {
        throw transportError(call, thrown, signal);
      } finally {
        limit.end();
      }
    },
  };
}

/**
 * Calls in flight at most, besides watches, evictions and those of the lease. Where the API server, or a proxy before it, speaks HTTP/1.1 only, each
 * needs a TLS connection of its own: 150 kB that stay for a minute. A removal of 1,200 nodes begins 2,400 calls at once.
 */
const MOST_CALLS = 100;
/**
 * Evictions in flight at most. A slow webhook may hold each for as long as a call may take, and the loop's own calls must not wait for that.
 * The callers keep below this number.
 */
const MOST_EVICTIONS = 70;

async function readJson(deps: RestDeps, { call, signal }: Sending): Promise<unknown> {
  const limit = limitOf(deps, call, [signal]);
  try {
    const response = await sendAuthorized(deps, { call, signal: limit.signal });
    if (call.ignoresAnswer !== true || !isJson(response)) return parseBody(call, await textOf(call, response.body), response.statusCode);
    await response.body.dump({ limit: MAX_BODY_BYTES, signal: limit.signal });
    return undefined;
  } finally {
    limit.end();
  }
}

/** If not, something in between answered, and it is unknown whether the API server saw the call. */
function isJson({ headers }: Dispatcher.ResponseData): boolean {
  return String(headers['content-type']).startsWith('application/json');
}

/** A signal that fires when the time of the call is over, unless `end` was called before, and with each of `signals`. */
function limitOf({ clock, timeoutMs }: RestDeps, call: RestCall, signals: readonly AbortSignal[]): LinkedSignal {
  const [linked, ended] = [linkedSignal(signals), new AbortController()];
  void clock.sleep(call.timeoutMs ?? timeoutMs, ended.signal).then(
    () => linked.fire(new DOMException('The call took too long.', 'TimeoutError')),
    // The wait was ended.
    () => undefined,
  );
  const end = (): void => {
    linked.end();
    endWaits(ended);
  };
  return { ...linked, end };
}

/** An object by its path, or undefined if it does not exist. @throws AutoscalerError for every other refusal. */
export async function getOrUndefined(
  rest: Rest,
  path: string,
  signal: AbortSignal,
  limit: Pick<RestCall, 'timeoutMs'> = {},
): Promise<ObjectJson | undefined> {
  try {
    return (await rest.json({ method: 'GET', path, ...limit }, signal)) as ObjectJson;
  } catch (thrown) {
    const error = asAutoscalerError(thrown);
    if (error.kind === 'not-found') return undefined;
    throw error;
  }
}

interface Sending {
  readonly call: RestCall;
  readonly signal: AbortSignal;
}

type Credential = Readonly<Record<string, string>>;

/** The token may have been replaced since it was read. A call with a 401 had no effect, so any call may be repeated once. */
async function sendAuthorized(deps: RestDeps, sending: Sending): Promise<Dispatcher.ResponseData> {
  const { connection } = deps;
  const credential = await connection.authorization();
  const response = await sendOnce(deps, sending, credential);
  if (response.statusCode !== 401) return accepted(sending.call, response);
  connection.forgetAuthorization();
  const newer = await connection.authorization();
  if (isDeepStrictEqual(newer, credential)) return accepted(sending.call, response);
  await response.body.dump();
  return accepted(sending.call, await sendOnce(deps, sending, newer));
}

/** A page of 500 pods has about 5 MiB, a single object up to 3. */
const MAX_BODY_BYTES = 64 * 2 ** 20;

/** @throws AutoscalerError for a body that is larger than any answer. */
async function textOf({ method, path }: Call, body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    chunks.push(chunk);
    // guard: no answer of the API server is read on without end
    if (bytes <= MAX_BODY_BYTES) continue;
    const effect = method === 'GET' ? 'none' : 'unknown';
    throw new AutoscalerError(
      { kind: 'unavailable', effect },
      `The Kubernetes API answered ${method} ${path} with more than ${MAX_BODY_BYTES / 2 ** 20} MiB.`,
    );
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Returns the answer, or throws its refusal as an error. */
async function accepted(call: RestCall, response: Dispatcher.ResponseData): Promise<Dispatcher.ResponseData> {
  if (response.statusCode < 400) return response;
  const body = parseStatus(await textOf(call, response.body));
  throw refusalError(call, { status: response.statusCode, body, retryAfterMs: retryAfterMs(response.headers['retry-after'], body) });
}

async function sendOnce(deps: RestDeps, sending: Sending, credential: Credential): Promise<Dispatcher.ResponseData> {
  const { connection, userAgent, beforeWrite } = deps;
  const { call, signal } = sending;
  if (call.method !== 'GET' && call.onLease !== true) beforeWrite?.();
  const headers: Record<string, string> = { ...credential, accept: 'application/json', 'user-agent': userAgent };
  if (call.body !== undefined) headers['content-type'] = call.contentType ?? 'application/json';
  const answer = request(`${connection.server}${call.path}${queryString(call.query ?? {})}`, {
    dispatcher: call.onLease === true ? connection.lease : connection.shared,
    method: call.method,
    headers,
    body: call.body === undefined ? null : JSON.stringify(call.body),
    signal,
    // The signal limits the call. These would follow the machine's time.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  // undici checks a signal only once the connection stands. A call that still waits for a connection ends here unsent.
  return withAbort(answer, signal, { error: () => signal.reason });
}

function queryString(query: Query): string {
  const entries = Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]);
  return entries.length === 0 ? '' : `?${new URLSearchParams(entries).toString()}`;
}

function parseBody(call: Call, body: string, status: number): unknown {
  try {
    return body === '' ? {} : (JSON.parse(body) as unknown);
  } catch (cause) {
    const effect = call.method === 'GET' ? 'none' : 'unknown';
    throw new AutoscalerError(
      { kind: 'unavailable', effect },
      `The Kubernetes API answered ${call.method} ${call.path} with HTTP ${status} , but the body is not JSON.`,
      {
        cause,
      },
    );
  }
}

/** A refusal may come from a proxy in between, in any format. */
function parseStatus(body: string): StatusJson {
  try {
    const parsed: unknown = JSON.parse(body);
    return typeof parsed === 'object' && parsed !== null ? parsed : {};
  } catch {
    const text = body
      .replace(/<[^>]*>/g, ' ')
      .replace(/\s+/g, ' ')
      .trim();
    return text === '' ? {} : { message: text.slice(0, 200) };
  }
}

function countCall(metrics: Metrics, call: RestCall, outcome: string): void {
  if (call.operation !== undefined) metrics.cluster.kubeCalls.inc({ operation: call.operation, outcome });
}
