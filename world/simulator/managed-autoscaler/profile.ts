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

/** The settings that the imitation follows, from the profile of the cluster. Every setting of a profile is present and valid. */
export function profileOf(published: Readonly<Record<string, unknown>>): AutoscalerProfile {
  const text = (key: string): string => String(published[key]);
  const ms = (key: string): number => durationMs(text(key));
  return {
    scanIntervalMs: ms('scan-interval'),
    delayAfterAddMs: ms('scale-down-delay-after-add'),
    delayAfterFailureMs: ms('scale-down-delay-after-failure'),
    unneededForMs: ms('scale-down-unneeded-time'),
    utilizationThreshold: Number(text('scale-down-utilization-threshold')),
    maxEmptyAtOnce: Number(text('max-empty-bulk-delete')),
    maxDrainMs: ms('max-graceful-termination-sec'),
    keepsSystemPods: text('skip-nodes-with-system-pods') === 'true',
    keepsLocalStorage: text('skip-nodes-with-local-storage') === 'true',
    firstBackoffMs: 300_000,
    maxBackoffMs: 1_800_000,
  };
}

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };

/** `10m`, `10s`; without a unit in seconds. */
function durationMs(text: string): number {
  return Number.parseInt(text, 10) * (UNITS[text.at(-1) ?? ''] ?? 1_000);
}
