/**
 * Leader election on a coordination.k8s.io/v1 Lease. Whether another's lease has run out is judged by how long its record
 * has not changed on our own monotonic clock: the holder's wall clock is never compared with ours. Every write names the
 * resourceVersion it was made from. Renewals use a connection of their own.
 */
import type { Clock } from '../../domain/clock.ts';
import { AutoscalerError, asAutoscalerError } from '../../domain/errors.ts';
import type { Random } from '../../domain/random.ts';
import type { LeaderLease } from '../../ports/leader-lease.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { MetadataJson } from './api-json.ts';
import { LEASE_TIMING, type LeaseTiming } from './lease-timing.ts';
import { RefusalGrace } from './refusal-grace.ts';
import type { Rest, RestCall } from './rest.ts';

export interface LeaseDeps {
  readonly rest: Rest;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly namespace: string;
  readonly name: string;
  readonly identity: string;
  readonly timing?: LeaseTiming;
}

interface LeaseJson {
  readonly metadata?: MetadataJson;
  readonly spec?: {
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    readonly acquireTime?: string;
    readonly renewTime?: string;
    readonly leaseTransitions?: number;
  };
}

/** Real time for one call; the network does not follow the injected clock. */
const CALL_TIMEOUT_MS = 5_000;

/** Owns the renewal of one lease. */
export class LeaseLeadership implements LeaderLease {
  readonly #deps: LeaseDeps;
  readonly #timing: LeaseTiming;
  readonly #lost = new AbortController();
  readonly #stopRenewing = new AbortController();
  readonly #grace = new RefusalGrace();
  #held: LeaseJson | undefined;
  #renewing: Promise<void> | undefined;
  /** The other's record and since when it has been the same. */
  #watched: { readonly version: string; readonly sinceMs: number } | undefined;
  /** Monotonic: when that record will have run out. */
  #freeAtMs: number | undefined;

