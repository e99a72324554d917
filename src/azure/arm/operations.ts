/**
 * Follows operations that Azure accepted by reading the operation document itself. The SDK's poller drops the error code, and
 * the code distinguishes a stockout from a conflict. No lock is held in the meantime.
 */
import type { Clock } from '../../lib/clock.ts';
import { asAutoscalerError } from '../../lib/errors.ts';
import { streamFor, type Random } from '../../lib/random.ts';
import type { Log } from '../../telemetry/log.ts';
import { jsonOf } from './error-bodies.ts';
import type { ArmCalls } from './arm-client.ts';
import type { ErrorHints } from './error-table.ts';
import { classifyOperationError, retryAfterMs, type OperationFailure } from './errors.ts';
import { FOREIGN_ORIGIN } from './request-addresses.ts';
import type { ArmClients } from './sdk-clients.ts';
import { isRecord } from '../../lib/json.ts';

export type OperationEnd =
  | { readonly kind: 'succeeded' }
  | { readonly kind: 'failed'; readonly failure: OperationFailure }
  /**
   * The end was not seen: Azure forgot the operation, it is unreadable, or it exceeded the limit. Only a read of the resource
   * shows the result.
   */
  | { readonly kind: 'unknown'; readonly reason: string };

interface OperationTrackerDeps {
  readonly calls: ArmCalls;
  readonly clients: Pick<ArmClients, 'getRaw'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** What a resource says of its last operation. */
export type ResourceState = 'running' | 'succeeded' | 'failed';

interface FollowedOperation {
  /** The scale set, for the log and the rate limit. */
  readonly resource: string;
  /** From `Azure-AsyncOperation`, else `Location`. undefined: the response was final. */
  readonly url: string | undefined;
  /** From the first response. */
  readonly retryAfterMs: number | undefined;
  readonly hints: ErrorHints;
  /**
   * Reads the resource itself. It decides if the document says for long that the operation runs, or cannot be read at all.
   * If absent, only the document counts. @throws AutoscalerError
   */
  readonly resourceState?: (signal: AbortSignal) => Promise<ResourceState>;
  /** Called once with the end, but not if the tracker is closed first. */
  readonly onEnd: (end: OperationEnd) => void;
}

const DEFAULT_INTERVAL_MS = 10_000;
const MIN_INTERVAL_MS = 2_000;
/**
 * The longest interval between two reads of an operation that runs. Azure has been recorded to ask for 97 s at the first read
 * (by Azure's own SDK tests, February 2023), and to wait so long is to learn of a stockout a minute late. Only a refusal, 429 or 503, is waited for longer.
 */
const MAX_INTERVAL_MS = 30_000;
const JITTER = 0.2;
/** A long operation is polled less often: its end is seen late by at most this fraction of its duration. */
const MAX_DELAY_FRACTION = 1 / 6;
/** After this the result is `unknown`: instances have their own time limits. */
const GIVE_UP_AFTER_MS = 20 * 60_000;

/** After this time the resource itself is read, too, and then again at this interval. */
const RESOURCE_CHECK_MS = 120_000;
const RESOURCE_CHECK_EVERY_MS = 60_000;

type OperationReading =
  | { readonly end: OperationEnd; readonly unreadable?: true }
  | {
      readonly end: undefined;
      readonly retryAfterMs: number | undefined;
      /** Azure refused the read itself: the wait is obeyed, however long. */
      readonly refused?: true;
    };

export class OperationTracker {
  readonly #deps: OperationTrackerDeps;
  readonly #closing = new AbortController();
  readonly #following = new Set<Promise<void>>();

  constructor(deps: OperationTrackerDeps) {
    this.#deps = deps;
  }

  get following(): number {
    return this.#following.size;
  }

  follow(operation: FollowedOperation): void {
    const run: Promise<void> = this.#untilEnd(operation).finally(() => this.#following.delete(run));
    this.#following.add(run);
  }

  /** Stops following. The operations go on in Azure. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.allSettled(this.#following);
  }

  /** Never rejects: an unknown result is an end of its own. */
  async #untilEnd(operation: FollowedOperation): Promise<void> {
    try {
      operation.onEnd(operation.url === undefined ? { kind: 'succeeded' } : await this.#poll(operation, operation.url));
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      if (error.kind !== 'cancelled')
        this.#deps.log.error({ err: error, resource: operation.resource }, 'Following an Azure operation failed');
    }
  }

