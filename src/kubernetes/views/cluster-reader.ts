/**
 * The ClusterReader port: views from the watches, and direct reads for decisions that must not use old data. Must not
 * know what decisions the views serve.
 */
import { withAbort } from '../../lib/abort.ts';
import { AutoscalerError } from '../../lib/errors.ts';
import type { Node } from '../../domain/node.ts';
import { type ClusterView, NOT_WATCHED } from '../../domain/observation.ts';
import type { Pod, SpreadDefaults } from '../../domain/pod.ts';
import type { TaintRules } from '../../domain/taints.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import type { ClusterReader, ReadNode } from '../../domain/ports/cluster.ts';
import type { ListJson } from '../api/core-json.ts';
import { isOver } from './pod-index.ts';
import { projectNode, volumesOf } from '../projection/node.ts';
import { projectPod } from '../projection/pod.ts';
import { ReflectedCluster, type Troubles } from './cluster-tables.ts';
import { Reflector } from '../watch/reflector.ts';
import type { ReflectorDeps } from '../watch/reflector-options.ts';
import type { CapacityOptions } from '../api/options.ts';
import { WatchedCapacity } from './capacity-view.ts';
import { WatchedPodGroups } from './pod-group-view.ts';
import { WatchedWorkloads } from './workload-view.ts';
import { PageTokens } from '../api/list-pages.ts';
import { getOrUndefined } from '../api/rest.ts';
import { formatDuration } from '../../lib/duration.ts';

interface ReaderDeps extends Omit<ReflectorDeps, 'resource' | 'path' | 'table'> {
  readonly names: ResourceNames;
  /** If absent, only the well-known startup taints count. */
  readonly taints?: TaintRules;
  /** If absent, no profile of kube-scheduler refuses nodes to pods without constraints. */
  readonly spreadDefaults?: SpreadDefaults;
  /** Whether the node affinity that pods prefer is read. */
  readonly readsPreferences?: boolean;
  /** Whether VerticalPodAutoscalers are read. */
  readonly readsAutoscalers?: boolean;
  /** The conditions of nodes to keep, as `type=status`. It may change. If absent, none. */
  readonly conditions?: ReadonlySet<string>;
  /** Whether the views include the number of pods that controllers want. */
  readonly followWorkloads?: boolean;
  /** The capacity objects to watch. If absent, none. */
  readonly capacity?: CapacityOptions;
}

const FRESH_PAGE = 500;
/** Silence of a storage watch after which it is no longer used for pods with claims. */
const MOST_STALE_STORAGE_MS = 300_000;

/** Runs the watches. */
export class WatchedClusterReader implements ClusterReader {
  readonly #deps: ReaderDeps;
  readonly #cluster: ReflectedCluster;
  readonly #reflectors: readonly Reflector[];
  /** Resources that a cluster view can do without, each with the pods that cannot. */
  readonly #optional: ReadonlyMap<Reflector, keyof Troubles>;
  readonly #workloads: WatchedWorkloads | undefined;
  readonly #capacity: WatchedCapacity | undefined;
  readonly #podGroups: WatchedPodGroups;
  readonly #stop = new AbortController();

