/**
 * The small scheduler: binds pods where they fit and records why they do not. It shares no code with the program's own scheduling
 * code, since tests compare the two. No preemption, no scoring plug-ins. Must not know the planner.
 */
import { onChange, recordEvent, type ControllerContext } from '../base/controller-context.ts';
import { placeOf } from '../store/api.ts';
import { type PodObject, conditionOf, timestamp, withCondition, type NodeObject, type StringMap } from '../store/objects.ts';
import { sameJson } from '../store/patches.ts';
import { storedType } from '../store/resource-types.ts';
import type { ClaimObject } from '../store/storage-objects.ts';
import type { StoreChange } from '../store/store.ts';
import { createQueue } from '../store/timers.ts';
import { nodeReasons, type NodeUsage, requestsOf, untoleratedPreferences, addUsage, usageOf } from './node-filters.ts';
import { topologyReason, type TopologyView } from './topology.ts';
import { volumeReason, claimOf, delayedClaims, mountsOf, SELECTED_NODE } from './volumes.ts';
import { compareText } from '../../../lib/comparison.ts';

// The decision for one pod: filter, score, and the message if no node fits. Pure.

export type Decision = { readonly kind: 'bind'; readonly usage: NodeUsage } | { readonly kind: 'unschedulable'; readonly message: string };

/** Used share of CPU and memory after placing the pod; the least is best. */
function usedShareWith(pod: PodObject, usage: NodeUsage): number {
  const shares = ['cpu', 'memory'].map((name) => {
    const total = usage.allocatable.get(name) ?? 0;
    return total === 0 ? 1 : ((usage.used.get(name) ?? 0) + (requestsOf(pod).get(name) ?? 0)) / total;
  });
  return shares.reduce((sum, share) => sum + share, 0) / shares.length;
}

function compare(pod: PodObject): (left: NodeUsage, right: NodeUsage) => number {
  const dislike = (usage: NodeUsage): number => untoleratedPreferences(usage.node.spec.taints ?? [], pod.spec.tolerations ?? []);
  return (left, right) =>
    dislike(left) - dislike(right) ||
    usedShareWith(pod, left) - usedShareWith(pod, right) ||
    compareText(left.node.metadata.name, right.node.metadata.name);
}

/** `0/3 nodes are available: 1 node(s) had untolerated taint {a: b}, 2 Insufficient cpu. ...`, as kube-scheduler writes it. */
function unschedulableMessage(reasonsByNode: readonly (readonly string[])[]): string {
  const total = reasonsByNode.length;
  if (total === 0) return 'no nodes available to schedule pods';
  const histogram = new Map<string, number>();
  for (const reason of reasonsByNode.flat()) histogram.set(reason, (histogram.get(reason) ?? 0) + 1);
  const texts = [...histogram].map(([reason, count]) => `${count} ${reason}`).sort(compareText);
  // kube-scheduler tries preemption after every failure. This scheduler has none, and reports the result for pods of equal
  // priority.
  const candidates = reasonsByNode.filter((reasons) => reasons.every(isAboutResources)).length;
  const others = total - candidates;
  const preemption = [
    ...(others > 0 ? [`${others} Preemption is not helpful for scheduling`] : []),
    ...(candidates > 0 ? [`${candidates} No preemption victims found for incoming pod`] : []),
  ];
  return `0/${total} nodes are available: ${texts.join(', ')}. preemption: 0/${total} nodes are available: ${preemption.join(', ')}.`;
}

/** Whether the end of another pod could remove this reason. */
function isAboutResources(reason: string): boolean {
  return /^(Insufficient|Too many pods|node\(s\) didn't (have free ports|match pod anti-affinity|satisfy existing|match pod topology spread constraints$))/.test(
    reason,
  );
}

/** Decides for one pod with the current usage. */
export function scheduleOne(pod: PodObject, view: TopologyView): Decision {
  const refused: (readonly string[])[] = [];
  const fitting: NodeUsage[] = [];
  for (const usage of view.nodes) {
    const reasons = nodeReasons(pod, usage);
    const topology =
      reasons.length === 0 ? (volumeReason(pod, usage, view.nodes, view.stored) ?? topologyReason(pod, usage, view)) : undefined;
    if (reasons.length === 0 && topology === undefined) fitting.push(usage);
    else refused.push(topology === undefined ? reasons : [topology]);
  }
  const [best] = fitting.sort(compare(pod));
  return best === undefined ? { kind: 'unschedulable', message: unschedulableMessage(refused) } : { kind: 'bind', usage: best };
}

const PODS = storedType('pods');
const CLAIMS = storedType('persistentvolumeclaims');
const STORAGE = ['persistentvolumeclaims', 'persistentvolumes', 'storageclasses', 'csinodes'];
const COMPONENT = 'default-scheduler';

function isWaiting(pod: PodObject): boolean {
  const { spec, metadata, status } = pod;
  return (
    spec.nodeName === undefined &&
    metadata.deletionTimestamp === undefined &&
    status.phase === 'Pending' &&
    spec.schedulerName === 'default-scheduler'
  );
}

/** Higher priority first, then the longest waiting. */
export function queueOrder(left: PodObject, right: PodObject): number {
  const priority = (right.spec.priority ?? 0) - (left.spec.priority ?? 0);
  const age = left.metadata.creationTimestamp.localeCompare(right.metadata.creationTimestamp);
  return priority || age || compareText(left.metadata.name, right.metadata.name);
}

