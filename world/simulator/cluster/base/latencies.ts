/** The durations of the simulated cluster. They are simulated time: the world's speed divides them. */
export interface ClusterLatencies {
  /** From a running operating system to a registered node. */
  readonly registerMs: number;
  /** From registration until the cloud node controller has set the provider id and removed its taint. */
  readonly cloudInitMs: number;
  /** From registration to Ready. */
  readonly readyMs: number;
  /** Without a heartbeat for this long, Ready becomes Unknown. */
  readonly nodeMonitorGraceMs: number;
  /** From a scheduled event to the node's condition: how often the node problem detector polls the metadata service. */
  readonly scheduledEventMs: number;
  /** From the VM's removal to the deletion of its Node. */
  readonly nodeDeleteMs: number;
  /** From the deletion of a Node to the deletion of its remaining pods. */
  readonly podGcMs: number;
  /** From binding to Running and Ready. */
  readonly podStartMs: number;
  /** How long containers take to stop on request; at most the pod's grace period. */
  readonly podStopMs: number;
  /** From a claim that is due to the creation of its volume. */
  readonly volumeMs: number;
  /** From a bound pod to its attached disk, and from the end of its last pod on a node to the detached disk. Estimates. */
  readonly diskAttachMs: number;
  readonly diskDetachMs: number;
  /** How long a disk stays attached to a node whose kubelet could not unmount it. */
  readonly forceDetachMs: number;
  /** From a ready kubelet to the registration of the disk driver. Only then the node publishes its attach limits. */
  readonly csiMs: number;
  /** From a change that may help to the scheduler's next attempt. */
  readonly schedulerMs: number;
  /** Age of the nodes that exist when the world starts. */
  readonly initialNodeAgeMs: number;
  readonly bookmarkMs: number;
  /** Number of changes that a watch can replay. */
  readonly eventLogLimit: number;
  /** Changes older than this are compacted, as an API server does with etcd every five minutes. */
  readonly compactionMs: number;
  readonly eventTtlMs: number;
  readonly goneAs: 'event' | 'status';
  /** Pod capacity of a node: 110 with kubenet, 30 or 250 with Azure CNI. The pools of this world do not set it. */
  readonly maxPods: number;
}

/** Medians of an AKS cluster, from field reports about the steps of a node's start. */
export const DEFAULT_LATENCIES: ClusterLatencies = {
  registerMs: 0,
  cloudInitMs: 3_000,
  readyMs: 15_000,
  nodeMonitorGraceMs: 40_000,
  scheduledEventMs: 2_000,
  nodeDeleteMs: 10_000,
  podGcMs: 40_000,
  podStartMs: 2_000,
  podStopMs: 1_000,
  volumeMs: 3_000,
  diskAttachMs: 12_000,
  diskDetachMs: 10_000,
  forceDetachMs: 360_000,
  csiMs: 5_000,
  schedulerMs: 0,
  initialNodeAgeMs: 3_600_000,
  bookmarkMs: 60_000,
  eventLogLimit: 10_000,
  compactionMs: 300_000,
  eventTtlMs: 3_600_000,
  goneAs: 'event',
  maxPods: 110,
};
