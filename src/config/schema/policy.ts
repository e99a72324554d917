/** The part of the schema that becomes the planner's policy. Defaults are the Cluster Autoscaler's unless a comment explains why not. */
import * as z from 'zod';
import { DEFAULT_DIFFERENCE_RATIOS } from '../../domain/policy.ts';
import { expanderKeys, expandersOf, checkExpanders } from './expanders.ts';
import { headroomOfCluster } from './headroom.ts';
import { removalBudgets } from './removal-budgets.ts';
import { duration, flag, fraction, HOUR_MS, MINUTE_MS, number, SECOND_MS, text, wholeNumber } from './value-types.ts';

/** Effectively no limit, and still a number that survives JSON and arithmetic. */
const UNLIMITED = Number.MAX_SAFE_INTEGER;
const GIB = 2 ** 30;

export const cluster = z
  .strictObject({
    okTotalUnreadyCount: wholeNumber(0).default(3),
    maxTotalUnreadyPercentage: number(45, 0, 100),
    maxNodeStartupTime: duration(15 * MINUTE_MS),
    scaleUpFromZero: flag(true),
    avoidDownZones: flag(false),
    verticalPodAutoscalers: flag(false),
    scaleFromUnschedulable: flag(false),
    startupTaints: z.array(text('a taint'), { error: 'a list of taints' }).default([]),
    startupTaintPrefixes: z.array(text('a taint prefix'), { error: 'a list of taint prefixes' }).default([]),
    statusTaints: z.array(text('a taint'), { error: 'a list of taints' }).default([]),
  })
  .prefault({})
  .transform((given) => ({
    okUnreadyNodes: given.okTotalUnreadyCount,
    maxUnreadyShare: given.maxTotalUnreadyPercentage / 100,
    maxStartupMs: given.maxNodeStartupTime,
    scaleUpFromZero: given.scaleUpFromZero,
    avoidDownZones: given.avoidDownZones,
    verticalPodAutoscalers: given.verticalPodAutoscalers,
    scaleFromUnschedulable: given.scaleFromUnschedulable,
    taints: { startup: given.startupTaints, startupPrefixes: given.startupTaintPrefixes, status: given.statusTaints },
  }));

const scaleUpObject = z
  .strictObject({
    ...expanderKeys,
    randomSeed: wholeNumber(0).default(1),
    maxNodesTotal: wholeNumber(0)
      .transform((nodes) => (nodes === 0 ? UNLIMITED : nodes))
      .default(UNLIMITED),
    maxNodesPerScaleUp: wholeNumber(0).default(1000),
    maxNodesPerGroupPerMinute: wholeNumber(0).default(0),
    // Differs from the Cluster Autoscaler (5m): nothing else runs during a plan, and the lease must be renewed every 10 s.
    maxPlanningTime: duration(5 * SECOND_MS, { leastMs: 100 }),
    maxCoresTotal: wholeNumber(0).default(320_000),
    maxMemoryTotalGib: wholeNumber(0, 8_000_000).default(6_400_000),
    expendablePriorityCutoff: wholeNumber(-2_147_483_648, 2_147_483_647).default(-10),
    newPodDelay: duration(0),
    newGpuPodDelay: duration(30 * SECOND_MS),
    proactive: flag(false),
    podInjectionLimit: wholeNumber(0).default(5000),
    allowedSchedulers: z.array(text('the name of a scheduler'), { error: 'a list of schedulers' }).default([]),
    bypassedSchedulers: z.array(text('the name of a scheduler'), { error: 'a list of schedulers' }).default([]),
    maxProvisionTime: duration(15 * MINUTE_MS, { leastMs: SECOND_MS }),
    balanceSimilarGroups: flag(false),
    balancingIgnoreLabels: z.array(text('a label'), { error: 'a list of labels' }).default([]),
    balancingLabels: z.array(text('a label'), { error: 'a list of labels' }).default([]),
    memoryDifferenceRatio: fraction(DEFAULT_DIFFERENCE_RATIOS.memory),
    maxAllocatableDifferenceRatio: fraction(DEFAULT_DIFFERENCE_RATIOS.allocatable),
    maxFreeDifferenceRatio: fraction(DEFAULT_DIFFERENCE_RATIOS.free),
    // Differs from the Cluster Autoscaler (false): users expect that a group below its minimum is increased.
    enforceMinSize: flag(true),
    nominateNodes: flag(false),
    spotEvictionWave: wholeNumber(0).default(0),
    maxClusterStaleness: duration(10 * MINUTE_MS, { leastMs: SECOND_MS }),
  })
  .superRefine(refuseForeignBypass);

