/**
 * The kubelets and the cloud's controllers of a fake AKS on a real API server: machines of the ARM emulator become nodes,
 * bound pods run, terminating pods stop, and the node of a vanished machine is deleted. Everything goes over the API.
 */
import {
  addressOf,
  cloudLabels,
  liveConditions,
  nodeDraft,
  UNINITIALIZED,
  zoneOf,
} from '../../src/simulator/cluster/controllers/node-object.ts';
import { DEFAULT_LATENCIES } from '../../src/simulator/cluster/base/latencies.ts';
import type { SimulatedVm, VmChange, VmFeed } from '../../src/simulator/base/vm-feed.ts';
import type { SimClock } from '../../src/simulator/base/sim-clock.ts';
import type { WorldSpec } from '../../src/simulator/base/world-spec.ts';
import { ApiError, MERGE, STRATEGIC, type ApiClient, type KubeObject } from './api-client.ts';
import { DISK_DRIVER, DISK_ZONE, startDiskDriver } from './disk-driver.ts';
import { until } from './until.ts';

/** A pod with this annotation takes so many real seconds to stop when asked. */
export const STOP_SECONDS_ANNOTATION = 'simulator.aks-autoscaler/stop-after-seconds';

const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
/** As real kubelets do; the node controller gives up after four or five missed. */
const HEARTBEAT_MS = 10_000;
/** A node's status and the pods on it are written by their kubelet alone, but the API server may be away for a while. */
const PATIENCE_MS = 60_000;

export interface KubeletsOptions {
  readonly api: ApiClient;
  readonly machines: VmFeed;
  readonly clock: SimClock;
  readonly spec: WorldSpec;
}

interface Pod extends KubeObject {
  readonly spec: {
    readonly nodeName?: string;
    readonly hostNetwork?: boolean;
    readonly containers: readonly { readonly name: string; readonly image: string }[];
  };
  readonly status: { readonly phase?: string };
}

interface NodeStatus {
  readonly conditions?: readonly { readonly type: string; readonly status: string }[];
}

/** Owns the living kubelets. What fails is in `failures`, for the judge. */
export class Kubelets {
  readonly failures: string[] = [];
  readonly #options: KubeletsOptions;
  /** Node name -> its place in the sequence of addresses. */
  readonly #alive = new Map<string, number>();
  readonly #pods = new Map<string, Pod>();
  /** uid and step of what is under way, so that one change is not answered twice. */
  readonly #underWay = new Set<string>();
  readonly #stops: (() => void)[] = [];
  #sequence = 0;
  #addresses = 0;
  #stopped = false;

  constructor(options: KubeletsOptions) {
    this.#options = options;
  }

