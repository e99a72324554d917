/** The OwnerReader port: single GETs, whose results are kept for a while. */
import type { Clock } from '../../lib/clock.ts';
import { asAutoscalerError } from '../../lib/errors.ts';
import { ownerKey, type Owner, type OwnerState, type OwnerStates } from '../../domain/workloads.ts';
import type { OwnerReader } from '../../domain/ports/cluster.ts';
import type { WorkloadJson } from '../projection/workloads.ts';
import type { Rest } from '../api/rest.ts';

const COLLECTIONS: Readonly<Record<Owner['kind'], { readonly api: string; readonly resource: string }>> = {
  ReplicaSet: { api: '/apis/apps/v1', resource: 'replicasets' },
  StatefulSet: { api: '/apis/apps/v1', resource: 'statefulsets' },
  Job: { api: '/apis/batch/v1', resource: 'jobs' },
  ReplicationController: { api: '/api/v1', resource: 'replicationcontrollers' },
};
/** Long enough for nodes that are drained together to share the read of a common owner. */
const PRESENT_FOR_MS = 60_000;
/** A controller that is gone seldom comes back under its name, and keeping a node a little longer does no harm. */
const GONE_FOR_MS = 600_000;
const AT_ONCE = 8;

interface Learned {
  readonly state: OwnerState;
  /** Monotonic milliseconds. */
  readonly untilMs: number;
}

/** Holds what was read. Entries that are too old are dropped at the next read. */
export class ApiOwnerReader implements OwnerReader {
  readonly #rest: Rest;
  readonly #clock: Clock;
  readonly #learned = new Map<string, Learned>();

  constructor({ rest, clock }: { readonly rest: Rest; readonly clock: Clock }) {
    this.#rest = rest;
    this.#clock = clock;
  }

  known(): OwnerStates {
    const now = this.#clock.monotonic();
    const current = new Map<string, OwnerState>();
    for (const [key, { state, untilMs }] of this.#learned) if (untilMs > now) current.set(key, state);
    return current;
  }

  async read(owners: readonly Owner[], signal: AbortSignal): Promise<void> {
    const now = this.#clock.monotonic();
    for (const [key, { untilMs }] of this.#learned) if (untilMs <= now) this.#learned.delete(key);
    const missing = new Map(owners.map((owner) => [ownerKey(owner), owner]));
    for (const key of this.#learned.keys()) missing.delete(key);
    const asked = [...missing];
    for (let from = 0; from < asked.length; from += AT_ONCE) {
      await Promise.all(asked.slice(from, from + AT_ONCE).map(([key, owner]) => this.#learn(key, owner, signal)));
    }
  }

  async #learn(key: string, owner: Owner, signal: AbortSignal): Promise<void> {
    const state = await this.#ask(owner, signal);
    const untilMs = this.#clock.monotonic() + (state.exists ? PRESENT_FOR_MS : GONE_FOR_MS);
    this.#learned.set(key, { state, untilMs });
  }

  async #ask({ kind, namespace, name }: Owner, signal: AbortSignal): Promise<OwnerState> {
    const { api, resource } = COLLECTIONS[kind];
    const path = `${api}/namespaces/${encodeURIComponent(namespace)}/${resource}/${encodeURIComponent(name)}`;
    try {
      const json = (await this.#rest.json({ method: 'GET', path }, signal)) as WorkloadJson;
      const hasReplicas = kind === 'ReplicaSet' || kind === 'ReplicationController';
      return { exists: true, desired: hasReplicas ? (json.spec?.replicas ?? 1) : undefined };
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      if (error.kind === 'not-found') return { exists: false };
      throw error;
    }
  }
}
