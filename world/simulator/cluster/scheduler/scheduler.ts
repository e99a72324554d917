/**
 * The small scheduler: binds pods where they fit and records why they do not. It shares no code with the program's own scheduling
 * code, since tests compare the two. No preemption, no scoring plug-ins. Must not know the planner.
 */
import { onChange, recordEvent, type ControllerContext } from '../base/controller-context.ts';
import { isResizing } from '../base/pod-sizes.ts';
import { placeOf } from '../store/api.ts';
import { type PodObject, conditionOf, timestamp, withCondition, type NodeObject, type StringMap } from '../store/objects.ts';
import { sameJson } from '../store/patches.ts';
import { storedType } from '../store/resource-types.ts';
import type { ClaimObject } from '../store/storage-objects.ts';
import type { StoreChange } from '../store/store.ts';
import { createQueue } from '../store/timers.ts';
import { addUsage, type NodeUsage } from './node-filters.ts';
import { decideBesideNominated, nominatedNodeOf } from './nominations.ts';
import type { TopologyView } from './topology.ts';
import { NodeUsages } from './node-usages.ts';
import { scheduleGang } from './gangs.ts';
import type { Decision } from './placement.ts';
import { type JudgedNodes, PlacementPass } from './placement-pass.ts';
import { POD_GROUPS, podGroupKeyOf, servesPodGroups } from '../schemas/pod-groups.ts';
import { RefusalPace } from './refusal-pace.ts';
import { claimOf, delayedClaims, mountsOf, SELECTED_NODE } from './volumes.ts';
import { compareText } from '../../../../src/lib/comparison.ts';

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

/** @returns simulated milliseconds after which to try again, because the message is older than it may be. */
function sayUnscheduled(
  { api }: ControllerContext,
  pod: PodObject,
  { reason, message, pace }: { readonly reason: 'Unschedulable' | 'SchedulingGated'; readonly message: string; readonly pace: RefusalPace },
): number | undefined {
  const before = conditionOf(pod, 'PodScheduled');
  const isRepeated = before?.status === 'False' && before.reason === reason;
  if (isRepeated && before.message === message) return undefined;
  const waitMs = isRepeated ? pace.waitMs(pod.metadata.uid) : 0;
  if (waitMs > 0) return waitMs;
  pace.written(pod.metadata.uid);
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
  return undefined;
}

/** A pod that fits nowhere has no nomination any more. Returns the pod as it is then. */
function withoutNomination({ api }: ControllerContext, pod: PodObject): PodObject {
  if (nominatedNodeOf(pod) === undefined) return pod;
  const { nominatedNodeName: _nominated, ...status } = pod.status;
  const written = api.modify(PODS, placeOf(pod), 'status', (current) => ({ ...current, status }));
  return written.ok ? (written.value as PodObject) : pod;
}

interface PassInput {
  readonly usages: NodeUsages;
  readonly pass: PlacementPass;
  readonly pace: RefusalPace;
  readonly view: TopologyView;
  /** Waiting pods with a nomination. Those that get a place in this pass are taken out. */
  readonly nominated: Set<PodObject>;
  /** Whether something changed that makes kube-scheduler try pods again that it refused. A pod that comes or is bound is no such change. */
  readonly retries: boolean;
}

/** @returns simulated milliseconds after which to try again; undefined: when something changes. */
function schedule(context: ControllerContext, pod: PodObject, input: PassInput, decided?: Decision): number | undefined {
  const { usages, pass, pace, nominated, view } = input;
  if ((pod.spec.schedulingGates ?? []).length > 0)
    return sayUnscheduled(context, pod, {
      reason: 'SchedulingGated',
      message: 'Scheduling is blocked due to non-empty scheduling gates',
      pace,
    });
  const decision = decided ?? (nominated.size === 0 ? undefined : decideBesideNominated(pod, nominated, view)) ?? pass.decide(pod);
  if (decision.kind === 'unschedulable') {
    const { message } = decision;
    if (input.retries) nominated.delete(pod);
    return sayUnscheduled(context, input.retries ? withoutNomination(context, pod) : pod, { reason: 'Unschedulable', message, pace });
  }
  nominated.delete(pod);
  place(context, pod, { usage: decision.usage, usages });
  return undefined;
}

