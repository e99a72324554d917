/**
 * The load of a cluster as seen from outside: which pods are wanted when, and what Azure does on its own. In closed loop: an event
 * says what is wanted, never when a pod got its node, so a pod that waits longer also ends later. Recordings of live clusters and
 * generated scenarios have this form. Must not know a simulator, an autoscaler, or where the load comes from.
 */

/** JSON of the Kubernetes API that is passed on as it is. */
type LoadJson = Readonly<Record<string, unknown>>;

/** A container with what decisions read. Names and images are not part of a load. */
export interface LoadContainer {
  /** Quantities as in the Kubernetes API: `500m`, `2Gi`, or a number. */
  readonly requests?: Readonly<Record<string, string | number>>;
  /** Host ports, which exclude two such pods from one node. */
  readonly hostPorts?: readonly { readonly port: number; readonly protocol?: 'TCP' | 'UDP' | 'SCTP' }[];
  /** Only of init containers: it keeps running beside the others. */
  readonly isSidecar?: boolean;
}

/** The pod template of a workload, reduced to what decides where its pods run and whether they can be moved. */
export interface LoadPod {
  readonly labels?: Readonly<Record<string, string>>;
  /** Only annotations that an autoscaler reads, such as `cluster-autoscaler.kubernetes.io/safe-to-evict`. */
  readonly annotations?: Readonly<Record<string, string>>;
  readonly containers: readonly LoadContainer[];
  readonly initContainers?: readonly LoadContainer[];
  readonly overhead?: Readonly<Record<string, string | number>>;
  readonly nodeSelector?: Readonly<Record<string, string>>;
  /** `nodeAffinity`, `podAffinity` and `podAntiAffinity`, as in the Kubernetes API. */
  readonly affinity?: LoadJson;
  readonly topologySpreadConstraints?: readonly LoadJson[];
  readonly tolerations?: readonly LoadJson[];
  /** The resolved priority. If absent, 0. */
  readonly priority?: number;
  readonly preemptionPolicy?: 'Never' | 'PreemptLowerPriority';
  readonly hostNetwork?: boolean;
  readonly terminationGracePeriodSeconds?: number;
  /** `emptyDir`: lost with its node. `hostPath`: a folder of its node. `disk`: a disk of its own, which takes an attach slot. */
  readonly volumes?: readonly { readonly kind: 'emptyDir' | 'hostPath' | 'disk'; readonly storageClass?: string }[];
}

export const WORKLOAD_KINDS = ['Deployment', 'ReplicaSet', 'StatefulSet', 'DaemonSet', 'Job', 'Pod'] as const;
/**
 * What creates its pods. A controller of another kind that replaces lost pods is a `Deployment` here. The pods of a `DaemonSet` follow
 * the nodes and need no event. A lost `Pod` is not replaced.
 */
type WorkloadKind = (typeof WORKLOAD_KINDS)[number];

export interface Workload {
  /** Unique in the scenario. Events name it. */
  readonly id: string;
  readonly name: string;
  readonly namespace: string;
  readonly kind: WorkloadKind;
  readonly pod: LoadPod;
  /** Its PodDisruptionBudget: one of both, a number or a percentage such as `50%`. If absent, it has none. */
  readonly budget?: { readonly minAvailable?: number | string; readonly maxUnavailable?: number | string };
}

/** A node pool. Prices are list prices. */
export interface LoadPool {
  readonly name: string;
  /** Default: Uniform scale set. */
  readonly kind?: 'vmss-uniform' | 'vmss-flexible' | 'vms-pool';
  readonly vmSize: string;
  /** What one VM of the size has. If absent, it is known by the size's name. */
  readonly size?: {
    readonly vcpus: number;
    readonly memoryGiB: number;
    readonly gpus?: number;
    readonly architecture?: 'amd64' | 'arm64';
    /** The quota that it uses, such as `standardDSv5Family`. */
    readonly family?: string;
  };
  /** Nodes at that time. */
  readonly count: number;
  readonly min: number;
  readonly max: number;
  /** Nothing that was read says its minimum and maximum: these are the widest ones. */
  readonly limitsUnknown?: true;
  readonly zones?: readonly string[];
  readonly priority?: 'Regular' | 'Spot';
  readonly evictionPolicy?: 'Delete' | 'Deallocate';
  readonly mode?: 'System' | 'User';
  readonly labels?: Readonly<Record<string, string>>;
  /** `key=value:Effect` */
  readonly taints?: readonly string[];
  /** Of one node, in the currency of the scenario. If absent, unknown. */
  readonly pricePerHour?: number;
}

/** Why Azure refuses to make a pool larger, although it has VMs of its size. */
export type RefusalCause = 'quota' | 'throttled';

/** What happens, `atMs` milliseconds after the start. Workloads are named by their id, pools by their name. */
export type LoadEvent = { readonly atMs: number } & (
  | /** From now on this many pods are wanted. */ { readonly kind: 'replicas'; readonly workload: string; readonly count: number }
  /**
   * Pods of a Job begin, `count` of them (default 1). Each ends by itself when it has run for `runMs`, however long it waited. If it
   * loses its node before, it begins again from zero.
   */
  | { readonly kind: 'run'; readonly workload: string; readonly runMs: number; readonly count?: number }
  /** A rollout: the pods of the workload get this template. */
  | { readonly kind: 'template'; readonly workload: string; readonly pod: LoadPod }
  /** Azure evicts Spot VMs of the pool. */
  | { readonly kind: 'spot-eviction'; readonly pool: string; readonly count: number }
  /** Azure has this many VMs of the size left; null: no limit again. Without a zone, in every zone; without a priority, of both. */
  | {
      readonly kind: 'stock';
      readonly vmSize: string;
      readonly zone?: string;
      readonly priority?: 'Regular' | 'Spot';
      readonly count: number | null;
      /** Azure's code of the first refusal, where one was seen. */
      readonly code?: string;
    }
  /** The next `count` new VMs of the pool fail: Azure reports an error, or the VM runs and never becomes a node. */
  | { readonly kind: 'failure'; readonly pool: string; readonly how: 'refused' | 'no-node'; readonly count: number }
  /** Azure refuses every increase of the pool for `forMs`: a quota is used up, or there were too many requests. */
  | { readonly kind: 'refusal'; readonly pool: string; readonly why: RefusalCause; readonly forMs: number }
  /** A node of the pool stops reporting, and is not ready, for `forMs`. If absent, until it is removed. */
  | { readonly kind: 'node-failure'; readonly pool: string; readonly forMs?: number }
  /** A zone is lost for `forMs`: its VMs do not respond, and it has no stock. */
  | { readonly kind: 'zone-outage'; readonly zone: string; readonly forMs: number }
  /** A person changed the settings of a pool, or created the pool. Its `count` matters for a new pool only. */
  | { readonly kind: 'pool'; readonly pool: LoadPool }
  | { readonly kind: 'pool-removed'; readonly pool: string }
);

export interface Scenario {
  readonly name: string;
  /** When it begins, milliseconds since the epoch. */
  readonly startMs: number;
  readonly durationMs: number;
  /** Of all prices, such as `USD`. */
  readonly currency: string;
  /** At the start. */
  readonly pools: readonly LoadPool[];
  readonly workloads: readonly Workload[];
  /** In order of time. Replicas at the start are events at 0. */
  readonly events: readonly LoadEvent[];
}
