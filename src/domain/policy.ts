/** What the user wants, as the planner reads it. Frozen configuration; every duration in milliseconds. */
import type { PriceTable } from './quotas-and-prices.ts';
import type { TaintRules } from './taints.ts';

export type ExpanderName = 'random' | 'least-waste' | 'least-nodes' | 'most-pods' | 'priority' | 'price';

/** Groups whose name or agent pool matches one of the patterns (regular expressions, unanchored) are on this level. */
export interface PriorityLevel {
  readonly priority: number;
  readonly patterns: readonly string[];
}

/** As they stood when the loop began. */
export interface ListPrices {
  readonly table: PriceTable;
  /** What a person should know of them, a sentence each. */
  readonly remarks: readonly string[];
}

export interface ScaleUpPolicy {
  /** Tried in order, each narrows the options; ties end by group id. */
  readonly expanders: readonly ExpanderName[];
  /** Seed of the random expander. */
  readonly randomSeed: number;
  readonly maxNodesTotal: number;
  readonly maxNodesPerScaleUp: number;
  /** How many nodes one group may be asked for within a minute. 0 or absent: no limit. */
  readonly maxNodesPerGroupPerMinute?: number;
  /** How long one plan may take: then what was found so far is the plan. Absent: no limit. */
  readonly maxPlanningMs?: number;
  readonly maxCoresTotal: number;
  readonly maxMemoryTotalBytes: number;
  /** Pods with an explicit priority below this never cause a scale-up. */
  readonly expendablePriorityCutoff: number;
  readonly newPodDelayMs: number;
  /** The same for pods that ask for GPUs: nodes with GPUs are dear, and their pods come in groups. Absent: no delay of their own. */
  readonly newGpuPodDelayMs?: number;
  /** Whether pods that controllers are about to make ask for room. Absent: not. */
  readonly proactive?: boolean;
  /** How many pods may ask for room before such pods are left out. Absent: no limit. */
  readonly podInjectionLimit?: number;
  /** Pods of other schedulers ask for nothing. Absent or empty: pods of every scheduler count. */
  readonly allowedSchedulers?: readonly string[];
  /** Pods of these need not have been refused by their scheduler first. Absent: none. */
  readonly bypassedSchedulers?: readonly string[];
  readonly maxProvisionMs: number;
  readonly balanceSimilarGroups: boolean;
  /** Labels that may differ between similar groups, beside those that always may. Absent: none. */
  readonly balancingIgnoreLabels?: readonly string[];
  /** Not empty: groups are similar when these labels are equal, whatever else they are. Absent: none. */
  readonly balancingLabels?: readonly string[];
  /** How far similar groups may be apart. Absent: {@link DEFAULT_DIFFERENCE_RATIOS}. */
  readonly differenceRatios?: DifferenceRatios;
  /** Rules of the priority expander; the highest level wins. Absent: none. */
  readonly priorities?: readonly PriorityLevel[];
  /** What one node costs per hour, by VM size in lower case; spot nodes as `<size>/spot`, Windows as `<size>/windows[/spot]`. Absent: no price is known. */
  readonly prices?: Readonly<Record<string, number>>;
  /** Azure's list prices, for sizes that none is stated for. Absent: not known. */
  readonly listPrices?: ListPrices;
  /** The same by group id, where one is stated for a group; it goes before its size's. */
  readonly groupPrices?: Readonly<Record<string, number>>;
  readonly enforceMinSize: boolean;
  /** No node is asked for while a watch of the cluster has been silent for longer. Absent: no limit. */
  readonly maxClusterStalenessMs?: number;
}

/** Shares, from 0 to 1, of the larger value by which two groups may differ and still be similar. 0: they must be equal. */
export interface DifferenceRatios {
  /** Of the capacity of memory; every other capacity must be equal. */
  readonly memory: number;
  readonly allocatable: number;
  /** What is allocatable less what the pods of every node ask for. */
  readonly free: number;
}

/** The Cluster Autoscaler's. */
export const DEFAULT_DIFFERENCE_RATIOS: DifferenceRatios = { memory: 0.015, allocatable: 0.05, free: 0.05 };

export interface BackoffPolicy {
  readonly initialMs: number;
  readonly maxMs: number;
  readonly resetAfterMs: number;
}

