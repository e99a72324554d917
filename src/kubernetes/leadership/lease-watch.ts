/**
 * A watch of the one Lease, for as long as another holds it: the moment of each renewal is known when it is made, and a
 * lease that is given up can be taken at once. Only a help: who waits goes on looking, and a watch that may not be had, or
 * breaks, or is late makes nobody take a lease sooner.
 */
import { asAutoscalerError } from '../../lib/errors.ts';
import type { LeaseJson } from './lease-record.ts';
import { Reflector } from '../watch/reflector.ts';
import type { ReflectorDeps } from '../watch/reflector-options.ts';

export interface LeaseWatchDeps extends Omit<ReflectorDeps, 'resource' | 'table' | 'query' | 'refusalGraceMs'> {
  readonly name: string;
  /** The record as it is now; undefined: there is none any more. */
  readonly onChange: (lease: LeaseJson | undefined) => void;
}

/** Owns the watch. */
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
      // Roles of earlier versions lack this right: asking for it again and again would change nothing.
      if (asAutoscalerError(thrown).kind === 'auth') this.#stop.abort();
    });
  }

  /** Whether changes are told as they happen. */
  get isLive(): boolean {
    return !this.#stop.signal.aborted && this.#reflector.trouble === undefined;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#reflector.ended();
  }
}
