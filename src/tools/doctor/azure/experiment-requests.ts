/**
 * Raw requests for the experiment: one credential, no retries and no error policy, since a status such as 412 is a result here. Must
 * not know what is asked or what an answer means.
 */
import type { TokenCredential } from '@azure/core-auth';
import {
  bearerTokenAuthenticationPolicy,
  createDefaultHttpClient,
  createEmptyPipeline,
  createHttpHeaders,
  createPipelineRequest,
  proxyPolicy,
  tlsPolicy,
  type PipelineResponse,
} from '@azure/core-rest-pipeline';
import type { Clock } from '../../../lib/clock.ts';
import { defined } from '../../../lib/defined.ts';
import { AutoscalerError } from '../../../lib/errors.ts';
import { jsonOf, readErrorBody } from '../../../azure/arm/error-bodies.ts';
import type { AzureOptions } from '../../../azure/arm/options.ts';
import { checkOrigin, parseAddress } from '../../../azure/arm/request-addresses.ts';
import { limitResponse } from '../../../azure/arm/response-bodies.ts';
import { createCredential } from '../../../azure/arm/sdk-clients.ts';
import { signInFailure } from '../../../azure/arm/sign-in-errors.ts';

/** One request. `path` is a path of ARM with its query, or the whole address of an operation as Azure returned it. */
export interface RawRequest {
  readonly method: 'GET' | 'PUT' | 'POST';
  readonly path: string;
  readonly body?: unknown;
  readonly ifMatch?: string;
}

/** Any response, refusals included. */
export interface RawResponse {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  /** Until the whole response was read, milliseconds. */
  readonly tookMs: number;
  /** Empty if the body contains no error. */
  readonly code: string;
  readonly message: string;
}

export interface RawRequests {
  /** A read ends with the signal; a write that was begun is awaited. @throws AutoscalerError if no response came. */
  send(request: RawRequest, signal: AbortSignal): Promise<RawResponse>;
  /** Requests so far, including those without a response. */
  readonly sent: { readonly reads: number; readonly writes: number };
}

export type ExperimentClock = Pick<Clock, 'now' | 'sleep'>;

/** AKS takes about 10 s to answer a write; a lost answer would leave open what it did. */
const TIMEOUT_MS = 180_000;

/** Sends nothing yet. @throws AutoscalerError `config` if the credential cannot be made. */
export function createRawRequests(options: AzureOptions, clock: ExperimentClock): RawRequests {
  const endpoint = options.armEndpoint.replace(/\/+$/, '');
  const { origin } = new URL(endpoint);
  const pipeline = pipelineOf(options, createCredential(options), endpoint);
  const httpClient = createDefaultHttpClient();
  const sent = { reads: 0, writes: 0 };
  const send = async ({ method, path, body, ifMatch }: RawRequest, signal: AbortSignal): Promise<RawResponse> => {
    const what = `${method} of the experiment`;
    if (signal.aborted) throw new AutoscalerError({ kind: 'cancelled' }, `${what} was cancelled.`);
    const url = parseAddress(path, endpoint, what).href;
    // guard: a request of the experiment passes the check of its origin
    checkOrigin(url, origin, what);
    const request = createPipelineRequest({
      url,
      method,
      timeout: TIMEOUT_MS,
      headers: createHttpHeaders({
        accept: 'application/json',
        'user-agent': `aks-autoscaler${options.userAgentSuffix}`,
        ...defined({ 'if-match': ifMatch }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      }),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(method === 'GET' ? { abortSignal: signal } : {}),
    });
    limitResponse(request, what);
    sent[method === 'GET' ? 'reads' : 'writes'] += 1;
    const startedMs = clock.now();
    try {
      return readResponse(await pipeline.sendRequest(httpClient, request), clock.now() - startedMs);
    } catch (thrown) {
      if (thrown instanceof AutoscalerError) throw thrown;
      if (signal.aborted && method === 'GET') throw new AutoscalerError({ kind: 'cancelled' }, `${what} was cancelled.`, { cause: thrown });
      const signIn = signInFailure(what, thrown);
      if (signIn !== undefined) throw signIn;
      const why = (thrown instanceof Error ? (thrown.message.split('\n')[0] ?? '') : String(thrown)).replace(/\.$/, '');
      const effect = method === 'GET' ? 'none' : 'unknown';
      throw new AutoscalerError({ kind: 'unavailable', effect }, `${what} got no response: ${why}.`, { cause: thrown });
    }
  };
  return { send, sent };
}

/** Neither follows redirects nor repeats anything. */
function pipelineOf(options: AzureOptions, credential: TokenCredential, endpoint: string) {
  const pipeline = createEmptyPipeline();
  pipeline.addPolicy(proxyPolicy());
  if (options.caPem !== undefined) pipeline.addPolicy(tlsPolicy({ ca: options.caPem }));
  const scopes = options.scopes.length === 0 ? [`${endpoint}/.default`] : [...options.scopes];
  pipeline.addPolicy(bearerTokenAuthenticationPolicy({ credential, scopes }));
  return pipeline;
}

function readResponse({ status, headers, bodyAsText }: PipelineResponse, tookMs: number): RawResponse {
  const body = jsonOf(bodyAsText);
  const { code, message } = status < 400 ? { code: '', message: '' } : readErrorBody(body);
  const named = Object.fromEntries(Object.entries(headers.toJSON()).map(([name, value]) => [name.toLowerCase(), value]));
  return { status, headers: named, body, tookMs, code, message };
}
