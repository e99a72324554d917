/**
 * Follows operations that Azure accepted, by reading the operation document itself: the SDK's poller drops the error code,
 * and the code is what tells a stockout from a conflict. No lock is held meanwhile.
 */
import type { Clock } from '../../lib/clock.ts';
import { asAutoscalerError } from '../../lib/errors.ts';
import type { Random } from '../../lib/random.ts';
import type { Log } from '../../telemetry/log.ts';
import { isRecord, jsonOf } from './error-bodies.ts';
import type { ArmCalls } from './arm-client.ts';
import type { ErrorHints } from './error-table.ts';
import { classifyOperationError, retryAfterMs, type OperationFailure } from './errors.ts';
import type { ArmClients } from './sdk-clients.ts';

export type OperationEnd =
  | { readonly kind: 'succeeded' }
  | { readonly kind: 'failed'; readonly failure: OperationFailure }
  /** Not seen to end: forgotten by Azure, unreadable, or past the limit. Only a read of the resource tells. */
  | { readonly kind: 'unknown'; readonly reason: string };

export interface TrackerParts {
  readonly calls: ArmCalls;
  readonly clients: Pick<ArmClients, 'getRaw'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface FollowedOperation {
  /** For the log and the throttling budget: the scale set. */
  readonly resource: string;
  /** From `Azure-AsyncOperation`, else `Location`; undefined: the answer was final. */
  readonly url: string | undefined;
  /** From the first answer. */
  readonly retryAfterMs: number | undefined;
  readonly hints: ErrorHints;
  /** Called once, with the end; not when the tracker is closed first. */
  readonly onEnd: (end: OperationEnd) => void;
}

const DEFAULT_INTERVAL_MS = 10_000;
const MIN_INTERVAL_MS = 2_000;
const MAX_INTERVAL_MS = 30_000;
const JITTER = 0.2;
/** What runs for long may be asked after less often: an end is learned late by this part of how long it took. */
const PATIENCE = 1 / 6;
/** After this the outcome is called unknown: machines have their own limits. */
const GIVE_UP_AFTER_MS = 20 * 60_000;

type Reading = { readonly end: OperationEnd } | { readonly end: undefined; readonly retryAfterMs: number | undefined };

export class OperationTracker {
  readonly #parts: TrackerParts;
  readonly #closing = new AbortController();
  readonly #following = new Set<Promise<void>>();

  constructor(parts: TrackerParts) {
    this.#parts = parts;
  }

  get following(): number {
    return this.#following.size;
  }

  follow(operation: FollowedOperation): void {
    const run: Promise<void> = this.#untilEnd(operation).finally(() => this.#following.delete(run));
    this.#following.add(run);
  }

  /** Stops following; what runs in Azure goes on. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.allSettled(this.#following);
  }

  /** Never rejects: what cannot be known is an end of its own. */
  async #untilEnd(operation: FollowedOperation): Promise<void> {
    try {
      operation.onEnd(operation.url === undefined ? { kind: 'succeeded' } : await this.#poll(operation, operation.url));
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      if (error.kind !== 'cancelled') this.#parts.log.error({ err: error, resource: operation.resource }, 'following an operation failed');
    }
  }

  async #poll(operation: FollowedOperation, url: string): Promise<OperationEnd> {
    const { clock } = this.#parts;
    const beganAtMs = clock.monotonic();
    const giveUpAtMs = beganAtMs + GIVE_UP_AFTER_MS;
    let waitMs = interval(operation.retryAfterMs);
    while (clock.monotonic() < giveUpAtMs) {
      await clock.sleep(waitMs * (1 + JITTER * this.#parts.random()), this.#closing.signal);
      const reading = await this.#read(operation, url);
      if (reading.end !== undefined) return reading.end;
      waitMs = Math.max(interval(reading.retryAfterMs), Math.min(MAX_INTERVAL_MS, (clock.monotonic() - beganAtMs) * PATIENCE));
    }
    return { kind: 'unknown', reason: `it did not end within ${GIVE_UP_AFTER_MS / 60_000} minutes` };
  }

  async #read(operation: FollowedOperation, url: string): Promise<Reading> {
    const { calls, clients, clock } = this.#parts;
    try {
      const call = { operation: 'getOperation', resource: operation.resource } as const;
      const answer = await calls.run(call, this.#closing.signal, () => clients.getRaw(url));
      const end = readOperation(answer.status, answer.bodyAsText ?? '', operation.hints);
      return end === undefined ? { end, retryAfterMs: retryAfterMs((name) => answer.headers.get(name), clock.now()) } : { end };
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      switch (error.kind) {
        case 'cancelled':
          throw error;
        case 'not-found':
          return { end: { kind: 'unknown', reason: 'Azure no longer knows the operation' } };
        case 'throttled':
          return { end: undefined, retryAfterMs: error.detail.kind === 'throttled' ? error.detail.retryAfterMs : undefined };
        default:
          this.#parts.log.debug({ err: error, resource: operation.resource }, 'could not read an operation; trying again');
          return { end: undefined, retryAfterMs: undefined };
      }
    }
  }
}

function interval(askedMs: number | undefined): number {
  return Math.min(MAX_INTERVAL_MS, Math.max(MIN_INTERVAL_MS, askedMs ?? DEFAULT_INTERVAL_MS));
}

/**
 * What an operation document says; undefined: it goes on. The status decides: AKS has been seen to succeed with an error
 * object beside. A word that is not known, or half a document, means that it runs. A `Location` answers without a
 * document: 202 until the end, then nothing.
 */
export function readOperation(status: number, bodyText: string, hints: ErrorHints): OperationEnd | undefined {
  const document = jsonOf(bodyText);
  const word = isRecord(document) && typeof document['status'] === 'string' ? document['status'].toLowerCase() : undefined;
  switch (word) {
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
