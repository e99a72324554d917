import type { CapacityObjectWriter, NodeAnnotator, NodeTainter, PodEvictor, PodNominator } from '../../domain/ports/cluster-writes.ts';
import type { ClusterReader, OwnerReader } from '../../domain/ports/cluster.ts';
import type { ForeignLock, LeaderLease } from '../../domain/ports/leadership.ts';
import type { EventRecorder } from '../../domain/ports/records.ts';
import type { NodeName } from '../../domain/ids.ts';
import type { NodeWriters } from '../../domain/node.ts';
import type { SpreadDefaults } from '../../domain/pod.ts';
import type { StoredText } from '../../domain/ports/stored-text.ts';
import type { TaintRules } from '../../domain/taints.ts';

export interface LeaseTiming {
  /** How long other replicas wait after the holder's last renewal. */
  readonly durationMs: number;
  /** How long the holder continues without a successful renewal. Must be shorter. */
  readonly renewDeadlineMs: number;
  readonly retryMs: number;
}

export const LEASE_TIMING: LeaseTiming = { durationMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000 };

/** How to reach the cluster, and our identity in it. */
export interface KubernetesOptions {
  /** A kubeconfig file. If absent, the pod's service account is used, at `apiServer`. */
  readonly kubeconfigPath?: string;
  /** A context of that kubeconfig. If absent, its current one. */
  readonly context?: string;
  /** Inside a cluster: `https://host:port`. Ignored with a kubeconfig. Default `https://kubernetes.default.svc`. */
  readonly apiServer?: string;
  /** Inside a cluster: folder with `token` and `ca.crt`. By default, where the kubelet mounts it. */
  readonly serviceAccountDir?: string;
  /** The namespace of our own objects, such as the status ConfigMap. */
  readonly namespace: string;
  readonly leaseName: string;
  /** Default: `namespace`. */
  readonly leaseNamespace?: string;
  /** Default: 15 s, 10 s, 2 s. */
  readonly leaseTiming?: LeaseTiming;
  /** Unique per process, for example the pod's name. Written into the lease. */
  readonly identity: string;
  /** If false, this process leads at once; for tests and single runs. */
  readonly leaderElect: boolean;
  /** The component that events come from. Default `aks-autoscaler`. */
  readonly eventSource?: string;
  /** Default `aks-autoscaler`. */
  readonly userAgent?: string;
  /** Limit of one call that is not a watch, in milliseconds of real time. Default 30,000. */
  readonly callTimeoutMs?: number;
  /** Whether to watch the desired pods of controllers. If absent, they are not watched. */
  readonly followWorkloads?: boolean;
  /** The kinds of capacity objects to watch, and of workloads whose pods are copied. If absent, none is watched. */
  readonly capacity?: CapacityOptions;
  /** The required constraints of kube-scheduler's profiles for pods without their own. If absent, there are none. */
  readonly spreadDefaults?: SpreadDefaults;
  /** Whether to read the node affinity that pods prefer. If absent, it is not read. */
  readonly readsPreferences?: boolean;
  /** Whether to read VerticalPodAutoscalers. If absent, they are not read. */
  readonly readsAutoscalers?: boolean;
  /** Taints of nodes that are still starting. If absent, only the built-in ones count. */
  readonly taints?: TaintRules;
  /** The conditions of nodes to keep, as `type=status`. It may change while the process runs. If absent, none. */
  readonly conditions?: ReadonlySet<string>;
}

export interface ConfigMapName {
  readonly namespace: string;
  readonly name: string;
}

/** Gets the content, or undefined if the ConfigMap does not exist. */
export type ConfigMapListener = (content: Readonly<Record<string, string>> | undefined) => void;

/** A ConfigMap to write completely. */
export interface ConfigMapContent {
  readonly namespace: string;
  readonly name: string;
  readonly content: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Everything the program does with the Kubernetes API. */
/** An event of another component, newest occurrence. */
export interface ForeignEvent {
  /** Milliseconds since the epoch. */
  readonly atMs: number;
  /** `Pod NAMESPACE/NAME`, `Node NAME`. */
  readonly about: string;
  readonly reason: string;
  readonly message: string;
}

export interface Kubernetes {
  readonly reader: ClusterReader;
  readonly tainter: NodeTainter;
  readonly annotator: NodeAnnotator;
  readonly evictor: PodEvictor;
  readonly owners: OwnerReader;
  readonly events: EventRecorder;
  readonly nominator: PodNominator;
  readonly capacityObjects: CapacityObjectWriter;
  readonly lease: LeaderLease;
  /** The Lease by which AKS locks a cluster's resources. Ignored until `watchForeignLock`. */
  readonly foreignLock: ForeignLock;
  /** Starts to read that Lease. Resolves after the first read, whatever its result. */
  watchForeignLock(signal: AbortSignal): Promise<void>;
  /** Creates or replaces a ConfigMap. After a conflict it reads again and retries. @throws AutoscalerError */
  writeConfigMap(wanted: ConfigMapContent, signal: AbortSignal): Promise<void>;
  /** @throws AutoscalerError */
  deleteConfigMap(name: ConfigMapName, signal: AbortSignal): Promise<void>;
  /**
   * Reports the content of a ConfigMap now and after each change. Resolves at the first content, or if reading is forbidden for longer than
   * `refusalGraceMs` (default 0).
   */
  watchConfigMap(name: ConfigMapName, listener: ConfigMapListener, signal: AbortSignal, refusalGraceMs?: number): Promise<void>;
  /** What another component said in events after this time, milliseconds since the epoch. Empty if they cannot be read. */
  foreignEvents(component: string, sinceMs: number, signal: AbortSignal): Promise<readonly ForeignEvent[]>;
  /** Who last wrote the taints and the cordon of a node, by one read of at most 1.5 seconds. undefined: no such node. @throws AutoscalerError */
  nodeWriters(name: NodeName, signal: AbortSignal): Promise<NodeWriters | undefined>;
  /** A text in one key of a ConfigMap of our namespace. */
  storedText(name: string, key: string): StoredText;
  /** Stops the watches, drops queued events, closes every connection. Does not release the lease. */
  close(): Promise<void>;
}

/** The kinds of capacity objects to watch. */
export interface CapacityOptions {
  readonly quotas: boolean;
  readonly buffers: boolean;
  readonly requests: boolean;
  /** The kinds of workloads whose pods a headroom copies. Buffers need all kinds. */
  readonly workloads: readonly string[];
  /** Keys of the workloads whose pods a headroom copies. */
  readonly copies: readonly string[];
  /** Whether templates that are used count as the API server admits their pods. */
  readonly podDryRun: boolean;
}
