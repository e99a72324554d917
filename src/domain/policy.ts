/**
 * What the user configured, as the planner reads it. Frozen; every duration is in milliseconds. Every member has a value: the schema of the
 * configuration gives the defaults, and `stored-policy.ts` those of older dumps.
 */
import type { Headroom } from './headroom.ts';
import type { GroupOptions, NodeGroup, StatedOptions } from './node-group.ts';
import type { RemovalCause } from './plan.ts';
import type { PriceTableView } from './quotas-and-prices.ts';
import type { RepackPolicy } from './repack.ts';
import type { TaintRules } from './taints.ts';

export type ExpanderName = 'random' | 'least-waste' | 'least-nodes' | 'most-pods' | 'priority' | 'price' | 'placement' | 'preferences';

/** Groups whose name or agent pool matches one of the patterns (regular expressions, unanchored) are on this level. */
export interface PriorityLevel {
  readonly priority: number;
  readonly patterns: readonly string[];
}

/** A part of the list price that is not paid. Configured prices are paid as they are. */
interface PriceDiscount {
  /** A VM size in lower case, or a pattern of them with `*` and `?`. */
  readonly sizes: string;
  readonly priority: 'Regular' | 'Spot';
  /** From 0 to 99. */
  readonly percent: number;
}

/** Regular nodes that a reservation or a savings plan pays. */
export interface PaidNodes {
  /** A VM size in lower case. */
  readonly size: string;
  readonly count: number;
}

export interface ScaleUpPolicy {
  /** Applied in order; each narrows the options. Ties end by group id. */
  readonly expanders: readonly ExpanderName[];
  /** Seed of the random expander. */
  readonly randomSeed: number;
  readonly maxNodesTotal: number;
  readonly maxNodesPerScaleUp: number;
  /** How many nodes one group may request within a minute. 0: no limit. */
  readonly maxNodesPerGroupPerMinute: number;
  /** The time limit of one plan; afterwards the plan is what was found until then. */
  readonly maxPlanningMs: number;
  readonly maxCoresTotal: number;
  readonly maxMemoryTotalBytes: number;
  /** Pods with an explicit priority below this never cause a scale-up. */
  readonly expendablePriorityCutoff: number;
  readonly newPodDelayMs: number;
  /**
   * The same for pods that request GPUs: such nodes are expensive, and their pods often come in groups. The longer of the two delays holds.
   */
  readonly newGpuPodDelayMs: number;
  /** Whether pods that controllers are about to create cause a scale-up. */
  readonly proactive: boolean;
  /** The number of pending pods above which such pods are left out. */
  readonly podInjectionLimit: number;
  /** Pods of other schedulers never cause a scale-up. If empty, pods of every scheduler do. */
  readonly allowedSchedulers: readonly string[];
  /** Pods of these schedulers count before their scheduler has reported them. */
  readonly bypassedSchedulers: readonly string[];
  readonly maxProvisionMs: number;
  readonly balanceSimilarGroups: boolean;
  /** Labels that may differ between similar groups, besides the built-in ones. */
  readonly balancingIgnoreLabels: readonly string[];
  /** If not empty, groups with equal values of these labels are similar, and nothing else counts. */
  readonly balancingLabels: readonly string[];
  /** How much similar groups may differ. */
  readonly differenceRatios: DifferenceRatios;
  /** Rules of the priority expander; the highest level wins. `undefined` if nothing states them. */
  readonly priorities: readonly PriorityLevel[] | undefined;
  /**
   * The price of a node per hour by VM size in lower case; Spot nodes as `<size>/spot`, Windows as `<size>/windows[/spot]`.
   * `undefined` if no price is configured.
   */
  readonly prices: Readonly<Record<string, number>> | undefined;
  /** Azure's list prices, for sizes without a configured price. `undefined` if unknown. */
  readonly listPrices: PriceTableView | undefined;
  /** The same by group id. A group's price overrides that of its size. */
  readonly groupPrices: Readonly<Record<string, number>>;
  /** What the user's contract takes off list prices. The first that matches a size and priority holds. */
  readonly priceDiscounts: readonly PriceDiscount[];
  /** Nodes that are paid for whether they run or not, one entry for each size. */
  readonly paidNodes: readonly PaidNodes[];
  /** So many evictions of Spot nodes of one size and zone within ten minutes close it like a stockout. 0: evictions close nothing. */
  readonly spotEvictionWave: number;
  readonly enforceMinSize: boolean;
  /** Whether pods are nominated for the registered node that a plan gives them while the node takes no pods yet. */
  readonly nominateNodes: boolean;
  /** No nodes are requested while a watch of the cluster has been silent for longer. */
  readonly maxClusterStalenessMs: number;
}

