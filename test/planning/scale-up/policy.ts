import { nodeGroupId, type NodeGroupId } from '../../../src/domain/ids.ts';
import type { LoopState } from '../../../src/domain/loop-state.ts';
import type { NodeGroup } from '../../../src/domain/node-group.ts';
import type { Node } from '../../../src/domain/node.ts';
import type { CloudView } from '../../../src/domain/observation.ts';
import type { ScaleUpPlan } from '../../../src/domain/plan.ts';
import type { Pod } from '../../../src/domain/pod.ts';
import type { Policy, ScaleUpPolicy } from '../../../src/domain/policy.ts';
import { planScaleUp } from '../../../src/planning/scale-up/plan.ts';
import { aCluster, anObservation, aCloud, resourceNames, START_MS, type ClusterOptions } from '../../support/builders.ts';

export const NO_STATE: LoopState = {
  unneededSince: new Map(),
  unremovable: new Map(),
  backoffs: new Map(),
  stockouts: [],
  increases: new Map(),
  deleting: new Map(),
  lastScaleUpMs: 0,
  lastScaleDownMs: 0,
  lastScaleDownFailureMs: 0,
  removals: [],
};

const SCALE_UP: ScaleUpPolicy = {
  expanders: ['least-waste'],
  randomSeed: 1,
  maxNodesTotal: 0,
  maxNodesPerScaleUp: 1000,
  maxCoresTotal: 0,
  maxMemoryTotalBytes: 0,
  expendablePriorityCutoff: -10,
  newPodDelayMs: 0,
  maxProvisionMs: 900_000,
  balanceSimilarGroups: false,
  enforceMinSize: false,
};

export function aPolicy(scaleUp: Partial<ScaleUpPolicy> = {}): Policy {
  return {
    scaleUp: { ...SCALE_UP, ...scaleUp },
    scaleDown: {
      enabled: false,
      utilizationThreshold: 0.5,
      unneededForMs: 0,
      unreadyForMs: 0,
      delayAfterAddMs: 0,
      delayAfterDeleteMs: 0,
      delayAfterFailureMs: 0,
      recheckUnremovableAfterMs: 0,
      ignoreDaemonSetsUtilization: false,
      skipNodesWithSystemPods: true,
      skipNodesWithLocalStorage: true,
      skipNodesWithCustomControllerPods: true,
      maxParallel: 1,
      maxParallelDrains: 1,
      maxRemovalsPerWindow: 1,
      removalWindowMs: 1,
      softTaintBudget: 0,
    },
    backoff: { initialMs: 1, maxMs: 1, resetAfterMs: 1 },
    drain: { maxGracefulTerminationMs: 0, evictionTimeoutMs: 0, evictionRetryMs: 0, delayAfterTaintMs: 0, cordon: false },
  };
}

export interface World extends ClusterOptions {
  readonly groups: readonly NodeGroup[];
  readonly nodes?: readonly Node[];
  readonly state?: Partial<LoopState>;
  readonly policy?: Partial<ScaleUpPolicy>;
  readonly cloud?: Partial<CloudView>;
  readonly exclude?: readonly string[];
}

export function planFor(world: World): ScaleUpPlan {
  const cluster = aCluster(world);
  const observation = anObservation(world.groups, cluster, { cloud: aCloud(world.groups, cluster, world.cloud) });
  const exclude = new Set((world.exclude ?? []).map((id): NodeGroupId => nodeGroupId(id)));
  return planScaleUp({
    observation,
    state: { ...NO_STATE, ...world.state },
    policy: aPolicy(world.policy),
    names: resourceNames,
    exclude,
  });
}

/** `group from->to` of every increase, in order. */
export function growth(plan: ScaleUpPlan): readonly string[] {
  return plan.increases.map(({ group, from, to }) => `${group} ${from}->${to}`);
}

export function verdictOf(plan: ScaleUpPlan, pod: Pod) {
  return plan.verdicts.get(pod);
}

export function skipOf(plan: ScaleUpPlan, group: string) {
  return plan.skipped.find((skipped) => skipped.group === group)?.reason;
}

export { START_MS };
