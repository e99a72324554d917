/** How many pods each ReplicaSet, parallel StatefulSet and Job wants, kept current by watches of their own. */
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
/** A healthy watch is heard about once a minute; numbers older than this make no pods up. */
const MOST_STALE_MS = 180_000;

/** Owns the watches. */
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

  /** Resolves when all are known, or may not be read: then nothing is known of them. */
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
            'controllers cannot be read: none of their pods is foreseen',
          );
        }
      }),
    );
  }

  /** In a stable order; those of a watch that has gone silent are left out. */
  current(): readonly ReplicatedWorkload[] {
    const now = this.#deps.clock.monotonic();
    const heard = this.#watched.filter(({ reflector }) => now - reflector.lastHeardAt <= MOST_STALE_MS);
    return heard.flatMap(({ table }) => [...table.items.values()]).sort(byName);
  }

  async ended(): Promise<void> {
    await Promise.all(this.#watched.map(({ reflector }) => reflector.ended()));
  }
}
