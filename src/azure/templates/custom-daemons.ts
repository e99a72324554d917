/**
 * Daemon pods that no built-in DaemonSet announces: of DaemonSets of other API groups, or annotated as daemon pods. The nodes of
 * a group show which of them every new node gets. Must not know how a template is made.
 */
import type { NodeGroupId, NodeName } from '../../domain/ids.ts';
import type { Node } from '../../domain/node.ts';
import type { CustomDaemon } from '../../domain/node-template.ts';
import type { ClusterView } from '../../domain/observation.ts';
import type { Pod } from '../../domain/pod.ts';
import { largest, type ResourceNames } from '../../domain/resources.ts';
import { apiGroupOf, isBuiltInDaemonSet, isOlderThanNode } from '../../domain/workloads.ts';
import { compareBy } from '../../lib/comparison.ts';
import { isBeingRemoved } from './from-node.ts';

/** How long a ready node may lack a daemon pod before it counts: controllers create the pod after the node, and replace it. */
const SETTLED_AFTER_MS = 60_000;
/** Far more than any node has. */
const MOST_DAEMONS = 50;
const NONE: readonly CustomDaemon[] = [];

/** As stored for the next process: amounts in the units of resource vectors. */
export type CustomDaemonRecord = Omit<CustomDaemon, 'requests'> & { readonly requests: Readonly<Record<string, number>> };

export function toDaemonRecord({ requests, ...rest }: CustomDaemon, names: ResourceNames): CustomDaemonRecord {
  return { ...rest, requests: names.toRecord(requests) };
}

export function fromDaemonRecord({ requests, ...rest }: CustomDaemonRecord, names: ResourceNames): CustomDaemon {
  return { ...rest, requests: names.fromRecord(requests) };
}

/** Whether no built-in DaemonSet announces the daemon pod on new nodes. */
export function isCustomDaemon({ daemonSet, mirror, controller }: Pod): boolean {
  return daemonSet && !mirror && (controller === undefined || !isBuiltInDaemonSet(controller));
}

/**
 * Finished pods do not count. Terminating pods do: their controller is replacing them. Any user may annotate a pod that waited for any
 * node, so that a pod older than its node does not count.
 */
export function customDaemonsOn(node: Pick<Node, 'name' | 'createdAtMs'>, pods: readonly Pod[]): readonly CustomDaemon[] {
  const found = pods.filter(
    // guard: a pod that waited for any node is no daemon pod of the next, whatever its annotation says
    (pod) => isCustomDaemon(pod) && !isOlderThanNode(pod, node) && pod.phase !== 'Succeeded' && pod.phase !== 'Failed',
  );
  return found.length === 0 ? NONE : found.map((pod) => customDaemonOf(node.name, pod));
}

function customDaemonOf(node: NodeName, { namespace, name, controller, shape }: Pod): CustomDaemon {
  const { requests, hostPorts } = shape;
  const own = name.endsWith(`-${node}`) ? name.slice(0, -node.length - 1) : name;
  if (controller === undefined) return { namespace, name: own, owner: '', requests, hostPorts };
  const { apiVersion = '', kind, uid } = controller;
  return { namespace, name: controller.name, owner: `${kind}.${apiGroupOf(apiVersion)} ${uid}`, requests, hostPorts };
}

/** Whether the node shows what runs on every node of its group. */
export function showsDaemons(node: Node): boolean {
  return node.readiness.ready && !node.unschedulable && !isBeingRemoved(node);
}

export interface GroupDaemonsInput {
  /** Ready, schedulable nodes of the group. */
  readonly nodes: readonly Node[];
  readonly daemonsOn: (node: Node) => readonly CustomDaemon[];
  /** From earlier nodes. They stay until a settled node lacks them. */
  readonly known: readonly CustomDaemon[];
  readonly nowMs: number;
}

/** The daemons of whom every settled node has a pod, by namespace and name, with the largest requests of their pods. */
export function findCustomDaemons({ nodes, daemonsOn, known, nowMs }: GroupDaemonsInput): readonly CustomDaemon[] {
  const found = new Map<string, CustomDaemon>();
  const counts = new Map<string, number>();
  let settled = 0;
  for (const node of nodes) {
    const isSettled = node.readiness.sinceMs + SETTLED_AFTER_MS <= nowMs;
    if (isSettled) settled += 1;
    const daemons = daemonsOn(node);
    if (daemons.length === 0) continue;
    for (const [key, daemon] of new Map(daemons.map((each) => [keyOf(each), each]))) {
      if (isSettled) counts.set(key, (counts.get(key) ?? 0) + 1);
      const other = found.get(key);
      found.set(key, other === undefined ? daemon : { ...daemon, requests: largest(other.requests, daemon.requests) });
    }
  }
  for (const daemon of known) if (!found.has(keyOf(daemon))) found.set(keyOf(daemon), daemon);
  if (found.size === 0) return NONE;
  return [...found]
    .filter(([key]) => (counts.get(key) ?? 0) === settled)
    .map(([, daemon]) => daemon)
    .sort(compareBy(keyOf))
    .slice(0, MOST_DAEMONS);
}

