/** What the cluster does about nodes with a silent kubelet or without a VM. */
import type { SimulatedVm, VmChange } from '../../base/vm-feed.ts';
import {
  conditionOf,
  controllerOf,
  timestamp,
  withCondition,
  type NodeObject,
  type NodeTaint,
  type PodObject,
  type PodToleration,
} from '../store/objects.ts';
import { placeOf } from '../store/api.ts';
import { storedType } from '../store/resource-types.ts';
import { createQueue } from '../store/timers.ts';
import { isActive, onChange, podsOnNode, recordEvent, type ControllerContext } from '../base/controller-context.ts';
import type { Kubelets } from './kubelets.ts';
import { NOT_READY, silentConditions } from './node-object.ts';
import { toleratesTaint } from '../scheduler/node-filters.ts';

const NODES = storedType('nodes');
const PODS = storedType('pods');
const UNREACHABLE = 'node.kubernetes.io/unreachable';
const UNSCHEDULABLE = 'node.kubernetes.io/unschedulable';
export const SHUTDOWN = 'node.cloudprovider.kubernetes.io/shutdown';

function nodeOf(context: ControllerContext, name: string): NodeObject | undefined {
  return context.api.store.get('nodes', `/${name}`) as NodeObject | undefined;
}

/** Checks a client's delete when it is accepted: a node that still runs pods was not drained. */
function checkDeletion(context: ControllerContext, machine: SimulatedVm, principal: string): void {
  if (context.isForeign(principal)) return;
  const left = podsOnNode(context.api, machine.hostName).filter(
    (pod) =>
      isActive(pod) && controllerOf(pod)?.kind !== 'DaemonSet' && pod.metadata.annotations?.['kubernetes.io/config.mirror'] === undefined,
  );
  if (left.length === 0) return;
  context.violations.add({
    rule: 'node-deleted-with-pods',
    subject: machine.hostName,
    detail: `${principal} deleted the VM while it ran ${left.map((pod) => `${pod.metadata.namespace ?? ''}/${pod.metadata.name}`).join(', ')}`,
    atMs: context.api.timers.now(),
  });
}

/** Follows up on a VM that stopped or is gone. */
export function followMachine(context: ControllerContext, kubelets: () => Kubelets, change: VmChange): void {
  const { api, knobs } = context;
  const name = change.machine.hostName;
  if (change.kind === 'delete-accepted') checkDeletion(context, change.machine, change.principal);
  if (change.kind === 'stopped') {
    api.timers.after(knobs.nodeMonitorGraceMs, () => {
      if (!kubelets().isAlive(name)) fallSilent(context, name);
    });
  }
  if (change.kind === 'gone') {
    api.timers.after(knobs.nodeDeleteMs, () => {
      if (!kubelets().isAlive(name)) deleteNode(context, name);
    });
  }
}

function fallSilent(context: ControllerContext, name: string): void {
  const node = nodeOf(context, name);
  if (node === undefined || conditionOf(node, 'Ready')?.status === 'Unknown') return;
  const { api } = context;
  const conditions = silentConditions(node.status.conditions, api.timers.now());
  api.modify(NODES, placeOf(node), 'status', (current) => ({ ...current, status: { ...node.status, conditions } }));
  api.modify(NODES, placeOf(node), 'main', (current) => withTaints(current as NodeObject, [{ key: SHUTDOWN, effect: 'NoSchedule' }], []));
  recordEvent(api, node, {
    type: 'Normal',
    reason: 'NodeNotReady',
    message: `Node ${name} status is now: NodeNotReady`,
    component: 'node-controller',
  });
}

function deleteNode(context: ControllerContext, name: string): void {
  const node = nodeOf(context, name);
  if (node === undefined) return;
  const component = 'cloud-node-lifecycle-controller';
  recordEvent(context.api, node, {
    type: 'Normal',
    reason: 'DeletingNode',
    message: `Deleting node ${name} because it does not exist in the cloud provider`,
    component,
  });
  context.api.remove(NODES, placeOf(node), {});
}

function withTaints(node: NodeObject, wanted: readonly NodeTaint[], dropped: readonly string[]): NodeObject {
  const present = (node.spec.taints ?? []).filter((taint) => !dropped.includes(taint.key));
  const missing = wanted.filter((taint) => !present.some(({ key, effect }) => key === taint.key && effect === taint.effect));
  return { ...node, spec: { ...node.spec, taints: [...present, ...missing] } };
}