export const scaleUp = scaleUpObject.superRefine(checkExpanders).prefault({}).transform(scaleUpPolicy);
/** The same without the check of prices, which may come from outside the configuration. */
export const scaleUpPricedElsewhere = scaleUpObject.prefault({}).transform(scaleUpPolicy);

function scaleUpPolicy({
  newPodDelay,
  maxPlanningTime,
  newGpuPodDelay,
  maxProvisionTime,
  maxMemoryTotalGib,
  maxClusterStaleness,
  memoryDifferenceRatio,
  maxAllocatableDifferenceRatio,
  maxFreeDifferenceRatio,
  expanders,
  priorities,
  prices,
  retailPrices,
  ...rest
}: z.infer<typeof scaleUpObject>) {
  return {
    ...rest,
    ...expandersOf({ expanders, priorities, prices, retailPrices }),
    retailPrices,
    differenceRatios: { memory: memoryDifferenceRatio, allocatable: maxAllocatableDifferenceRatio, free: maxFreeDifferenceRatio },
    maxMemoryTotalBytes: maxMemoryTotalGib * GIB,
    newPodDelayMs: newPodDelay,
    maxPlanningMs: maxPlanningTime,
    newGpuPodDelayMs: newGpuPodDelay,
    maxProvisionMs: maxProvisionTime,
    maxClusterStalenessMs: maxClusterStaleness,
  };
}

interface Schedulers {
  readonly allowedSchedulers: readonly string[];
  readonly bypassedSchedulers: readonly string[];
}

/** Rejects bypassed schedulers that are not allowed: their pods would not count. */
function refuseForeignBypass({ allowedSchedulers, bypassedSchedulers }: Schedulers, context: z.core.$RefinementCtx): void {
  if (allowedSchedulers.length === 0 || bypassedSchedulers.every((name) => allowedSchedulers.includes(name))) return;
  context.addIssue({
    code: 'custom',
    path: ['bypassedSchedulers'],
    message: 'a list of schedulers that scaleUp.allowedSchedulers contains',
  });
}

