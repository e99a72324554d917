/**
 * Simulated kubelets, and the part of AKS's cloud node controller, on a real API server: VMs of the emulated Azure become nodes, and the
 * node of a VM that is gone is deleted. They act over the API alone.
 */
import { SHUTDOWN } from '../cluster/controllers/node-lifecycle.ts';
import { NODE_IMAGE } from '../cluster/controllers/kubelets.ts';
import { cloudLabels, liveConditions, nodeDraft, UNINITIALIZED, zoneOf } from '../cluster/controllers/node-object.ts';
import { DEFAULT_LATENCIES } from '../cluster/base/latencies.ts';
import { timestamp, type Condition } from '../cluster/store/objects.ts';
import type { PowerState, SimulatedVm, VmChange, VmFeed } from '../base/vm-feed.ts';
import type { SimClock } from '../base/sim-clock.ts';
import type { WorldSpec } from '../base/world-spec.ts';
import { MERGE, STRATEGIC, type ApiClient, type KubeObject } from './api-client.ts';
import { DISK_DRIVER, DISK_ZONE, startDiskDriver } from './disk-driver.ts';
import { PodWorkers } from './pod-workers.ts';
import { Steps } from './steps.ts';

const NODES = '/api/v1/nodes';
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
/** In real time, as real kubelets do; the node controller waits for four or five of them. */
const HEARTBEAT_MS = 10_000;

export interface KubeletsOptions {
  readonly api: ApiClient;
  readonly machines: VmFeed;
  readonly clock: SimClock;
  readonly spec: WorldSpec;
  /** Called with one sentence for each step that failed. */
  readonly onFailure: (what: string) => void;
}

/** As of the cloud provider for Azure. */
const SHUT_DOWN: ReadonlySet<PowerState> = new Set(['stopped', 'deallocating', 'deallocated']);

interface RealNode extends KubeObject {
  readonly spec: { readonly taints?: readonly { readonly key: string; readonly effect: string }[]; readonly [field: string]: unknown };
  readonly status: { readonly conditions?: readonly Condition[]; readonly [field: string]: unknown };
}

/** Owns the live kubelets. */
export class Kubelets {
  readonly #options: KubeletsOptions;
  readonly #steps: Steps;
  readonly #pods: PodWorkers;
  /** Node name -> its place in the sequence of addresses. */
  readonly #alive = new Map<string, number>();
  #sequence = 0;

  constructor(options: KubeletsOptions) {
    const { api, clock } = options;
    this.#options = options;
    this.#steps = new Steps(options);
    this.#pods = new PodWorkers({ api, clock, steps: this.#steps, addressOnNode: (node) => this.#alive.get(node) });
  }

