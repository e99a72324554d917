import type { BlockTexts } from '../../../src/domain/group-blocks.ts';
import type { LoopState } from '../../../src/domain/loop-state.ts';
import type { NodeGroup } from '../../../src/domain/node-group.ts';
import type { Node } from '../../../src/domain/node.ts';
import type { Observation } from '../../../src/domain/observation.ts';
import type { ScaleDownPlan } from '../../../src/domain/plan.ts';
import type { Pod } from '../../../src/domain/pod.ts';
import type { Policy } from '../../../src/domain/policy.ts';
import type { DisruptionBudget, PodGroups } from '../../../src/domain/workloads.ts';
import type { FullGroups } from '../../../src/planning/scale-down/full-groups.ts';
import { planScaleDown } from '../../../src/planning/scale-down/plan.ts';
import { ClusterSnapshot } from '../../../src/scheduling/snapshot/cluster-snapshot.ts';
import { aCluster, aGroup, aNode, anObservation, aPod, resourceNames, START_MS } from '../../support/builders.ts';
import { aPolicy } from '../../support/policy.ts';
import { REMOVALS_ALONE } from '../../../src/planning/scale-down/plan-context.ts';
import { aState } from '../../support/state.ts';

export const MINUTE = 60_000;

export interface World {
  readonly groups: readonly NodeGroup[];
  readonly nodes: readonly Node[];
  readonly pods?: readonly Pod[];
  readonly budgets?: readonly DisruptionBudget[];
  readonly podGroups?: PodGroups;
  readonly state?: Partial<LoopState>;
  readonly policy?: Policy;
  readonly scaleUpPlanned?: boolean;
  readonly cloud?: Partial<Observation['cloud']>;
  readonly stalenessMs?: number;
  readonly isLate?: (made: number) => boolean;
  readonly fullGroups?: FullGroups;
}

export function observe(world: World): Observation {
  const { podGroups } = world;
  const objects = { nodes: world.nodes, pods: world.pods ?? [], disruptionBudgets: world.budgets ?? [] };
  const cluster = aCluster({ ...objects, ...(podGroups === undefined ? {} : { podGroups }) });
  const observation = anObservation(world.groups, cluster);
  return {
    ...observation,
    cluster: { ...cluster, stalenessMs: world.stalenessMs ?? 0 },
    cloud: { ...observation.cloud, ...world.cloud },
  };
}

/** Plans with the real snapshot; a long-quiet state unless told otherwise. */
export function plan(world: World): ScaleDownPlan {
  const observation = observe(world);
  const snapshot = new ClusterSnapshot({ names: resourceNames });
  snapshot.sync(observation.cluster);
  return planScaleDown({
    ...REMOVALS_ALONE,
    observation,
    state: aState(world.state),
    policy: world.policy ?? aPolicy(),
    names: resourceNames,
    snapshot,
    scaleUpPlanned: world.scaleUpPlanned ?? false,
    ...(world.fullGroups === undefined ? {} : { fullGroups: world.fullGroups }),
    ...(world.isLate === undefined ? {} : { isLate: world.isLate }),
  });
}

export function sinceMinutes(minutes: number, nodes: readonly string[]): ReadonlyMap<string, number> {
  return new Map(nodes.map((node) => [node, START_MS - minutes * MINUTE]));
}

export function keptReasons(result: ScaleDownPlan): Readonly<Record<string, string>> {
  return Object.fromEntries(result.kept.map((kept) => [kept.node, kept.reason]));
}

/** A group of `size` nodes named `<id>-<n>`, minimum 0. */
export function pool(
  id: string,
  size: number,
  { frozen, removalsHeld, removalsHeldOf, deletionsWait, ...rest }: Partial<NodeGroup> & BlockTexts = {},
): NodeGroup {
  return { ...aGroup({ id, target: size, maxSize: 100, frozen, removalsHeld, removalsHeldOf, deletionsWait }), ...rest };
}

/** Nodes of 4 cores and 16 GiB. */
export const nodes = (...names: readonly string[]) => names.map((name) => aNode({ name, cpu: '4', memory: '16Gi' }));
/** `p-0`, `p-1` ... */
export const names = (count: number, prefix = 'p') => Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
/** Closed to pods of others, so that those of each go to nodes of their own. */
export const closed = (...all: readonly string[]) => all.map((name) => aNode({ name, cpu: '4', memory: '16Gi', unschedulable: true }));
/** Room for one small pod each. */
export const slots = (count: number) => names(count, 'q').map((name) => aNode({ name, cpu: '150m', memory: '2Gi' }));
/** The nodes that a plan removes, in its order. */
export const removed = (result: ReturnType<typeof plan>) => result.removals.map((removal) => removal.node);
/** A pod of 1 GiB on a node. */
export const pod = (nodeName: string, cpu = '1', name = `${nodeName}-${cpu}`) => aPod({ name, nodeName, cpu, memory: '1Gi' });
/** These groups with all their nodes, which are unneeded for this many minutes. */
export function idle(groups: readonly NodeGroup[], minutes = 30, state: Partial<LoopState> = {}) {
  const all = groups.flatMap(({ id, target }) => names(target.known ? target.value : 0, id));
  return { groups, nodes: nodes(...all), state: { unneededSince: sinceMinutes(minutes, all), ...state } };
}
