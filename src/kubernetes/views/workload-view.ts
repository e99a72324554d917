/** How many pods each ReplicaSet, parallel StatefulSet and Job wants, kept current by watches. */
import type { ReplicatedWorkload } from '../../domain/workloads.ts';
import { asAutoscalerError } from '../../lib/errors.ts';
import type { ObjectJson } from '../api/core-json.ts';
import { byName } from './pod-index.ts';
import { projectWorkload } from '../projection/workloads.ts';
import { Reflector } from '../watch/reflector.ts';
import type { ReflectorDeps } from '../watch/reflector-options.ts';
import { Table } from '../watch/object-table.ts';

const SOURCES = [
  { kind: 'ReplicaSet', resource: 'replicasets', path: '/apis/apps/v1/replicasets' },
  { kind: 'StatefulSet', resource: 'statefulsets', path: '/apis/apps/v1/statefulsets' },
  { kind: 'Job', resource: 'jobs', path: '/apis/batch/v1/jobs' },
] as const;
/** A healthy watch delivers something about once a minute. Older numbers are not used to foresee pods. */
const MOST_STALE_MS = 180_000;

/** Runs the watches. */
export class WatchedWorkloads {
  readonly #deps: Omit<ReflectorDeps, 'resource' | 'path' | 'table'>;
  readonly #watched: readonly { readonly table: Table<ReplicatedWorkload>; readonly reflector: Reflector }[];

  constructor(deps: Omit<ReflectorDeps, 'resource' | 'path' | 'table'>) {
    this.#deps = deps;
    this.#watched = SOURCES.map(({ kind, resource, path }) => {
      const keyOf = ({ metadata }: ObjectJson): string => metadata?.uid ?? '';
      const table = new Table<ReplicatedWorkload>({ keyOf, project: (object) => projectWorkload(kind, object) });
      return { table, reflector: new Reflector({ ...deps, resource, path, table }) };
    });
  }

  /** Resolves when all kinds are known, or known to be forbidden; then none of them is used. */
  async start(signal: AbortSignal): Promise<void> {
    await Promise.all(
      this.#watched.map(async ({ reflector }) => {
        reflector.start(signal);
        try {
          await reflector.synced;
        } catch (thrown) {
          const { kind, message } = asAutoscalerError(thrown);
          this.#deps.log.warn(
            { resource: reflector.resource, kind, error: message },
            'Controllers could not be read; their pods are not foreseen',
          );
        }
      }),
    );
  }

  /** In a stable order, without those of a silent watch. */
  current(): readonly ReplicatedWorkload[] {
    const now = this.#deps.clock.monotonic();
    const heard = this.#watched.filter(({ reflector }) => now - reflector.lastHeardAt <= MOST_STALE_MS);
    return heard.flatMap(({ table }) => [...table.items.values()]).sort(byName);
  }

  async ended(): Promise<void> {
    await Promise.all(this.#watched.map(({ reflector }) => reflector.ended()));
  }
}