  constructor(deps: ReaderDeps) {
    this.#deps = deps;
    const unreadable = (node: string, reason: string): void => deps.log.warn({ node, reason }, 'Node could not be read');
    this.#cluster = new ReflectedCluster(deps.names, {
      onUnreadableNode: unreadable,
      rules: { ...deps.taints, conditions: deps.conditions },
      now: () => deps.clock.now(),
      spreadDefaults: deps.spreadDefaults,
      readsPreferences: deps.readsPreferences,
      readsAutoscalers: deps.readsAutoscalers,
    });
    this.#workloads = deps.followWorkloads === true ? new WatchedWorkloads(deps) : undefined;
    const { capacity: options } = deps;
    const { shapes } = this.#cluster.podProjection;
    this.#capacity = options === undefined ? undefined : new WatchedCapacity({ ...deps, options, shapes });
    this.#podGroups = new WatchedPodGroups(deps);
    const made = this.#cluster.sources().map((source) => ({ source, reflector: new Reflector({ ...deps, ...source }) }));
    this.#reflectors = made.map(({ reflector }) => reflector);
    this.#optional = new Map(made.flatMap(({ source, reflector }) => (source.onlyFor === undefined ? [] : [[reflector, source.onlyFor]])));
  }

  async start(signal: AbortSignal): Promise<void> {
    for (const reflector of this.#reflectors) reflector.start(this.#stop.signal);
    const synced = Promise.all([
      ...this.#reflectors.map((each) => (this.#optional.has(each) ? each.answered : each.synced)),
      this.#workloads?.start(this.#stop.signal),
      this.#capacity?.start(this.#stop.signal),
    ]);
    const error = (): AutoscalerError => new AutoscalerError({ kind: 'cancelled' }, 'The first read of the cluster was cancelled.');
    await withAbort(synced, signal, { error });
    const begin = (): Promise<void> => this.#podGroups.start(this.#stop.signal);
    // guard: groups of pods are read before the first view that has their pods
    if (this.#cluster.namesPodGroups(() => void begin())) await withAbort(begin(), signal, { error });
  }

  observe(_nowMs: number): ClusterView {
    const now = this.#deps.clock.monotonic();
    let stalenessMs = 0;
    const troubles: { -readonly [Part in keyof Troubles]: Troubles[Part] } = {};
    for (const reflector of this.#reflectors) {
      const { resource, lastHeardAt, trouble } = reflector;
      this.#deps.metrics.cluster.watchStaleness.set({ resource }, (now - lastHeardAt) / 1000);
      const onlyFor = this.#optional.get(reflector);
      if (onlyFor === undefined) stalenessMs = Math.max(stalenessMs, now - lastHeardAt);
      else if (now - lastHeardAt > MOST_STALE_STORAGE_MS)
        troubles[onlyFor] ??= `no update of ${resource} was received for ${formatDuration(now - lastHeardAt)}`;
      else if (reflector.version === 0) troubles[onlyFor] ??= `${resource} cannot be read: ${trouble ?? ''}`;
    }
    const workloads = this.#workloads?.current() ?? NOT_WATCHED.workloads;
    const capacity = this.#capacity?.current() ?? NOT_WATCHED.capacity;
    return this.#podGroups.resolve({ ...NOT_WATCHED, ...this.#cluster.views(troubles), stalenessMs, workloads, capacity });
  }

  async readFresh(name: string, signal: AbortSignal): Promise<ReadNode | undefined> {
    const path = `/api/v1/nodes/${encodeURIComponent(name)}`;
    const json = await getOrUndefined(this.#deps.rest, path, signal);
    if (json === undefined) return undefined;
    const pods: Pod[] = [];
    const seen = new PageTokens(`pods on node ${name}`);
    for (let page = ''; ;) {
      const query = { fieldSelector: `spec.nodeName=${name}`, limit: FRESH_PAGE, ...(page === '' ? {} : { continue: page }) };
      const list = (await this.#deps.rest.json({ method: 'GET', path: '/api/v1/pods', query }, signal)) as ListJson;
      for (const item of list.items ?? []) {
        const pod = projectPod(item, this.#cluster.podProjection);
        if (!isOver(pod)) pods.push(pod);
      }
      page = seen.next(list.metadata?.continue);
      if (page === '') return { node: projectNode(json, this.#cluster.nodeProjection), pods, volumes: volumesOf(json) };
    }
  }

  async podExists(pod: { readonly namespace: string; readonly name: string; readonly uid: string }, signal: AbortSignal): Promise<boolean> {
    const path = `/api/v1/namespaces/${encodeURIComponent(pod.namespace)}/pods/${encodeURIComponent(pod.name)}`;
    const json = await getOrUndefined(this.#deps.rest, path, signal);
    return json?.metadata?.uid === pod.uid;
  }

  onUnschedulable(listener: (pod: Pod) => void): () => void {
    return this.#cluster.onUnschedulable(listener);
  }

  onPreemption(listener: (node: Node) => void): () => void {
    return this.#cluster.onPreemption(listener);
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.all([
      ...this.#reflectors.map((reflector) => reflector.ended()),
      this.#workloads?.ended(),
      this.#capacity?.ended(),
      this.#podGroups.ended(),
    ]);
  }
}
