/** The kubelets' work on pods: bound pods start, terminating pods stop within their grace period. */
import { placeOf } from '../store/api.ts';
import {
  conditionOf,
  timestamp,
  withCondition,
  type Condition,
  type KubeObject,
  type NodeObject,
  type PodObject,
} from '../store/objects.ts';
import { isRecord } from '../store/patches.ts';
import { storedType } from '../store/resource-types.ts';
import { keyOf } from '../store/store.ts';
import { createQueue } from '../store/timers.ts';
import { onChange, podsOnNode, recordEvent, type ControllerContext } from '../base/controller-context.ts';
import { sizeOf } from '../base/pod-sizes.ts';
import type { Kubelets } from './kubelets.ts';
import { hasItsDisks } from './volume-attachments.ts';

const PODS = storedType('pods');
/** How long a pod with this annotation takes to stop, like one that ignores SIGTERM. */
export const STOP_SECONDS_ANNOTATION = 'simulator.aks-autoscaler/stop-after-seconds';

/** The containers of a pod with this annotation end by themselves after this time, without an error. Only if they are not restarted then. */
export const FINISH_SECONDS_ANNOTATION = 'simulator.aks-autoscaler/finish-after-seconds';

/** Starts the pod workers. Returns a function that stops them. */
export function startKubeletPods(context: ControllerContext, kubelets: Kubelets): () => void {
  const { api, knobs } = context;
  /** uid -> running step, so that one change does not start two steps. */
  const underWay = new Map<string, string>();
  /** uid -> containers as they were when the kubelet accepted the pod: what it allocated, although the pod was resized since. */
  const accepted = new Map<string, PodObject['spec']['containers']>();
  let addresses = 0;

  function isMine(pod: PodObject | undefined): pod is PodObject {
    return (
      pod?.spec.nodeName !== undefined &&
      kubelets.isAlive(pod.spec.nodeName) &&
      api.store.get('nodes', `/${pod.spec.nodeName}`) !== undefined
    );
  }

  function read(key: string): PodObject | undefined {
    return api.store.get('pods', key) as PodObject | undefined;
  }

  /** Runs the step later, if the pod and its kubelet still exist and no newer step is running. */
  function later(pod: PodObject, step: string, delayMs: number, action: (pod: PodObject) => void): void {
    if (underWay.get(pod.metadata.uid) === step) return;
    underWay.set(pod.metadata.uid, step);
    api.timers.after(delayMs, () => {
      const now = read(keyOf(pod));
      if (underWay.get(pod.metadata.uid) !== step) return;
      underWay.delete(pod.metadata.uid);
      if (isMine(now) && now.metadata.uid === pod.metadata.uid) action(now);
    });
  }

  function run(pod: PodObject): void {
    const podIP =
      pod.spec.hostNetwork === true ? hostAddress(context, pod) : `10.244.${Math.floor(addresses / 250)}.${(addresses++ % 250) + 2}`;
    writeStatus(context, pod, runningStatus(context, pod, { podIP, allocated: accepted.get(pod.metadata.uid) ?? pod.spec.containers }));
    accepted.delete(pod.metadata.uid);
    recordEvent(api, pod, {
      type: 'Normal',
      reason: 'Started',
      message: `Started container ${pod.spec.containers[0]?.name ?? ''}`,
      component: 'kubelet',
    });
  }

  const queue = createQueue(api.timers, (key) => {
    const pod = read(key);
    if (!isMine(pod)) return;
    const { deletionTimestamp } = pod.metadata;
    if (deletionTimestamp !== undefined) {
      later(pod, `stop ${deletionTimestamp}`, stopMs(context, pod), (now) => {
        api.remove(PODS, placeOf(now), { gracePeriodSeconds: 0 });
      });
    } else if (pod.status.phase === 'Pending') {
      if (pod.status['containerStatuses'] === undefined) {
        accepted.set(pod.metadata.uid, pod.spec.containers);
        writeStatus(context, pod, creatingStatus(context, pod));
      }
      if (hasItsDisks(context, pod)) later(pod, 'start', knobs.podStartMs, run);
    } else if (pod.status.phase === 'Running') {
      const finish = finishMs(pod);
      if (finish !== undefined) later(pod, 'finish', finish, (now) => writeStatus(context, now, finishedStatus(context, now)));
      if (conditionOf(pod, 'Ready')?.reason === 'NodeNotReady' && isNodeReady(context, pod))
        writeStatus(context, pod, { ...pod.status, conditions: withReady(pod, true, api.timers.now()) });
    }
  });

  const unsubscribe = onChange(api, ['pods', 'nodes', 'volumeattachments'], ({ type, object, storage }) => {
    if (type === 'DELETED') {
      underWay.delete(object.metadata.uid);
      accepted.delete(object.metadata.uid);
    } else if (storage === 'volumeattachments') for (const pod of podsOnNode(api, nodeOfAttachment(object))) queue.add(keyOf(pod));
    else if (storage === 'pods') {
      if ((object as PodObject).spec.nodeName !== undefined) queue.add(keyOf(object));
    } else for (const pod of podsOnNode(api, object.metadata.name)) queue.add(keyOf(pod));
  });
  kubelets.onAliveChange((nodeName) => {
    for (const pod of podsOnNode(api, nodeName)) {
      underWay.delete(pod.metadata.uid);
      queue.add(keyOf(pod));
    }
  });
  return unsubscribe;
}

