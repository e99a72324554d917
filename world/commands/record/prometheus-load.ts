/**
 * The load in the time series of kube-state-metrics. A pod is there from its first to its last sample; its times are the exported ones
 * where they are in the files. Must not know how a file is read.
 */
import type { LoadPod } from '../../lab/loads/load.ts';
import type { ObservedNode, ObservedOwner, ObservedPod } from '../../lab/recordings/observed.ts';
import { defined } from '../../../src/lib/defined.ts';
import { zonePart } from '../../../src/domain/node-template.ts';
import { Interner } from '../../../src/kubernetes/watch/interner.ts';
import { FAULT_METRICS, PrometheusFaults } from './faults/prometheus-faults.ts';
import type { MetricSeries } from './prometheus-file.ts';
import type { Step } from './timeline.ts';

/** The metrics that are read; world/docs/record.md has the queries. */
export const METRICS = [
  'kube_pod_info',
  'kube_pod_owner',
  'kube_pod_container_resource_requests',
  'kube_pod_created',
  'kube_pod_start_time',
  'kube_pod_completion_time',
  'kube_deployment_spec_replicas',
  'kube_statefulset_replicas',
  'kube_node_labels',
  ...FAULT_METRICS,
] as const;

interface PodSeries {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  firstMs: number;
  lastMs: number;
  boundMs: number | undefined;
  owner: { readonly kind: string; readonly name: string } | undefined;
  createdMs: number | undefined;
  startMs: number | undefined;
  completedMs: number | undefined;
  readonly containers: Map<string, Record<string, string>>;
}

interface ReplicaSamples {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly changes: { readonly atMs: number; readonly value: number }[];
  lastMs: number;
}

/** The hash that ends the name of a Deployment's ReplicaSet: Kubernetes uses no vowels and no digits that look like them. */
const TEMPLATE_HASH = /-[bcdfghjklmnpqrstvwxz2456789]{5,10}$/;
const MINUTE_OF_JOB = /-\d{8}$/;
const ABSENT = '<none>';

/** Series in, observations out. */
export class PrometheusLoad {
  readonly #pods = new Map<string, PodSeries>();
  readonly #nodes = new Map<string, { firstMs: number; lastMs: number; readonly node: ObservedNode }>();
  readonly #replicas = new Map<string, ReplicaSamples>();
  readonly #templates = new Interner<LoadPod>();
  readonly #faults = new PrometheusFaults();
  #firstMs = Infinity;
  #lastMs = -Infinity;