/** By which share of the larger value, from 0 to 1, two similar groups may differ. 0 means equal values. */
export interface DifferenceRatios {
  /** Of the memory capacity. Every other capacity must be equal. */
  readonly memory: number;
  readonly allocatable: number;
  /** Of the allocatable resources less the requests of the DaemonSet pods. */
  readonly free: number;
}

/** The Cluster Autoscaler's values. */
export const DEFAULT_DIFFERENCE_RATIOS: DifferenceRatios = { memory: 0.015, allocatable: 0.05, free: 0.05 };

export interface BackoffPolicy {
  readonly initialMs: number;
  readonly maxMs: number;
  readonly resetAfterMs: number;
}

/** How many nodes may be removed within the removal window, for some reasons. */
export interface RemovalBudget {
  /** `percent`: of the registered nodes, rounded up. */
  readonly unit: 'nodes' | 'percent';
  readonly amount: number;
  /** Whether all pools share it, or each has its own. */
  readonly per: 'cluster' | 'pool';
  /** Removals for other reasons neither count nor are limited. */
  readonly causes: readonly RemovalCause[];
}

export interface ScaleDownPolicy {
  readonly enabled: boolean;
  /** Whether nodes on their way are deleted once the pods of their increase are gone and nothing else needs them. */
  readonly cancelIncreases: boolean;
  /** Whether pods are moved from full nodes for pods of DaemonSets and for resizes, unless a group has its own option. */
  readonly makeRoom: boolean;
  readonly utilizationThreshold: number;
  /** For nodes with GPUs, where only the GPUs count. */
  readonly gpuUtilizationThreshold: number;
  /** Whether nodes that are not ready may be removed. */
  readonly unreadyEnabled: boolean;
  readonly unneededForMs: number;
  readonly unreadyForMs: number;
  readonly delayAfterAddMs: number;
  readonly delayAfterDeleteMs: number;
  readonly delayAfterFailureMs: number;
  /** Whether the three delays apply only to the group where the event happened, or to all groups. */
  readonly delaysPerGroup: boolean;
  readonly recheckUnremovableAfterMs: number;
  readonly ignoreDaemonSetsUtilization: boolean;
  /** The same for mirror pods. */
  readonly ignoreMirrorPodsUtilization: boolean;
  readonly skipNodesWithSystemPods: boolean;
  /** How long after its creation a kube-system pod without a budget blocks its node. */
  readonly systemPodBlocksForMs: number;
  readonly skipNodesWithLocalStorage: boolean;
  readonly skipNodesWithCustomControllerPods: boolean;
  readonly maxParallel: number;
  readonly maxParallelDrains: number;
  /** A ReplicaSet or ReplicationController with fewer replicas blocks its nodes. */
  readonly minReplicaCount: number;
  /** How long removals may be simulated in one loop. */
  readonly maxSimulationMs: number;
  /** The most nodes removed within `removalWindowMs`: a limit that holds even if other code has a bug. */
  readonly maxRemovalsPerWindow: number;
  /** The same for empty nodes, which have a limit of their own. `undefined`: they count in `maxRemovalsPerWindow`. */
  readonly maxEmptyRemovalsPerWindow: number | undefined;
  readonly removalWindowMs: number;
  /** All of them hold, beside the two limits above. */
  readonly budgets: readonly RemovalBudget[];
  readonly softTaintBudget: number;
  /** Once a loop has spent this time on soft taints it changes no more. */
  readonly softTaintTimeMs: number;
  /**
   * Idle timers of an earlier process count if they were last saved within this time. Soft taints of this age stay while soft taints
   * are off. 0: never, and not at all.
   */
  readonly candidateTtlMs: number;
  /** Whether nodes inside a capacity reservation stay as long as no more VMs use it than it reserves. */
  readonly keepReserved: boolean;
  /** What the cluster's nodes must have left after removals. 0: no minimum. */
  readonly minCoresTotal: number;
  readonly minMemoryTotalBytes: number;
  /** Nothing is removed while a watch of the cluster has been silent for longer. */
  readonly maxClusterStalenessMs: number;
}

/** Pods of this priority and above, up to the next band. `graceMs` limits their grace period; 0 does not. */
export interface DrainBand {
  readonly priority: number;
  readonly graceMs: number;
}

export interface DrainPolicy {
  /** Limits the grace period of every pod if there are no bands. 0 does not. */
  readonly maxGracefulTerminationMs: number;
  /**
   * Ascending. Pods are evicted one band after the other, DaemonSet pods included. If empty: ordinary pods, then critical ones.
   */
  readonly bands: readonly DrainBand[];
  /** Whether DaemonSet pods are evicted, last and without waiting for them. */
  readonly evictDaemonPods: { readonly fromOccupied: boolean; readonly fromEmpty: boolean };
  /** With bands: DaemonSet pods are evicted band after band once all other pods are gone, or each in its own band. */
  readonly daemonPodsLast: boolean;
  readonly evictionTimeoutMs: number;
  readonly evictionRetryMs: number;
  readonly delayAfterTaintMs: number;
  readonly cordon: boolean;
  /** How long a drained node is kept for annotations that request a delay. 0: not at all. */
  readonly deletionDelayTimeoutMs: number;
  /** How long a drained node is kept while volumes are attached to it. 0: not at all. */
  readonly volumeDetachTimeoutMs: number;
  /** How long a drained node is kept so that load balancers stop to use it. 0: not at all. */
  readonly loadBalancerWaitMs: number;
}

