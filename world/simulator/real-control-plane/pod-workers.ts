/** The simulated kubelets' work on pods of a real API server: bound pods run, terminating pods stop. No container exists. */
import { addressOf } from '../cluster/controllers/node-object.ts';
import { FINISH_SECONDS_ANNOTATION, STOP_SECONDS_ANNOTATION } from '../cluster/controllers/kubelet-pods.ts';
import { DEFAULT_LATENCIES } from '../cluster/base/latencies.ts';
import { timestamp } from '../cluster/store/objects.ts';
import type { SimClock } from '../base/sim-clock.ts';
import { STRATEGIC, type ApiClient, type KubeObject } from './api-client.ts';
import type { Steps } from './steps.ts';

interface RealPod extends KubeObject {
  readonly spec: {
    readonly nodeName?: string;
    readonly hostNetwork?: boolean;
    readonly restartPolicy?: string;
    readonly containers: readonly { readonly name: string; readonly image: string }[];
  };
  readonly status: { readonly phase?: string };
}

export interface PodWorkersOptions {
  readonly api: ApiClient;
  readonly clock: SimClock;
  readonly steps: Steps;
  /** The sequence number of the address of a live kubelet. undefined: it is not alive. */
  readonly addressOnNode: (nodeName: string) => number | undefined;
}

/** Owns what the kubelets know of pods. */
export class PodWorkers {
  readonly #options: PodWorkersOptions;
  readonly #pods = new Map<string, RealPod>();
  /** uid -> steps that were planned, so that one change is not followed twice. */
  readonly #planned = new Map<string, Set<string>>();
  #addresses = 0;

  constructor(options: PodWorkersOptions) {
    this.#options = options;
  }

  start(): void {
    const { api, steps } = this.#options;
    const unfollow = api.follow('/api/v1/pods', ({ type, object }) => {
      if (type === 'ADDED' || type === 'MODIFIED') this.#onPod(object as RealPod);
      else if (type === 'DELETED') this.#forget(object.metadata.uid);
    });
    steps.onStop(unfollow);
  }

  /** Looks at the pods of a node again, whose kubelet is up now. */
  look(nodeName: string): void {
    for (const pod of this.#pods.values()) if (pod.spec.nodeName === nodeName) this.#plan(pod);
  }

  #onPod(pod: RealPod): void {
    this.#pods.set(pod.metadata.uid, pod);
    this.#plan(pod);
  }

  #forget(uid: string): void {
    this.#pods.delete(uid);
    this.#planned.delete(uid);
  }

  #plan(pod: RealPod): void {
    if (!this.#isOnLiveNode(pod)) return;
    if (pod.metadata.deletionTimestamp !== undefined) this.#planStop(pod, pod.metadata.deletionTimestamp);
    else if (pod.status.phase === 'Pending')
      this.#once(pod, 'start', DEFAULT_LATENCIES.podStartMs, () => this.#writeStatus(pod, this.#runningStatus(pod)));
    else if (pod.status.phase === 'Running') this.#planFinish(pod);
  }

  /** A shorter grace than before is a new order. */
  #planStop(pod: RealPod, deletionTimestamp: string): void {
    const { deletionGracePeriodSeconds = 0, uid } = pod.metadata;
    const ms = this.#annotatedMs(pod, STOP_SECONDS_ANNOTATION) ?? DEFAULT_LATENCIES.podStopMs;
    const graceMs = deletionGracePeriodSeconds * 1000 * this.#options.clock.speed;
    this.#once(pod, `stop ${deletionTimestamp}`, Math.min(ms, graceMs), () =>
      this.#options.steps.write('DELETE', pathOf(pod), { gracePeriodSeconds: 0, preconditions: { uid } }),
    );
  }

  #planFinish(pod: RealPod): void {
    const ms = this.#annotatedMs(pod, FINISH_SECONDS_ANNOTATION);
    const isRestarted = (pod.spec.restartPolicy ?? 'Always') === 'Always';
    if (ms !== undefined && !isRestarted) this.#once(pod, 'finish', ms, () => this.#writeStatus(pod, this.#finishedStatus(pod)));
  }

  /** The seconds of an annotation are real seconds. */
  #annotatedMs({ metadata }: RealPod, annotation: string): number | undefined {
    const seconds = Number(metadata.annotations?.[annotation] ?? Number.NaN);
    return seconds >= 0 ? seconds * 1000 * this.#options.clock.speed : undefined;
  }

  #once(pod: RealPod, step: string, ms: number, action: () => Promise<void>): void {
    const { uid, name } = pod.metadata;
    const planned = this.#planned.get(uid) ?? new Set();
    if (planned.has(step)) return;
    this.#planned.set(uid, planned.add(step));
    this.#options.steps.later(ms, `${step} of pod ${name}`, async () => {
      if (this.#isOnLiveNode(pod) && this.#pods.has(uid)) await action();
      else planned.delete(step);
    });
  }

  #isOnLiveNode({ spec }: RealPod): boolean {
    return spec.nodeName !== undefined && this.#options.addressOnNode(spec.nodeName) !== undefined;
  }

  #writeStatus(pod: RealPod, status: object): Promise<void> {
    return this.#options.steps.write('PATCH', `${pathOf(pod)}/status`, { status }, STRATEGIC);
  }

  #runningStatus(pod: RealPod): object {
    const now = timestamp(this.#options.clock.now());
    const podIP = this.#addressOf(pod);
    const conditions = ['PodReadyToStartContainers', 'Initialized', 'Ready', 'ContainersReady'].map((type) => ({
      type,
      status: 'True',
      lastTransitionTime: now,
    }));
    const containerStatuses = pod.spec.containers.map((container) => ({
      ...containerStatus(pod, container),
      ready: true,
      started: true,
      state: { running: { startedAt: now } },
    }));
    return { phase: 'Running', podIP, podIPs: [{ ip: podIP }], startTime: now, conditions, containerStatuses };
  }

  #finishedStatus(pod: RealPod): object {
    const now = timestamp(this.#options.clock.now());
    const over = { status: 'False', reason: 'PodCompleted', lastTransitionTime: now };
    const containerStatuses = pod.spec.containers.map((container) => ({
      ...containerStatus(pod, container),
      ready: false,
      started: false,
      state: { terminated: { exitCode: 0, reason: 'Completed', finishedAt: now } },
    }));
    return { phase: 'Succeeded', conditions: ['Ready', 'ContainersReady'].map((type) => ({ type, ...over })), containerStatuses };
  }

  #addressOf({ spec }: RealPod): string {
    const sequence = this.#addresses++;
    if (spec.hostNetwork === true) return addressOf(this.#options.addressOnNode(spec.nodeName ?? '') ?? 0);
    return `10.244.${Math.floor(sequence / 250)}.${(sequence % 250) + 2}`;
  }
}

function containerStatus({ metadata }: RealPod, { name, image }: { readonly name: string; readonly image: string }): object {
  return { name, image, imageID: `${image}@sha256:simulated`, containerID: `containerd://${metadata.uid}-${name}`, restartCount: 0 };
}

function pathOf({ metadata }: RealPod): string {
  return `/api/v1/namespaces/${metadata.namespace ?? 'default'}/pods/${metadata.name}`;
}