  /** Of all samples. Infinite without any. */
  get range(): { readonly firstMs: number; readonly lastMs: number } {
    return { firstMs: this.#firstMs, lastMs: this.#lastMs };
  }

  /** What the series do not say, as sentences. */
  get notes(): readonly string[] {
    return this.#faults.notes;
  }

  /** Metrics that are not read are ignored. */
  add(series: MetricSeries): void {
    if (!(METRICS as readonly string[]).includes(series.metric)) return;
    this.#firstMs = Math.min(this.#firstMs, series.firstMs);
    this.#lastMs = Math.max(this.#lastMs, series.lastMs);
    if (series.metric === 'kube_node_labels') this.#addNode(series);
    else if (series.metric.endsWith('_replicas')) this.#addReplicas(series);
    else if (series.metric.startsWith('kube_pod_')) this.#addToPod(series);
    else this.#faults.add(series);
  }

  /** `stepMs`: the time between two samples. A pod whose samples end before the last one ended within one step. */
  steps(stepMs: number): readonly Step[] {
    const nodes = [...this.#nodes].flatMap(([name, { firstMs, lastMs, node }]) => {
      const seen: Step = { atMs: firstMs, apply: (recorder) => recorder.seeNode(node, firstMs) };
      const goneMs = lastMs + stepMs;
      return lastMs >= this.#lastMs
        ? [seen]
        : [seen, { atMs: goneMs, apply: (recorder) => recorder.forgetNode(name, goneMs) } satisfies Step];
    });
    const replicas = [...this.#replicas.values()].flatMap((samples) => this.#stepsOfReplicas(samples, stepMs));
    return [...nodes, ...replicas, ...this.#stepsOfFaults(), ...[...this.#pods.values()].flatMap((pod) => this.#stepsOfPod(pod, stepMs))];
  }

  #stepsOfFaults(): readonly Step[] {
    const refusals = this.#faults.refusals.map((refusal): Step => ({
      atMs: refusal.atMs,
      apply: (recorder) => recorder.seeRefusal(refusal),
    }));
    const outages = [...this.#nodes.values()].flatMap(({ node }) =>
      this.#faults.changesOf(node).map(({ atMs, node: changed }): Step => ({ atMs, apply: (recorder) => recorder.seeNode(changed, atMs) })),
    );
    return [...refusals, ...outages];
  }

  #stepsOfPod(series: PodSeries, stepMs: number): readonly Step[] {
    const pod = this.#podOf(series);
    if (pod === undefined) return [];
    const arrivesMs = Math.min(series.firstMs, series.createdMs ?? Infinity);
    const steps: Step[] = [{ atMs: arrivesMs, apply: (recorder) => recorder.seePod(pod, arrivesMs) }];
    const startedAtMs = series.startMs ?? series.boundMs;
    const running = startedAtMs === undefined ? pod : { ...pod, phase: 'running' as const, startedAtMs };
    if (startedAtMs !== undefined)
      steps.push({ atMs: Math.max(arrivesMs, startedAtMs), apply: (recorder) => recorder.seePod(running, startedAtMs) });
    const { completedMs } = series;
    if (completedMs !== undefined) {
      const done = { ...running, phase: 'succeeded' as const, endedAtMs: completedMs };
      steps.push({ atMs: completedMs, apply: (recorder) => recorder.seePod(done, completedMs) });
    }
    if (series.lastMs < this.#lastMs) {
      const goneMs = Math.max(series.lastMs + stepMs, completedMs ?? 0);
      steps.push({ atMs: goneMs, apply: (recorder) => recorder.forgetPod(pod.uid, goneMs) });
    }
    return steps;
  }

  #podOf({ uid, namespace, name, owner, containers, firstMs, createdMs }: PodSeries): ObservedPod | undefined {
    if (owner?.kind === 'Node') return undefined;
    const requests = [...containers.values()].map((each) => ({ requests: each }));
    const template: LoadPod = { containers: requests.length === 0 ? [{}] : requests };
    return {
      uid,
      namespace,
      name,
      role: roleOf(owner?.kind),
      pod: this.#templates.of(JSON.stringify(template), () => template),
      createdAtMs: createdMs ?? firstMs,
      phase: 'pending',
      isLeaving: false,
      isDisrupted: false,
      ...defined({ owner: owner === undefined ? undefined : observedOwner(owner, namespace) }),
    };
  }

  #addToPod({ metric, labels, firstMs, lastMs, changes }: MetricSeries): void {
    const pod = this.#podFor(labels, firstMs);
    if (pod === undefined) return;
    const lastValue = changes.at(-1)?.value ?? 0;
    switch (metric) {
      case 'kube_pod_info':
        pod.firstMs = Math.min(pod.firstMs, firstMs);
        pod.lastMs = Math.max(pod.lastMs, lastMs);
        if ((labels['node'] ?? '') !== '') pod.boundMs = Math.min(pod.boundMs ?? Infinity, firstMs);
        pod.owner ??= ownerFrom(labels['created_by_kind'], labels['created_by_name']);
        return;
      case 'kube_pod_owner':
        pod.owner ??= ownerFrom(labels['owner_kind'], labels['owner_name']);
        return;
      case 'kube_pod_container_resource_requests':
        return addRequest(pod, labels, lastValue);
      case 'kube_pod_created':
        pod.createdMs = lastValue * 1_000;
        return;
      case 'kube_pod_start_time':
        pod.startMs = lastValue * 1_000;
        return;
      case 'kube_pod_completion_time':
        pod.completedMs = lastValue * 1_000;
    }
  }

  /** Older exporters have no uid: a name that comes again is then the same pod. */
  #podFor(labels: Readonly<Record<string, string>>, firstMs: number): PodSeries | undefined {
    const { namespace = '', pod: name = '', uid = `${namespace}/${name}` } = labels;
    if (name === '') return undefined;
    const known = this.#pods.get(uid);
    if (known !== undefined) return known;
    const times = { firstMs, lastMs: -Infinity, boundMs: undefined, createdMs: undefined, startMs: undefined, completedMs: undefined };
    const pod: PodSeries = { uid, namespace, name, owner: undefined, containers: new Map(), ...times };
    this.#pods.set(uid, pod);
    return pod;
  }

  #addReplicas({ metric, labels, changes, lastMs }: MetricSeries): void {
    const kind = metric === 'kube_deployment_spec_replicas' ? 'Deployment' : 'StatefulSet';
    const { namespace = '' } = labels;
    const name = labels[kind.toLowerCase()];
    if (name === undefined) return;
    const key = `${kind} ${namespace}/${name}`;
    const known = this.#replicas.get(key) ?? { kind, namespace, name, changes: [], lastMs };
    known.changes.push(...changes);
    known.lastMs = Math.max(known.lastMs, lastMs);
    this.#replicas.set(key, known);
  }

  #stepsOfReplicas({ kind, namespace, name, changes, lastMs }: ReplicaSamples, stepMs: number): readonly Step[] {
    const goneMs = lastMs + stepMs;
    const all = lastMs >= this.#lastMs ? changes : [...changes, { atMs: goneMs, value: 0 }];
    return all.map(({ atMs, value }) => ({
      atMs,
      apply: (recorder) => recorder.setReplicas({ kind, namespace, name, replicas: value }, atMs),
    }));
  }

  #addNode({ labels, firstMs, lastMs }: MetricSeries): void {
    const { node: name = '' } = labels;
    const known = this.#nodes.get(name);
    if (known === undefined) this.#nodes.set(name, { firstMs, lastMs, node: nodeOf(name, labels, firstMs) });
    else known.lastMs = Math.max(known.lastMs, lastMs);
  }
}

