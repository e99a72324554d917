import { nodeGroupId, type NodeGroupId } from '../../../src/domain/ids.ts';
import type { NodeGroup } from '../../../src/domain/node-group.ts';
import type { Node } from '../../../src/domain/node.ts';
import type { CloudView, Observation } from '../../../src/domain/observation.ts';
import type { ScaleUpPlan } from '../../../src/domain/plan.ts';
import type { Pod } from '../../../src/domain/pod.ts';
import type { CapacityPolicy, Policy, ScaleUpPolicy } from '../../../src/domain/policy.ts';
import { planScaleUp } from '../../../src/planning/scale-up/plan.ts';
import type { IsLate } from '../../../src/planning/scale-up/pods/try-limits.ts';
import { FIRST_PLAN, type ScaleUpInput } from '../../../src/planning/scale-up/plan-input.ts';
import { aCluster, anObservation, aCloud, resourceNames, START_MS, type ClusterOptions } from '../../support/builders.ts';
import { aCapacityPolicy, aPolicy as aDefaultPolicy } from '../../support/policy.ts';
import { aState, type StateParts } from '../../support/state.ts';

/** No minimum sizes unless a test is about them. */
export function aPolicy(scaleUp: Partial<ScaleUpPolicy> = {}): Policy {
  return aDefaultPolicy({ scaleUp: { enforceMinSize: false, ...scaleUp } });
}

export interface World extends ClusterOptions {
  readonly groups: readonly NodeGroup[];
  readonly nodes?: readonly Node[];
  readonly state?: StateParts;
  readonly policy?: Partial<ScaleUpPolicy>;
  readonly capacityPolicy?: Partial<CapacityPolicy>;
  readonly cloud?: Partial<CloudView>;
  readonly exclude?: readonly string[];
  readonly stalenessMs?: number;
  readonly loopId?: number;
  readonly nowMs?: number;
  readonly isLate?: IsLate;
  readonly retries?: number;
}

export function observationOf(world: World): Observation {
  const cluster = { ...aCluster(world), stalenessMs: world.stalenessMs ?? 0 };
  const { loopId = 1, nowMs = START_MS } = world;
  return anObservation(world.groups, cluster, { cloud: aCloud(world.groups, cluster, world.cloud), loopId, nowMs });
}

export function planFor(world: World): ScaleUpPlan {
  return planScaleUp(inputFor(world));
}

export function inputFor(world: World): ScaleUpInput {
  const exclude = new Set((world.exclude ?? []).map((id): NodeGroupId => nodeGroupId(id)));
  return {
    ...FIRST_PLAN,
    observation: observationOf(world),
    state: aState(world.state),
    policy: {
      ...aPolicy(world.policy),
      ...(world.capacityPolicy === undefined ? {} : { capacity: aCapacityPolicy(world.capacityPolicy) }),
    },
    names: resourceNames,
    exclude,
    ...(world.isLate === undefined ? {} : { isLate: world.isLate }),
    ...(world.retries === undefined ? {} : { retries: world.retries }),
  };
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
