/**
 * Reads the world several times a second, as a person with kubectl and the Azure portal would, and records what passes:
 * when pods became unschedulable, which pods left their nodes, which requests went to ARM.
 */
import type { ArmCall, Eviction, FailedOperation, PodHistory } from './summary.ts';
import type { Json, WorldClient } from './world-client.ts';

interface PoolState {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  readonly target: number;
  readonly ready: number;
  readonly failed: number;
}

export interface WorldState {
  readonly pools: readonly PoolState[];
  readonly pending: number;
  readonly bound: number;
  /** Bound pods by their label `app`. */
  readonly boundByApp: ReadonlyMap<string, number>;
  /** Capacity writes that were refused with 412 so far. */
  readonly conflicts: number;
  /** Pods that left a node with the deletion taint. */
  readonly evicted: number;
  /** Nodes that had a taint of the daemon in this or an earlier read. */
  readonly tainted: number;
  readonly violations: readonly { readonly rule: string; readonly subject: string; readonly detail: string }[];
}

interface Meta {
  readonly name: string;
  readonly uid: string;
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly deletionTimestamp?: string;
  readonly ownerReferences?: readonly { readonly kind: string }[];
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly lastTransitionTime?: string;
}

interface PodJson {
  readonly metadata: Meta;
  readonly spec: { readonly nodeName?: string };
  readonly status: { readonly phase?: string; readonly conditions?: readonly Condition[] };
}

interface NodeJson {
  readonly metadata: Meta;
  readonly spec: { readonly taints?: readonly { readonly key: string }[] };
  readonly status: { readonly conditions?: readonly Condition[] };
}

interface EventJson {
  readonly reason: string;
  readonly message: string;
  readonly involvedObject: { readonly uid?: string };
}

interface ListJson<Item> {
  readonly [key: string]: unknown;
  readonly items: readonly Item[];
}

interface ArmStateJson {
  readonly sets: readonly {
    readonly pool: string;
    readonly name: string;
    readonly capacity: number;
    readonly min: number;
    readonly max: number;
    readonly instances: readonly { readonly hostName: string; readonly provisioningState: string }[];
  }[];
  readonly operations: readonly { readonly pool: string; readonly status: string; readonly code?: string; readonly endMs?: number }[];
  readonly violations: WorldState['violations'];
}

interface JournalJson {
  readonly seq: number;
  readonly at: number;
  readonly method: string;
  readonly route: string;
  readonly status: number;
  readonly principal: string;
  readonly pool?: string;
  readonly capacityBefore?: number;
  readonly capacityAfter?: number;
  readonly charge?: number;
}

interface SeenPod {
  readonly uid: string;
  unschedulableMs: number | undefined;
  triggered: Set<string>;
  bound: boolean;
  gone: boolean;
}

/** The namespace of the demo's own pods. Other pods are not counted. */
const NAMESPACE = 'default';
const OUR_TAINTS = /ClusterAutoscaler$|^aks-autoscaler\//;
const DRAINING = 'ToBeDeletedByClusterAutoscaler';

export class Watcher {
  readonly #client: WorldClient;
  readonly #principal: string;
  readonly #pods = new Map<string, SeenPod>();
  readonly #evictions = new Map<string, Eviction>();
  readonly #calls: ArmCall[] = [];
  /** The nodes of the pods in the last read. */
  readonly #nodeOfPod = new Map<string, string>();
  readonly #poolOfNode = new Map<string, string>();
  /** Every node that had the deletion taint. */
  readonly #drained = new Set<string>();
  readonly #taintedNodes = new Set<string>();
  #failures: readonly FailedOperation[] = [];
  #lastSeq = 0;

  /** @param principal the application id of the daemon: only its calls are counted. */
  constructor(client: WorldClient, principal: string) {
    this.#client = client;
    this.#principal = principal;
  }

