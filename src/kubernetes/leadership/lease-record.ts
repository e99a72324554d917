/**
 * The record of leadership, and what a standby knows about another replica's record. A record expires if it does not
 * change for long enough on our own monotonic clock. The holder's wall clock is never compared with ours.
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
 * When the holder will have stopped writing if it cannot renew: seconds after its last renewal, a space, its identity.
 * The identity is needed because another program that takes the lease keeps annotations it does not know.
 */
export const STOPS_WITHIN = 'aks-autoscaler/stops-within';

/** How much earlier than its duration a lease may be taken from a holder that has promised to stop by then. */
const MOST_SOONER_MS = 2_000;
/**
 * The same limit, as a part of the time between that promise and the duration. The rest allows for clocks of different
 * rates.
 */
const SOONER_PART = 2 / 5;

export function stopsWithin(identity: string, { renewDeadlineMs }: LeaseTiming): string {
  return `${renewDeadlineMs / 1000} ${identity}`;
}

/** How long the record must stay unchanged before another replica may take it, in milliseconds. */
export function runsOutAfterMs({ metadata, spec }: LeaseJson, { durationMs: usualMs }: LeaseTiming): number {
  const durationMs = (spec?.leaseDurationSeconds ?? usualMs / 1000) * 1000;
  const [, seconds, identity] = /^(\d+(?:\.\d+)?) (.+)$/.exec(metadata?.annotations?.[STOPS_WITHIN] ?? '') ?? [];
  if (seconds === undefined || identity !== spec?.holderIdentity) return durationMs;
  const marginMs = Math.max(0, durationMs - Number(seconds) * 1000);
  return durationMs - Math.min(MOST_SOONER_MS, marginMs * SOONER_PART);
}

/** The API's MicroTime: six digits after the second. */
export function microTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z');
}

/** What is known of another replica's record. Times are monotonic milliseconds. */
export class SeenLease {
  readonly #timing: LeaseTiming;
  #version: string | undefined;
  /** Detects an answer that arrives after the watch has delivered a newer version. */
  #versionBefore: string | undefined;
  #sinceMs = 0;
  #freeAtMs = Infinity;

  constructor(timing: LeaseTiming) {
    this.#timing = timing;
  }

  /** Whether the record, which has a holder, has expired. */
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

  /**
   * Time until it expires if it stays unchanged. A record that should have expired but was not taken is no reason to
   * hurry.
   */
  untilFreeMs(nowMs: number): number {
    const leftMs = Math.ceil(this.#freeAtMs - nowMs) + 1;
    return leftMs > 0 ? leftMs : Infinity;
  }
}
