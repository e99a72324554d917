/**
 * The Lease by which AKS and its cloud controller lock a cluster's resources against each other. It is only watched: the
 * holder may finish first. A Lease that is missing, free, expired or forbidden to us locks nothing.
 */
import type { ForeignLock } from '../../domain/ports/leadership.ts';
import { asAutoscalerError } from '../../lib/errors.ts';
import { timeOf, type MetadataJson } from '../api/core-json.ts';
import { Table } from '../watch/object-table.ts';
import { Reflector } from '../watch/reflector.ts';
import type { ReflectorDeps } from '../watch/reflector-options.ts';

/** The namespace that AKS uses, whatever namespace we run in. */
const NAMESPACE = 'kube-system';
const NAME = 'aks-managed-resource-locker';
const PATH = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases`;
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

/** What one renewal says. */
interface Renewal {
  /** Empty: the Lease is free. */
  readonly holder: string;
  /** By the holder's clock; infinity if the holder wrote no time. */
  readonly untilMs: number;
  readonly durationMs: number;
}

interface Held extends Renewal {
  /** By our monotonic clock: a holder whose clock is ahead of ours must not lock longer than it asked for. */
  readonly untilMonotonicMs: number;
}

/** Watches the lock. If the watch fails, the lock known before stays until it expires. */
export class ResourceLocker implements ForeignLock {
  readonly #deps: Omit<ReflectorDeps, 'resource' | 'path' | 'table'>;
  readonly #reflector: Reflector;
  #held: Held | undefined;

  constructor(deps: Omit<ReflectorDeps, 'resource' | 'path' | 'table'>) {
    this.#deps = deps;
    const table = new Table<Renewal>({
      keyOf: ({ metadata }) => metadata?.name ?? '',
      project: renewalOf,
      onChange: (_, after) => this.#hear(after),
    });
    this.#reflector = new Reflector({ ...deps, resource: 'leases', path: PATH, table, query: { fieldSelector: `metadata.name=${NAME}` } });
  }

  /** Resolves after the first read or its first failure. The watch goes on until the signal fires, or until it was refused for a minute. */
  async start(signal: AbortSignal): Promise<void> {
    const refused = new AbortController();
    this.#reflector.start(AbortSignal.any([signal, refused.signal]));
    this.#reflector.synced.catch((thrown: unknown) => {
      const error = asAutoscalerError(thrown);
      if (error.kind !== 'auth') return;
      this.#deps.log.warn(
        { lease: `${NAMESPACE}/${NAME}`, error: error.message },
        'The AKS resource lock may not be watched and is ignored',
      );
      refused.abort();
    });
    await this.#reflector.answered;
  }

  /** Resolves when the watch has ended. */
  ended(): Promise<void> {
    return this.#reflector.ended();
  }

  heldBecause(): string | undefined {
    const { clock } = this.#deps;
    const held = this.#held;
    if (held === undefined || clock.now() >= held.untilMs || clock.monotonic() >= held.untilMonotonicMs) return undefined;
    return `"${held.holder}" holds the Lease ${NAMESPACE}/${NAME}, which locks the cluster's resources`;
  }

  #hear(renewal: Renewal | undefined): void {
    this.#held =
      renewal === undefined || renewal.holder === ''
        ? undefined
        : { ...renewal, untilMonotonicMs: this.#deps.clock.monotonic() + renewal.durationMs };
  }
}

function renewalOf({ spec = {} }: LockerLeaseJson): Renewal {
  const seconds = spec.leaseDurationSeconds ?? undefined;
  const durationMs = seconds === undefined ? USUAL_DURATION_MS : seconds * 1000;
  return { holder: spec.holderIdentity ?? '', untilMs: (timeOf(spec.renewTime) ?? Number.POSITIVE_INFINITY) + durationMs, durationMs };
}