export const scaleDown = z
  .strictObject({
    enabled: flag(true),
    cancelIncreases: flag(false),
    makeRoom: flag(false),
    utilizationThreshold: fraction(0.5),
    gpuUtilizationThreshold: fraction(0.5),
    unreadyEnabled: flag(true),
    unneededTime: duration(10 * MINUTE_MS),
    unreadyTime: duration(20 * MINUTE_MS),
    delayAfterAdd: duration(10 * MINUTE_MS),
    delayAfterDelete: duration(0),
    delayAfterFailure: duration(3 * MINUTE_MS),
    delaysPerGroup: flag(false),
    unremovableRecheck: duration(5 * MINUTE_MS),
    ignoreDaemonSetsUtilization: flag(false),
    ignoreMirrorPodsUtilization: flag(false),
    skipNodesWithSystemPods: flag(true),
    blockingSystemPodTimeout: duration(HOUR_MS),
    // Differs from the Cluster Autoscaler (true): an emptyDir is scratch space, and pods can block removals by annotation.
    skipNodesWithLocalStorage: flag(false),
    skipNodesWithCustomControllerPods: flag(true),
    minReplicaCount: wholeNumber(0).default(0),
    maxParallelism: wholeNumber(1).default(10),
    maxDrainParallelism: wholeNumber(1).default(1),
    // Differs from the Cluster Autoscaler (30s), for the same reason as `maxPlanningTime`.
    maxSimulationTime: duration(3 * SECOND_MS, { leastMs: 100 }),
    maxRemovalsPerWindow: wholeNumber(1).default(100),
    maxEmptyRemovalsPerWindow: wholeNumber(1).default(1000),
    removalWindow: duration(10 * MINUTE_MS, { leastMs: SECOND_MS }),
    budgets: removalBudgets.default([]),
    maxBulkSoftTaintCount: wholeNumber(0).default(10),
    maxBulkSoftTaintTime: duration(3 * SECOND_MS),
    deletionCandidateTtl: duration(2 * MINUTE_MS),
    keepReserved: flag(true),
    minCoresTotal: wholeNumber(0).default(0),
    minMemoryTotalGib: wholeNumber(0, 8_000_000).default(0),
    // A healthy watch sends a bookmark about once a minute. Two in a row may be lost.
    maxClusterStaleness: duration(3 * MINUTE_MS, { leastMs: SECOND_MS }),
  })
  .prefault({})
  .transform((given) => ({
    enabled: given.enabled,
    cancelIncreases: given.cancelIncreases,
    makeRoom: given.makeRoom,
    utilizationThreshold: given.utilizationThreshold,
    gpuUtilizationThreshold: given.gpuUtilizationThreshold,
    unreadyEnabled: given.unreadyEnabled,
    unneededForMs: given.unneededTime,
    unreadyForMs: given.unreadyTime,
    delayAfterAddMs: given.delayAfterAdd,
    delayAfterDeleteMs: given.delayAfterDelete,
    delayAfterFailureMs: given.delayAfterFailure,
    delaysPerGroup: given.delaysPerGroup,
    recheckUnremovableAfterMs: given.unremovableRecheck,
    ignoreDaemonSetsUtilization: given.ignoreDaemonSetsUtilization,
    ignoreMirrorPodsUtilization: given.ignoreMirrorPodsUtilization,
    skipNodesWithSystemPods: given.skipNodesWithSystemPods,
    systemPodBlocksForMs: given.blockingSystemPodTimeout,
    skipNodesWithLocalStorage: given.skipNodesWithLocalStorage,
    skipNodesWithCustomControllerPods: given.skipNodesWithCustomControllerPods,
    minReplicaCount: given.minReplicaCount,
    maxParallel: given.maxParallelism,
    maxParallelDrains: given.maxDrainParallelism,
    maxSimulationMs: given.maxSimulationTime,
    maxRemovalsPerWindow: given.maxRemovalsPerWindow,
    maxEmptyRemovalsPerWindow: given.maxEmptyRemovalsPerWindow,
    removalWindowMs: given.removalWindow,
    budgets: given.budgets,
    softTaintBudget: given.maxBulkSoftTaintCount,
    softTaintTimeMs: given.maxBulkSoftTaintTime,
    candidateTtlMs: given.deletionCandidateTtl,
    keepReserved: given.keepReserved,
    minCoresTotal: given.minCoresTotal,
    minMemoryTotalBytes: given.minMemoryTotalGib * GIB,
    maxClusterStalenessMs: given.maxClusterStaleness,
  }));

export const backoff = z
  .strictObject({
    initial: duration(5 * MINUTE_MS, { leastMs: SECOND_MS }),
    max: duration(30 * MINUTE_MS, { leastMs: SECOND_MS }),
    resetAfter: duration(3 * HOUR_MS, { leastMs: SECOND_MS }),
  })
  .refine((given) => given.initial <= given.max, { error: 'a first back-off that is not longer than backoff.max', path: ['initial'] })
  .prefault({})
  .transform((given) => ({ initialMs: given.initial, maxMs: given.max, resetAfterMs: given.resetAfter }));

const BAND = 'PRIORITY:SECONDS such as 1000:60; 0 seconds is no cap';

/** One band in the notation of the Cluster Autoscaler's `--drain-priority-config`. */
const drainBand = z.string({ error: BAND }).transform((written, context) => {
  const [, priority, seconds] = /^(-?\d{1,10}):(\d{1,6})$/.exec(written.trim()) ?? [];
  if (priority !== undefined && seconds !== undefined) return { priority: Number(priority), graceMs: Number(seconds) * SECOND_MS };
  context.addIssue({ code: 'custom', message: BAND });
  return z.NEVER;
});