/** The taints that follow from a node's conditions and its cordon. */
function lifecycleTaints(node: NodeObject, nowMs: number): { readonly wanted: readonly NodeTaint[]; readonly dropped: readonly string[] } {
  const ready = conditionOf(node, 'Ready')?.status;
  const pair = (key: string): readonly NodeTaint[] => [
    { key, effect: 'NoSchedule' },
    { key, effect: 'NoExecute', timeAdded: timestamp(nowMs) },
  ];
  const byCondition = ready === 'True' ? [] : ready === 'False' ? pair(NOT_READY) : pair(UNREACHABLE);
  const cordoned = node.spec.unschedulable === true;
  return {
    wanted: [...byCondition, ...(cordoned ? [{ key: UNSCHEDULABLE, effect: 'NoSchedule', timeAdded: timestamp(nowMs) } as const] : [])],
    dropped: [
      ...(ready === 'False' ? [] : [NOT_READY]),
      ...(ready === undefined || ready === 'Unknown' ? [] : [UNREACHABLE, SHUTDOWN]),
      ...(cordoned ? [] : [UNSCHEDULABLE]),
    ],
  };
}

/** Keeps taints consistent with conditions, evicts pods that do not tolerate them, and deletes pods of deleted nodes. */
export function startNodeLifecycle(context: ControllerContext): () => void {
  const { api, knobs } = context;
  const seenSince = new Map<string, number>();
  const queue = createQueue(api.timers, (name) => {
    const node = nodeOf(context, name);
    if (node === undefined) return;
    const { wanted, dropped } = lifecycleTaints(node, api.timers.now());
    api.modify(NODES, placeOf(node), 'main', (current) => withTaints(current as NodeObject, wanted, dropped));
    if (conditionOf(node, 'Ready')?.status !== 'True') markPodsNotReady(context, name);
    const nextMs = evictIntolerant(context, nodeOf(context, name) ?? node, seenSince);
    if (nextMs !== undefined) queue.add(name, nextMs);
  });
  const stopNodes = onChange(api, ['nodes'], (change) => {
    const { name } = change.object.metadata;
    if (change.type !== 'DELETED') queue.add(name);
    else api.timers.after(knobs.podGcMs, () => collectPods(context, name));
  });
  const stopPods = onChange(api, ['pods'], ({ object, type }) => {
    const { nodeName } = (object as PodObject).spec;
    if (nodeName === undefined || type === 'DELETED') return;
    if (nodeOf(context, nodeName)?.spec.taints?.some((taint) => taint.effect === 'NoExecute') === true) queue.add(nodeName);
  });
  for (const node of api.store.values('nodes')) queue.add(node.metadata.name);
  return () => {
    stopNodes();
    stopPods();
  };
}

function markPodsNotReady({ api }: ControllerContext, nodeName: string): void {
  for (const pod of podsOnNode(api, nodeName)) {
    if (conditionOf(pod, 'Ready')?.status !== 'True') continue;
    const condition = { type: 'Ready', status: 'False', reason: 'NodeNotReady', lastTransitionTime: timestamp(api.timers.now()) } as const;
    api.modify(PODS, placeOf(pod), 'status', (current) => ({
      ...current,
      status: { ...pod.status, conditions: withCondition(pod.status.conditions, condition) },
    }));
  }
}

/** Simulated milliseconds that a pod may stay under a taint; undefined: without limit. */
function staysMs(tolerations: readonly PodToleration[], taint: NodeTaint): number | undefined {
  const matching = tolerations.filter((toleration) => toleratesTaint(toleration, taint));
  if (matching.length === 0) return 0;
  const limits = matching.flatMap(({ tolerationSeconds }) => (tolerationSeconds === undefined ? [] : [tolerationSeconds * 1000]));
  return limits.length === 0 ? undefined : Math.max(0, Math.min(...limits));
}

/** Deletes pods that no longer tolerate a NoExecute taint. Returns after how long to check again. */
function evictIntolerant({ api }: ControllerContext, node: NodeObject, seenSince: Map<string, number>): number | undefined {
  const taints = (node.spec.taints ?? []).filter((taint) => taint.effect === 'NoExecute');
  const prefix = `${node.metadata.uid}|`;
  const keys = new Set(taints.map((taint) => `${prefix}${taint.key}`));
  for (const key of seenSince.keys()) if (key.startsWith(prefix) && !keys.has(key)) seenSince.delete(key);
  for (const key of keys) if (!seenSince.has(key)) seenSince.set(key, api.timers.now());
  let nextMs: number | undefined;
  for (const pod of taints.length === 0 ? [] : podsOnNode(api, node.metadata.name).filter(isActive)) {
    for (const taint of taints) {
      const limitMs = staysMs(pod.spec.tolerations ?? [], taint);
      if (limitMs === undefined) continue;
      const underMs = (api.timers.now() - (seenSince.get(`${prefix}${taint.key}`) ?? 0)) * api.timers.speed;
      if (underMs >= limitMs) api.remove(PODS, placeOf(pod), {});
      else nextMs = Math.min(nextMs ?? Infinity, limitMs - underMs);
    }
  }
  return nextMs;
}

function collectPods(context: ControllerContext, nodeName: string): void {
  if (nodeOf(context, nodeName) !== undefined) return;
  for (const pod of podsOnNode(context.api, nodeName)) context.api.remove(PODS, placeOf(pod), { gracePeriodSeconds: 0 });
}
