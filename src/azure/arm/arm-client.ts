/**
 * Sends every request to ARM: checks the rate limits, bounds concurrency and time, counts it, and turns a failure into an
 * AutoscalerError. A request is repeated only if configured, and a write never: caching agents and writes have their own retry
 * rules. Must not know node groups or what a response means for them.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { PipelinePolicy, PipelineRequest, PipelineResponse, SendRequest } from '@azure/core-rest-pipeline';
import { Semaphore } from 'async-mutex';
import { Allowance, limitOfRate, waitForAllowance } from '../../lib/allowance.ts';
import { endWaits, linkedSignal, withAbort } from '../../lib/abort.ts';
import type { Clock } from '../../lib/clock.ts';
import { AutoscalerError } from '../../lib/errors.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { classifyResponse, lostResponse } from './errors.ts';
import { describeCall, isSlow, isWrite, type ArmCall } from './call-list.ts';
import { streamFor, type Random } from '../../lib/random.ts';
import { checkOrigin, redirectNotFollowed, type PageAddresses } from './request-addresses.ts';
import { limitResponse, mappableBody } from './response-bodies.ts';
import type { RateLimits } from './rate-limits.ts';
import type { AzureOptions } from './options.ts';
import { explainForbidden, explainUnauthorized, signInFailure } from './sign-in-errors.ts';
import { isRecord } from '../../lib/json.ts';

interface ArmCallsDeps {
  readonly clock: Clock;
  readonly metrics: Metrics['arm'];
  readonly rateLimits: RateLimits;
  /** The only origin that requests go to, as a URL. */
  readonly endpoint: string;
  readonly timeoutMs: number;
  /** Of calls that are answered soon. As many slow ones may be in flight beside them. */
  readonly maxConcurrent: number;
  readonly rateLimit?: AzureOptions['rateLimit'];
  readonly readRetries?: AzureOptions['readRetries'];
  readonly random: Random;
  /** Called before each write. It may fire the call's signal; then nothing is sent. */
  readonly beforeWrite?: (() => void) | undefined;
  /** Called when a write leaves, at the last moment before it does. */
  readonly onWrite?: ((call: ArmCall) => void) | undefined;
  /** Learns whether Azure accepts its tokens. If absent, refused tokens are not replaced before they expire. */
  readonly credential?: { noteAccepted(): void; noteRefused(): void };
}

interface CurrentCall {
  readonly call: ArmCall;
  readonly signal: AbortSignal;
  readonly pages: PageAddresses | undefined;
}

/** Writes go first if concurrency slots are short. */
const WRITE_PRIORITY = 1;

export class ArmCalls {
  readonly #deps: ArmCallsDeps;
  readonly #slots: Semaphore;
  /** For calls that would keep the slots of others for many seconds. */
  readonly #slowSlots: Semaphore;
  /** Passes the call to the pipeline policy. The SDK drops options, including the abort signal, from its second page on. */
  readonly #current = new AsyncLocalStorage<CurrentCall>();
  /** The user's own limits. A call waits for its allowance; none is refused. If undefined, only Azure's limits apply, by its headers. */
  readonly #ownLimits: Readonly<Record<'read' | 'write', Allowance>> | undefined;
  readonly #origin: string;
  #inFlight = 0;

  constructor(deps: ArmCallsDeps) {
    this.#deps = deps;
    this.#origin = new URL(deps.endpoint).origin;
    this.#slots = new Semaphore(Math.max(1, deps.maxConcurrent));
    this.#slowSlots = new Semaphore(Math.max(1, deps.maxConcurrent));
    const { rateLimit } = deps;
    if (rateLimit !== undefined)
      this.#ownLimits = { read: new Allowance(limitOfRate(rateLimit.read)), write: new Allowance(limitOfRate(rateLimit.write)) };
  }

  /** Requests in flight, including their requests for tokens. Waiting requests do not count. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /**
   * Calls `send`, which uses an SDK client made with {@link policy}. `pages` is shared by the calls of one list, one for each
   * page. @throws AutoscalerError; `cancelled` if the signal fired, `throttled` without sending a request while Azure throttles
   * such calls.
   */
  async run<T>(call: ArmCall, signal: AbortSignal, send: () => Promise<T>, pages?: PageAddresses): Promise<T> {
    const { rateLimits } = this.#deps;
    const held = rateLimits.admit(call);
    if (held !== undefined) throw held;
    try {
      return await this.#sendInTurn({ call, signal, pages }, send);
    } finally {
      rateLimits.endCall(call);
    }
  }