function ownerFrom(kind: string | undefined, name: string | undefined): PodSeries['owner'] {
  return kind === undefined || name === undefined || kind === '' || kind === ABSENT ? undefined : { kind, name };
}

function observedOwner({ kind, name }: { readonly kind: string; readonly name: string }, namespace: string): ObservedOwner {
  const uid = `${kind} ${namespace}/${name}`;
  if (kind === 'ReplicaSet' && TEMPLATE_HASH.test(name)) return { kind: 'Deployment', name: name.replace(TEMPLATE_HASH, ''), uid };
  return { kind, name: kind === 'Job' ? name.replace(MINUTE_OF_JOB, '') : name, uid };
}

/** Restart policies are not exported: controllers other than Jobs are taken to replace their pods. */
function roleOf(kind: string | undefined): ObservedPod['role'] {
  if (kind === 'DaemonSet') return 'daemon';
  return kind === undefined || kind === 'Job' ? 'run' : 'replica';
}

function addRequest({ containers }: PodSeries, labels: Readonly<Record<string, string>>, value: number): void {
  const { container = '', resource = '' } = labels;
  const requests = containers.get(container) ?? {};
  // The exporter writes nvidia_com_gpu for nvidia.com/gpu.
  const name = resource.replace(/^(\w+)_com_(\w+)$/, '$1.com/$2').replaceAll('_', '-');
  requests[name] = name === 'cpu' ? `${Math.round(value * 1_000)}m` : String(Math.round(value));
  containers.set(container, requests);
}

/** The exporter turns `kubernetes.azure.com/mode` into `label_kubernetes_azure_com_mode`; other characters are lost. */
function nodeOf(name: string, labels: Readonly<Record<string, string>>, createdAtMs: number): ObservedNode {
  const label = (key: string): string | undefined => labels[`label_${key.replaceAll(/[^\w]/g, '_')}`];
  const vmSize = label('node.kubernetes.io/instance-type') ?? label('beta.kubernetes.io/instance-type') ?? 'unknown';
  const zone = label('topology.kubernetes.io/zone');
  const mode = label('kubernetes.azure.com/mode')?.toLowerCase();
  return {
    name,
    createdAtMs,
    pool: label('kubernetes.azure.com/agentpool') ?? label('agentpool') ?? vmSize,
    vmSize,
    isSpot: label('kubernetes.azure.com/scalesetpriority') === 'spot',
    labels: {},
    taints: [],
    // Without taints and conditions, a node that was removed looks like one that was evicted: none counts as evicted.
    isLeaving: true,
    isPreempted: false,
    ...defined({
      zone: zone?.includes('-') === true ? zonePart(zone) : undefined,
      mode: mode === 'system' ? ('System' as const) : mode === 'user' ? ('User' as const) : undefined,
    }),
  };
}
