/** What a source of recordings sees of a cluster, whether live, in a dump, or in time series. Times are milliseconds since the epoch. */
import type { LoadPod, LoadPool, RefusalCause } from '../loads/load.ts';

/** The controller at the top: the Deployment rather than its ReplicaSet, the CronJob rather than its Job. */
export interface ObservedOwner {
  readonly kind: string;
  readonly name: string;
  /** Of the object that replaces a lost pod, such as the Job. */
  readonly uid: string;
}

/** A pod that is neither a mirror of a static pod nor finished before the recording began. */
export interface ObservedPod {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  /** Absent for a pod without a controller. */
  readonly owner?: ObservedOwner;
  /** `replica`: its owner keeps a number of such pods. `run`: it ends by itself. `daemon`: it belongs to a node. */
  readonly role: 'replica' | 'run' | 'daemon';
  /** The hash of its template, as the owner labels it. Absent if the owner does not. */
  readonly revision?: string;
  /** Equal templates are one object. */
  readonly pod: LoadPod;
  readonly createdAtMs: number;
  /** When its first container started. Absent before. */
  readonly startedAtMs?: number;
  /** When its last container ended. Absent before, or if unknown. */
  readonly endedAtMs?: number;
  readonly phase: 'pending' | 'running' | 'succeeded' | 'failed';
  /** Its deletion was requested. */
  readonly isLeaving: boolean;
  /** It is ended by the cluster rather than by itself: evicted, preempted, or its node is gone. */
  readonly isDisrupted: boolean;
}

export interface ObservedNode {
  readonly name: string;
  readonly createdAtMs: number;
  /** The name of its pool. */
  readonly pool: string;
  readonly vmSize: string;
  /** What a VM of the size has, by what the node reports. Absent if unknown. */
  readonly size?: NonNullable<LoadPool['size']>;
  readonly zone?: string;
  readonly isSpot: boolean;
  readonly mode?: 'System' | 'User';
  /** By how its provider id is formed. Absent if unknown. */
  readonly kind?: 'vmss-uniform' | 'vms-pool';
  /** Those that a person gave the pool. */
  readonly labels: Readonly<Record<string, string>>;
  /** `key=value:Effect`. Without taints of the moment. */
  readonly taints: readonly string[];
  /** An autoscaler or a person has begun to remove it. */
  readonly isLeaving: boolean;
  /** Azure has announced to take it back. */
  readonly isPreempted: boolean;
  /** Absent while it is ready, or if unknown. */
  readonly notReadySinceMs?: number;
}

/** Azure did not give what was asked for, at the moment when it was asked. An autoscaler or Azure reports it. */
export interface ObservedRefusal {
  readonly atMs: number;
  readonly pool: string;
  /** `stock`: no VMs of the size. `no-node`: VMs were created and never became nodes. */
  readonly why: 'stock' | 'no-node' | RefusalCause;
  /** Absent if it was not said. */
  readonly zone?: string;
  /** Azure's code. Absent if it was not said. */
  readonly code?: string;
  /** VMs; absent if it was not said. */
  readonly count?: number;
}

/** The minimum and maximum of a pool, as its autoscaler publishes them. */
export interface ObservedLimits {
  readonly pool: string;
  readonly min: number;
  readonly max: number;
}

/** The number of pods that a controller is to have. */
export interface ObservedReplicas {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly replicas: number;
}

export interface ObservedBudget {
  readonly namespace: string;
  readonly name: string;
  /** Absent for a selector of another form, which is not recorded. */
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly budget: { readonly minAvailable?: number | string; readonly maxUnavailable?: number | string };
}

/** The name under which the pods of one owner are counted. */
export function seriesKey({ kind, namespace, name }: { readonly kind: string; readonly namespace: string; readonly name: string }): string {
  return `${kind} ${namespace}/${name}`;
}
