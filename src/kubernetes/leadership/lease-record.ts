/**
 * The record of leadership, and what one who waits knows about another's: whether it has run out is judged by how long it
 * has not changed on our own monotonic clock. The holder's wall clock is never compared with ours.
 */
import type { MetadataJson } from '../api/core-json.ts';
import type { LeaseTiming } from '../api/options.ts';

export interface LeaseJson {
  readonly metadata?: MetadataJson;
  readonly spec?: {
    readonly holderIdentity?: string | null;
    readonly leaseDurationSeconds?: number | null;
    readonly acquireTime?: string | null;
    readonly renewTime?: string | null;
    readonly leaseTransitions?: number | null;
  };
}

/**
 * By when the holder will have stopped writing if it cannot renew: seconds after its last renewal, a space, its identity.
 * The identity, because another program that takes the lease over keeps annotations that it does not know.
 */
export const STOPS_WITHIN = 'aks-autoscaler/stops-within';

/** How much sooner than the record's duration a lease is taken from a holder that has promised to have stopped. */
const MOST_SOONER_MS = 2_000;
/** ... as a part of the time between its promise and that duration: what is left is for clocks that run at different rates. */
const SOONER_PART = 2 / 5;

export function stopsWithin(identity: string, { renewDeadlineMs }: LeaseTiming): string {
  return `${renewDeadlineMs / 1000} ${identity}`;
}

/** How long the record must stay as it is before another may take it, in milliseconds. */
export function runsOutAfterMs({ metadata, spec }: LeaseJson, { durationMs: usualMs }: LeaseTiming): number {
  const durationMs = (spec?.leaseDurationSeconds ?? usualMs / 1000) * 1000;
  const [, seconds, identity] = /^(\d+(?:\.\d+)?) (.+)$/.exec(metadata?.annotations?.[STOPS_WITHIN] ?? '') ?? [];
  if (seconds === undefined || identity !== spec?.holderIdentity) return durationMs;
  const marginMs = Math.max(0, durationMs - Number(seconds) * 1000);
  return durationMs - Math.min(MOST_SOONER_MS, marginMs * SOONER_PART);
}

/** The API's MicroTime: six digits of a second. */
export function microTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z');
}

/** Owns what is known of another's record. Times are monotonic milliseconds. */
export class SeenLease {
  readonly #timing: LeaseTiming;
  #version: string | undefined;
  /** An answer that was on its way while the watch was quicker brings this. */
  #versionBefore: string | undefined;
  #sinceMs = 0;
  #freeAtMs = Infinity;

  constructor(timing: LeaseTiming) {
    this.#timing = timing;
  }

  /** Whether the record, which somebody holds, has run out. */
  hasRunOut(lease: LeaseJson, nowMs: number): boolean {
    const version = lease.metadata?.resourceVersion ?? '';
    if (version === this.#versionBefore && version !== this.#version) return false;
    if (version !== this.#version) {
      this.#versionBefore = this.#version;
      this.#version = version;
      this.#sinceMs = nowMs;
    }
    this.#freeAtMs = this.#sinceMs + runsOutAfterMs(lease, this.#timing);
    return nowMs > this.#freeAtMs;
  }

  /** Until it will have run out if it stays as it is; a record that should have and is there still is no hurry. */
  untilFreeMs(nowMs: number): number {
    const leftMs = Math.ceil(this.#freeAtMs - nowMs) + 1;
    return leftMs > 0 ? leftMs : Infinity;
  }
}
