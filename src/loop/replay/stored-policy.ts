/**
 * The policy as a dump states it. Dumps of earlier versions lack members that came later: each has the value under which such a version
 * decided.
 */
import { NO_TAINT_RULES, type TaintRules } from '../../domain/taints.ts';
import { DEFAULT_DIFFERENCE_RATIOS, type CapacityPolicy, type ClusterPolicy, type Policy } from '../../domain/policy.ts';
import { DEFAULT_REPACK } from '../../domain/repack.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
/** Effectively no limit, and still a number that survives JSON and arithmetic. */
const UNLIMITED = Number.MAX_SAFE_INTEGER;

const SCALE_UP = {
  maxNodesPerGroupPerMinute: 0,
  maxPlanningMs: UNLIMITED,
  newGpuPodDelayMs: 0,
  proactive: false,
  podInjectionLimit: UNLIMITED,
  allowedSchedulers: [],
  bypassedSchedulers: [],
  balancingIgnoreLabels: [],
  balancingLabels: [],
  differenceRatios: DEFAULT_DIFFERENCE_RATIOS,
  priorities: undefined,
  prices: undefined,
  listPrices: undefined,
  groupPrices: {},
  priceDiscounts: [],
  paidNodes: [],
  spotEvictionWave: 0,
  nominateNodes: false,
  maxClusterStalenessMs: UNLIMITED,
} as const;

const SCALE_DOWN = {
  cancelIncreases: false,
  makeRoom: false,
  gpuUtilizationThreshold: 0.5,
  unreadyEnabled: true,
  delaysPerGroup: false,
  ignoreMirrorPodsUtilization: false,
  systemPodBlocksForMs: 60 * MINUTE_MS,
  minReplicaCount: 0,
  maxSimulationMs: UNLIMITED,
  maxEmptyRemovalsPerWindow: undefined,
  budgets: [],
  softTaintTimeMs: 3 * SECOND_MS,
  candidateTtlMs: 0,
  keepReserved: false,
  minCoresTotal: 0,
  minMemoryTotalBytes: 0,
  maxClusterStalenessMs: UNLIMITED,
} as const;

const DRAIN = {
  bands: [],
  evictDaemonPods: { fromOccupied: false, fromEmpty: false },
  daemonPodsLast: false,
  deletionDelayTimeoutMs: 0,
  volumeDetachTimeoutMs: 0,
  loadBalancerWaitMs: 0,
} as const;

const CLUSTER: ClusterPolicy = {
  okUnreadyNodes: 3,
  maxUnreadyShare: 0.45,
  maxStartupMs: 15 * MINUTE_MS,
  scaleUpFromZero: true,
  taints: NO_TAINT_RULES,
  scaleFromUnschedulable: false,
  avoidDownZones: false,
  verticalPodAutoscalers: false,
};

const CAPACITY: CapacityPolicy = {
  quotas: false,
  bufferController: false,
  bufferInjection: false,
  requests: false,
  requestInitialBackoffMs: MINUTE_MS,
  requestMaxBackoffMs: 10 * MINUTE_MS,
  requestBackoffs: 1_000,
  checksPerLoop: 1,
  checksTimeboxMs: 10 * SECOND_MS,
  processorInstance: '',
  headroom: [],
  podDryRun: false,
};

type Without<Section, Later> = Omit<Section, keyof Later> & { readonly [Key in keyof Later & keyof Section]?: Section[Key] };

/** What every dump states; later members may be missing. */
export interface StoredPolicy {
  readonly scaleUp: Without<Policy['scaleUp'], typeof SCALE_UP>;
  readonly scaleDown: Without<Policy['scaleDown'], typeof SCALE_DOWN>;
  readonly backoff: Policy['backoff'];
  readonly drain: Without<Policy['drain'], typeof DRAIN>;
  readonly cluster?: Partial<Omit<ClusterPolicy, 'taints'>> & { readonly taints?: Partial<TaintRules> };
  readonly capacity?: Partial<CapacityPolicy>;
  readonly repack?: Policy['repack'];
}

export function wholePolicy({ scaleUp, scaleDown, backoff, drain, cluster, capacity, repack }: StoredPolicy): Policy {
  return {
    scaleUp: { ...SCALE_UP, ...scaleUp },
    scaleDown: { ...SCALE_DOWN, ...scaleDown },
    backoff,
    drain: { ...DRAIN, ...drain },
    cluster: { ...CLUSTER, ...cluster, taints: { ...NO_TAINT_RULES, ...cluster?.taints } },
    capacity: { ...CAPACITY, ...capacity },
    repack: repack ?? DEFAULT_REPACK,
  };
}
