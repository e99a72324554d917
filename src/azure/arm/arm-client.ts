/**
 * Every request to ARM passes here: admitted by the budgets, bounded in number, timed out, counted, and its failure turned
 * into an AutoscalerError. Nothing is sent
 * twice unless configured, and never a write: agents have their error intervals, writes their own rules.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { PipelinePolicy, PipelineRequest, PipelineResponse, SendRequest } from '@azure/core-rest-pipeline';
import { Semaphore } from 'async-mutex';
import type { Clock } from '../../lib/clock.ts';
import { AutoscalerError } from '../../lib/errors.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { isRecord } from './error-bodies.ts';
import { classifyAnswer, lostAnswer } from './errors.ts';
import { describeCall, isWrite, type ArmCall } from './call-list.ts';
import type { Random } from '../../lib/random.ts';
import { type Budgets, RateLimit } from './rate-limits.ts';
import type { AzureOptions } from './options.ts';
import { explainForbidden, explainUnauthorized, signInFailure } from './sign-in-errors.ts';

export interface ArmCallsDependencies {
  readonly clock: Clock;
  readonly metrics: Metrics['arm'];
  readonly budgets: Budgets;
  readonly timeoutMs: number;
  readonly maxConcurrent: number;
  readonly rateLimit?: AzureOptions['rateLimit'];
  readonly readRetries?: AzureOptions['readRetries'];
  readonly random: Random;
  /** May fire the call's signal; then nothing is sent. */
  readonly beforeWrite?: (() => void) | undefined;
}

interface CallContext {
  readonly call: ArmCall;
  readonly signal: AbortSignal;
}

/** Writes go before reads when slots are short. */
const WRITE_PRIORITY = 1;

export class ArmCalls {
  readonly #deps: ArmCallsDependencies;
  readonly #slots: Semaphore;
  /** Carries the call to the pipeline policy: the SDK drops options, the abort signal among them, from its second page on. */
  readonly #current = new AsyncLocalStorage<CallContext>();
  readonly #rates: Readonly<Record<'read' | 'write', RateLimit>> | undefined;
  #inFlight = 0;

  constructor(deps: ArmCallsDependencies) {
    this.#deps = deps;
    this.#slots = new Semaphore(Math.max(1, deps.maxConcurrent));
    const { clock, rateLimit } = deps;
    if (rateLimit !== undefined) this.#rates = { read: new RateLimit(clock, rateLimit.read), write: new RateLimit(clock, rateLimit.write) };
  }

  /** Requests under way, tokens for them included; waiting does not count. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /**
   * Sends through `send`, which calls an SDK client made with {@link policy}.
   * @throws AutoscalerError; `cancelled` when the signal fired, `throttled` without a request while a budget is held.
   */
  async run<T>(call: ArmCall, signal: AbortSignal, send: () => Promise<T>): Promise<T> {
    const held = this.#deps.budgets.admit(call);
    if (held !== undefined) throw held;
    await this.#rates?.[isWrite(call) ? 'write' : 'read'].take(signal);
    const release = await this.#slot(call, signal);
    this.#inFlight += 1;
    try {
      return await this.#timed(call, signal, send);
    } finally {
      this.#inFlight -= 1;
      release();
    }
  }

  /** Sees each physical request and its answer. Goes inside the SDK's retry phase, so that nothing is hidden from it. */
  get policy(): PipelinePolicy {
    return { name: 'armCalls', sendRequest: (request, next) => this.#observe(request, next) };
  }

  async #slot(call: ArmCall, signal: AbortSignal): Promise<() => void> {
    if (signal.aborted) throw cancelled(call);
    const acquired = this.#slots.acquire(1, isWrite(call) ? WRITE_PRIORITY : 0);
    const { promise: aborted, resolve } = Promise.withResolvers<undefined>();
    const onAbort = (): void => resolve(undefined);
    signal.addEventListener('abort', onAbort, { once: true });
    const first = await Promise.race([acquired, aborted]);
    signal.removeEventListener('abort', onAbort);
    if (first !== undefined) return first[1];
    void acquired.then(([, release]) => release());
    throw cancelled(call);
  }

