/**
 * Resizes in place, as kubelets make them (KEP-1287; v1.37.2, `pkg/kubelet/allocation/allocation_manager.go`: `retryPendingResizes`,
 * `sortPendingResizes`, `handlePodResourcesResize`). A new size is allocated where the sizes of the other pods leave room, and the containers have
 * it a moment later. Else it is deferred, and tried again when a pod leaves or shrinks, and every three minutes. Up to 1.35 a size above that
 * of the node is infeasible, and is not tried again; 1.36.3 and 1.37.2 defer it.
 */
import { onChange, podsOnNode, recordEvent, type ControllerContext } from '../base/controller-context.ts';
import { allocatedSpec, amountOf, containerSizes, isResizing, RESIZE_IN_PROGRESS, RESIZE_PENDING, sizeOf } from '../base/pod-sizes.ts';
import { requestsOf } from '../scheduler/node-filters.ts';
import { placeOf } from '../store/api.ts';
import { conditionOf, timestamp, type Condition, type NodeObject, type PodObject, type PodSpec } from '../store/objects.ts';
import { isRecord, sameJson } from '../store/patches.ts';
import { storedType } from '../store/resource-types.ts';
import { keyOf, type StoreChange } from '../store/store.ts';
import { createQueue } from '../store/timers.ts';
import { qosOf } from '../store/validation.ts';
import type { Kubelets } from './kubelets.ts';
import { compareText } from '../../../../src/lib/comparison.ts';

const PODS = storedType('pods');
const RETRY_MS = 180_000;
/** From the allocation to containers that have it. An estimate. */
const ACTUATION_MS = 1_000;
const RESIZED = ['cpu', 'memory'] as const;
const LAST_INFEASIBLE_MINOR = 35;

/** Starts the resizes. Returns a function that stops them. */
export function startKubeletResizes(context: ControllerContext, kubelets: Kubelets): () => void {
  const { api } = context;
  /** Pods with a new size, which may be feasible where the former one was not. */
  const renewed = new Set<string>();
  const queue = createQueue(api.timers, (nodeName) => {
    const node = api.store.get('nodes', `/${nodeName}`) as NodeObject | undefined;
    if (node === undefined || !kubelets.isAlive(nodeName)) return;
    const pods = podsOnNode(api, nodeName);
    for (const pod of pods.filter((one) => isRunning(one) && !wantsResize(one))) writePending(context, pod, undefined);
    const mayFit = (pod: PodObject): boolean =>
      renewed.delete(pod.metadata.uid) || conditionOf(pod, RESIZE_PENDING)?.reason !== 'Infeasible';
    const pending = pods.filter((pod) => isRunning(pod) && wantsResize(pod) && mayFit(pod));
    for (const pod of pending.sort(retryOrder)) resize(context, pod, node);
    if (pending.length > 0) queue.add(nodeName, RETRY_MS);
  });
  return onChange(api, ['pods'], (change) => {
    const { nodeName } = (change.object as PodObject).spec;
    if (nodeName === undefined) return;
    if (isNewSize(change)) renewed.add(change.object.metadata.uid);
    if (change.type === 'DELETED') renewed.delete(change.object.metadata.uid);
    if (isNewSize(change) || leavesRoom(change)) queue.add(nodeName);
  });
}

function isRunning({ metadata, status }: PodObject): boolean {
  return status.phase === 'Running' && metadata.deletionTimestamp === undefined;
}

/** Whether the kubelet has allocated something else than the spec wants. */
function wantsResize(pod: PodObject): boolean {
  const sizes = containerSizes(pod);
  return pod.spec.containers.some(({ name, resources }) => {
    const allocated = sizes.find((size) => size.name === name)?.allocatedResources;
    return (
      allocated !== undefined &&
      RESIZED.some((resource) => amountOf(resource, resources?.requests?.[resource]) !== amountOf(resource, allocated[resource]))
    );
  });
}

