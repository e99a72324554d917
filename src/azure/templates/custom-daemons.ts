/**
 * Daemon pods that no built-in DaemonSet announces: of DaemonSets of other API groups, or annotated as daemon pods. The nodes of
 * a group show which of them every new node gets. Must not know how a template is made.
 * Idea: evidence.
 */
import type { NodeName } from '../../domain/ids.ts';
import type { Node } from '../../domain/node.ts';
import type { CustomDaemon } from '../../domain/node-template.ts';
import type { ClusterView } from '../../domain/observation.ts';
import type { Pod } from '../../domain/pod.ts';
import { largest } from '../../domain/resources.ts';
import { apiGroupOf, isBuiltInDaemonSet, isOlderThanNode } from '../../domain/workloads.ts';
import { compareBy } from '../../lib/comparison.ts';
import { SETTLED_AFTER_MS } from './from-node.ts';
import { nameWithoutNode } from './node-pods.ts';

/** Far more than any node has. */
const MOST_DAEMONS = 50;
const NONE: readonly CustomDaemon[] = [];

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

function customDaemonOf(node: NodeName, pod: Pod): CustomDaemon {
  const { namespace, controller, shape } = pod;
  const { requests, hostPorts } = shape;
  if (controller === undefined) return { namespace, name: nameWithoutNode(pod, node), owner: '', requests, hostPorts };
  const { apiVersion, kind, name, uid } = controller;
  return { namespace, name, owner: `${kind}.${apiGroupOf(apiVersion)} ${uid}`, requests, hostPorts };
}

export interface GroupDaemonsInput {
  /** Ready, schedulable nodes of the group. Until they are settled they may lack a pod: controllers create it after the node, and replace it. */
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
    const settles = isSettled(node, nowMs);
    if (settles) settled += 1;
    const daemons = daemonsOn(node);
    if (daemons.length === 0) continue;
    for (const [key, daemon] of new Map(daemons.map((each) => [keyOf(each), each]))) {
      if (settles) counts.set(key, (counts.get(key) ?? 0) + 1);
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
  /** What they were found from, if no time changes the result: every node is settled, and each daemon is on all of them. */
  readonly lastingly: Pick<GroupDaemonsInput, 'nodes' | 'daemonsOn'> | undefined;
}

/** Remembers the custom daemons of one group. */
export class CustomDaemons {
  #last: Known | undefined;

  /** As of the last update. The same array while nothing is new. */
  get known(): readonly CustomDaemon[] {
    return this.#last?.daemons ?? NONE;
  }

  /** `recorded` counts before a node was seen. */
  update({ recorded, ...seen }: Omit<GroupDaemonsInput, 'known'> & { readonly recorded: readonly CustomDaemon[] }): void {
    const { nodes, daemonsOn, nowMs } = seen;
    const before = this.#last;
    if (before?.lastingly?.nodes === nodes && before.lastingly.daemonsOn === daemonsOn) {
      this.#last = { ...before, wholeAtMs: seenAt(before.daemons, nowMs) };
      return;
    }
    const known = before?.daemons ?? recorded;
    const whole = nodes.length === 0 ? known : findCustomDaemons({ ...seen, known });
    const wholeAtMs = seenAt(whole, nowMs);
    const held = (before?.daemons ?? NONE).filter((daemon) => {
      const lastMs = before?.wholeAtMs.get(keyOf(daemon));
      if (lastMs === undefined || wholeAtMs.has(keyOf(daemon)) || lastMs + SETTLED_AFTER_MS < nowMs) return false;
      wholeAtMs.set(keyOf(daemon), lastMs);
      return true;
    });
    const daemons = held.length === 0 ? whole : [...whole, ...held].sort(compareBy(keyOf));
    const text = JSON.stringify(daemons);
    const lasts = held.length === 0 && nodes.every((node) => isSettled(node, nowMs));
    const lastingly = lasts ? { nodes, daemonsOn } : undefined;
    this.#last = { daemons: before?.text === text ? before.daemons : daemons, text, wholeAtMs, lastingly };
  }
}

function seenAt(daemons: readonly CustomDaemon[], nowMs: number): Map<string, number> {
  return new Map(daemons.map((daemon) => [keyOf(daemon), nowMs]));
}

function isSettled({ readiness }: Node, nowMs: number): boolean {
  return readiness.sinceMs + SETTLED_AFTER_MS <= nowMs;
}

/** The lists are never changed, and most are the same in the next view. */
const BOUND = new WeakMap<readonly Pod[], { readonly createdAtMs: number; readonly daemons: readonly CustomDaemon[] }>();
const READERS = new WeakMap<
  ClusterView['podsByNode'],
  { readonly pendingPods: readonly Pod[]; readonly daemonsOn: GroupDaemonsInput['daemonsOn'] }
>();

/** The custom daemons of a node: their pods run on it, or wait for it. The same function while no pod changed. */
export function customDaemonsIn({
  podsByNode,
  pendingPods,
}: Pick<ClusterView, 'podsByNode' | 'pendingPods'>): GroupDaemonsInput['daemonsOn'] {
  const known = READERS.get(podsByNode);
  if (known?.pendingPods === pendingPods) return known.daemonsOn;
  const pending = pendingByNode(pendingPods);
  const daemonsOn = (node: Node): readonly CustomDaemon[] => {
    const bound = boundDaemons(node, podsByNode.get(node.name));
    const waiting = pending.get(node.name);
    return waiting === undefined ? bound : [...bound, ...customDaemonsOn(node, waiting)];
  };
  READERS.set(podsByNode, { pendingPods, daemonsOn });
  return daemonsOn;
}

function boundDaemons(node: Node, pods: readonly Pod[] | undefined): readonly CustomDaemon[] {
  if (pods === undefined) return NONE;
  const known = BOUND.get(pods);
  if (known?.createdAtMs === node.createdAtMs) return known.daemons;
  const daemons = customDaemonsOn(node, pods);
  BOUND.set(pods, { createdAtMs: node.createdAtMs, daemons });
  return daemons;
}

/** A daemon pod that finds no room yet waits for its node by affinity to the node's name. */
function pendingByNode(pods: readonly Pod[]): ReadonlyMap<NodeName, readonly Pod[]> {
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