  /** Reads everything once. */
  async readWorld(): Promise<WorldState> {
    const [podList, nodeList, eventList, state, journal] = await Promise.all([
      this.#client.kube('GET', `/api/v1/namespaces/${NAMESPACE}/pods`),
      this.#client.kube('GET', '/api/v1/nodes'),
      this.#client.kube('GET', `/api/v1/namespaces/${NAMESPACE}/events`),
      this.#client.control('GET', '/_emu/state'),
      this.#client.control('GET', `/_emu/journal?since=${this.#lastSeq}`),
    ]);
    const arm = state as Json & ArmStateJson;
    const nodes = (nodeList as ListJson<NodeJson>).items;
    const pods = (podList as ListJson<PodJson>).items;
    this.#recordCalls((journal as { readonly entries: readonly JournalJson[] }).entries);
    this.#recordPods(pods);
    this.#recordEvents((eventList as ListJson<EventJson>).items, arm);
    this.#recordEvictions(pods, nodes, arm);
    this.#failures = arm.operations.flatMap(({ pool, status, code, endMs }) =>
      status === 'Failed' && code !== undefined && endMs !== undefined ? [{ pool, code, endedMs: endMs }] : [],
    );
    return this.#stateOf(pods, nodes, arm);
  }

  account(): {
    readonly calls: readonly ArmCall[];
    readonly failures: readonly FailedOperation[];
    readonly pods: readonly PodHistory[];
    readonly evictions: readonly Eviction[];
  } {
    const pods = [...this.#pods.values()].map((pod) => ({ ...pod, triggered: [...pod.triggered] }));
    return { calls: this.#calls, failures: this.#failures, pods, evictions: [...this.#evictions.values()] };
  }

  #stateOf(pods: readonly PodJson[], nodes: readonly NodeJson[], arm: ArmStateJson): WorldState {
    const ready = new Set(nodes.filter(isReady).map((node) => node.metadata.name));
    const live = pods.filter((pod) => pod.metadata.deletionTimestamp === undefined);
    const bound = live.filter((pod) => pod.spec.nodeName !== undefined);
    const boundByApp = new Map<string, number>();
    for (const pod of bound) {
      const app = pod.metadata.labels?.['app'] ?? '';
      boundByApp.set(app, (boundByApp.get(app) ?? 0) + 1);
    }
    return {
      pools: arm.sets.map((set) => ({
        name: set.pool,
        min: set.min,
        max: set.max,
        target: set.capacity,
        ready: set.instances.filter((instance) => ready.has(instance.hostName)).length,
        failed: set.instances.filter((instance) => instance.provisioningState === 'Failed').length,
      })),
      pending: live.length - bound.length,
      bound: bound.length,
      boundByApp,
      conflicts: this.#calls.filter((call) => call.status === 412).length,
      evicted: this.#evictions.size,
      tainted: this.#taintedNodes.size,
      violations: arm.violations,
    };
  }

  #recordCalls(entries: readonly JournalJson[]): void {
    for (const entry of entries) {
      this.#lastSeq = Math.max(this.#lastSeq, entry.seq);
      if (entry.principal !== this.#principal) continue;
      this.#calls.push({
        seq: entry.seq,
        atMs: entry.at,
        method: entry.method,
        route: entry.route.replace(`${entry.method} `, ''),
        status: entry.status,
        pool: entry.pool,
        capacityBefore: entry.capacityBefore,
        capacityAfter: entry.capacityAfter,
        instances: entry.method === 'POST' && entry.route.endsWith('/delete') ? (entry.charge ?? 0) : 0,
      });
    }
  }

  #recordPods(pods: readonly PodJson[]): void {
    const present = new Set(pods.map((pod) => pod.metadata.uid));
    for (const seen of this.#pods.values()) if (!present.has(seen.uid)) seen.gone = true;
    for (const pod of pods) {
      const { uid } = pod.metadata;
      const seen = this.#pods.get(uid) ?? { uid, unschedulableMs: undefined, triggered: new Set<string>(), bound: false, gone: false };
      const refusal = pod.status.conditions?.find(
        ({ type, status, reason }) => type === 'PodScheduled' && status === 'False' && reason === 'Unschedulable',
      );
      seen.unschedulableMs ??= refusal?.lastTransitionTime === undefined ? undefined : Date.parse(refusal.lastTransitionTime);
      seen.bound ||= pod.spec.nodeName !== undefined;
      this.#pods.set(uid, seen);
    }
  }

  #recordEvents(events: readonly EventJson[], arm: ArmStateJson): void {
    for (const event of events) {
      if (event.reason !== 'TriggeredScaleUp') continue;
      const pod = this.#pods.get(event.involvedObject.uid ?? '');
      const set = arm.sets.find((candidate) => event.message.includes(candidate.name));
      if (set !== undefined) pod?.triggered.add(set.pool);
    }
  }

  #recordTaints(nodes: readonly NodeJson[]): void {
    for (const { metadata, spec } of nodes) {
      const keys = (spec.taints ?? []).map(({ key }) => key);
      if (keys.some((key) => OUR_TAINTS.test(key))) this.#taintedNodes.add(metadata.name);
      if (keys.includes(DRAINING)) this.#drained.add(metadata.name);
    }
  }

  /** A pod that leaves a node with the deletion taint counts as evicted. Many leave between two reads. */
  #recordEvictions(pods: readonly PodJson[], nodes: readonly NodeJson[], arm: ArmStateJson): void {
    this.#recordTaints(nodes);
    for (const set of arm.sets) for (const { hostName } of set.instances) this.#poolOfNode.set(hostName, set.pool);
    const present = new Set(pods.filter((pod) => pod.metadata.deletionTimestamp === undefined).map((pod) => pod.metadata.uid));
    for (const [uid, node] of this.#nodeOfPod) {
      const pool = this.#poolOfNode.get(node);
      if (present.has(uid) || !this.#drained.has(node) || pool === undefined) continue;
      this.#evictions.set(uid, { pod: uid, pool });
    }
    for (const pod of pods) if (pod.spec.nodeName !== undefined) this.#nodeOfPod.set(pod.metadata.uid, pod.spec.nodeName);
    for (const uid of this.#nodeOfPod.keys()) if (!present.has(uid)) this.#nodeOfPod.delete(uid);
  }
}

function isReady(node: NodeJson): boolean {
  return node.status.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
}
