/**
 * A busy cluster with 500 nodes as its API describes it, for recorders: services that follow their load, builds of forty kinds that come and
 * go, nodes that are bought, evicted, not ready and removed, and refusals of Azure. The same seed gives the same cluster.
 */
import { observedNode } from '../../world/commands/record/seen-node.ts';
import { PodReader } from '../../world/commands/record/seen-pod.ts';
import { ResourceNames } from '../../src/domain/resources.ts';
import type { NodeJson, PodJson } from '../../src/kubernetes/api/core-json.ts';
import { createNodeProjection, projectNode } from '../../src/kubernetes/projection/node.ts';
import type { LoadRecorder } from '../../world/lab/recordings/load-recorder.ts';
import { seededRandom, type Random } from '../../src/lib/random.ts';
import { START_MS } from './builders.ts';

const MINUTE_MS = 60_000;
/** Of the whole cluster. */
const NODES = 500;
const SERVICES = 600;
/** In each minute; a million in a week. */
const RUNS = 100;

/** `share`: the part of the cluster that exists, from 0 to 1; everything grows with it. */
export class BusyCluster {
  readonly #recorder: LoadRecorder;
  readonly #random: Random = seededRandom(7);
  readonly #pods = new PodReader();
  readonly #nodes = createNodeProjection(new ResourceNames());
  readonly #share: number;
  /** Builds that run, by the minute in which they end. */
  readonly #ending = new Map<number, { readonly number: number; readonly startMs: number }[]>();
  #runs = 0;
  #oldestNode = 0;
  #newestNode = 0;
  #sickNode = 0;

  constructor(recorder: LoadRecorder, share = 1) {
    this.#recorder = recorder;
    this.#share = share;
  }

