/** How long things take in the simulated cluster. Durations are of the world: its speed divides them. */
export interface ClusterLatencies {
  /** From a running operating system to a registered node. */
  readonly registerMs: number;
  /** From registration until the cloud node controller has set the provider id and taken its taint away. */
  readonly cloudInitMs: number;
  /** From registration to Ready. */
  readonly readyMs: number;
  /** Without a sign of life for this long, Ready turns Unknown. */
  readonly nodeMonitorGraceMs: number;
  /** From the platform's notice to the node's condition: how often the node problem detector asks the metadata service. */
  readonly scheduledEventMs: number;
  /** From the VM's end to the end of its Node. */
  readonly nodeDeleteMs: number;
  /** From the end of a Node to the removal of the pods it still had. */
  readonly podGcMs: number;
  /** From binding to Running and Ready. */
  readonly podStartMs: number;
  /** How long containers need to stop when asked; never more than the pod's grace. */
  readonly podStopMs: number;
  /** From a claim that is due to the volume made for it. */
  readonly volumeMs: number;
  /** From a ready kubelet until the disk driver has registered with it: only then the node says what it can attach. */
  readonly csiMs: number;
  /** From a change that may help to the scheduler's next look. */
  readonly schedulerMs: number;
  /** How old the nodes of machines are that run when the world starts. */
  readonly initialNodeAgeMs: number;
  readonly bookmarkMs: number;
  /** Changes that a watch can reach back. */
  readonly eventLogLimit: number;
  readonly eventTtlMs: number;
  readonly goneAs: 'event' | 'status';
  /** Pods that a node takes: 110 with kubenet, 30 or 250 with Azure CNI; the pools of this world do not say. */
  readonly maxPods: number;
}

/** Medians of an AKS cluster; see the named steps of node start-up in field reports. */
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
  csiMs: 5_000,
  schedulerMs: 0,
  initialNodeAgeMs: 3_600_000,
  bookmarkMs: 60_000,
  eventLogLimit: 10_000,
  eventTtlMs: 3_600_000,
  goneAs: 'event',
  maxPods: 110,
};