  async #poll(operation: FollowedOperation, url: string): Promise<OperationEnd> {
    const { clock } = this.#deps;
    const beganAtMs = clock.monotonic();
    const giveUpAtMs = beganAtMs + GIVE_UP_AFTER_MS;
    let waitMs = pollIntervalMs({ retryAfterMs: operation.retryAfterMs });
    const resource = new ResourceChecks(operation, beganAtMs + RESOURCE_CHECK_MS);
    while (clock.monotonic() < giveUpAtMs) {
      const jitteredMs = waitMs * (1 + JITTER * streamFor(this.#deps.random, operation.resource)());
      await clock.sleep(Math.min(jitteredMs, giveUpAtMs - clock.monotonic()), this.#closing.signal);
      if (clock.monotonic() >= giveUpAtMs) break;
      const reading: OperationReading = resource.isOnly ? { end: undefined, retryAfterMs: undefined } : await this.#read(operation, url);
      if (reading.end !== undefined && !(reading.unreadable === true && resource.becomeOnly(clock.monotonic()))) return reading.end;
      const end = await this.#checkResource(operation, resource);
      if (end !== undefined) return end;
      waitMs = Math.max(
        pollIntervalMs(reading.end === undefined ? reading : { retryAfterMs: undefined }),
        Math.min(MAX_INTERVAL_MS, (clock.monotonic() - beganAtMs) * MAX_DELAY_FRACTION),
      );
    }
    return { kind: 'unknown', reason: `it did not end within ${GIVE_UP_AFTER_MS / 60_000} minutes` };
  }

  /** undefined: the resource has not been read, or says that the operation runs. Its failure counts when it is seen twice. */
  async #checkResource({ resource }: FollowedOperation, checks: ResourceChecks): Promise<OperationEnd | undefined> {
    const { clock, log } = this.#deps;
    try {
      const state = await checks.readIfDue(clock.monotonic(), this.#closing.signal);
      if (state === undefined) return undefined;
      const reason = `its resource shows that it has ${state}`;
      if (!checks.isOnly) log.warn({ resource }, 'Azure still reports an operation as running, but its resource shows the end');
      return { kind: 'unknown', reason };
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      if (error.kind === 'cancelled') throw error;
      log.debug({ err: error, resource }, 'Reading the resource of an Azure operation failed; it will be read again');
      return undefined;
    }
  }

  async #read(operation: FollowedOperation, url: string): Promise<OperationReading> {
    const { calls, clients, clock } = this.#deps;
    try {
      const call = { operation: 'getOperation', resource: operation.resource } as const;
      const response = await calls.run(call, this.#closing.signal, () => clients.getRaw(url));
      const end = readOperation(response.status, response.bodyAsText ?? '', operation.hints);
      return end === undefined ? { end, retryAfterMs: retryAfterMs((name) => response.headers.get(name), clock.now()) } : { end };
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      switch (error.kind) {
        case 'cancelled':
          throw error;
        case 'not-found':
          return { end: { kind: 'unknown', reason: 'Azure no longer knows the operation' } };
        case 'throttled':
          return { end: undefined, retryAfterMs: error.detail.kind === 'throttled' ? error.detail.retryAfterMs : undefined, refused: true };
        default:
          if (error.code === FOREIGN_ORIGIN) {
            this.#deps.log.warn(
              { err: error, resource: operation.resource },
              'An Azure operation cannot be followed; its resource is read instead',
            );
            return { end: { kind: 'unknown', reason: 'its address is not on the configured endpoint' }, unreadable: true };
          }
          this.#deps.log.debug({ err: error, resource: operation.resource }, 'Reading an Azure operation failed; it will be read again');
          // guard: a server error of an operation poll is waited for as long as it says
          return { end: undefined, retryAfterMs: error.retryAfterMs, ...(error.context['status'] === 503 ? { refused: true } : {}) };
      }
    }
  }
}

/** When the resource of an operation is read, and whether its state is an end. */
class ResourceChecks {
  readonly #read: FollowedOperation['resourceState'];
  #nextAtMs: number;
  #hasFailed = false;
  /** The document of the operation cannot be read: only the resource shows its end. */
  isOnly = false;

  constructor({ resourceState }: Pick<FollowedOperation, 'resourceState'>, firstAtMs: number) {
    this.#read = resourceState;
    this.#nextAtMs = firstAtMs;
  }

  /** False: the resource cannot be read, either. */
  becomeOnly(nowMs: number): boolean {
    if (this.#read === undefined) return false;
    this.isOnly = true;
    this.#nextAtMs = nowMs;
    return true;
  }

  /** The state that ends the operation. undefined: not due, running, or failed for the first time. @throws AutoscalerError */
  async readIfDue(nowMs: number, signal: AbortSignal): Promise<'succeeded' | 'failed' | undefined> {
    if (this.#read === undefined || nowMs < this.#nextAtMs) return undefined;
    this.#nextAtMs = nowMs + (this.isOnly ? 0 : RESOURCE_CHECK_EVERY_MS);
    const state = await this.#read(signal);
    const isEnd = state === 'succeeded' || (state === 'failed' && this.#hasFailed);
    this.#hasFailed = state === 'failed';
    return isEnd ? state : undefined;
  }
}

function pollIntervalMs({
  retryAfterMs = DEFAULT_INTERVAL_MS,
  refused = false,
}: {
  retryAfterMs: number | undefined;
  refused?: boolean;
}): number {
  // guard: the end of an operation is not learned a minute late because its first read asks for a long wait
  const obeyedMs = refused ? retryAfterMs : Math.min(MAX_INTERVAL_MS, retryAfterMs);
  return Math.max(MIN_INTERVAL_MS, obeyedMs);
}

/**
 * The end that an operation document reports; undefined: the operation runs. The status decides: AKS has been seen to succeed
 * with an error object beside it. An unknown status, or half a document, means that it runs. A `Location` has no document: it
 * returns 202 until the end, then an empty body.
 */
export function readOperation(status: number, bodyText: string, hints: ErrorHints): OperationEnd | undefined {
  const document = jsonOf(bodyText);
  const state = isRecord(document) && typeof document['status'] === 'string' ? document['status'].toLowerCase() : undefined;
  switch (state) {
    case undefined:
      return status !== 202 && bodyText.trim() === '' ? { kind: 'succeeded' } : undefined;
    case 'succeeded':
      return { kind: 'succeeded' };
    case 'failed':
    case 'canceled':
    case 'cancelled':
      return { kind: 'failed', failure: classifyOperationError(isRecord(document) ? document['error'] : undefined, hints) };
    default:
      return undefined;
  }
}
