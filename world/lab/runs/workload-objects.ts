/** Kubernetes objects of the workloads of a load. Pure. Must not know when they change. */
import { defined } from '../../../src/lib/defined.ts';
import { stableHash } from '../../../src/lib/random.ts';
import type { ContainerSpec, ObjectDraft, PodSpec, PodTemplate } from '../../simulator/cluster/store/objects.ts';
import type { LoadContainer, LoadPod, Workload } from '../loads/load.ts';

/** Every pod of a load has it, with the object name of its workload. */
const WORKLOAD_LABEL = 'lab.aks-autoscaler.io/workload';
const LONGEST_NAME = 40;

/** The name of a workload's objects: its own, if that can be a name and is the only one. */
export function objectName({ id, name }: Workload): string {
  const plain = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, LONGEST_NAME);
  return plain === id ? plain : `${plain || 'workload'}-${stableHash(id).toString(36)}`;
}

/** `annotations` are added. */
export function podTemplateOf(workload: Workload, annotations: Readonly<Record<string, string>> = {}): PodTemplate {
  const { pod } = workload;
  return {
    metadata: {
      labels: { ...pod.labels, [WORKLOAD_LABEL]: objectName(workload) },
      annotations: { ...pod.annotations, ...annotations },
    },
    spec: podSpecOf(pod),
  };
}

function podSpecOf(pod: LoadPod): PodSpec {
  const { initContainers, volumes } = pod;
  const { overhead: _overhead, ...kept } = {
    nodeSelector: pod.nodeSelector,
    affinity: pod.affinity,
    topologySpreadConstraints: pod.topologySpreadConstraints,
    tolerations: pod.tolerations,
    priority: pod.priority,
    preemptionPolicy: pod.preemptionPolicy,
    hostNetwork: pod.hostNetwork,
    terminationGracePeriodSeconds: pod.terminationGracePeriodSeconds,
    overhead: pod.overhead,
  };
  const spec: object = {
    ...defined(kept),
    containers: [...pod.containers.map((container, at) => containerOf(container, `c${at}`)), ...overheadOf(pod)],
    ...(initContainers === undefined
      ? {}
      : { initContainers: initContainers.map((container, at) => initContainerOf(container, `i${at}`)) }),
    ...(volumes === undefined ? {} : { volumes: volumes.map((volume, at) => volumeOf(volume, `v${at}`)) }),
  };
  return spec as PodSpec;
}

function containerOf({ requests = {}, hostPorts = [] }: LoadContainer, name: string): ContainerSpec {
  const ports = hostPorts.map(({ port, protocol = 'TCP' }) => ({ containerPort: port, hostPort: port, protocol }));
  return { name, image: 'load:1', resources: { requests }, ...(ports.length === 0 ? {} : { ports }) };
}

function initContainerOf(container: LoadContainer, name: string): ContainerSpec {
  return { ...containerOf(container, name), ...(container.isSidecar === true ? { restartPolicy: 'Always' } : {}) };
}

/** An API server takes the overhead from a RuntimeClass only. For a scheduler it is the same as one more container. */
function overheadOf({ overhead = {} }: LoadPod): readonly ContainerSpec[] {
  return Object.keys(overhead).length === 0 ? [] : [containerOf({ requests: overhead }, 'overhead')];
}

function volumeOf({ kind, storageClass }: NonNullable<LoadPod['volumes']>[number], name: string): object {
  if (kind === 'emptyDir') return { name, emptyDir: {} };
  if (kind === 'hostPath') return { name, hostPath: { path: `/var/lib/${name}` } };
  const claim = {
    accessModes: ['ReadWriteOnce'],
    resources: { requests: { storage: '1Gi' } },
    storageClassName: storageClass ?? 'default',
  };
  return { name, ephemeral: { volumeClaimTemplate: { spec: claim } } };
}

/** A Deployment, ReplicaSet or DaemonSet; the controllers of the simulated cluster make its pods. */
export function controllerObject(workload: Workload, replicas: number): ObjectDraft {
  const name = objectName(workload);
  return {
    apiVersion: 'apps/v1',
    kind: workload.kind,
    metadata: { name, namespace: workload.namespace },
    spec: {
      ...(workload.kind === 'DaemonSet' ? {} : { replicas }),
      selector: { matchLabels: { [WORKLOAD_LABEL]: name } },
      template: podTemplateOf(workload),
    },
  };
}

export function statefulSetObject(workload: Workload, replicas: number): ObjectDraft {
  return controllerObject({ ...workload, kind: 'StatefulSet' }, replicas);
}

/** One pod that ends by itself. */
export function jobObject({ namespace }: Workload, name: string, template: PodTemplate): ObjectDraft {
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name, namespace },
    spec: { parallelism: 1, completions: 1, template },
  };
}

export function budgetObject(workload: Workload): ObjectDraft | undefined {
  const { namespace, budget } = workload;
  if (budget === undefined) return undefined;
  const name = objectName(workload);
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name, namespace },
    spec: { ...budget, selector: { matchLabels: { [WORKLOAD_LABEL]: name } } },
  };
}

export function namespaceObject(name: string): ObjectDraft {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
}