  constructor(deps: LeaseDeps) {
    this.#deps = deps;
    this.#timing = deps.timing ?? LEASE_TIMING;
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  async acquire(signal: AbortSignal): Promise<void> {
    const { clock, log, random, metrics, identity } = this.#deps;
    metrics.process.leader.set(0);
    for (;;) {
      const startedAt = clock.monotonic();
      const held = await this.#tryAcquire(signal);
      if (held !== undefined) {
        this.#held = held;
        metrics.process.leader.set(1);
        log.info({ identity }, 'leadership acquired');
        this.#renewing = this.#renew(startedAt);
        return;
      }
      // The same pause in every replica would make them collide for ever.
      const pauseMs = Math.round(this.#timing.retryMs * (1 + 0.2 * random()));
      await clock.sleep(Math.min(pauseMs, this.#untilFreeMs()), signal);
    }
  }

  async release(signal: AbortSignal): Promise<void> {
    this.#stopRenewing.abort();
    await this.#renewing;
    const held = this.#held;
    this.#giveUp();
    if (held === undefined) return;
    try {
      await this.#writeReleased(held, signal);
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      if (error.kind === 'not-found') return;
      if (error.kind !== 'conflict') throw error;
      // A renewal that was cut off may have been written all the same; anybody else's record is not ours to give up.
      const present = await this.#read(signal);
      if (present?.spec?.holderIdentity === this.#deps.identity) await this.#writeReleased(present, signal);
    }
  }

  /** A duration of one second lets another take it at once even if it reads only the times. */
  async #writeReleased(held: LeaseJson, signal: AbortSignal): Promise<void> {
    const spec = { ...held.spec, holderIdentity: '', leaseDurationSeconds: 1, renewTime: microTime(this.#deps.clock.now()) };
    await this.#call({ method: 'PUT', path: this.#path, body: { ...held, spec } }, signal);
  }

  get #path(): string {
    return `${this.#collection}/${encodeURIComponent(this.#deps.name)}`;
  }

  get #collection(): string {
    return `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(this.#deps.namespace)}/leases`;
  }

  /** The lease when it is ours now; undefined: not yet. Rejects when cancelled or when we may not use it for good. */
  async #tryAcquire(signal: AbortSignal): Promise<LeaseJson | undefined> {
    try {
      const present = await this.#read(signal);
      if (present === undefined) return await this.#call({ method: 'POST', path: this.#collection, body: this.#claim(undefined) }, signal);
      if (!this.#isFree(present)) return undefined;
      return await this.#call({ method: 'PUT', path: this.#path, body: this.#claim(present) }, signal);
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      if (error.kind === 'cancelled' || this.#grace.isOver(error, this.#deps.clock.monotonic())) throw error;
      this.#deps.log[error.kind === 'conflict' ? 'debug' : 'warn']({ error: error.message }, 'lease not acquired');
      return undefined;
    }
  }

  async #read(signal: AbortSignal): Promise<LeaseJson | undefined> {
    try {
      return await this.#call({ method: 'GET', path: this.#path }, signal);
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      if (error.kind === 'not-found') return undefined;
      throw error;
    }
  }

  #isFree(lease: LeaseJson): boolean {
    const holder = lease.spec?.holderIdentity ?? '';
    if (holder === '' || holder === this.#deps.identity) return true;
    const version = lease.metadata?.resourceVersion ?? '';
    const now = this.#deps.clock.monotonic();
    if (this.#watched?.version !== version) this.#watched = { version, sinceMs: now };
    const durationMs = (lease.spec?.leaseDurationSeconds ?? this.#timing.durationMs / 1000) * 1000;
    this.#freeAtMs = this.#watched.sinceMs + durationMs;
    return now > this.#freeAtMs;
  }

  /** Until the other's record will have run out if it stays as it is; a record that should have and is there still is no hurry. */
  #untilFreeMs(): number {
    const leftMs = Math.ceil((this.#freeAtMs ?? Infinity) - this.#deps.clock.monotonic()) + 1;
    return leftMs > 0 ? leftMs : Infinity;
  }

  #claim(present: LeaseJson | undefined): unknown {
    const { identity, namespace, name, clock } = this.#deps;
    const now = microTime(clock.now());
    const isOurs = present?.spec?.holderIdentity === identity;
    const transitions = present?.spec?.leaseTransitions ?? 0;
    return {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: present?.metadata ?? { namespace, name },
      spec: {
        ...present?.spec,
        holderIdentity: identity,
        leaseDurationSeconds: Math.round(this.#timing.durationMs / 1000),
        acquireTime: isOurs ? (present.spec?.acquireTime ?? now) : now,
        renewTime: now,
        leaseTransitions: present === undefined || isOurs ? transitions : transitions + 1,
      },
    };
  }

  /** Never rejects. Ends when leadership is lost or given up. `renewedAt`: monotonic start of the last good write. */
  async #renew(renewedAt: number): Promise<void> {
    const { clock, log } = this.#deps;
    const stop = this.#stopRenewing.signal;
    let last = renewedAt;
    try {
      for (;;) {
        await clock.sleep(this.#timing.retryMs, stop);
        const startedAt = clock.monotonic();
        const leftMs = this.#timing.renewDeadlineMs - (startedAt - last);
        const outcome = leftMs <= 0 ? 'late' : await this.#renewWithin(leftMs);
        if (outcome === 'renewed') last = startedAt;
        if (outcome === 'taken' || outcome === 'late') {
          log.error({ outcome, sinceRenewalMs: clock.monotonic() - last }, 'leadership lost');
          this.#held = undefined;
          break;
        }
      }
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      if (error.kind !== 'cancelled') log.error({ error: error.message }, 'leadership given up after an unexpected failure');
      if (error.kind === 'cancelled') return;
    }
    this.#giveUp();
  }

  /** One renewal that cannot outlive the deadline, however long the network takes. */
  async #renewWithin(leftMs: number): Promise<'renewed' | 'failed' | 'taken' | 'late'> {
    const limit = new AbortController();
    const signal = AbortSignal.any([limit.signal, this.#stopRenewing.signal]);
    const deadline = this.#deps.clock.sleep(leftMs, signal).then(
      () => 'late' as const,
      () => 'failed' as const,
    );
    try {
      return await Promise.race([this.#renewOnce(signal), deadline]);
    } finally {
      limit.abort();
    }
  }

  async #renewOnce(signal: AbortSignal): Promise<'renewed' | 'failed' | 'taken'> {
    try {
      this.#held = await this.#call({ method: 'PUT', path: this.#path, body: this.#claim(this.#held) }, signal);
      return 'renewed';
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      if (error.kind !== 'conflict' && error.kind !== 'not-found') {
        this.#deps.log.warn({ error: error.message }, 'lease not renewed');
        return 'failed';
      }
    }
    return this.#renewAfterConflict(signal);
  }

  /** Somebody edited the record: a person's label is nothing, another holder is the end. */
  async #renewAfterConflict(signal: AbortSignal): Promise<'renewed' | 'failed' | 'taken'> {
    try {
      const present = await this.#read(signal);
      if (present === undefined || present.spec?.holderIdentity !== this.#deps.identity) return 'taken';
      this.#held = await this.#call({ method: 'PUT', path: this.#path, body: this.#claim(present) }, signal);
      return 'renewed';
    } catch (thrown) {
      this.#deps.log.warn({ error: asAutoscalerError(thrown).message }, 'lease not renewed');
      return 'failed';
    }
  }

  #giveUp(): void {
    this.#held = undefined;
    this.#deps.metrics.process.leader.set(0);
    this.#lost.abort();
  }

  async #call(call: Pick<RestCall, 'method' | 'path' | 'body'>, signal: AbortSignal): Promise<LeaseJson> {
    const operation = call.method === 'GET' ? {} : { operation: 'lease' };
    return (await this.#deps.rest.json({ ...call, ...operation, onLease: true, timeoutMs: CALL_TIMEOUT_MS }, signal)) as LeaseJson;
  }
}

/** The API's MicroTime: six digits of a second. */
function microTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z');
}

/** Without election: leads at once, until released. */
export function soleLeadership(): LeaderLease {
  const lost = new AbortController();
  return {
    acquire: async (signal) => {
      if (signal.aborted) throw new AutoscalerError({ kind: 'cancelled' }, 'Taking the lead was cancelled.');
    },
    lost: lost.signal,
    release: async () => {
      lost.abort();
    },
  };
}