  async #sendInTurn<T>(current: CurrentCall, send: () => Promise<T>): Promise<T> {
    const { call, signal } = current;
    const limit = this.#ownLimits?.[isWrite(call) ? 'write' : 'read'];
    if (limit !== undefined) await waitForAllowance(limit, this.#deps.clock, signal);
    const release = await this.#acquireSlot(call, signal).catch((thrown: unknown) => {
      limit?.giveBack('');
      throw thrown;
    });
    this.#inFlight += 1;
    try {
      return await this.#sendWithTimeout(current, send);
    } finally {
      this.#inFlight -= 1;
      release();
    }
  }

  /** Handles each physical request and its response. It is the innermost policy, so it also sees retried and redirected requests. */
  get policy(): PipelinePolicy {
    return { name: 'armCalls', sendRequest: (request, next) => this.#checkAndSend(request, next) };
  }

  /**
   * Refuses a redirect that was not followed, which is no success: one to another origin, or of a kind that is never followed. It is
   * the outermost policy, so it sees what comes of a redirect.
   */
  get redirectPolicy(): PipelinePolicy {
    return {
      name: 'armRedirects',
      sendRequest: async (request, next) => {
        const response = await next(request);
        const context = this.#current.getStore();
        // guard: a redirect that was not followed is a failure
        if (response.status < 300 || response.status >= 400) return response;
        throw redirectNotFollowed(response, context === undefined ? 'A request to ARM' : describeCall(context.call), this.#origin);
      },
    };
  }

  /** The one place that every request with the token passes. */
  async #checkAndSend(request: PipelineRequest, next: SendRequest): Promise<PipelineResponse> {
    const context = this.#current.getStore();
    const what = context === undefined ? 'A request to ARM' : describeCall(context.call);
    // guard: every request passes the check of its origin
    checkOrigin(request.url, this.#origin, what);
    context?.pages?.visit(request.url, context, what);
    return this.#sendWithRetries(request, next);
  }

  async #acquireSlot(call: ArmCall, signal: AbortSignal): Promise<() => void> {
    if (signal.aborted) throw cancelled(call);
    // guard: writes that AKS answers slowly leave all slots to other calls
    const slots = isSlow(call) ? this.#slowSlots : this.#slots;
    const acquired = slots.acquire(1, isWrite(call) ? WRITE_PRIORITY : 0);
    const [, release] = await withAbort(acquired, signal, { error: () => cancelled(call), late: ([, free]) => free() });
    return release;
  }

  async #sendWithTimeout<T>(current: CurrentCall, send: () => Promise<T>): Promise<T> {
    const { call, signal } = current;
    const [limited, done] = [linkedSignal([signal]), new AbortController()];
    let timedOut = false;
    const timer = this.#deps.clock.sleep(this.#deps.timeoutMs, done.signal).then(
      () => {
        timedOut = true;
        limited.fire();
      },
      // The clock rejects only for the cancellation below.
      () => undefined,
    );
    const context = { ...current, signal: limited.signal };
    try {
      // The SDK passes no signal to the credential: a silent sign-in is abandoned, and what it would send later does not leave.
      return await withAbort(this.#current.run(context, send), context.signal);
    } catch (thrown) {
      if (thrown instanceof AutoscalerError && thrown.kind !== 'cancelled') throw thrown;
      if (signal.aborted) throw cancelled(call, thrown);
      if (timedOut) throw lostResponse(describeCall(call), isWrite(call), new Error(`timed out after ${this.#deps.timeoutMs} ms`));
      throw classifySignInFailure(call, thrown) ?? lostResponse(describeCall(call), isWrite(call), thrown);
    } finally {
      limited.end();
      endWaits(done);
      await timer;
    }
  }

  /** Sends a read again that got no usable response, if retries are configured. The time-out of the whole call still applies. */
  async #sendWithRetries(request: PipelineRequest, next: SendRequest): Promise<PipelineResponse> {
    const context = this.#current.getStore();
    const { readRetries, random } = this.#deps;
    const maxRetries = readRetries === undefined || context === undefined || isWrite(context.call) ? 0 : readRetries.retries;
    for (let retry = 0; ; retry++) {
      try {
        return await this.#sendOnce(request, next);
      } catch (thrown) {
        const isTransient = thrown instanceof AutoscalerError && thrown.kind === 'unavailable';
        if (!isTransient || retry >= maxRetries || readRetries === undefined || context === undefined) throw thrown;
        const waitMs =
          readRetries.firstMs * readRetries.exponent ** retry * (1 + readRetries.jitter * streamFor(random, describeCall(context.call))());
        const requestedMs = thrown.retryAfterMs ?? 0;
        // The call would time out during the pause.
        if (requestedMs >= this.#deps.timeoutMs) throw thrown;
        await this.#pause(Math.max(waitMs, requestedMs), context?.signal);
      }
    }
  }

  /** The caller's question goes elsewhere: meanwhile no request to ARM is in flight. */
  async #askBeforeSend({ beforeSend }: ArmCall): Promise<void> {
    if (beforeSend === undefined) return;
    this.#inFlight -= 1;
    try {
      await beforeSend();
    } finally {
      this.#inFlight += 1;
    }
  }

  /** A waiting retry does not count as in flight. */
  async #pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
    this.#inFlight -= 1;
    try {
      await this.#deps.clock.sleep(ms, signal);
    } finally {
      this.#inFlight += 1;
    }
  }

  async #sendOnce(request: PipelineRequest, next: SendRequest): Promise<PipelineResponse> {
    const context = this.#current.getStore();
    if (context === undefined) {
      throw new AutoscalerError(
        { kind: 'bug' },
        `A request to ARM bypassed the rate limits: ${request.method} ${new URL(request.url).pathname}`,
      );
    }
    if (context.signal.aborted) throw cancelled(context.call);
    request.abortSignal = context.signal;
    limitResponse(request, describeCall(context.call));
    const { metrics, clock, beforeWrite, onWrite } = this.#deps;
    await this.#askBeforeSend(context.call);
    // guard: nothing is written without the lease
    if (isWrite(context.call)) beforeWrite?.();
    if (isWrite(context.call) && !context.signal.aborted) onWrite?.(context.call);
    const { operation } = context.call;
    const startedMs = clock.monotonic();
    try {
      const response = await next(request);
      metrics.calls.inc({ operation, status: String(response.status) });
      return this.#checkResponse(context.call, response);
    } catch (thrown) {
      if (thrown instanceof AutoscalerError) throw thrown;
      metrics.calls.inc({ operation, status: 'error' });
      if (context.signal.aborted) throw thrown;
      throw lostResponse(describeCall(context.call), isWrite(context.call), thrown);
    } finally {
      metrics.duration.observe({ operation }, (clock.monotonic() - startedMs) / 1000);
    }
  }

  #checkResponse(call: ArmCall, response: PipelineResponse): PipelineResponse {
    const header = (name: string): string | undefined => response.headers.get(name);
    this.#deps.rateLimits.recordHeaders(call, header);
    if (response.status === 401) this.#deps.credential?.noteRefused();
    else this.#deps.credential?.noteAccepted();
    if (response.status < 400) {
      this.#deps.rateLimits.recordAnswer(call);
      const body = mappableBody(call.operation, response.bodyAsText);
      // guard: one resource in an undocumented form does not end a list
      if (body !== undefined) response.bodyAsText = body;
      return response;
    }
    // A 401 goes back to the authentication policy, which may answer a challenge with a new token.
    if (response.status === 401) return response;
    const error = classifyResponse({
      status: response.status,
      header,
      bodyText: response.bodyAsText,
      write: isWrite(call),
      what: describeCall(call),
      nowMs: this.#deps.clock.now(),
    });
    const { rateLimits } = this.#deps;
    if (error.kind !== 'throttled' && error.kind !== 'unavailable') rateLimits.recordAnswer(call);
    rateLimits.recordThrottled(call, error);
    rateLimits.recordUnavailable(call, error);
    throw explainForbidden(describeCall(call), error);
  }
}

/** Azure returned 401 or the credential gave no token. undefined: another failure. */
function classifySignInFailure(call: ArmCall, thrown: unknown): AutoscalerError | undefined {
  const callName = describeCall(call);
  if (!(thrown instanceof Error) || !isRecord(thrown) || thrown['statusCode'] !== 401) return signInFailure(callName, thrown);
  return explainUnauthorized(callName, typeof thrown['code'] === 'string' ? thrown['code'] : 'HTTP 401', thrown);
}

function cancelled(call: ArmCall, cause?: unknown): AutoscalerError {
  return new AutoscalerError({ kind: 'cancelled' }, `${describeCall(call)} was cancelled.`, { cause });
}