export interface ScaleDownPolicy {
  readonly enabled: boolean;
  readonly utilizationThreshold: number;
  /** Of nodes with GPUs, for which only these count; absent: 0.5. */
  readonly gpuUtilizationThreshold?: number;
  /** Whether nodes that are not ready may go; absent: they may. */
  readonly unreadyEnabled?: boolean;
  readonly unneededForMs: number;
  readonly unreadyForMs: number;
  readonly delayAfterAddMs: number;
  readonly delayAfterDeleteMs: number;
  readonly delayAfterFailureMs: number;
  /** Whether the three delays hold for the group alone to which it happened; absent: for all. */
  readonly delaysPerGroup?: boolean;
  readonly recheckUnremovableAfterMs: number;
  readonly ignoreDaemonSetsUtilization: boolean;
  /** The same for mirror pods; absent: they count. */
  readonly ignoreMirrorPodsUtilization?: boolean;
  readonly skipNodesWithSystemPods: boolean;
  /** For how long from its creation a kube-system pod without a budget holds its node. Absent: one hour. */
  readonly systemPodBlocksForMs?: number;
  readonly skipNodesWithLocalStorage: boolean;
  readonly skipNodesWithCustomControllerPods: boolean;
  readonly maxParallel: number;
  readonly maxParallelDrains: number;
  /** A ReplicaSet or ReplicationController that keeps fewer pods holds their nodes. Absent: 0. */
  readonly minReplicaCount?: number;
  /** How long removals may be simulated in one loop. Absent: no limit. */
  readonly maxSimulationMs?: number;
  /** A cap that even a bug cannot pass: nodes removed within `removalWindowMs`. */
  readonly maxRemovalsPerWindow: number;
  readonly removalWindowMs: number;
  readonly softTaintBudget: number;
  /** No soft taint is changed once a loop has spent so much time on them. Absent: 3 s. */
  readonly softTaintTimeMs?: number;
  /** Age up to which a soft taint of an earlier run is believed, and stays while soft taints are off; 0 or absent: one hour, and not at all. */
  readonly candidateTtlMs?: number;
  /** What the nodes of the cluster must keep together when some are removed. Absent or 0: no minimum. */
  readonly minCoresTotal?: number;
  readonly minMemoryTotalBytes?: number;
  /** Nothing is removed while a watch of the cluster has been silent for longer. Absent: no limit. */
  readonly maxClusterStalenessMs?: number;
}

/** Pods of this priority and above, up to the next band; `graceMs` caps their grace, 0 does not. */
export interface DrainBand {
  readonly priority: number;
  readonly graceMs: number;
}

export interface DrainPolicy {
  /** Caps the grace of every pod where no bands are given; 0 does not. */
  readonly maxGracefulTerminationMs: number;
  /** Ascending. Evicted one band after the other, pods of DaemonSets among them. Absent or empty: ordinary pods, then critical ones. */
  readonly bands?: readonly DrainBand[];
  /** Whether pods of DaemonSets are evicted, last and without waiting for them. Absent: not. */
  readonly evictDaemonPods?: { readonly fromOccupied: boolean; readonly fromEmpty: boolean };
  /** With bands: pods of DaemonSets go band after band once all other pods have gone. Absent: each in its own band. */
  readonly daemonPodsLast?: boolean;
  readonly evictionTimeoutMs: number;
  readonly evictionRetryMs: number;
  readonly delayAfterTaintMs: number;
  readonly cordon: boolean;
  /** How long a drained node is kept for those who ask for a delay by annotation. 0 or absent: not at all. */
  readonly deletionDelayTimeoutMs?: number;
}

/** When the cluster as a whole is left alone. Absent keys: the Cluster Autoscaler's defaults. */
export interface ClusterPolicy {
  /** So many unready nodes never matter. Absent: 3. */
  readonly okUnreadyNodes?: number;
  /** Of the registered nodes, from 0 to 1; absent: 0.45. */
  readonly maxUnreadyShare?: number;
  /** For how long a new node that is not ready counts as starting. Absent: 15 min. */
  readonly maxStartupMs?: number;
  /** Whether a cluster without a ready node may grow; absent: it may. */
  readonly scaleUpFromZero?: boolean;
  /** Taints that pass; absent: those that are always known. */
  readonly taints?: TaintRules;
  /** Whether a group known only by a cordoned node is taken to add nodes that are not cordoned; absent: not. */
  readonly scaleFromUnschedulable?: boolean;
}

/** Objects by which people ask for, reserve and limit capacity; all off by default, as in the Cluster Autoscaler. */
export interface CapacityPolicy {
  /** Whether CapacityQuota objects limit growth. */
  readonly quotas: boolean;
  /** Whether the statuses of CapacityBuffer objects are kept. */
  readonly bufferController: boolean;
  /** Whether their pods ask for room. */
  readonly bufferInjection: boolean;
  /** Whether ProvisioningRequest objects are served. */
  readonly requests: boolean;
  readonly requestInitialBackoffMs: number;
  readonly requestMaxBackoffMs: number;
  /** Requests whose time-out is remembered. */
  readonly requestBackoffs: number;
  /** Requests that only ask whether there is room, per loop. */
  readonly checksPerLoop: number;
  /** The time for those of one loop. */
  readonly checksTimeboxMs: number;
  /** Only requests that name this instance are checked; absent: only those that name none. */
  readonly processorInstance?: string;
}

export interface Policy {
  /** Absent: none of it. */
  readonly capacity?: CapacityPolicy;
  readonly cluster?: ClusterPolicy;
  readonly scaleUp: ScaleUpPolicy;
  readonly scaleDown: ScaleDownPolicy;
  readonly backoff: BackoffPolicy;
  readonly drain: DrainPolicy;
}

// What an hour of a group's node costs, from the first source that says so. Nothing is made up: a size may have no price.

export type PriceSources = Pick<ScaleUpPolicy, 'prices' | 'groupPrices' | 'listPrices'>;
