/**
 * The Lease by which AKS and its cloud controller lock a cluster's resources against each other. It is only read: the
 * holder may finish first. A Lease that is missing, free, expired or forbidden to us locks nothing.
 */
import type { Clock } from '../../lib/clock.ts';
import { asAutoscalerError } from '../../lib/errors.ts';
import type { ForeignLock } from '../../domain/ports/leadership.ts';
import type { Log } from '../../telemetry/log.ts';
import { timeOf, type MetadataJson } from '../api/core-json.ts';
import type { Rest } from '../api/rest.ts';

/** The namespace that AKS uses, whatever namespace we run in. */
const NAMESPACE = 'kube-system';
const NAME = 'aks-managed-resource-locker';
const PATH = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases/${NAME}`;
const PERIOD_MS = 10_000;
/** The duration that its users write. Applies to a Lease without one. */
const USUAL_DURATION_MS = 900_000;

export interface LockerLeaseJson {
  readonly metadata?: MetadataJson;
  readonly spec?: {
    readonly holderIdentity?: string | null;
    readonly leaseDurationSeconds?: number | null;
    readonly renewTime?: string | null;
  };
}

interface LockerDeps {
  readonly rest: Pick<Rest, 'json'>;
  readonly clock: Clock;
  readonly log: Log;
}

interface Held {
  readonly holder: string;
  readonly renewTime: string;
  /** By the holder's clock; infinity if the holder wrote no time. */
  readonly untilMs: number;
  /** By our monotonic clock: a holder whose clock is ahead of ours must not lock longer than it asked for. */
  readonly untilMonotonicMs: number;
}

/** Reads the lock. */
export class ResourceLocker implements ForeignLock {
  readonly #deps: LockerDeps;
  #held: Held | undefined;
  #warnedAbout: string | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(deps: LockerDeps) {
    this.#deps = deps;
  }

  /** Resolves after the first read, whatever its result, and continues to read until the signal fires. */
  async start(signal: AbortSignal): Promise<void> {
    await this.#read(signal);
    this.#running = this.#readOn(signal);
  }

  /** Resolves when reading has ended. */
  ended(): Promise<void> {
    return this.#running;
  }

  heldBecause(): string | undefined {
    const { clock } = this.#deps;
    const held = this.#held;
    if (held === undefined || clock.now() >= held.untilMs || clock.monotonic() >= held.untilMonotonicMs) return undefined;
    return `"${held.holder}" holds the Lease ${NAMESPACE}/${NAME}, which locks the cluster's resources`;
  }

  async #readOn(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#deps.clock.sleep(PERIOD_MS, signal);
      } catch {
        // The sleep was cancelled, which is its only failure.
        return;
      }
      await this.#read(signal);
    }
  }

  async #read(signal: AbortSignal): Promise<void> {
    try {
      const lease = (await this.#deps.rest.json({ method: 'GET', path: PATH }, signal)) as LockerLeaseJson;
      this.#warnedAbout = undefined;
      this.#held = this.#heldBy(lease);
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      if (error.kind === 'cancelled') return;
      // If the read fails, the lock known before stays until it expires. A Lease that is missing or forbidden to us is
      // no lock.
      if (error.kind === 'not-found' || error.kind === 'auth') this.#held = undefined;
      if (error.kind !== 'not-found') this.#warnOnce(error.kind, error.message);
    }
  }

  #heldBy({ spec = {} }: LockerLeaseJson): Held | undefined {
    const holder = spec.holderIdentity ?? '';
    if (holder === '') return undefined;
    const renewTime = spec.renewTime ?? '';
    if (this.#held?.holder === holder && this.#held.renewTime === renewTime) return this.#held;
    const durationMs =
      spec.leaseDurationSeconds === undefined || spec.leaseDurationSeconds === null ? USUAL_DURATION_MS : spec.leaseDurationSeconds * 1000;
    const renewedMs = renewTime === '' ? undefined : timeOf(renewTime);
    return {
      holder,
      renewTime,
      untilMs: renewedMs === undefined ? Number.POSITIVE_INFINITY : renewedMs + durationMs,
      untilMonotonicMs: this.#deps.clock.monotonic() + durationMs,
    };
  }

  /** Logs each kind of failure once, until a read works again. */
  #warnOnce(kind: string, message: string): void {
    if (this.#warnedAbout === kind) return;
    this.#warnedAbout = kind;
    this.#deps.log.warn({ lease: `${NAMESPACE}/${NAME}`, error: message }, 'The AKS resource lock could not be read and is ignored');
  }
}