const PLAIN_GRACE_MS = 10 * MINUTE_MS;

/** A removal that takes longer than ten minutes counts as lost. */
const LONGEST_WAIT_MS = 5 * MINUTE_MS;

function shortWait(defaultMs: number) {
  return duration(defaultMs).refine((ms) => ms <= LONGEST_WAIT_MS, { error: 'a duration of at most 5m' });
}

export const drain = z
  .strictObject({
    maxGracefulTermination: duration(PLAIN_GRACE_MS),
    evictionTimeout: duration(2 * MINUTE_MS),
    evictionRetry: duration(10 * SECOND_MS, { leastMs: 100 }),
    delayAfterTaint: duration(5 * SECOND_MS),
    deletionDelayTimeout: duration(2 * MINUTE_MS),
    // Differs from the Cluster Autoscaler, which does not wait.
    volumeDetachTimeout: shortWait(2 * MINUTE_MS),
    loadBalancerWait: shortWait(0),
    cordon: flag(true),
    bands: z.array(drainBand, { error: 'a list of PRIORITY:SECONDS' }).default([]),
    evictDaemonPodsFromOccupied: flag(true),
    evictDaemonPodsFromEmpty: flag(false),
    daemonPodsLast: flag(false),
  })
  // As in the Cluster Autoscaler: bands would silently ignore the general cap.
  .refine((given) => given.bands.length === 0 || given.maxGracefulTermination === PLAIN_GRACE_MS, {
    error: 'used without drain.maxGracefulTermination (--max-graceful-termination-sec), since each band has its own grace period',
    path: ['bands'],
  })
  .prefault({})
  .transform((given) => ({
    maxGracefulTerminationMs: given.maxGracefulTermination,
    evictionTimeoutMs: given.evictionTimeout,
    evictionRetryMs: given.evictionRetry,
    delayAfterTaintMs: given.delayAfterTaint,
    deletionDelayTimeoutMs: given.deletionDelayTimeout,
    volumeDetachTimeoutMs: given.volumeDetachTimeout,
    loadBalancerWaitMs: given.loadBalancerWait,
    cordon: given.cordon,
    bands: [...given.bands].sort((left, right) => left.priority - right.priority),
    evictDaemonPods: { fromOccupied: given.evictDaemonPodsFromOccupied, fromEmpty: given.evictDaemonPodsFromEmpty },
    daemonPodsLast: given.daemonPodsLast,
  }));

/** All off by default, as in the Cluster Autoscaler. */
export const capacity = z
  .strictObject({
    quotas: flag(false),
    bufferController: flag(false),
    bufferInjection: flag(false),
    provisioningRequests: flag(false),
    headroom: headroomOfCluster.default([]),
    podDryRun: flag(false),
    requestInitialBackoff: duration(MINUTE_MS, { leastMs: SECOND_MS }),
    requestMaxBackoff: duration(10 * MINUTE_MS, { leastMs: SECOND_MS }),
    requestBackoffs: wholeNumber(1).default(1000),
    checkCapacityBatch: flag(false),
    checkCapacityBatchSize: wholeNumber(1).default(10),
    checkCapacityTimebox: duration(10 * SECOND_MS, { leastMs: 100 }),
    checkCapacityInstance: text('the name of an instance').optional(),
  })
  .refine((given) => given.requestInitialBackoff <= given.requestMaxBackoff, {
    error: 'a wait that is not longer than capacity.requestMaxBackoff',
    path: ['requestInitialBackoff'],
  })
  .prefault({})
  .transform((given) => ({
    quotas: given.quotas,
    bufferController: given.bufferController,
    bufferInjection: given.bufferInjection,
    requests: given.provisioningRequests,
    headroom: given.headroom,
    podDryRun: given.podDryRun,
    requestInitialBackoffMs: given.requestInitialBackoff,
    requestMaxBackoffMs: given.requestMaxBackoff,
    requestBackoffs: given.requestBackoffs,
    checksPerLoop: given.checkCapacityBatch ? given.checkCapacityBatchSize : 1,
    checksTimeboxMs: given.checkCapacityTimebox,
    processorInstance: given.checkCapacityInstance ?? '',
  }));
