/**
 * Leader election on a coordination.k8s.io/v1 Lease. Every write names the resourceVersion it was made from, and
 * renewals use their own connection. A standby watches the record, reads it at intervals too, and tries to take it when
 * it expires. Must not know what the leader does.
 */
import { withTimeout } from '../../lib/abort.ts';
import type { Clock } from '../../lib/clock.ts';
import { AutoscalerError, asAutoscalerError } from '../../lib/errors.ts';
import type { Random } from '../../lib/random.ts';
import { leaseOwnerName, processOwnerName } from '../../domain/deletion-owner.ts';
import type { LeaderLease } from '../../domain/ports/leadership.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { microTime, SeenLease, STOPS_WITHIN, stopsWithin, type LeaseJson } from './lease-record.ts';
import { LEASE_TIMING, type LeaseTiming } from '../api/options.ts';
import { LeaseWatch } from './lease-watch.ts';
import { RefusalGrace } from '../api/errors.ts';
import type { Rest, RestCall } from '../api/rest.ts';

interface LeaseDeps {
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

/** Real time for one call; a network does not follow the injected clock. */
const CALL_TIMEOUT_MS = 5_000;

/** Holds and renews one lease. */
export class LeaseLeadership implements LeaderLease {
  readonly #deps: LeaseDeps;
  readonly #timing: LeaseTiming;
  readonly #lost = new AbortController();
  readonly #stopRenewing = new AbortController();
  readonly #grace = new RefusalGrace();
  #held: LeaseJson | undefined;
  /** Of the record that was last ours. */
  #transitions = 0;
  #renewing: Promise<void> | undefined;
  /** Monotonic time at which the last successful write of our record began. */
  #renewedAtMs = 0;
  readonly #seen: SeenLease;
  /** The holder in the record that was seen last. */
  #holder: string | undefined;
  /** Ends a pause early: the record is free or gone. */
  #nudge = new AbortController();

