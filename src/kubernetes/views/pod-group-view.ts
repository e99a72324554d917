/**
 * The groups of pods that start together. They are watched from the first pod on that names a group: a cluster without such pods is asked
 * nothing. Must not know what a group requires of a plan.
 */
import type { PodGroup, PodGroups } from '../../domain/workloads.ts';
import { compareBy } from '../../lib/comparison.ts';
import type { ClusterView } from '../../domain/observation.ts';
import { PodGroupShapes } from './pod-group-shapes.ts';
import { projectPodGroup, projectWorkloadGroups, type KeyedPodGroup } from '../projection/pod-groups.ts';
import { Reflector } from '../watch/reflector.ts';
import type { ReflectorDeps } from '../watch/reflector-options.ts';
import { namespacedName, Table } from '../watch/object-table.ts';

const API = '/apis/scheduling.k8s.io';

/** An API server serves one or two of these versions; the newest known says what a group requires. */
const SOURCES = [
  { resource: 'workloads', version: 'v1alpha1', project: projectWorkloadGroups },
  { resource: 'podgroups', version: 'v1alpha2', project: projectPodGroup },
  { resource: 'podgroups', version: 'v1alpha3', project: projectPodGroup },
  { resource: 'podgroups', version: 'v1beta1', project: projectPodGroup },
] as const;

/** Runs the watches. */
export class WatchedPodGroups {
  readonly #watched: readonly { readonly table: Table<readonly KeyedPodGroup[]>; readonly reflector: Reflector }[];
  #answered: Promise<void> | undefined;
  #hasAnswered = false;
  #groups: ReadonlyMap<string, PodGroup> = new Map();
  #view: PodGroups | undefined;
  readonly #shapes = new PodGroupShapes();

  constructor(deps: Omit<ReflectorDeps, 'resource' | 'path' | 'table'>) {
    this.#watched = SOURCES.map(({ resource, version, project }) => {
      const table = new Table<readonly KeyedPodGroup[]>({ keyOf: namespacedName, project: (object) => project(object) });
      const source = { resource: `${resource}.${version}`, path: `${API}/${version}/${resource}`, mayBeAbsent: true } as const;
      return { table, reflector: new Reflector({ ...deps, ...source, table }) };
    });
  }

  /** Starts the watches once. Resolves when each kind is known, or known to be absent or refused. */
  start(signal: AbortSignal): Promise<void> {
    this.#answered ??= this.#run(signal);
    return this.#answered;
  }

  async #run(signal: AbortSignal): Promise<void> {
    for (const { reflector } of this.#watched) reflector.start(signal);
    await Promise.all(this.#watched.map(({ reflector }) => reflector.answered));
    this.#hasAnswered = true;
  }

  /**
   * undefined: no pod named a group so far, or no version of them can be read: the cluster serves none, or refuses them to us. Returns the
   * same value as long as nothing changed.
   */
  current(): PodGroups | undefined {
    if (this.#answered === undefined) return undefined;
    const changed = this.#watched.filter(({ table }) => table.takeChanged()).length > 0;
    if (changed)
      this.#groups = new Map(this.#watched.flatMap(({ table }) => [...table.items.values()].flat()).sort(compareBy(([key]) => key)));
    const isRead = this.#watched.some(({ reflector }) => reflector.version > 0 && !reflector.isAbsent);
    if (!isRead && this.#hasAnswered) return undefined;
    const isUnread = !this.#hasAnswered;
    if (this.#view?.groups !== this.#groups || this.#view.unread !== isUnread) this.#view = { groups: this.#groups, unread: isUnread };
    return this.#view;
  }

  /** The view with the groups, and with what they require of where their pods run. The view itself if there are none. */
  resolve<View extends Pick<ClusterView, 'podsByNode' | 'pendingPods' | 'podGroups'>>(view: View): View {
    const podGroups = this.current();
    return podGroups === undefined ? view : { ...this.#shapes.resolve(view, podGroups), podGroups };
  }

  async ended(): Promise<void> {
    await Promise.all(this.#watched.map(({ reflector }) => reflector.ended()));
  }
}