/** When the cluster as a whole is frozen. */
export interface ClusterPolicy {
  /** This many unready nodes never matter. */
  readonly okUnreadyNodes: number;
  /** The share of registered nodes, from 0 to 1. */
  readonly maxUnreadyShare: number;
  /** How long a new node that is not ready counts as starting. */
  readonly maxStartupMs: number;
  /** Whether a cluster without a ready node may grow. */
  readonly scaleUpFromZero: boolean;
  /** Temporary taints beside the built-in ones. */
  readonly taints: TaintRules;
  /** Whether a group known only by a cordoned node is assumed to add uncordoned nodes. */
  readonly scaleFromUnschedulable: boolean;
  /** Whether a zone in which most nodes are unready is avoided, and removals in the others wait. */
  readonly avoidDownZones: boolean;
  /** Whether VerticalPodAutoscalers are read: evicted pods come back with what these give them. */
  readonly verticalPodAutoscalers: boolean;
}

/** Objects that request, reserve and limit capacity; all off by default, as in the Cluster Autoscaler. */
export interface CapacityPolicy {
  /** Whether CapacityQuota objects limit scale-up. */
  readonly quotas: boolean;
  /** Whether the status of CapacityBuffer objects is maintained. */
  readonly bufferController: boolean;
  /** Whether the pods of buffers cause a scale-up. */
  readonly bufferInjection: boolean;
  /** Whether ProvisioningRequest objects are served. */
  readonly requests: boolean;
  /** Whether templates of buffers and of headroom count with what a dry run of the API server adds to them. */
  readonly podDryRun: boolean;
  /** Room that is kept free on any nodes. */
  readonly headroom: readonly Headroom[];
  readonly requestInitialBackoffMs: number;
  readonly requestMaxBackoffMs: number;
  /** How many requests' backoffs are remembered. */
  readonly requestBackoffs: number;
  /** How many check-capacity requests one loop serves. */
  readonly checksPerLoop: number;
  /** The time limit for those of one loop. */
  readonly checksTimeboxMs: number;
  /** Only requests that name this instance are checked. If empty, only those that name none. */
  readonly processorInstance: string;
}

export interface Policy {
  readonly capacity: CapacityPolicy;
  readonly cluster: ClusterPolicy;
  readonly repack: RepackPolicy;
  readonly scaleUp: ScaleUpPolicy;
  readonly scaleDown: ScaleDownPolicy;
  readonly backoff: BackoffPolicy;
  readonly drain: DrainPolicy;
}

const resolved = new WeakMap<Policy, WeakMap<StatedOptions, GroupOptions>>();
const NOTHING_STATED: StatedOptions = {};

/** What holds for a group under a policy: the one place where both meet. undefined: a group that is gone states nothing. */
export function optionsOf(group: Pick<NodeGroup, 'options'> | undefined, policy: Policy): GroupOptions {
  const stated = group?.options ?? NOTHING_STATED;
  const known = resolved.get(policy) ?? new WeakMap<StatedOptions, GroupOptions>();
  const before = known.get(stated);
  if (before !== undefined) return before;
  const options = { ...optionsOfAll(policy), ...stated };
  resolved.set(policy, known.set(stated, options));
  return options;
}

function optionsOfAll({ scaleUp, scaleDown, drain, cluster, backoff, repack }: Policy): GroupOptions {
  return {
    ...scaleDown,
    ...drain,
    ...(scaleDown.delaysPerGroup ? {} : { delayAfterAddMs: undefined, delayAfterDeleteMs: undefined }),
    maxProvisionMs: scaleUp.maxProvisionMs,
    maxStartupMs: cluster.maxStartupMs,
    backoffInitialMs: backoff.initialMs,
    backoffMaxMs: backoff.maxMs,
    repack: repack.enabled,
  };
}

// What an hour of a group's node costs, from the first source that says so. Nothing is made up: a size may have no price.

export type PriceSources = Pick<ScaleUpPolicy, 'prices' | 'groupPrices' | 'listPrices' | 'priceDiscounts' | 'paidNodes'>;

export const NO_PRICES: PriceSources = { prices: undefined, groupPrices: {}, listPrices: undefined, priceDiscounts: [], paidNodes: [] };
