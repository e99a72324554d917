/** The default policy, so that a test or a benchmark says only what it changes. */
import { wholePolicy, type StoredPolicy } from '../../src/loop/replay/stored-policy.ts';
import type { CapacityPolicy, Policy, ScaleDownPolicy, ScaleUpPolicy } from '../../src/domain/policy.ts';

const MINUTE = 60_000;

/** The members that every version had; later ones have the values under which such a version decided. */
export const FIRST_POLICY: StoredPolicy = {
  scaleUp: {
    expanders: ['least-waste'],
    randomSeed: 1,
    maxNodesTotal: 0,
    maxNodesPerScaleUp: 1000,
    maxCoresTotal: 320_000,
    maxMemoryTotalBytes: 6_400_000 * 2 ** 30,
    expendablePriorityCutoff: -10,
    newPodDelayMs: 0,
    maxProvisionMs: 15 * MINUTE,
    balanceSimilarGroups: false,
    enforceMinSize: true,
  },
  scaleDown: {
    enabled: true,
    utilizationThreshold: 0.5,
    unneededForMs: 10 * MINUTE,
    unreadyForMs: 20 * MINUTE,
    delayAfterAddMs: 10 * MINUTE,
    delayAfterDeleteMs: 0,
    delayAfterFailureMs: 3 * MINUTE,
    recheckUnremovableAfterMs: 5 * MINUTE,
    ignoreDaemonSetsUtilization: false,
    skipNodesWithSystemPods: true,
    skipNodesWithLocalStorage: false,
    skipNodesWithCustomControllerPods: false,
    maxParallel: 10,
    maxParallelDrains: 1,
    maxRemovalsPerWindow: 50,
    removalWindowMs: 10 * MINUTE,
    softTaintBudget: 10,
  },
  backoff: { initialMs: 5 * MINUTE, maxMs: 30 * MINUTE, resetAfterMs: 180 * MINUTE },
  drain: {
    maxGracefulTerminationMs: 10 * MINUTE,
    evictionTimeoutMs: 2 * MINUTE,
    evictionRetryMs: 10_000,
    delayAfterTaintMs: 5_000,
    cordon: true,
  },
};

export function aPolicy(change: { readonly scaleUp?: Partial<ScaleUpPolicy>; readonly scaleDown?: Partial<ScaleDownPolicy> } = {}): Policy {
  const { scaleUp, scaleDown, ...rest } = wholePolicy(FIRST_POLICY);
  return { ...rest, scaleUp: { ...scaleUp, ...change.scaleUp }, scaleDown: { ...scaleDown, ...change.scaleDown } };
}

/** Everything off unless said otherwise. */
export function aCapacityPolicy(change: Partial<CapacityPolicy> = {}): CapacityPolicy {
  return {
    quotas: false,
    bufferController: false,
    bufferInjection: false,
    requests: false,
    requestInitialBackoffMs: MINUTE,
    requestMaxBackoffMs: 10 * MINUTE,
    requestBackoffs: 1000,
    checksPerLoop: 1,
    checksTimeboxMs: 10_000,
    processorInstance: '',
    headroom: [],
    podDryRun: false,
    ...change,
  };
}
