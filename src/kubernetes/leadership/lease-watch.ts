/**
 * A watch of the one Lease while another replica holds it. It shows the moment of each renewal, and a released lease
 * can be taken at once. It only helps: a standby reads the lease at intervals too, and a missing, broken or late watch
 * never lets it take the lease sooner.
 */
import { asAutoscalerError } from '../../lib/errors.ts';
import type { LeaseJson } from './lease-record.ts';
import { Reflector } from '../watch/reflector.ts';
import type { ReflectorDeps } from '../watch/reflector-options.ts';

interface LeaseWatchDeps extends Omit<ReflectorDeps, 'resource' | 'table' | 'query' | 'refusalGraceMs'> {
  readonly name: string;
  /** The current record; undefined if it no longer exists. */
  readonly onChange: (lease: LeaseJson | undefined) => void;
}

/** Runs the watch. */
export class LeaseWatch {
  readonly #reflector: Reflector;
  readonly #stop = new AbortController();

  constructor({ name, onChange, ...deps }: LeaseWatchDeps) {
    const table = {
      begin: () => undefined,
      put: (lease: LeaseJson) => onChange(lease),
      remove: () => onChange(undefined),
      complete: () => undefined,
    };
    this.#reflector = new Reflector({
      ...deps,
      resource: 'leases',
      table,
      query: { fieldSelector: `metadata.name=${name}` },
      refusalGraceMs: 0,
    });
    this.#reflector.start(this.#stop.signal);
    this.#reflector.synced.catch((thrown: unknown) => {
      // Roles of earlier versions lack this permission, and asking again would not change that.
      if (asAutoscalerError(thrown).kind === 'auth') this.#stop.abort();
    });
  }

  /** Whether changes are delivered as they happen. */
  get isLive(): boolean {
    return !this.#stop.signal.aborted && this.#reflector.trouble === undefined;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#reflector.ended();
  }
}