function place(
  context: ControllerContext,
  pod: PodObject,
  { usage, usages }: { readonly usage: NodeUsage; readonly usages: NodeUsages },
): void {
  const { api } = context;
  const node = usage.node.metadata.name;
  const waiting = delayedClaims(pod, api.store);
  if (waiting.length > 0) {
    // The pod reserves its node while the volumes are created. It is bound once they exist.
    for (const claim of waiting) chooseNode(context, claim, node);
    addUsage(usage, pod);
    usages.forget(node);
    return;
  }
  const bound = api.bind(placeOf(pod), node);
  if (!bound.ok) return;
  addUsage(usage, bound.value as PodObject);
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
    // A pod that shrinks in place leaves room, too.
    isResizing(now) !== isResizing(before) ||
    !sameJson(now.spec, before.spec) ||
    !sameJson(now.metadata.labels, before.metadata.labels) ||
    now.metadata.deletionTimestamp !== before.metadata.deletionTimestamp
  );
}

/** Starts the scheduler. Returns a function that stops it. */
export function startScheduler(context: ControllerContext): () => void {
  const { api, knobs } = context;
  const usages = new NodeUsages(api.store);
  const waitingPods = api.store.indexBy('pods', (pod) => (isWaiting(pod as PodObject) ? 'waiting' : undefined));
  const pace = new RefusalPace(api.timers);
  let judged: JudgedNodes = new Map();
  let retries = false;
  const queue = createQueue(api.timers, () => {
    const waiting = [...waitingPods('waiting')].map((pod) => pod as PodObject);
    if (waiting.length === 0) return;
    const namespaceLabels = (namespace: string): StringMap => api.store.get('namespaces', `/${namespace}`)?.metadata.labels ?? {};
    const view = { nodes: usages.list(), stored: api.store, namespaceLabels };
    const pass = new PlacementPass(view, judged);
    const sorted = waiting.sort(queueOrder);
    const assumed = new Set(sorted.filter((pod) => isAssumed(context, pod)));
    const isGated = ({ spec }: PodObject): boolean => (spec.schedulingGates ?? []).length > 0;
    const gangs = servesPodGroups(api.store)
      ? Map.groupBy(sorted, (pod) => (isGated(pod) ? undefined : podGroupKeyOf(pod)))
      : new Map<never, never>();
    const served = new Set<string>();
    const nominated = new Set(sorted.filter((pod) => nominatedNodeOf(pod) !== undefined));
    const input: PassInput = { usages, pass, pace, view, nominated, retries };
    retries = false;
    const waits = [...assumed, ...sorted.filter((other) => !assumed.has(other))].flatMap((pod) => {
      const key = isGated(pod) ? undefined : podGroupKeyOf(pod);
      const gang = key === undefined ? undefined : gangs.get(key);
      if (key === undefined || gang === undefined) return schedule(context, pod, input) ?? [];
      if (served.has(key)) return [];
      served.add(key);
      const decisions = scheduleGang(key, gang, view, api.store);
      return gang.flatMap((one) => {
        const decision = decisions?.get(one);
        return decisions !== undefined && decision === undefined ? [] : (schedule(context, one, input, decision) ?? []);
      });
    });
    if (waits.length > 0)
      queue.add(
        'pass',
        waits.reduce((least, ms) => Math.min(least, ms)),
      );
    judged = pass.judged;
  });
  return onChange(api, ['pods', 'nodes', POD_GROUPS, ...STORAGE], (change) => {
    usages.note(change);
    const isPlaced = change.storage === 'pods' && (change.type === 'DELETED' || (change.object as PodObject).spec.nodeName !== undefined);
    if (isPlaced) pace.forget(change.object.metadata.uid);
    if (!mayHelp(change)) return;
    retries ||= change.storage !== 'pods' || change.type === 'DELETED' || (change.object as PodObject).status.phase !== 'Pending';
    queue.add('pass', knobs.schedulerMs);
  });
}