/** Of a running pod, or of one that was resized before it ran. */
function isNewSize({ type, object, previous }: StoreChange): boolean {
  if (type === 'DELETED' || previous === undefined) return false;
  const [now, before] = [object as PodObject, previous as PodObject];
  if (now.status.phase !== before.status.phase) return isRunning(now) && wantsResize(now);
  return now.spec.containers !== before.spec.containers && !sameJson(now.spec.containers, before.spec.containers) && isRunning(now);
}

/** A pod is gone or over, or holds less than before. */
function leavesRoom({ type, object, previous }: StoreChange): boolean {
  const [now, before] = [object as PodObject, previous as PodObject | undefined];
  if (type === 'DELETED') return true;
  if (now.status.phase !== before?.status.phase) return now.status.phase === 'Succeeded' || now.status.phase === 'Failed';
  return isResizing(before) && !isResizing(now);
}

/** Sizes that do not grow first, then by priority, class of service, and time. */
function retryOrder(left: PodObject, right: PodObject): number {
  const growth = (pod: PodObject): number => {
    const [allocated, wanted] = [sizeIn(pod, allocatedSpec(pod)), sizeIn(pod, pod.spec)];
    return RESIZED.some((name) => (wanted.get(name) ?? 0) > (allocated.get(name) ?? 0)) ? 1 : 0;
  };
  const priority = ({ spec }: PodObject): number => spec.priority ?? 0;
  const service = ({ spec }: PodObject): number => (qosOf(spec.containers) === 'Guaranteed' ? 0 : 1);
  const since = (pod: PodObject): string => conditionOf(pod, RESIZE_PENDING)?.lastTransitionTime ?? '9';
  return (
    growth(left) - growth(right) ||
    priority(right) - priority(left) ||
    service(left) - service(right) ||
    compareText(since(left), since(right)) ||
    compareText(keyOf(left), keyOf(right))
  );
}

type Sizes = ReturnType<typeof requestsOf>;

/** What the pod requests by this spec. */
function sizeIn(pod: PodObject, spec: PodSpec): Sizes {
  return requestsOf({ ...pod, spec, status: { phase: pod.status.phase } });
}

function resize(context: ControllerContext, pod: PodObject, node: NodeObject): void {
  const refusal = refusalOf(context, pod, node);
  if (refusal !== undefined) return writePending(context, pod, refusal);
  const nowMs = context.api.timers.now();
  const started = {
    type: RESIZE_IN_PROGRESS,
    status: 'True',
    lastProbeTime: timestamp(nowMs),
    lastTransitionTime: timestamp(nowMs),
  } as const;
  const conditions = (pod.status.conditions ?? []).filter(({ type }) => type !== RESIZE_PENDING && type !== RESIZE_IN_PROGRESS);
  writeStatus(context, pod, { conditions: [...conditions, started], statuses: ({ allocatedResources }) => ({ allocatedResources }) });
  note(context, pod, 'ResizeStarted');
  context.api.timers.after(ACTUATION_MS, () => actuate(context, pod));
}

/** The containers get what is allocated by then. */
function actuate(context: ControllerContext, pod: PodObject): void {
  const now = context.api.store.get('pods', keyOf(pod)) as PodObject | undefined;
  if (now === undefined || now.metadata.uid !== pod.metadata.uid || conditionOf(now, RESIZE_IN_PROGRESS) === undefined) return;
  const conditions = (now.status.conditions ?? []).filter(({ type }) => type !== RESIZE_IN_PROGRESS);
  const allocated = new Map(containerSizes(now).map(({ name, allocatedResources }) => [name, allocatedResources]));
  writeStatus(context, now, {
    conditions,
    statuses: ({ resources }, name) => ({ resources: { ...resources, requests: allocated.get(name) ?? resources?.requests } }),
  });
  note(context, now, 'ResizeCompleted');
}

