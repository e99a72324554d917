/** The tables behind the views, and the reflectors that fill them. */
import type { Node } from '../../domain/node.ts';
import type { ClusterView } from '../../domain/observation.ts';
import type { Pod, SpreadDefaults } from '../../domain/pod.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import type { DaemonSet, DisruptionBudget, VerticalPodAutoscaler } from '../../domain/workloads.ts';
import type { ObjectJson } from '../api/core-json.ts';
import { byName, isOver, PodIndex } from './pod-index.ts';
import { createNodeProjection, projectNode, type NodeRules, type NodeProjection, type NodeProjectionListener } from '../projection/node.ts';
import { DefaultSpread } from './default-spread.ts';
import { WatchedDevices } from './device-view.ts';
import { KnownStorage } from './storage-view.ts';
import { createPodProjection, projectPod, type PodProjection } from '../projection/pod.ts';
import {
  projectClaim,
  projectCsiDriver,
  projectCsiNode,
  projectStorageCapacity,
  projectStorageClass,
  projectVolume,
  type Claim,
  type StorageCapacityJson,
} from '../projection/storage.ts';
import { projectUnreadableNode, projectUnreadablePod } from '../projection/unreadable.ts';
import { projectBudget, projectDaemonSet } from '../projection/workloads.ts';
import { byTarget, projectVerticalPodAutoscaler } from '../projection/vertical-pod-autoscalers.ts';
import type { Source } from '../watch/reflector-options.ts';
import { nameOf, namespacedName, Table } from '../watch/object-table.ts';
import { compareBy } from '../../lib/comparison.ts';

type Views = Omit<ClusterView, 'stalenessMs' | 'workloads' | 'owners' | 'daemonSetsUnknown' | 'capacity' | 'podGroups'>;
type Labels = Readonly<Record<string, string>>;

const uidOf = (object: ObjectJson): string => object.metadata?.uid ?? namespacedName(object);
const AUTOSCALERS = '/apis/autoscaling.k8s.io/v1/verticalpodautoscalers';

/** Why parts of the view may be wrong. */
export type Troubles = Partial<Record<NonNullable<Source['onlyFor']>, string>>;

interface TablesOptions {
  readonly onUnreadableNode?: NodeProjectionListener;
  readonly rules?: NodeRules;
  readonly now?: () => number;
  /** If absent, no profile of kube-scheduler refuses nodes to pods without constraints. */
  readonly spreadDefaults?: SpreadDefaults | undefined;
  /** Whether the node affinity that pods prefer is read. */
  readonly readsPreferences?: boolean | undefined;
  /** Whether VerticalPodAutoscalers are read. */
  readonly readsAutoscalers?: boolean | undefined;
}