  /** Resolves when the VMs that run already are ready nodes. */
  async start(): Promise<void> {
    const { api, machines, onFailure } = this.#options;
    this.#steps.onStop(machines.subscribe((change) => this.#onChange(change)));
    this.#pods.start();
    this.#steps.onStop(startDiskDriver(api, onFailure));
    this.#beatLater();
    await Promise.all(machines.list().flatMap((machine) => (machine.power === 'running' ? [this.#boot(machine, 0)] : [])));
  }

  stop(): void {
    this.#steps.stop();
  }

  #onChange(change: VmChange): void {
    const { machine } = change;
    const { hostName } = machine;
    if (change.kind === 'running') this.#steps.run(`boot of ${hostName}`, () => this.#boot(machine, 1));
    else if (change.kind === 'preempt-scheduled') this.#reportLater(hostName, change.notBeforeMs);
    else if (change.kind === 'stopped' || change.kind === 'gone') this.#alive.delete(hostName);
    else if (change.kind === 'relabelled') {
      const labels = { ...Object.fromEntries(change.removed.map((key) => [key, null])), ...machine.labels };
      this.#steps.run(`labels of ${hostName}`, () => this.#steps.write('PATCH', `${NODES}/${hostName}`, { metadata: { labels } }, MERGE));
    }
    // The cloud's node controller notices after a while that the VM is gone, or stopped.
    if (change.kind === 'gone')
      this.#steps.later(DEFAULT_LATENCIES.nodeDeleteMs, `deletion of node ${hostName}`, () => this.#deleteNode(hostName));
    if (change.kind === 'stopped')
      this.#steps.later(DEFAULT_LATENCIES.nodeMonitorGraceMs, `shutdown of node ${hostName}`, () =>
        this.#steps.until(`node ${hostName} has the taint of a shutdown`, () => this.#taintAsShutDown(hostName)),
      );
  }

  /** `scale`: 0 for VMs that have been up for long. */
  async #boot(machine: SimulatedVm, scale: 0 | 1): Promise<void> {
    const { hostName } = machine;
    if (this.#alive.has(hostName)) return;
    this.#alive.set(hostName, this.#sequence++);
    await this.#register(machine);
    await this.#steps.wait(DEFAULT_LATENCIES.cloudInitMs * scale);
    await this.#steps.until(`the cloud initializes node ${hostName}`, () => this.#initialize(machine));
    await this.#steps.wait((DEFAULT_LATENCIES.readyMs - DEFAULT_LATENCIES.cloudInitMs) * scale);
    if (!this.#alive.has(hostName)) return;
    // The Cluster Autoscaler takes a node as an example for its pool a minute after it became ready.
    const sinceMs = this.#nowMs() - (scale === 0 ? DEFAULT_LATENCIES.initialNodeAgeMs : 0);
    await this.#writeStatus(hostName, { conditions: liveConditions(true, this.#nowMs(), sinceMs), nodeInfo: versionsOf(machine) });
    await this.#steps.until(`the node controller accepts ${hostName} as ready`, () => this.#isUsable(hostName));
    this.#pods.look(hostName);
  }

  async #register(machine: SimulatedVm): Promise<void> {
    const { api, spec } = this.#options;
    const { hostName } = machine;
    const sequence = this.#alive.get(hostName) ?? 0;
    const draft = nodeDraft(machine, { spec, maxPods: DEFAULT_LATENCIES.maxPods, nowMs: this.#nowMs(), sequence });
    await this.#steps.write('POST', NODES, draft);
    await this.#steps.write('POST', LEASES, this.#lease(hostName));
    await this.#steps.write('POST', '/apis/storage.k8s.io/v1/csinodes', csiNode(machine, await api.get(`${NODES}/${hostName}`)));
  }

  /** What the cloud node controller adds: provider id, topology labels, and the end of its own taints. */
  async #initialize(machine: SimulatedVm): Promise<boolean> {
    const { api } = this.#options;
    const path = `${NODES}/${machine.hostName}`;
    const node = (await api.get(path)) as RealNode | undefined;
    if (node === undefined || !this.#alive.has(machine.hostName)) return true;
    const labels = { ...node.metadata.labels, ...cloudLabels(machine), ...diskLabels(machine), ...imageLabel(machine) };
    const taints = (node.spec.taints ?? []).filter(({ key }) => key !== UNINITIALIZED && key !== SHUTDOWN);
    const spec = { providerID: machine.providerId, ...node.spec, taints };
    await api.must('PUT', path, { ...node, metadata: { ...node.metadata, labels }, spec });
    return true;
  }

  /** The node controller has removed the taint of a node that is not ready. */
  async #isUsable(name: string): Promise<boolean> {
    const node = await this.#options.api.get(`${NODES}/${name}`);
    return node === undefined || !JSON.stringify(node['spec']).includes('node.kubernetes.io/not-ready');
  }

  #beatLater(): void {
    this.#steps.later(HEARTBEAT_MS * this.#options.clock.speed, 'heartbeats', async () => {
      for (const node of this.#alive.keys()) this.#steps.run(`heartbeat of ${node}`, () => this.#beat(node));
      this.#beatLater();
      await Promise.resolve();
    });
  }

  async #beat(node: string): Promise<void> {
    await this.#options.api.call('PATCH', `${LEASES}/${node}`, this.#lease(node), MERGE);
    await this.#correctStatus(node);
  }