  async #timed<T>(call: ArmCall, signal: AbortSignal, send: () => Promise<T>): Promise<T> {
    const [timeout, done] = [new AbortController(), new AbortController()];
    const timer = this.#deps.clock.sleep(this.#deps.timeoutMs, done.signal).then(
      () => timeout.abort(),
      // The only way a clock rejects is the cancellation below.
      () => undefined,
    );
    const context = { call, signal: AbortSignal.any([signal, timeout.signal]) };
    try {
      return await this.#current.run(context, send);
    } catch (thrown) {
      if (thrown instanceof AutoscalerError && thrown.kind !== 'cancelled') throw thrown;
      if (signal.aborted) throw cancelled(call, thrown);
      if (timeout.signal.aborted)
        throw lostAnswer(describeCall(call), isWrite(call), new Error(`timed out after ${this.#deps.timeoutMs} ms`));
      throw notSignedIn(call, thrown) ?? lostAnswer(describeCall(call), isWrite(call), thrown);
    } finally {
      done.abort();
      await timer;
    }
  }

  /** Sends a read again that got no usable answer, when that is wanted; the time of the whole call stays its limit. */
  async #observe(request: PipelineRequest, next: SendRequest): Promise<PipelineResponse> {
    const context = this.#current.getStore();
    const { readRetries, random } = this.#deps;
    const tries = readRetries === undefined || context === undefined || isWrite(context.call) ? 0 : readRetries.retries;
    for (let made = 0; ; made++) {
      try {
        return await this.#sendOnce(request, next);
      } catch (thrown) {
        const isPassing = thrown instanceof AutoscalerError && thrown.kind === 'unavailable';
        if (!isPassing || made >= tries || readRetries === undefined) throw thrown;
        const waitMs = readRetries.firstMs * readRetries.exponent ** made * (1 + readRetries.jitter * random());
        await this.#pause(waitMs, context?.signal);
      }
    }
  }

  /** Who waits for its next try asks nothing meanwhile. */
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
        `A request to ARM bypassed the budgets: ${request.method} ${new URL(request.url).pathname}`,
      );
    }
    request.abortSignal = context.signal;
    const { metrics, clock, beforeWrite } = this.#deps;
    if (isWrite(context.call)) beforeWrite?.();
    const { operation } = context.call;
    const startedMs = clock.monotonic();
    try {
      const response = await next(request);
      metrics.calls.inc({ operation, status: String(response.status) });
      return this.#judge(context.call, response);
    } catch (thrown) {
      if (thrown instanceof AutoscalerError) throw thrown;
      metrics.calls.inc({ operation, status: 'error' });
      if (context.signal.aborted) throw thrown;
      throw lostAnswer(describeCall(context.call), isWrite(context.call), thrown);
    } finally {
      metrics.duration.observe({ operation }, (clock.monotonic() - startedMs) / 1000);
    }
  }

  #judge(call: ArmCall, response: PipelineResponse): PipelineResponse {
    const header = (name: string): string | undefined => response.headers.get(name);
    this.#deps.budgets.learn(call, header);
    if (response.status < 400) {
      this.#deps.budgets.succeeded(call);
      return response;
    }
    // 401 goes back to the authentication policy, which may have to answer a challenge with a new token.
    if (response.status === 401) return response;
    const error = classifyAnswer({
      status: response.status,
      header,
      bodyText: response.bodyAsText,
      write: isWrite(call),
      what: describeCall(call),
      nowMs: this.#deps.clock.now(),
    });
    this.#deps.budgets.hold(call, error);
    throw explainForbidden(describeCall(call), error);
  }
}

/** No token was given, or the one there was is not taken. */
function notSignedIn(call: ArmCall, thrown: unknown): AutoscalerError | undefined {
  const what = describeCall(call);
  if (!(thrown instanceof Error) || !isRecord(thrown) || thrown['statusCode'] !== 401) return signInFailure(what, thrown);
  return explainUnauthorized(what, typeof thrown['code'] === 'string' ? thrown['code'] : 'HTTP 401', thrown);
}

function cancelled(call: ArmCall, cause?: unknown): AutoscalerError {
  return new AutoscalerError({ kind: 'cancelled' }, `${describeCall(call)} was cancelled.`, { cause });
}
