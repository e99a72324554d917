/** A large cluster as AKS has them: pools of 250 nodes, workloads of some dozen pods in namespaces of teams, a budget for every tenth. */
import type { PoolSpec, WorldSpec } from '../../world/simulator/base/world-spec.ts';
import { smallWorld } from '../../world/simulator/sample-worlds.ts';
import type { World } from '../../world/simulator/world.ts';

export type Draft = Parameters<World['cluster']['apply']>[0];

const D16 = 'Standard_D16s_v5';
/** Allocatable of that size. */
export const NODE_CPU_MILLIS = 15_740;
const NODES_PER_POOL = 250;
const PODS_PER_WORKLOAD = 75;
const TEAMS = 50;
/** The namespaces of the ordinary workloads. */
export const TEAM_PREFIX = 'team-';
/** The share of a node's CPU that its pods request: no node is a candidate for removal. */
const USED = 0.72;
const SETTINGS = 12;

export interface BigContent {
  readonly spec: WorldSpec;
  readonly objects: readonly Draft[];
  /** Pods that have a node of their own; one for each node of the pool `batch`. */
  readonly batch: number;
}

/** `nodes` and `pods` count the ones of the system, too. */
export function bigContent({ nodes, pods }: { readonly nodes: number; readonly pods: number }): BigContent {
  const batch = Math.floor(nodes / 25);
  const general = nodes - batch - 1;
  // Each node has a pod of kube-proxy, and the cluster two of CoreDNS.
  const ordinary = pods - nodes - batch - 2;
  const labels = { workload: 'batch' };
  const taints = ['workload=batch:NoSchedule'];
  const batchPool: PoolSpec = { name: 'batch', vmSize: D16, count: batch, min: 0, max: 2 * batch, labels, taints };
  return {
    batch,
    spec: bigSpec([systemPool(), ...poolsWith('p', general), batchPool]),
    objects: [...teamNamespaces(), ...ordinaryWorkloads(ordinary, general), lonePods('batch', batch, BATCH)],
  };
}

export function bigSpec(pools: readonly PoolSpec[]): WorldSpec {
  return { ...smallWorld(1), pools, quota: { cores: 1_000_000, standardDSv5Family: 1_000_000 } };
}

export function systemPool(): PoolSpec {
  const taints = ['CriticalAddonsOnly=true:NoSchedule'];
  return { name: 'system', vmSize: 'Standard_D4s_v5', count: 1, min: 1, max: 3, mode: 'System', taints };
}

/** Pools of at most 250 nodes in three zones, which keep their size unless `over` says otherwise. */
export function poolsWith(prefix: string, nodes: number, over: Partial<PoolSpec> = {}): readonly PoolSpec[] {
  return evenly(nodes, Math.ceil(nodes / NODES_PER_POOL)).map((count, index) => ({
    name: `${prefix}${index}`,
    vmSize: D16,
    count,
    min: count,
    max: 2 * count,
    zones: ['1', '2', '3'],
    ...over,
  }));
}

/** `total` in so many parts, which differ by at most one. */
export function evenly(total: number, parts: number): readonly number[] {
  return Array.from({ length: parts }, (_, index) => Math.floor(total / parts) + (index < total % parts ? 1 : 0));
}

export function teamNamespaces(): readonly Draft[] {
  return Array.from({ length: TEAMS }, (_, index) => ({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: `${TEAM_PREFIX}${index}` },
  }));
}

/** Every tenth has a budget. */
export function ordinaryWorkloads(pods: number, nodes: number): readonly Draft[] {
  const cpuMillis = Math.floor((NODE_CPU_MILLIS * USED) / Math.ceil(pods / nodes));
  return evenly(pods, Math.ceil(pods / PODS_PER_WORKLOAD)).flatMap((replicas, index) => {
    const namespace = `${TEAM_PREFIX}${index % TEAMS}`;
    const name = `app-${index}`;
    const cpu = cpuMillis - 10 + (index % 3) * 10;
    const budget = { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: { name, namespace } };
    const app = deploymentOf({ name, namespace, replicas, cpu: `${cpu}m` });
    return index % 10 === 0 ? [app, { ...budget, spec: { maxUnavailable: '10%', selector: { matchLabels: { app: name } } } }] : [app];
  });
}

interface AppInput {
  readonly name: string;
  readonly namespace: string;
  readonly replicas: number;
  readonly cpu: string;
  /** Of the pods. */
  readonly annotations?: Readonly<Record<string, string>>;
  readonly spec?: Readonly<Record<string, unknown>>;
}

/** Two containers with settings, probes and a projected token: the objects have about the size of real ones. */
export function deploymentOf({ name, namespace, replicas, cpu, annotations = {}, spec = {} }: AppInput): Draft {
  const labels = { app: name, team: namespace };
  const env = Array.from({ length: SETTINGS }, (_, index) => ({ name: `SETTING_${index}`, value: `the value of setting ${index}` }));
  const probe = { httpGet: { path: '/healthz', port: 8080, scheme: 'HTTP' }, periodSeconds: 10, timeoutSeconds: 1, failureThreshold: 3 };
  const volumeMounts = [{ name: 'kube-api-access', mountPath: '/var/run/secrets/kubernetes.io/serviceaccount', readOnly: true }];
  const container = (role: string, requests: object) => ({
    name: role,
    image: `registry.example.com/team/${name}-${role}:1.2.3`,
    env,
    livenessProbe: probe,
    readinessProbe: probe,
    ports: [{ containerPort: 8080, protocol: 'TCP' }],
    resources: { requests, limits: { memory: '1Gi' } },
    volumeMounts,
  });
  const containers = [container('app', { cpu, memory: '512Mi' }), container('proxy', { cpu: '10m', memory: '64Mi' })];
  const volumes = [
    { name: 'kube-api-access', projected: { sources: [{ serviceAccountToken: { expirationSeconds: 3607, path: 'token' } }] } },
  ];
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace, labels },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels, annotations }, spec: { containers, volumes, ...spec } },
    },
  };
}

const BATCH = {
  nodeSelector: { 'kubernetes.azure.com/agentpool': 'batch' },
  tolerations: [{ key: 'workload', operator: 'Exists', effect: 'NoSchedule' }],
};

/** One of these fits on an empty node, and no second one. */
export function lonePods(name: string, replicas: number, spec: Readonly<Record<string, unknown>> = {}): Draft {
  return deploymentOf({ name, namespace: 'default', replicas, cpu: '14', spec });
}