  /** What is there at the start. */
  begin(): void {
    for (let index = 0; index < SERVICES * this.#share; index++) this.#seePod(service(index), START_MS);
    for (let index = 0; index < NODES * this.#share; index++) this.#addNode(START_MS);
    this.#recorder.begin(START_MS);
  }

  /** What happens in one minute. @returns when it is over, milliseconds since the epoch. */
  play(minute: number): number {
    const nowMs = START_MS + minute * MINUTE_MS;
    for (const { number, startMs } of this.#ending.get(minute) ?? []) this.#endBuild(number, { startMs, nowMs });
    this.#ending.delete(minute);
    for (let index = 0; index < RUNS * this.#share; index++) this.#beginBuild(minute, nowMs);
    // Every service follows its load four times in an hour.
    for (let index = minute % 15; index < SERVICES * this.#share; index += 15)
      this.#recorder.setReplicas({ ...nameOf(index), replicas: 2 + Math.floor(this.#random() * 60) }, nowMs);
    this.#changeNodes(minute, nowMs);
    return nowMs;
  }

  #beginBuild(minute: number, nowMs: number): void {
    const number = this.#runs++;
    const minutes = 1 + Math.floor(this.#random() * this.#random() * 30);
    const startMs = nowMs - Math.floor(this.#random() * 60) * 1_000;
    this.#seePod(build(number, 'Pending', { startMs }), nowMs);
    this.#seePod(build(number, 'Running', { startMs }), nowMs);
    const ending = this.#ending.get(minute + minutes) ?? [];
    this.#ending.set(minute + minutes, [...ending, { number, startMs }]);
  }

  #endBuild(number: number, { startMs, nowMs }: { readonly startMs: number; readonly nowMs: number }): void {
    this.#seePod(build(number, 'Succeeded', { startMs, endMs: nowMs }), nowMs);
    this.#recorder.forgetPod(`build-${number}`, nowMs);
  }

  /** A tenth of the nodes is replaced in an hour; now and then one is not ready, and Azure refuses. */
  #changeNodes(minute: number, nowMs: number): void {
    for (let index = 0; index < (NODES * this.#share) / 600; index++) {
      this.#addNode(nowMs);
      this.#recorder.forgetNode(`node-${this.#oldestNode++}`, nowMs);
    }
    // Regular ones that are not the next to be removed.
    if (minute % 10 === 0) this.#sickNode = 10 * Math.ceil(this.#oldestNode / 10) + 15;
    if (minute % 10 === 0) this.#seeNode(this.#sickNode, { readyMs: nowMs, isReady: false }, nowMs);
    if (minute % 10 === 5) this.#seeNode(this.#sickNode, { readyMs: nowMs, isReady: true }, nowMs);
    if (minute % 30 === 0) this.#recorder.seeRefusal({ atMs: nowMs, pool: 'pool-1', why: 'stock', code: 'ZonalAllocationFailed' });
  }

  #addNode(nowMs: number): void {
    this.#seeNode(this.#newestNode++, { readyMs: nowMs, isReady: true }, nowMs);
  }

  #seeNode(number: number, readiness: { readonly readyMs: number; readonly isReady: boolean }, nowMs: number): void {
    this.#recorder.seeNode(observedNode(projectNode(node(number, readiness), this.#nodes)), nowMs);
  }

  #seePod(json: PodJson, nowMs: number): void {
    const pod = this.#pods.read(json);
    if (pod !== undefined) this.#recorder.seePod(pod, nowMs);
  }
}

function iso(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z/, 'Z');
}

/** One of forty kinds of builds, whose pods all have labels of their own. */
function build(index: number, phase: string, { startMs, endMs }: { readonly startMs: number; readonly endMs?: number }): PodJson {
  const kind = index % 40;
  const startedAt = iso(startMs + 20_000);
  const state = endMs === undefined ? { running: { startedAt } } : { terminated: { startedAt, finishedAt: iso(endMs) } };
  const status = { phase, ...(phase === 'Pending' ? {} : { containerStatuses: [{ name: 'b', state }] }) };
  return {
    metadata: {
      uid: `build-${index}`,
      name: `build-${index}-x`,
      namespace: `team-${kind % 9}`,
      creationTimestamp: iso(startMs),
      labels: { 'job-name': `build-${index}`, pipeline: String(index), app: `build-${kind}` },
      annotations: { 'ci/commit': String(index * 7_919) },
      ownerReferences: [{ kind: 'Job', name: `build-${index}`, uid: `job-${index}`, controller: true }],
    },
    spec: {
      restartPolicy: 'Never',
      containers: [{ name: 'b', resources: { requests: { cpu: `${500 + kind * 50}m`, memory: '2Gi' } } }],
      nodeSelector: { 'kubernetes.azure.com/mode': 'user' },
      tolerations: [{ key: 'kubernetes.azure.com/scalesetpriority', operator: 'Equal', value: 'spot', effect: 'NoSchedule' }],
    },
    status,
  };
}

function nameOf(service: number) {
  return { kind: 'Deployment', namespace: `team-${service % 9}`, name: `web-${service}` };
}

function service(index: number): PodJson {
  const { namespace, name } = nameOf(index);
  const labelSelector = { matchLabels: { app: name } };
  return {
    metadata: {
      uid: name,
      name: `${name}-5d4f6b7c8-x`,
      namespace,
      creationTimestamp: iso(START_MS - 3_600_000),
      labels: { app: name, 'pod-template-hash': '5d4f6b7c8' },
      ownerReferences: [{ kind: 'ReplicaSet', name: `${name}-5d4f6b7c8`, uid: `rs-${index}`, controller: true }],
    },
    spec: {
      containers: [{ name: 'a', resources: { requests: { cpu: `${100 + index}m`, memory: '512Mi' } } }],
      topologySpreadConstraints: [
        { maxSkew: 1, topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'DoNotSchedule', labelSelector },
      ],
    },
    status: { phase: 'Running' },
  };
}

/** Of one of ten pools, every other one of Spot VMs. */
function node(number: number, { readyMs, isReady }: { readonly readyMs: number; readonly isReady: boolean }): NodeJson {
  const pool = number % 10;
  const isSpot = pool % 2 === 0;
  return {
    metadata: {
      uid: `node-${number}`,
      name: `node-${number}`,
      creationTimestamp: iso(readyMs),
      labels: {
        'kubernetes.azure.com/agentpool': `pool-${pool}`,
        'node.kubernetes.io/instance-type': `Standard_D${4 * (1 + (pool % 4))}s_v5`,
        'topology.kubernetes.io/zone': `westeurope-${1 + (number % 3)}`,
        ...(isSpot ? { 'kubernetes.azure.com/scalesetpriority': 'spot' } : {}),
      },
    },
    spec: {
      providerID: `azure:///subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachineScaleSets/p${pool}/virtualMachines/${number}`,
    },
    status: {
      capacity: { cpu: '16', memory: '64Gi', pods: '110' },
      allocatable: { cpu: '15', memory: '58Gi', pods: '110' },
      conditions: [{ type: 'Ready', status: isReady ? 'True' : 'Unknown', lastTransitionTime: iso(readyMs) }],
    },
  };
}