/** The reason and the message of the condition. undefined: the node has room for the new size. */
function refusalOf({ api }: ControllerContext, pod: PodObject, node: NodeObject): Refusal | undefined {
  const wanted = sizeIn(pod, pod.spec);
  const others = podsOnNode(api, node.metadata.name).filter(
    ({ metadata, status }) => metadata.uid !== pod.metadata.uid && status.phase !== 'Succeeded' && status.phase !== 'Failed',
  );
  for (const name of RESIZED) {
    const [requested, capacity] = [wanted.get(name) ?? 0, amountOf(name, node.status.allocatable?.[name])];
    if (requested > capacity && knowsInfeasible(node))
      return { reason: 'Infeasible', message: `Node didn't have enough capacity: ${name}, requested: ${requested}, capacity: ${capacity}` };
    const used = others.reduce((sum, other) => sum + (sizeIn(other, allocatedSpec(other)).get(name) ?? 0), 0);
    if (requested > capacity - used)
      return {
        reason: 'Deferred',
        message: `Node didn't have enough resource: ${name}, requested: ${requested}, used: ${used}, capacity: ${capacity}`,
      };
  }
  return undefined;
}

function knowsInfeasible({ status }: NodeObject): boolean {
  const info = isRecord(status['nodeInfo']) ? String(status['nodeInfo']['kubeletVersion']) : '';
  return Number(/^v1\.(\d+)/.exec(info)?.[1] ?? Number.NaN) <= LAST_INFEASIBLE_MINOR;
}

type Refusal = Pick<Condition, 'reason' | 'message'>;

/** Writes the condition, or removes it. A repeated one is not written. */
function writePending(context: ControllerContext, pod: PodObject, next: Refusal | undefined): void {
  const before = conditionOf(pod, RESIZE_PENDING);
  const kept = (pod.status.conditions ?? []).filter(({ type }) => type !== RESIZE_PENDING);
  if (next === undefined) {
    if (before !== undefined) writeStatus(context, pod, { conditions: kept });
    return;
  }
  const isKnown = before?.reason === next.reason;
  if (isKnown && before?.message === next.message) return;
  const time = timestamp(context.api.timers.now());
  const since = isKnown ? before?.lastTransitionTime : time;
  const condition: Condition = { type: RESIZE_PENDING, status: 'True', lastProbeTime: time, ...next, lastTransitionTime: since ?? time };
  writeStatus(context, pod, { conditions: [...kept, condition] });
  if (!isKnown) note(context, pod, `Resize${next.reason ?? ''}`, next.message);
}

interface SizeWrite {
  readonly conditions: readonly Condition[];
  /** What changes in the status of a container. */
  readonly statuses?: (wanted: ReturnType<typeof sizeOf>, name: string) => object;
}

function writeStatus({ api }: ControllerContext, pod: PodObject, { conditions, statuses }: SizeWrite): void {
  const containerStatuses = containerSizes(pod).map((status) => {
    const container = pod.spec.containers.find(({ name }) => name === status.name);
    return statuses === undefined || container === undefined ? status : { ...status, ...statuses(sizeOf(container), container.name) };
  });
  api.modify(PODS, placeOf(pod), 'status', (current) => ({ ...current, status: { ...pod.status, conditions, containerStatuses } }));
}

const EVENTS: Readonly<Record<string, string>> = {
  ResizeStarted: 'Pod resize started',
  ResizeCompleted: 'Pod resize completed',
  ResizeDeferred: 'Pod resize Deferred',
  ResizeInfeasible: 'Pod resize Infeasible',
};

/** With the message of the kubelet's events (v1.37.2, `pkg/kubelet/events/event.go`: `podResizeMessage`). */
function note({ api }: ControllerContext, pod: PodObject, reason: string, error?: string): void {
  const containers = pod.spec.containers.map(({ name, resources }) => ({ name, resources: resources ?? {} }));
  const summary = JSON.stringify({ containers, generation: pod.metadata.generation ?? 0, ...(error === undefined ? {} : { error }) });
  const type = error === undefined ? 'Normal' : 'Warning';
  recordEvent(api, pod, { type, reason, message: `${EVENTS[reason] ?? reason}: ${summary}`, component: 'kubelet' });
}