/** Holds the state of the cluster. Views share what did not change instead of copying it. */
export class ReflectedCluster {
  readonly podProjection: PodProjection;
  readonly nodeProjection: NodeProjection;
  readonly #index = new PodIndex();
  readonly #listeners = new Set<(pod: Pod) => void>();
  readonly #preemptionListeners = new Set<(node: Node) => void>();
  /** Called once, for the first pod that names a group of pods. */
  #onPodGroup: (() => void) | undefined;
  #namesPodGroups = false;
  readonly #pods: Table<Pod>;
  readonly #nodes: Table<Node>;
  readonly #daemonSets: Table<DaemonSet>;
  readonly #budgets: Table<DisruptionBudget>;
  readonly #namespaces: Table<readonly [string, Labels]>;
  readonly #claims = new Table<Claim>({ keyOf: namespacedName, project: (object) => projectClaim(object) });
  readonly #volumes = new Table({ keyOf: nameOf, project: (object) => projectVolume(object) });
  readonly #classes = new Table({ keyOf: nameOf, project: (object) => projectStorageClass(object) });
  readonly #csiNodes = new Table({ keyOf: nameOf, project: (object) => projectCsiNode(object) });
  readonly #csiDrivers = new Table({ keyOf: nameOf, project: (object) => projectCsiDriver(object) });
  readonly #capacities = new Table({ keyOf: namespacedName, project: (object) => projectStorageCapacity(object as StorageCapacityJson) });
  /** undefined: they are not read. */
  readonly #autoscalers: Table<VerticalPodAutoscaler | undefined> | undefined;
  readonly #storage: KnownStorage;
  readonly #devices: WatchedDevices;
  readonly #spread: DefaultSpread;
  #views: {
    nodes: Views['nodes'];
    daemonSets: Views['daemonSets'];
    budgets: Views['disruptionBudgets'];
    namespaces: Views['namespaces'];
    autoscalers: Views['verticalPodAutoscalers'];
  } = {
    nodes: new Map(),
    daemonSets: [],
    budgets: [],
    namespaces: new Map(),
    autoscalers: undefined,
  };

  constructor(names: ResourceNames, options: TablesOptions = {}) {
    const { onUnreadableNode = () => undefined, rules = {}, now = () => 0, spreadDefaults = new Map() } = options;
    const { readsPreferences = false, readsAutoscalers = false } = options;
    if (readsAutoscalers)
      this.#autoscalers = new Table({
        keyOf: uidOf,
        project: (object) => projectVerticalPodAutoscaler(object),
      });
    this.#spread = new DefaultSpread(spreadDefaults);
    const tables = {
      claims: this.#claims.items,
      volumes: this.#volumes.items,
      classes: this.#classes.items,
      csiNodes: this.#csiNodes.items,
      csiDrivers: this.#csiDrivers.items,
      capacities: this.#capacities.items,
    };
    this.#storage = new KnownStorage(tables, names);
    this.#devices = new WatchedDevices(names);
    this.podProjection = createPodProjection(names, {
      spread: spreadDefaults.size > 0,
      affinity: readsPreferences,
      containers: readsAutoscalers,
    });
    this.nodeProjection = createNodeProjection(names, onUnreadableNode, rules, now);
    this.#pods = new Table({
      keyOf: uidOf,
      project: (object) => projectPod(object, this.podProjection),
      unreadable: (object, _reason, before) => projectUnreadablePod(object, before, this.podProjection),
      onChange: (before, after) => this.#podChanged(before, after),
    });
    this.#nodes = new Table({
      keyOf: nameOf,
      project: (object) => projectNode(object, this.nodeProjection),
      unreadable: (object, reason, before) => projectUnreadableNode(object, reason, before, this.nodeProjection),
      onChange: (before, after) => {
        if (after?.preemption === undefined || before?.preemption !== undefined) return;
        for (const listener of this.#preemptionListeners) listener(after);
      },
    });
    this.#daemonSets = new Table({
      keyOf: uidOf,
      project: (object) => projectDaemonSet(object, this.podProjection.shapes),
    });
    this.#budgets = new Table({ keyOf: uidOf, project: (object) => projectBudget(object) });
    this.#namespaces = new Table({ keyOf: nameOf, project: (object) => [nameOf(object), object.metadata?.labels ?? {}] as const });
  }

  sources(): readonly Source[] {
    return [
      { resource: 'nodes', path: '/api/v1/nodes', table: this.#nodes },
      { resource: 'namespaces', path: '/api/v1/namespaces', table: this.#namespaces },
      { resource: 'daemonsets', path: '/apis/apps/v1/daemonsets', table: this.#daemonSets },
      { resource: 'poddisruptionbudgets', path: '/apis/policy/v1/poddisruptionbudgets', table: this.#budgets },
      { resource: 'pods', path: '/api/v1/pods', table: this.#pods },
      { resource: 'persistentvolumeclaims', path: '/api/v1/persistentvolumeclaims', table: this.#claims, onlyFor: 'volumes' },
      { resource: 'persistentvolumes', path: '/api/v1/persistentvolumes', table: this.#volumes, onlyFor: 'volumes' },
      { resource: 'storageclasses', path: '/apis/storage.k8s.io/v1/storageclasses', table: this.#classes, onlyFor: 'volumes' },
      { resource: 'csinodes', path: '/apis/storage.k8s.io/v1/csinodes', table: this.#csiNodes, onlyFor: 'volumes' },
      { resource: 'csidrivers', path: '/apis/storage.k8s.io/v1/csidrivers', table: this.#csiDrivers, onlyFor: 'room' },
      {
        resource: 'csistoragecapacities',
        path: '/apis/storage.k8s.io/v1/csistoragecapacities',
        table: this.#capacities,
        onlyFor: 'room',
      },
      ...(this.#autoscalers === undefined
        ? []
        : [
            {
              resource: 'verticalpodautoscalers',
              path: AUTOSCALERS,
              table: this.#autoscalers,
              onlyFor: 'sizes',
              mayBeAbsent: true,
            } as const,
          ]),
      ...this.#devices.sources(),
      ...this.#spread.sources(),
    ];
  }

  /**
   * `troubles` says why claims and volumes, the room for new volumes, devices, or default constraints cannot be evaluated. If absent, they
   * can.
   */
  views(troubles: Troubles = {}): Views {
    const kept = this.#views;
    const storage = [this.#claims, this.#volumes, this.#classes, this.#csiNodes, this.#csiDrivers, this.#capacities].filter((table) =>
      table.takeChanged(),
    );
    if (storage.length > 0) this.#storage.changed();
    this.#storage.setTrouble(troubles.volumes, troubles.room);
    if (this.#nodes.takeChanged()) kept.nodes = sortedMap(this.#nodes.items, kept.nodes);
    if (this.#daemonSets.takeChanged()) kept.daemonSets = [...this.#daemonSets.items.values()].sort(byName);
    if (this.#budgets.takeChanged()) kept.budgets = [...this.#budgets.items.values()].sort(byName);
    if (this.#autoscalers?.takeChanged() === true) kept.autoscalers = byTarget(this.#autoscalers.items.values());
    if (this.#namespaces.takeChanged()) kept.namespaces = sortedMap(new Map(this.#namespaces.items.values()), kept.namespaces);
    const view = this.#storage.resolve({
      nodes: kept.nodes,
      podsByNode: this.#index.podsByNode(),
      pendingPods: this.#index.pendingPods(),
      daemonSets: kept.daemonSets,
      disruptionBudgets: kept.budgets,
      namespaces: kept.namespaces,
      verticalPodAutoscalers: kept.autoscalers,
    });
    const resolved = this.#devices.resolve(view, troubles.devices);
    return this.#spread.resolve(resolved, troubles.spread);
  }

  onUnschedulable(listener: (pod: Pod) => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  onPreemption(listener: (node: Node) => void): () => void {
    this.#preemptionListeners.add(listener);
    return () => {
      this.#preemptionListeners.delete(listener);
    };
  }

  /** Whether a pod names a group of pods so far; if not, the listener is called when the first one does. */
  namesPodGroups(listener: () => void): boolean {
    this.#onPodGroup = listener;
    return this.#namesPodGroups;
  }

  #podChanged(before: Pod | undefined, after: Pod | undefined): void {
    this.#index.replace(before, after);
    if (after?.shape.gang !== undefined && !this.#namesPodGroups) {
      this.#namesPodGroups = true;
      this.#onPodGroup?.();
    }
    this.#storage.podChanged(before, after);
    if (after === undefined || after.unschedulable === undefined || before?.unschedulable !== undefined) return;
    if (after.deletionAtMs !== undefined || isOver(after)) return;
    for (const listener of this.#listeners) listener(after);
  }
}

/** By key. `before` is the map before it: while no key comes, the next one has its order. */
function sortedMap<Value>(items: ReadonlyMap<string, Value>, before: ReadonlyMap<string, Value>): ReadonlyMap<string, Value> {
  const next = new Map<string, Value>();
  for (const key of before.keys()) {
    const item = items.get(key);
    if (item !== undefined) next.set(key, item);
  }
  return next.size === items.size ? next : new Map([...items].sort(compareBy(([key]) => key)));
}
