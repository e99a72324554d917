/** Objects that scenarios apply. */
import type { Json } from '../../world/simulator/real-control-plane/api-client.ts';

export interface Workload {
  readonly name: string;
  readonly replicas?: number;
  readonly cpu?: string;
  readonly memory?: string;
  readonly limits?: Json;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Further fields of the pod's spec. */
  readonly spec?: Json;
  /** Further fields of the container. */
  readonly container?: Json;
}

function podTemplate({ name, cpu = '500m', memory = '128Mi', limits, annotations = {}, spec = {}, container = {} }: Workload): Json {
  const resources = { requests: { cpu, memory }, ...(limits === undefined ? {} : { limits }) };
  return {
    metadata: { labels: { app: name }, annotations },
    spec: { terminationGracePeriodSeconds: 5, ...spec, containers: [{ name: 'app', image: 'app:1', resources, ...container }] },
  };
}

export function deployment(workload: Workload): Json {
  const { name, replicas = 1 } = workload;
  const selector = { matchLabels: { app: name } };
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name }, spec: { replicas, selector, template: podTemplate(workload) } };
}

export function daemonSet(workload: Workload): Json {
  const { name } = workload;
  return {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name },
    spec: { selector: { matchLabels: { app: name } }, template: podTemplate(workload) },
  };
}

/** A pod that nobody would make again. */
export function barePod(workload: Workload): Json {
  const { metadata, spec } = podTemplate(workload) as { readonly metadata: Json; readonly spec: Json };
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name: workload.name, ...metadata }, spec };
}

export function budget(name: string, spec: Json): Json {
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name },
    spec: { selector: { matchLabels: { app: name } }, ...spec },
  };
}

/** AKS's class of zonal disks, which are made where the first pod runs. */
export function diskClass(name: string): Json {
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name },
    provisioner: 'disk.csi.azure.com',
    volumeBindingMode: 'WaitForFirstConsumer',
    reclaimPolicy: 'Delete',
  };
}

export function claim(name: string, storageClassName: string): Json {
  const resources = { requests: { storage: '10Gi' } };
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name },
    spec: { accessModes: ['ReadWriteOnce'], storageClassName, resources },
  };
}
