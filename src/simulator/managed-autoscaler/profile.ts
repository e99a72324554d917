/**
 * The settings of AKS's own autoscaler, as AKS publishes their defaults (ManagedClusterPropertiesAutoScalerProfile of the
 * Microsoft.ContainerService REST reference). Settings that the profile does not have are the Cluster Autoscaler's own defaults
 * (ca-core: table of flags). Times in milliseconds.
 */
export interface AutoscalerProfile {
  /** scan-interval */
  readonly scanIntervalMs: number;
  /** scale-down-delay-after-add */
  readonly delayAfterAddMs: number;
  /** scale-down-delay-after-failure */
  readonly delayAfterFailureMs: number;
  /** scale-down-unneeded-time */
  readonly unneededForMs: number;
  /** scale-down-utilization-threshold */
  readonly utilizationThreshold: number;
  /** max-empty-bulk-delete */
  readonly maxEmptyAtOnce: number;
  /** max-graceful-termination-sec */
  readonly maxDrainMs: number;
  /** skip-nodes-with-system-pods */
  readonly keepsSystemPods: boolean;
  /** skip-nodes-with-local-storage */
  readonly keepsLocalStorage: boolean;
  /** The Cluster Autoscaler's initial-node-group-backoff-duration and max-node-group-backoff-duration. */
  readonly firstBackoffMs: number;
  readonly maxBackoffMs: number;
}

export const DEFAULT_PROFILE: AutoscalerProfile = {
  scanIntervalMs: 10_000,
  delayAfterAddMs: 600_000,
  delayAfterFailureMs: 180_000,
  unneededForMs: 600_000,
  utilizationThreshold: 0.5,
  maxEmptyAtOnce: 10,
  maxDrainMs: 600_000,
  keepsSystemPods: true,
  keepsLocalStorage: true,
  firstBackoffMs: 300_000,
  maxBackoffMs: 1_800_000,
};