function keyOf({ namespace, name, owner }: CustomDaemon): string {
  return `${namespace}/${name} ${owner}`;
}

interface Known {
  readonly daemons: readonly CustomDaemon[];
  readonly text: string;
  /** When each daemon was last on every settled node, in milliseconds since the epoch. */
  readonly wholeAtMs: ReadonlyMap<string, number>;
}

/** Follows the custom daemons of every group. */
export class CustomDaemons {
  readonly #byPods = new WeakMap<readonly Pod[], { readonly createdAtMs: number; readonly daemons: readonly CustomDaemon[] }>();
  readonly #known = new Map<NodeGroupId, Known>();
  #nodes = new Map<NodeGroupId, Node[]>();
  #pending = new Map<NodeName, Pod[]>();
  #cluster: Pick<ClusterView, 'nodes' | 'podsByNode' | 'pendingPods'> | undefined;
  #groupOfNode: ReadonlyMap<NodeName, NodeGroupId> | undefined;

  /** Must be called once per view, before the groups. */
  observe(cluster: ClusterView, groupOfNode: ReadonlyMap<NodeName, NodeGroupId>): void {
    const last = this.#cluster;
    this.#cluster = cluster;
    if (last?.pendingPods !== cluster.pendingPods) this.#pending = pendingByNode(cluster.pendingPods);
    if (last?.nodes === cluster.nodes && this.#groupOfNode === groupOfNode) return;
    this.#groupOfNode = groupOfNode;
    this.#nodes = new Map();
    for (const [name, group] of groupOfNode) {
      const node = cluster.nodes.get(name);
      if (node === undefined || !showsDaemons(node)) continue;
      const nodes = this.#nodes.get(group);
      if (nodes === undefined) this.#nodes.set(group, [node]);
      else nodes.push(node);
    }
  }

  /** Brings one group up to date. Returns the same array while nothing is new. `recorded` counts before a node was seen. */
  update(id: NodeGroupId, recorded: readonly CustomDaemon[], nowMs: number): readonly CustomDaemon[] {
    const before = this.#known.get(id);
    const known = before?.daemons ?? recorded;
    const nodes = this.#nodes.get(id) ?? [];
    const whole = nodes.length === 0 ? known : findCustomDaemons({ nodes, daemonsOn: (node) => this.#daemonsOn(node), known, nowMs });
    const wholeAtMs = new Map(whole.map((daemon) => [keyOf(daemon), nowMs]));
    const held = (before?.daemons ?? NONE).filter((daemon) => {
      const lastMs = before?.wholeAtMs.get(keyOf(daemon));
      if (lastMs === undefined || wholeAtMs.has(keyOf(daemon)) || lastMs + SETTLED_AFTER_MS < nowMs) return false;
      wholeAtMs.set(keyOf(daemon), lastMs);
      return true;
    });
    const daemons = held.length === 0 ? whole : [...whole, ...held].sort(compareBy(keyOf));
    const text = JSON.stringify(daemons);
    const kept = before?.text === text ? before.daemons : daemons;
    this.#known.set(id, { daemons: kept, text, wholeAtMs });
    return kept;
  }

  /** As of the last update. */
  of(id: NodeGroupId): readonly CustomDaemon[] {
    return this.#known.get(id)?.daemons ?? NONE;
  }

  #daemonsOn(node: Node): readonly CustomDaemon[] {
    const pending = this.#pending.get(node.name);
    const waiting = pending === undefined ? NONE : customDaemonsOn(node, pending);
    const pods = this.#cluster?.podsByNode.get(node.name);
    if (pods === undefined) return waiting;
    let bound = this.#byPods.get(pods);
    if (bound?.createdAtMs !== node.createdAtMs) {
      bound = { createdAtMs: node.createdAtMs, daemons: customDaemonsOn(node, pods) };
      this.#byPods.set(pods, bound);
    }
    return waiting.length === 0 ? bound.daemons : [...bound.daemons, ...waiting];
  }
}

/** A daemon pod that finds no room yet waits for its node by affinity to the node's name. */
function pendingByNode(pods: readonly Pod[]): Map<NodeName, Pod[]> {
  const waiting = new Map<NodeName, Pod[]>();
  for (const pod of pods) {
    const node = isCustomDaemon(pod) ? targetOf(pod) : undefined;
    if (node !== undefined) waiting.set(node, [...(waiting.get(node) ?? []), pod]);
  }
  return waiting;
}

function targetOf({ shape }: Pod): NodeName | undefined {
  const fields = shape.nodeAffinity?.[0]?.fields ?? [];
  const name = fields.find(({ key, operator }) => key === 'metadata.name' && operator === 'In');
  return name?.operator === 'In' && name.values.length === 1 ? name.values[0] : undefined;
}