  /** Resolves when the machines that run already are ready nodes. */
  async start(): Promise<void> {
    const { api, machines } = this.#options;
    this.#stops.push(machines.subscribe((change) => this.#onChange(change)));
    this.#stops.push(
      api.follow('/api/v1/pods', ({ type, object }) => {
        if (type === 'DELETED') this.#pods.delete(object.metadata.uid);
        else if (type === 'ADDED' || type === 'MODIFIED') {
          this.#pods.set(object.metadata.uid, object as Pod);
          this.#look(object as Pod);
        }
      }),
    );
    this.#stops.push(startDiskDriver(api, (what) => this.failures.push(what)));
    const beat = setInterval(() => this.#beat(), HEARTBEAT_MS);
    this.#stops.push(() => clearInterval(beat));
    await Promise.all(machines.list().flatMap((machine) => (machine.power === 'running' ? [this.#boot(machine, 0)] : [])));
  }

  stop(): void {
    this.#stopped = true;
    for (const stop of this.#stops) stop();
  }

  #onChange({ kind, machine }: VmChange): void {
    if (kind === 'delete-accepted') return;
    if (kind === 'running') {
      this.#run(`boot ${machine.hostName}`, () => this.#boot(machine, 1));
      return;
    }
    this.#alive.delete(machine.hostName);
    if (kind !== 'gone') return;
    // The cloud's node controller notices after a while that the machine is no more.
    this.#later(DEFAULT_LATENCIES.nodeDeleteMs, `delete node ${machine.hostName}`, () =>
      this.#must('DELETE', `/api/v1/nodes/${machine.hostName}`),
    );
  }

  /** `scale`: 0 for machines that have been up for long. */
  async #boot(machine: SimulatedVm, scale: 0 | 1): Promise<void> {
    const { api, spec } = this.#options;
    if (this.#alive.has(machine.hostName)) return;
    const sequence = this.#sequence++;
    this.#alive.set(machine.hostName, sequence);
    const path = `/api/v1/nodes/${machine.hostName}`;
    const draft = nodeDraft(machine, { spec, maxPods: DEFAULT_LATENCIES.maxPods, nowMs: Date.now(), sequence });
    await this.#must('POST', '/api/v1/nodes', draft);
    await this.#must('POST', LEASES, this.#lease(machine.hostName));
    await this.#must('POST', '/apis/storage.k8s.io/v1/csinodes', csiNode(machine, await api.get(path)));
    await this.#wait(DEFAULT_LATENCIES.cloudInitMs * scale);
    await until(`the cloud takes node ${machine.hostName} in`, () => this.#initialize(machine), PATIENCE_MS);
    await this.#wait((DEFAULT_LATENCIES.readyMs - DEFAULT_LATENCIES.cloudInitMs) * scale);
    if (!this.#alive.has(machine.hostName)) return;
    await this.#must('PATCH', `${path}/status`, { status: { conditions: liveConditions(true, Date.now()) } }, STRATEGIC);
    // The node controller takes the taints of not being ready away.
    await until(
      `node ${machine.hostName} loses the taints of not being ready`,
      async () => {
        const node = await api.get(path);
        return node === undefined || !JSON.stringify(node['spec']).includes('node.kubernetes.io/not-ready');
      },
      PATIENCE_MS,
    );
    for (const pod of this.#pods.values()) this.#look(pod);
  }

  /** What the cloud node controller adds: provider id, topology labels, and the end of its own taint. */
  async #initialize(machine: SimulatedVm): Promise<boolean> {
    const { api } = this.#options;
    const path = `/api/v1/nodes/${machine.hostName}`;
    const node = await api.get(path);
    if (node === undefined || !this.#alive.has(machine.hostName)) return true;
    const spec = node['spec'] as { readonly taints?: readonly { readonly key: string }[] };
    const changed = {
      ...node,
      metadata: { ...node.metadata, labels: { ...node.metadata.labels, ...cloudLabels(machine), ...diskLabels(machine) } },
      spec: { ...spec, providerID: machine.providerId, taints: (spec.taints ?? []).filter(({ key }) => key !== UNINITIALIZED) },
    };
    await api.must('PUT', path, changed);
    return true;
  }

  #lease(node: string): unknown {
    const renewTime = new Date().toISOString().replace('Z', '000Z');
    return {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: node, namespace: 'kube-node-lease' },
      spec: { holderIdentity: node, leaseDurationSeconds: 40, renewTime },
    };
  }

  #beat(): void {
    for (const node of this.#alive.keys()) {
      this.#run(`heartbeat of ${node}`, async () => {
        await this.#options.api.call('PATCH', `${LEASES}/${node}`, this.#lease(node), MERGE);
        await this.#correctStatus(node);
      });
    }
  }

  /** The node controller writes "unknown" for a kubelet that was silent for long, on a busy machine for example. A kubelet that is back corrects it. */
  async #correctStatus(name: string): Promise<void> {
    const { api } = this.#options;
    const path = `/api/v1/nodes/${name}`;
    const conditions = ((await api.get(path))?.['status'] as NodeStatus | undefined)?.conditions ?? [];
    if (!conditions.some(({ type, status }) => type === 'Ready' && status === 'Unknown')) return;
    await api.call('PATCH', `${path}/status`, { status: { conditions: liveConditions(true, Date.now()) } }, STRATEGIC);
  }