function topologyViewOf({ api }: ControllerContext): TopologyView {
  const byNode = new Map<string, PodObject[]>();
  for (const object of api.store.list('pods')) {
    const pod = object as PodObject;
    const { nodeName } = pod.spec;
    if (nodeName === undefined) continue;
    const pods = byNode.get(nodeName);
    if (pods === undefined) byNode.set(nodeName, [pod]);
    else pods.push(pod);
  }
  return {
    nodes: api.store.list('nodes').map((node) => usageOf(node as NodeObject, byNode.get(node.metadata.name) ?? [])),
    stored: api.store,
    namespaceLabels: (namespace): StringMap => api.store.get('namespaces', `/${namespace}`)?.metadata.labels ?? {},
  };
}

function sayUnscheduled({ api }: ControllerContext, pod: PodObject, reason: 'Unschedulable' | 'SchedulingGated', message: string): void {
  const before = conditionOf(pod, 'PodScheduled');
  if (before?.status === 'False' && before.reason === reason && before.message === message) return;
  const condition = {
    type: 'PodScheduled',
    status: 'False',
    reason,
    message,
    lastProbeTime: null,
    lastTransitionTime: timestamp(api.timers.now()),
  } as const;
  api.modify(PODS, placeOf(pod), 'status', (current) => ({
    ...current,
    status: { ...pod.status, conditions: withCondition(pod.status.conditions, condition) },
  }));
  if (reason === 'Unschedulable') recordEvent(api, pod, { type: 'Warning', reason: 'FailedScheduling', message, component: COMPONENT });
}

function schedule(context: ControllerContext, pod: PodObject, view: TopologyView): void {
  const { api } = context;
  if ((pod.spec.schedulingGates ?? []).length > 0) {
    sayUnscheduled(context, pod, 'SchedulingGated', 'Scheduling is blocked due to non-empty scheduling gates');
    return;
  }
  const decision = scheduleOne(pod, view);
  if (decision.kind === 'unschedulable') {
    sayUnscheduled(context, pod, 'Unschedulable', decision.message);
    return;
  }
  const node = decision.usage.node.metadata.name;
  const waiting = delayedClaims(pod, api.store);
  if (waiting.length > 0) {
    // The pod reserves its node while the volumes are created. It is bound once they exist.
    for (const claim of waiting) chooseNode(context, claim, node);
    addUsage(decision.usage, pod);
    return;
  }
  const bound = api.bind(placeOf(pod), node);
  if (!bound.ok) return;
  addUsage(decision.usage, bound.value as PodObject);
  const message = `Successfully assigned ${pod.metadata.namespace ?? ''}/${pod.metadata.name} to ${node}`;
  recordEvent(api, pod, { type: 'Normal', reason: 'Scheduled', message, component: COMPONENT });
}

function chooseNode({ api }: ControllerContext, claim: ClaimObject, node: string): void {
  if (claim.metadata.annotations?.[SELECTED_NODE] === node) return;
  api.modify(CLAIMS, placeOf(claim), 'main', (current) => ({
    ...current,
    metadata: { ...current.metadata, annotations: { ...current.metadata.annotations, [SELECTED_NODE]: node } },
  }));
}

/** Pods whose volumes are being created already have a node. */
function isAssumed({ api }: ControllerContext, pod: PodObject): boolean {
  const claims = mountsOf(pod).map(({ name }) => claimOf(pod, name, api.store));
  return claims.some((claim) => claim?.metadata.annotations?.[SELECTED_NODE] !== undefined);
}

/** Whether a change may make a pending pod fit, or adds a new pod. */
function mayHelp(change: StoreChange): boolean {
  const { storage, object, previous, type } = change;
  if (storage !== 'nodes' && storage !== 'pods') return true;
  if (storage === 'nodes') {
    if (previous === undefined || type === 'DELETED') return true;
    const seen = (node: NodeObject): unknown => [node.spec, node.metadata.labels, node.status.allocatable];
    return !sameJson(seen(object as NodeObject), seen(previous as NodeObject));
  }
  const [now, before] = [object as PodObject, previous as PodObject | undefined];
  if (type === 'DELETED') return now.spec.nodeName !== undefined;
  if (before === undefined) return true;
  const isOver = now.status.phase !== before.status.phase && (now.status.phase === 'Succeeded' || now.status.phase === 'Failed');
  return (
    isOver ||
    !sameJson(now.spec, before.spec) ||
    !sameJson(now.metadata.labels, before.metadata.labels) ||
    now.metadata.deletionTimestamp !== before.metadata.deletionTimestamp
  );
}

/** Starts the scheduler. Returns a function that stops it. */
export function startScheduler(context: ControllerContext): () => void {
  const { api, knobs } = context;
  const queue = createQueue(api.timers, () => {
    const waiting = [...api.store.values('pods')].map((pod) => pod as PodObject).filter(isWaiting);
    if (waiting.length === 0) return;
    const view = topologyViewOf(context);
    const sorted = waiting.sort(queueOrder);
    const assumed = new Set(sorted.filter((pod) => isAssumed(context, pod)));
    for (const pod of [...assumed, ...sorted.filter((other) => !assumed.has(other))]) schedule(context, pod, view);
  });
  return onChange(api, ['pods', 'nodes', ...STORAGE], (change) => {
    if (mayHelp(change)) queue.add('pass', knobs.schedulerMs);
  });
}