  constructor(deps: LeaseDeps) {
    this.#deps = deps;
    this.#timing = deps.timing ?? LEASE_TIMING;
    this.#seen = new SeenLease(this.#timing);
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  owner(): string {
    return leaseOwnerName(this.#deps.identity, this.#transitions);
  }

  leader(): string | undefined {
    return this.#held === undefined ? this.#holder : this.#deps.identity;
  }

  async acquire(signal: AbortSignal): Promise<void> {
    const { clock, log, metrics, identity } = this.#deps;
    metrics.process.leader.set(0);
    let watch: LeaseWatch | undefined;
    try {
      for (;;) {
        this.#nudge = new AbortController();
        const startedAt = clock.monotonic();
        const tried = await this.#tryAcquire(signal);
        if (typeof tried === 'object') {
          this.#held = tried;
          this.#transitions = tried.spec?.leaseTransitions ?? 0;
          this.#renewedAtMs = startedAt;
          metrics.process.leader.set(1);
          log.info({ identity }, 'Leadership acquired');
          this.#renewing = this.#renew();
          return;
        }
        watch ??= this.#watch();
        await this.#pause(tried === 'unreachable' || watch.isLive, signal);
      }
    } finally {
      await watch?.stop();
    }
  }

  verify(): void {
    const sinceMs = this.#deps.clock.monotonic() - this.#renewedAtMs;
    if (this.#held !== undefined && sinceMs >= this.#timing.renewDeadlineMs) {
      this.#deps.log.error({ outcome: 'late', sinceRenewalMs: sinceMs }, 'Leadership lost');
      this.#giveUp();
    }
    // guard: no write begins once the lease was held and is not any more
    if (!this.#lost.signal.aborted) return;
    throw new AutoscalerError({ kind: 'cancelled' }, 'This process does not lead any more; nothing was written.');
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
      // A renewal that was interrupted may have been written all the same. Another holder's record is not ours to
      // release.
      const present = await this.#read(signal);
      if (present?.spec?.holderIdentity === this.#deps.identity) await this.#writeReleased(present, signal);
    }
  }

  /** With a duration of one second another replica can take it at once, even if it reads only the times. */
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

  #watch(): LeaseWatch {
    const { rest, clock, random, log, metrics, name } = this.#deps;
    return new LeaseWatch({ rest, clock, random, log, metrics, name, path: this.#collection, onChange: (lease) => this.#heard(lease) });
  }

  #heard(lease: LeaseJson | undefined): void {
    this.#holder = lease?.spec?.holderIdentity || undefined;
    if (lease === undefined || (lease.spec?.holderIdentity ?? '') === '') this.#nudge.abort();
    else this.#seen.hasRunOut(lease, this.#deps.clock.monotonic());
  }

  /**
   * Waits until the next read, the expiry of the other's record, or news that it is free. Without a live watch it reads
   * more often.
   */
  async #pause(isCalm: boolean, signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#deps;
    const retryMs = isCalm ? this.#timing.retryMs : this.#timing.retryMs / 4;
    // With equal pauses the replicas would collide forever.
    const pauseMs = Math.round(retryMs * (1 + 0.2 * random()));
    try {
      const over = AbortSignal.any([signal, this.#nudge.signal]);
      await clock.sleep(Math.min(pauseMs, this.#seen.untilFreeMs(clock.monotonic())), over);
    } catch (thrown) {
      if (signal.aborted) throw thrown;
    }
  }

  /** Returns the lease if it is now ours. Rejects if cancelled, or if access is refused permanently. */
  async #tryAcquire(signal: AbortSignal): Promise<LeaseJson | 'held' | 'unreachable'> {
    try {
      const present = await this.#read(signal);
      if (present === undefined) return await this.#call({ method: 'POST', path: this.#collection, body: this.#claim(undefined) }, signal);
      if (!this.#isFree(present)) return 'held';
      return await this.#call({ method: 'PUT', path: this.#path, body: this.#claim(present) }, signal);
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      if (error.kind === 'cancelled' || this.#grace.isOver(error, this.#deps.clock.monotonic())) throw error;
      this.#deps.log[error.kind === 'conflict' ? 'debug' : 'warn']({ error: error.message }, 'Lease not acquired');
      return error.kind === 'conflict' ? 'held' : 'unreachable';
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
    this.#holder = holder || undefined;
    if (holder === '' || holder === this.#deps.identity) return true;
    return this.#seen.hasRunOut(lease, this.#deps.clock.monotonic());
  }

  #claim(present: LeaseJson | undefined): unknown {
    const { identity, namespace, name, clock } = this.#deps;
    const now = microTime(clock.now());
    const isOurs = present?.spec?.holderIdentity === identity;
    const transitions = present?.spec?.leaseTransitions ?? 0;
    return {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { ...(present?.metadata ?? { namespace, name }), annotations: this.#promises(present) },
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

  #promises(present: LeaseJson | undefined): Readonly<Record<string, string>> {
    return { ...present?.metadata?.annotations, [STOPS_WITHIN]: stopsWithin(this.#deps.identity, this.#timing) };
  }

  /** Never rejects. Ends when leadership is lost or given up. */
  async #renew(): Promise<void> {
    const { clock, log } = this.#deps;
    const stop = this.#stopRenewing.signal;
    try {
      for (;;) {
        await clock.sleep(this.#timing.retryMs, stop);
        const startedAt = clock.monotonic();
        const leftMs = this.#timing.renewDeadlineMs - (startedAt - this.#renewedAtMs);
        const outcome = leftMs <= 0 ? 'late' : await this.#renewWithin(leftMs);
        if (outcome === 'renewed') this.#renewedAtMs = startedAt;
        if (outcome === 'taken' || outcome === 'late') {
          log.error({ outcome, sinceRenewalMs: clock.monotonic() - this.#renewedAtMs }, 'Leadership lost');
          this.#held = undefined;
          break;
        }
      }
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      if (error.kind !== 'cancelled') log.error({ error: error.message }, 'Leadership given up after an unexpected failure');
      if (error.kind === 'cancelled') return;
    }
    this.#giveUp();
  }

  /** One renewal. It ends by the deadline, however long the network takes. */
  async #renewWithin(leftMs: number): Promise<'renewed' | 'failed' | 'taken' | 'late'> {
    const work = { timeoutMs: leftMs, signals: [this.#stopRenewing.signal], run: (signal: AbortSignal) => this.#renewOnce(signal) };
    const outcome = await withTimeout(this.#deps.clock, work);
    return outcome === 'timed-out' ? 'late' : outcome;
  }

  async #renewOnce(signal: AbortSignal): Promise<'renewed' | 'failed' | 'taken'> {
    try {
      this.#held = await this.#call({ method: 'PUT', path: this.#path, body: this.#claim(this.#held) }, signal);
      return 'renewed';
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      if (error.kind !== 'conflict' && error.kind !== 'not-found') {
        this.#deps.log.warn({ error: error.message }, 'Lease not renewed');
        return 'failed';
      }
    }
    return this.#renewAfterConflict(signal);
  }

  /** Another writer changed the record. A changed label does not matter; another holder means that leadership is lost. */
  async #renewAfterConflict(signal: AbortSignal): Promise<'renewed' | 'failed' | 'taken'> {
    try {
      const present = await this.#read(signal);
      if (present === undefined || present.spec?.holderIdentity !== this.#deps.identity) return 'taken';
      this.#held = await this.#call({ method: 'PUT', path: this.#path, body: this.#claim(present) }, signal);
      return 'renewed';
    } catch (thrown) {
      this.#deps.log.warn({ error: asAutoscalerError(thrown).message }, 'Lease not renewed');
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

/** Without election: leads at once, until released. */
export function soleLeadership({ identity, clock }: Pick<LeaseDeps, 'identity' | 'clock'>): LeaderLease {
  const lost = new AbortController();
  const name = processOwnerName(identity, clock.now());
  return {
    owner: () => name,
    leader: () => (lost.signal.aborted ? undefined : identity),
    acquire: async (signal) => {
      if (signal.aborted) throw new AutoscalerError({ kind: 'cancelled' }, 'Acquiring leadership was cancelled.');
    },
    lost: lost.signal,
    verify: () => undefined,
    release: async () => {
      lost.abort();
    },
  };
}
