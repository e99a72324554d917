/** The arguments of the control plane's programs, and the files that these name. Pure. */
import { join } from 'node:path';
import type { Json } from './api-client.ts';

/**
 * Every controller that runs by default, but the one of attached disks: it waits for the driver's part, which is not simulated. Those of
 * clouds (routes, load balancers) are in another program.
 */
const CONTROLLERS = ['*', '-persistentvolume-attach-detach-controller'];

/** The controllers of workloads, nodes and volumes alone, for a small machine. */
export const FEW_CONTROLLERS: readonly string[] = [
  'serviceaccount-controller',
  'serviceaccount-token-controller',
  'root-ca-certificate-publisher-controller',
  'namespace-controller',
  'garbage-collector-controller',
  'pod-garbage-collector-controller',
  'deployment-controller',
  'replicaset-controller',
  'daemonset-controller',
  'statefulset-controller',
  'job-controller',
  'disruption-controller',
  'endpoints-controller',
  'endpointslice-controller',
  'node-lifecycle-controller',
  'taint-eviction-controller',
  'persistentvolume-binder-controller',
  'clusterrole-aggregation-controller',
];

export function etcdArgs(dir: string, clientPort: number, peerPort: number): readonly string[] {
  const peer = `http://127.0.0.1:${peerPort}`;
  const client = `http://127.0.0.1:${clientPort}`;
  return [
    `--data-dir=${join(dir, 'etcd')}`,
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=default=${peer}`,
    // After a crash of this machine the data is of no use.
    '--unsafe-no-fsync',
    '--log-level=warn',
  ];
}

/** Paths of the throwaway keys and certificates. */
export interface KeyFiles {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
  readonly accountKey: string;
  readonly accountPublic: string;
  readonly tokens: string;
}

export function apiServerArgs({
  etcd,
  port,
  files,
}: {
  readonly etcd: string;
  readonly port: number;
  readonly files: KeyFiles;
}): readonly string[] {
  return [
    `--etcd-servers=${etcd}`,
    '--bind-address=127.0.0.1',
    '--advertise-address=127.0.0.1',
    // The service "kubernetes" cannot have an endpoint on loopback.
    '--endpoint-reconciler-type=none',
    `--secure-port=${port}`,
    `--tls-cert-file=${files.cert}`,
    `--tls-private-key-file=${files.key}`,
    `--token-auth-file=${files.tokens}`,
    // Without the Node authorizer: our nodes have no certificates of their own.
    '--authorization-mode=RBAC',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-signing-key-file=${files.accountKey}`,
    `--service-account-key-file=${files.accountPublic}`,
    '--service-cluster-ip-range=10.0.0.0/24',
    '--profiling=false',
  ];
}

export function auditPolicy(users: readonly string[]): unknown {
  const recorded = users.length === 0 ? [] : [{ level: 'Metadata', users, omitStages: ['RequestReceived'] }];
  return { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [...recorded, { level: 'None' }] };
}

export function controllerArgs(kubeconfigFile: string, files: KeyFiles, controllers: readonly string[] = CONTROLLERS): readonly string[] {
  return [
    `--kubeconfig=${kubeconfigFile}`,
    `--controllers=${controllers.join(',')}`,
    // Each with its own account and its own rights, as in a real cluster.
    '--use-service-account-credentials=true',
    `--service-account-private-key-file=${files.accountKey}`,
    `--root-ca-file=${files.ca}`,
    '--leader-elect=false',
    '--secure-port=0',
    '--kube-api-qps=200',
    '--kube-api-burst=400',
    '--profiling=false',
  ];
}

export function schedulerArgs(kubeconfigFile: string): readonly string[] {
  return [`--kubeconfig=${kubeconfigFile}`, '--leader-elect=false', '--secure-port=0', '--profiling=false'];
}

export function schedulerConfig(kubeconfigFile: string, more: Json): string {
  return JSON.stringify({
    apiVersion: 'kubescheduler.config.k8s.io/v1',
    kind: 'KubeSchedulerConfiguration',
    clientConnection: { kubeconfig: kubeconfigFile, qps: 1000, burst: 1000 },
    leaderElection: { leaderElect: false },
    ...more,
  });
}
