import type { CapacityObjectWriter, NodeTainter, PodEvictor } from '../../domain/ports/cluster-writes.ts';
import type { ClusterReader, OwnerReader } from '../../domain/ports/cluster.ts';
import type { ForeignLock, LeaderLease } from '../../domain/ports/leadership.ts';
import type { EventRecorder } from '../../domain/ports/records.ts';
import type { StoredText } from '../../domain/ports/stored-text.ts';
import type { TaintRules } from '../../domain/taints.ts';

export interface LeaseTiming {
  /** How long others wait after our last sign of life. */
  readonly durationMs: number;
  /** How long we go on without a successful renewal. Must be shorter. */
  readonly renewDeadlineMs: number;
  readonly retryMs: number;
}

export const LEASE_TIMING: LeaseTiming = { durationMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000 };

/** How to reach the cluster and who we are in it. */
export interface KubernetesOptions {
  /** A kubeconfig file. If absent, the pod's service account is used, at `apiServer`. */
  readonly kubeconfigPath?: string;
  /** A context of that kubeconfig; absent: its current one. */
  readonly context?: string;
  /** Inside a cluster: `https://host:port`. Default `https://kubernetes.default.svc`. Not read with a kubeconfig. */
  readonly apiServer?: string;
  /** Inside a cluster: folder with `token` and `ca.crt`. Default: where the kubelet mounts it. */
  readonly serviceAccountDir?: string;
  /** Where what is written under a name of our own lives. */
  readonly namespace: string;
  readonly leaseName: string;
  /** Default: `namespace`. */
  readonly leaseNamespace?: string;
  /** Default: 15 s, 10 s, 2 s. */
  readonly leaseTiming?: LeaseTiming;
  /** Unique per process, for example the pod's name. Written into the lease. */
  readonly identity: string;
  /** false: leads at once, for tests and single runs. */
  readonly leaderElect: boolean;
  /** The component that events come from. Default `aks-autoscaler`. */
  readonly eventSource?: string;
  /** Default `aks-autoscaler`. */
  readonly userAgent?: string;
  /** Limit of one call that is not a watch, in milliseconds of real time. Default 30,000. */
  readonly callTimeoutMs?: number;
  /** Whether to watch the desired pods of controllers. If absent, they are not watched. */
  readonly followWorkloads?: boolean;
  /** The kinds of capacity objects to watch. If absent, none is watched. */
  readonly capacity?: { readonly quotas: boolean; readonly buffers: boolean; readonly requests: boolean };
  /** Taints of nodes that are still starting. If absent, only the built-in ones count. */
  readonly taints?: TaintRules;
}

export interface ConfigMapName {
  readonly namespace: string;
  readonly name: string;
}

/** The content; undefined: there is no such ConfigMap. */
export type ConfigMapListener = (content: Readonly<Record<string, string>> | undefined) => void;

/** A ConfigMap to write whole. */
export interface ConfigMapContent {
  readonly namespace: string;
  readonly name: string;
  readonly content: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Everything the program does with the Kubernetes API. */
export interface Kubernetes {
  readonly reader: ClusterReader;
  readonly tainter: NodeTainter;
  readonly evictor: PodEvictor;
  readonly owners: OwnerReader;
  readonly events: EventRecorder;
  readonly capacityObjects: CapacityObjectWriter;
  readonly lease: LeaderLease;
  /** The Lease by which AKS locks a cluster's resources. Ignored until `heedForeignLock`. */
  readonly foreignLock: ForeignLock;
  /** Begins to read that Lease; resolves after the first read, however it ended. */
  watchForeignLock(signal: AbortSignal): Promise<void>;
  /** Creates or replaces a ConfigMap; a conflict is read again and retried. @throws AutoscalerError */
  writeConfigMap(wanted: ConfigMapContent, signal: AbortSignal): Promise<void>;
  /** @throws AutoscalerError */
  deleteConfigMap(name: ConfigMapName, signal: AbortSignal): Promise<void>;
  /** Reports the content of a ConfigMap now and after each change. Resolves at the first content, or if it may not be read. */
  watchConfigMap(name: ConfigMapName, listener: ConfigMapListener, signal: AbortSignal): Promise<void>;
  /** A text in one key of a ConfigMap of our namespace. */
  storedText(name: string, key: string): StoredText;
  /** Stops the watches, drops what is queued, closes every connection. Does not release the lease. */
  close(): Promise<void>;
}