  #look(pod: Pod): void {
    const { nodeName } = pod.spec;
    if (nodeName === undefined || !this.#alive.has(nodeName)) return;
    const { deletionTimestamp, deletionGracePeriodSeconds = 0, uid, annotations } = pod.metadata;
    if (deletionTimestamp !== undefined) {
      const asked = annotations?.[STOP_SECONDS_ANNOTATION];
      const ms = asked === undefined ? DEFAULT_LATENCIES.podStopMs : Number(asked) * 1000 * this.#options.clock.speed;
      // A shorter grace than before is a new order.
      this.#once(pod, `stop ${deletionTimestamp}`, Math.min(ms, deletionGracePeriodSeconds * 1000 * this.#options.clock.speed), () =>
        this.#must('DELETE', pathOf(pod), { gracePeriodSeconds: 0, preconditions: { uid } }),
      );
    } else if (pod.status.phase === 'Pending') {
      this.#once(pod, 'start', DEFAULT_LATENCIES.podStartMs, () =>
        this.#must('PATCH', `${pathOf(pod)}/status`, this.#runningStatus(pod), STRATEGIC),
      );
    }
  }

  #once(pod: Pod, step: string, ms: number, action: () => Promise<void>): void {
    const key = `${pod.metadata.uid} ${step}`;
    if (this.#underWay.has(key)) return;
    this.#underWay.add(key);
    this.#later(ms, `${step} ${pod.metadata.name}`, async () => {
      if (this.#alive.has(pod.spec.nodeName ?? '') && this.#pods.has(pod.metadata.uid)) await action();
      else this.#underWay.delete(key);
    });
  }

  #runningStatus(pod: Pod): unknown {
    const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
    const sequence = this.#addresses++;
    const podIP =
      pod.spec.hostNetwork === true
        ? addressOf(this.#alive.get(pod.spec.nodeName ?? '') ?? 0)
        : `10.244.${Math.floor(sequence / 250)}.${(sequence % 250) + 2}`;
    return {
      status: {
        phase: 'Running',
        podIP,
        podIPs: [{ ip: podIP }],
        startTime: now,
        conditions: ['PodReadyToStartContainers', 'Initialized', 'Ready', 'ContainersReady'].map((type) => ({
          type,
          status: 'True',
          lastTransitionTime: now,
        })),
        containerStatuses: pod.spec.containers.map(({ name, image }) => ({
          name,
          image,
          imageID: `${image}@sha256:simulated`,
          containerID: `containerd://${pod.metadata.uid}-${name}`,
          ready: true,
          started: true,
          restartCount: 0,
          state: { running: { startedAt: now } },
        })),
      },
    };
  }

  /** Tries again while the API server is away; who is gone already needs nothing. */
  async #must(method: 'POST' | 'PATCH' | 'DELETE', path: string, body?: unknown, contentType?: string): Promise<void> {
    await until(
      `${method} ${path}`,
      async () => {
        if (this.#stopped) return true;
        const answer = await this.#options.api.call(method, path, body, contentType);
        if (answer.status < 300 || answer.status === 404 || answer.status === 409) return true;
        throw new ApiError(answer.status, JSON.stringify(answer.body));
      },
      PATIENCE_MS,
    );
  }

  #wait(simulatedMs: number): Promise<void> {
    return new Promise((resolve) => this.#options.clock.after(simulatedMs, resolve));
  }

  #later(simulatedMs: number, what: string, action: () => Promise<void>): void {
    this.#stops.push(this.#options.clock.after(simulatedMs, () => this.#run(what, action)));
  }

  #run(what: string, action: () => Promise<void>): void {
    if (this.#stopped) return;
    action().catch((thrown: unknown) => {
      if (!this.#stopped) this.failures.push(`${what}: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
    });
  }
}

/** The kubelet labels its node with the topology that the disk driver tells. */
function diskLabels(machine: SimulatedVm): Readonly<Record<string, string>> {
  const zone = zoneOf(machine);
  return { [DISK_ZONE]: zone === '0' ? '' : zone };
}

/** What the disk driver registers with the kubelet: where it is, and how many disks the size takes. */
function csiNode({ hostName, dataDisks }: SimulatedVm, node: KubeObject | undefined): unknown {
  const driver = { name: DISK_DRIVER, nodeID: hostName, topologyKeys: [DISK_ZONE], allocatable: { count: dataDisks } };
  const owner = { apiVersion: 'v1', kind: 'Node', name: hostName, uid: node?.metadata.uid ?? '' };
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSINode',
    metadata: { name: hostName, ownerReferences: [owner] },
    spec: { drivers: [driver] },
  };
}

function pathOf({ metadata }: Pod): string {
  return `/api/v1/namespaces/${metadata.namespace ?? 'default'}/pods/${metadata.name}`;
}