  /** The node controller writes "unknown" for a kubelet that was silent for long, on a busy machine for example. A kubelet that is back corrects it. */
  async #correctStatus(name: string): Promise<void> {
    const node = (await this.#options.api.get(`${NODES}/${name}`)) as RealNode | undefined;
    const isUnknown = (node?.status.conditions ?? []).some(({ type, status }) => type === 'Ready' && status === 'Unknown');
    if (isUnknown && this.#alive.has(name)) await this.#writeStatus(name, { conditions: liveConditions(true, this.#nowMs()) });
  }

  #reportLater(name: string, notBeforeMs: number): void {
    this.#steps.later(DEFAULT_LATENCIES.scheduledEventMs, `announcement of the eviction of ${name}`, async () => {
      if (this.#alive.has(name)) await this.#writeStatus(name, { conditions: [preemptCondition(this.#nowMs(), notBeforeMs)] });
    });
  }

  async #deleteNode(name: string): Promise<void> {
    if (!this.#alive.has(name)) await this.#steps.write('DELETE', `${NODES}/${name}`);
  }

  /** As the cloud's node controller does with a node whose VM was stopped, and not with one whose system hangs. */
  async #taintAsShutDown(name: string): Promise<boolean> {
    const { api, machines } = this.#options;
    const power = machines.list().find(({ hostName }) => hostName === name)?.power;
    const node = (await api.get(`${NODES}/${name}`)) as RealNode | undefined;
    if (node === undefined || power === undefined || !SHUT_DOWN.has(power)) return true;
    const taints = [...(node.spec.taints ?? []).filter(({ key }) => key !== SHUTDOWN), { key: SHUTDOWN, effect: 'NoSchedule' }];
    const { resourceVersion } = node.metadata;
    await api.must('PATCH', `${NODES}/${name}`, { metadata: { resourceVersion }, spec: { taints } }, MERGE);
    return true;
  }

  #writeStatus(name: string, status: { readonly conditions: readonly Condition[]; readonly nodeInfo?: object }): Promise<void> {
    return this.#steps.write('PATCH', `${NODES}/${name}/status`, { status }, STRATEGIC);
  }

  #lease(node: string): unknown {
    const renewTime = new Date(this.#nowMs()).toISOString().replace('Z', '000Z');
    return {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: node, namespace: 'kube-node-lease' },
      spec: { holderIdentity: node, leaseDurationSeconds: 40, renewTime },
    };
  }

  #nowMs(): number {
    return this.#options.clock.now();
  }
}

/** The condition that AKS's node problem detector sets when the metadata service shows a `Preempt` event. */
function preemptCondition(nowMs: number, notBeforeMs: number): Condition {
  const message = `Preempt Scheduled: ${new Date(notBeforeMs).toUTCString()}`;
  const time = { lastHeartbeatTime: timestamp(nowMs), lastTransitionTime: timestamp(nowMs) };
  return { type: 'PreemptScheduled', status: 'True', reason: 'PreemptScheduled', message, ...time };
}

/** A VM that was reimaged has a node already, which shows the new versions. */
function versionsOf({ kubernetesVersion }: SimulatedVm): object {
  return { kubeletVersion: `v${kubernetesVersion}`, kubeProxyVersion: `v${kubernetesVersion}` };
}

/** A VM that was reimaged shows its new image. */
function imageLabel({ labels }: SimulatedVm): Readonly<Record<string, string>> {
  const image = labels[NODE_IMAGE];
  return image === undefined ? {} : { [NODE_IMAGE]: image };
}

/** The kubelet labels its node with the topology of the disk driver. */
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
