/**
 * One question that a real kube-scheduler has answered: the whole cluster as the API server gave it back, one pending
 * pod, and the nodes that let it in. Plain JSON, so that an answer once had can be asked for again without a scheduler.
 */
import type { NodeJson, ObjectJson } from '../../src/kubernetes/api/core-json.ts';
import { ReflectedCluster } from '../../src/kubernetes/views/cluster-tables.ts';
import { type ClusterView, NOT_WATCHED } from '../../src/domain/observation.ts';
import type { SpreadDefaults } from '../../src/domain/pod.ts';
import type { FitReason } from '../../src/domain/reasons.ts';
import { ResourceNames } from '../../src/domain/resources.ts';
import { ClusterSnapshot } from '../../src/scheduling/snapshot/cluster-snapshot.ts';

/** As the API spells it. */
export interface ParityObject {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly [field: string]: unknown;
  };
  readonly [field: string]: unknown;
}

/** What is there beside the pending pods: nodes, bound pods, namespaces, and all that volumes are made of. */
export type ParityCluster = readonly ParityObject[];

export interface ParityCase {
  /** What it is about, in one sentence. */
  readonly name: string;
  readonly cluster: ParityCluster;
  readonly pod: ParityObject;
  /** Names of the nodes that pass every filter of kube-scheduler; sorted. */
  readonly scheduler: readonly string[];
  /** kube-scheduler's own words, where no node passed. */
  readonly message?: string;
  /** Name of the known difference that this is an example of; absent: the planner must agree. */
  readonly difference?: string;
  /** The minor version of the scheduler that was asked, such as `1.34`. If absent, the newest. */
  readonly minor?: string | undefined;
}

export interface PlannersAnswer {
  /** Where the planner would count the pod as served. */
  readonly place: string | undefined;
  /** By node; none: the pod fits. */
  readonly reasons: ReadonlyMap<string, readonly FitReason[]>;
}

const RESOURCES: Readonly<Record<string, string>> = {
  Node: 'nodes',
  Namespace: 'namespaces',
  Pod: 'pods',
  PersistentVolumeClaim: 'persistentvolumeclaims',
  PersistentVolume: 'persistentvolumes',
  StorageClass: 'storageclasses',
  CSINode: 'csinodes',
  CSIDriver: 'csidrivers',
  DeviceClass: 'deviceclasses',
  ResourceSlice: 'resourceslices',
  ResourceClaim: 'resourceclaims',
  ResourceClaimTemplate: 'resourceclaimtemplates',
  DeviceTaintRule: 'devicetaintrules',
  Service: 'services',
  ReplicaSet: 'replicasets',
  StatefulSet: 'statefulsets',
  ReplicationController: 'replicationcontrollers',
};

/** The objects as the planner sees them: they go the way that the watch would take them. */
export function clusterViewOf(
  objects: ParityCluster,
  spreadDefaults?: SpreadDefaults,
): { readonly view: ClusterView; readonly names: ResourceNames } {
  const names = new ResourceNames();
  const reflected = new ReflectedCluster(names, { spreadDefaults });
  const tables = new Map(reflected.sources().map(({ resource, table }) => [resource, table]));
  for (const object of objects) {
    tables.get(RESOURCES[object.kind] ?? '')?.put(JSON.parse(JSON.stringify(object)) as ObjectJson);
  }
  return { view: { ...NOT_WATCHED, ...reflected.views(), stalenessMs: 0 }, names };
}

/** Asks the planner. No other pod is pending. */
export function askPlanner(cluster: ParityCluster, pod: ParityObject, spreadDefaults?: SpreadDefaults): PlannersAnswer {
  const { view, names } = clusterViewOf([...cluster, pod], spreadDefaults);
  const snapshot = new ClusterSnapshot({ names });
  snapshot.sync(view);
  const [pending] = view.pendingPods;
  if (pending === undefined) throw new Error(`Pod ${pod.metadata.name} is not pending.`);
  const fault = snapshot.deviceAllocationFailure(pending);
  const given: readonly FitReason[] =
    fault === undefined ? [] : [{ kind: 'device', message: fault.fault, detail: `on node ${fault.node}` }];
  const nodeNames = [...view.nodes.keys()].sort();
  const reasons = new Map(nodeNames.map((node) => [node, [...given, ...snapshot.check(pending, node)]]));
  return { place: fault === undefined ? snapshot.findNode(pending) : undefined, reasons };
}

/** In words, where the planner and the scheduler do not agree; empty: they do. */
export function disagreements(cluster: ParityCluster, scheduler: readonly string[], planner: PlannersAnswer): readonly string[] {
  const found = [...planner.reasons].flatMap(([node, reasons]) => {
    const binds = scheduler.includes(node);
    if (binds === (reasons.length === 0)) return [];
    return [`${node}: the scheduler ${binds ? 'lets it in' : 'refuses'}, the planner says ${JSON.stringify(reasons)}`];
  });
  // What is cordoned is about to leave: no pod counts as served there, though it may tolerate the cordon.
  const open = scheduler.filter((name) => !isCordoned(cluster, name));
  const served = planner.place !== undefined;
  if (found.length === 0 && served !== open.length > 0)
    found.push(`the planner ${served ? `counts on ${planner.place}` : 'finds no place'}`);
  return found;
}

function isCordoned(cluster: ParityCluster, name: string): boolean {
  const node = cluster.find(({ kind, metadata }) => kind === 'Node' && metadata.name === name);
  return (node as NodeJson | undefined)?.spec?.unschedulable === true;
}
