/** The initial objects of an AKS cluster: namespaces, classes, kube-proxy, CoreDNS and its budget. */
import type { WorldSpec } from '../base/world-spec.ts';
import type { Api } from './store/api.ts';
import type { ObjectDraft, PodSpec, PodToleration } from './store/objects.ts';
import { findKind } from './store/resource-types.ts';
import { defined } from '../../../src/lib/defined.ts';

const SYSTEM = 'kube-system';

/** Creates the objects. The controllers create the pods. */
export function seedCluster(api: Api, spec: WorldSpec): void {
  for (const object of [
    ...namespaces(),
    ...priorities(),
    ...storageClasses(),
    dnsConfiguration(),
    kubernetesService(),
    ...workloads(spec),
  ]) {
    const type = findKind(object.apiVersion, object.kind);
    if (type !== undefined) api.create(type, object, object.metadata.namespace);
  }
}

/** What AKS adds to what any API server creates itself. */
export function addedByAks(spec: WorldSpec): readonly ObjectDraft[] {
  return [...storageClasses(), dnsConfiguration(), ...workloads(spec)];
}

function workloads(spec: WorldSpec): readonly ObjectDraft[] {
  return [...kubeProxyObjects(), ...dns(spec)];
}

function namespaces(): readonly ObjectDraft[] {
  return ['default', SYSTEM, 'kube-public', 'kube-node-lease'].map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }));
}

function priorities(): readonly ObjectDraft[] {
  const values = { 'system-cluster-critical': 2_000_000_000, 'system-node-critical': 2_000_001_000 };
  return Object.entries(values).map(([name, value]) => ({
    apiVersion: 'scheduling.k8s.io/v1',
    kind: 'PriorityClass',
    metadata: { name },
    value,
  }));
}

function kubernetesService(): ObjectDraft {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'kubernetes', namespace: 'default' },
    spec: { clusterIP: '10.0.0.1', ports: [{ name: 'https', port: 443, protocol: 'TCP', targetPort: 443 }] },
  };
}

function dnsConfiguration(): ObjectDraft {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'coredns', namespace: SYSTEM },
    data: { Corefile: '.:53 {\n    ready\n}\n' },
  };
}

function storageClasses(): readonly ObjectDraft[] {
  return ['default', 'managed-csi'].map((name) => ({
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name, ...(name === 'default' ? { annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } } : {}) },
    provisioner: 'disk.csi.azure.com',
    reclaimPolicy: 'Delete',
    volumeBindingMode: 'WaitForFirstConsumer',
    allowVolumeExpansion: true,
  }));
}

function workload(
  kind: 'DaemonSet' | 'Deployment',
  name: string,
  rest: { readonly replicas?: number; readonly labels: Readonly<Record<string, string>>; readonly pod: PodSpec },
): ObjectDraft {
  const { labels, pod, replicas } = rest;
  return {
    apiVersion: 'apps/v1',
    kind,
    metadata: { name, namespace: SYSTEM, labels },
    spec: {
      ...defined({ replicas }),
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: pod },
    },
  };
}

const EVERYTHING: readonly PodToleration[] = [
  { key: 'CriticalAddonsOnly', operator: 'Exists' },
  { operator: 'Exists', effect: 'NoExecute' },
  { operator: 'Exists', effect: 'NoSchedule' },
];

function kubeProxyObjects(): readonly ObjectDraft[] {
  const pod: PodSpec = {
    priorityClassName: 'system-node-critical',
    hostNetwork: true,
    nodeSelector: { 'kubernetes.io/os': 'linux' },
    tolerations: EVERYTHING,
    containers: [
      { name: 'kube-proxy', image: 'mcr.microsoft.com/oss/kubernetes/kube-proxy:v1.33.2', resources: { requests: { cpu: '100m' } } },
    ],
  };
  return [workload('DaemonSet', 'kube-proxy', { labels: { component: 'kube-proxy', tier: 'node' }, pod })];
}

function dns(spec: WorldSpec): readonly ObjectDraft[] {
  const hasSystemPool = spec.pools.some((pool) => pool.mode === 'System');
  const labels = { 'k8s-app': 'kube-dns' };
  const pod: PodSpec = {
    priorityClassName: 'system-node-critical',
    nodeSelector: { 'kubernetes.io/os': 'linux', ...(hasSystemPool ? { 'kubernetes.azure.com/mode': 'system' } : {}) },
    tolerations: [{ key: 'CriticalAddonsOnly', operator: 'Exists' }],
    containers: [
      {
        name: 'coredns',
        image: 'mcr.microsoft.com/oss/kubernetes/coredns:v1.12.1',
        resources: { requests: { cpu: '100m', memory: '70Mi' }, limits: { cpu: '3', memory: '500Mi' } },
      },
    ],
  };
  const budget: ObjectDraft = {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'coredns-pdb', namespace: SYSTEM },
    spec: { minAvailable: 1, selector: { matchLabels: labels } },
  };
  return [workload('Deployment', 'coredns', { replicas: 2, labels, pod }), budget];
}