function nodeOfAttachment({ spec }: KubeObject): string {
  return isRecord(spec) && typeof spec['nodeName'] === 'string' ? spec['nodeName'] : '';
}

/** Simulated milliseconds that a pod's containers take to stop. */
function stopMs({ knobs }: ControllerContext, pod: PodObject): number {
  const graceMs = (pod.metadata.deletionGracePeriodSeconds ?? 0) * 1000;
  const seconds = Number(pod.metadata.annotations?.[STOP_SECONDS_ANNOTATION] ?? Number.NaN);
  return Math.min(graceMs, Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : knobs.podStopMs);
}

/** Simulated milliseconds after which a pod's containers end by themselves, if they do. */
function finishMs({ metadata, spec }: PodObject): number | undefined {
  const seconds = Number(metadata.annotations?.[FINISH_SECONDS_ANNOTATION] ?? Number.NaN);
  const isRestarted = spec.restartPolicy === undefined || spec.restartPolicy === 'Always';
  return !isRestarted && seconds >= 0 ? seconds * 1000 : undefined;
}

function isNodeReady({ api }: ControllerContext, pod: PodObject): boolean {
  const node = api.store.get('nodes', `/${pod.spec.nodeName ?? ''}`) as NodeObject | undefined;
  return node !== undefined && conditionOf(node, 'Ready')?.status === 'True';
}

function hostAddress({ api }: ControllerContext, pod: PodObject): string {
  const node = api.store.get('nodes', `/${pod.spec.nodeName ?? ''}`) as NodeObject | undefined;
  const addresses = node?.status['addresses'];
  const first: unknown = Array.isArray(addresses) ? addresses[0] : undefined;
  return isRecord(first) ? String(first['address']) : '';
}

function writeStatus({ api }: ControllerContext, pod: PodObject, status: PodObject['status']): void {
  api.modify(PODS, placeOf(pod), 'status', (current) => ({ ...current, status }));
}

function withReady(pod: PodObject, ready: boolean, nowMs: number): readonly Condition[] {
  const status = ready ? 'True' : 'False';
  const why = ready
    ? {}
    : {
        reason: 'ContainersNotReady',
        message: `containers with unready status: [${pod.spec.containers.map(({ name }) => name).join(' ')}]`,
      };
  const time = { lastProbeTime: null, lastTransitionTime: timestamp(nowMs) };
  const all: readonly Condition[] = [
    { type: 'PodReadyToStartContainers', status, ...time },
    { type: 'Initialized', status: 'True', ...time },
    { type: 'Ready', status, ...why, ...time },
    { type: 'ContainersReady', status, ...why, ...time },
  ];
  return all.reduce((conditions, condition) => withCondition(conditions, condition), pod.status.conditions ?? []);
}

function creatingStatus(context: ControllerContext, pod: PodObject): PodObject['status'] {
  const nowMs = context.api.timers.now();
  return {
    ...pod.status,
    phase: 'Pending',
    hostIP: hostAddress(context, pod),
    startTime: timestamp(nowMs),
    conditions: withReady(pod, false, nowMs),
    containerStatuses: pod.spec.containers.map(({ name, image }) => ({
      name,
      image: image ?? '',
      imageID: '',
      ready: false,
      started: false,
      restartCount: 0,
      lastState: {},
      state: { waiting: { reason: 'ContainerCreating' } },
    })),
  };
}

/** As of a pod whose containers all ended with 0: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-phase */
function finishedStatus(context: ControllerContext, pod: PodObject): PodObject['status'] {
  const nowMs = context.api.timers.now();
  const done = (type: string): Condition => ({ type, status: 'False', reason: 'PodCompleted', lastTransitionTime: timestamp(nowMs) });
  const conditions = ['Ready', 'ContainersReady'].map(done).reduce<readonly Condition[]>(withCondition, pod.status.conditions ?? []);
  const statuses: unknown = pod.status['containerStatuses'];
  const containerStatuses = (Array.isArray(statuses) ? statuses : []).filter(isRecord).map((status) => ({
    ...status,
    ready: false,
    started: false,
    state: { terminated: { exitCode: 0, reason: 'Completed', finishedAt: timestamp(nowMs) } },
  }));
  return { ...pod.status, phase: 'Succeeded', conditions, containerStatuses };
}

interface Start {
  readonly podIP: string;
  readonly allocated: PodObject['spec']['containers'];
}

function runningStatus(context: ControllerContext, pod: PodObject, { podIP, allocated }: Start): PodObject['status'] {
  const nowMs = context.api.timers.now();
  return {
    ...pod.status,
    phase: 'Running',
    podIP,
    podIPs: [{ ip: podIP }],
    conditions: withReady(pod, true, nowMs),
    containerStatuses: allocated.map((container) => ({
      name: container.name,
      image: container.image ?? '',
      imageID: `${container.image ?? ''}@sha256:simulated`,
      containerID: `containerd://${pod.metadata.uid}-${container.name}`,
      ready: true,
      started: true,
      restartCount: 0,
      lastState: {},
      state: { running: { startedAt: timestamp(nowMs) } },
      ...sizeOf(container),
    })),
  };
}
