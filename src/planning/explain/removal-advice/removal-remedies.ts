/** Which changes would remove what keeps one node, before any of them is tried. Pure guesses: only the simulation shows what works. */
import { podName } from '../../../domain/ids.ts';
import type { NodeGroup } from '../../../domain/node-group.ts';
import type { Node } from '../../../domain/node.ts';
import type { Blocker, UnremovableNode } from '../../../domain/plan.ts';
import { POD_GROUP_LABEL } from '../../../domain/workloads.ts';
import type { Pod } from '../../../domain/pod.ts';
import { optionsOf } from '../../../domain/policy.ts';
import { CPU, MEMORY } from '../../../domain/resources.ts';
import type { DisruptionBudget } from '../../../domain/workloads.ts';
import { defined } from '../../../lib/defined.ts';
import { type BudgetCoverage, grown, relaxed, selects } from '../changes/budget-changes.ts';
import type { Change } from '../changes/change-kinds.ts';
import { isOf, workloadOf, type Workload } from '../changes/workload.ts';
import type { KeptNode, RemovalRemedy } from './kept-node.ts';
import { placesFor } from './places.ts';
import { obstacleOf, type RemovalInput } from './simulate-removals.ts';

/** Empty if nothing that a person could change is known to help. */
export function remediesForNode(kept: KeptNode): readonly RemovalRemedy[] {
  const obstacle = obstacleOf(kept.node.name, kept.plan);
  if (obstacle === undefined) return [];
  if (obstacle === 'inhibited')
    return kept.input.policy.scaleDown.enabled ? [] : one({ kind: 'set-removal-setting', setting: 'scaleDown.enabled', to: true }, 1);
  return remediesFor(obstacle, kept);
}

function one(change: Change, effort: number): readonly RemovalRemedy[] {
  return [{ changes: [change], effort }];
}

function remediesFor(obstacle: UnremovableNode, kept: KeptNode): readonly RemovalRemedy[] {
  const { node, group } = kept;
  switch (obstacle.reason) {
    case 'ScaleDownDisabledAnnotation':
      return remediesForAnnotation(node);
    case 'ScaleDownUnreadyDisabled':
      return one({ kind: 'set-removal-setting', setting: 'scaleDown.unreadyEnabled', to: true }, 1.5);
    case 'NodeGroupMinSizeReached':
      return group === undefined ? [] : remediesForMinimum(group, node);
    case 'MinimalResourceLimitExceeded':
      return remediesForClusterMinimum(obstacle, kept);
    case 'NotUnderutilized':
      return group === undefined ? [] : remediesForUse(obstacle, group, kept);
    case 'InstanceProtected':
      return group === undefined ? [] : remediesForProtection(node, group, kept);
    case 'AtomicScaleDownFailed':
      return remediesForSiblings(kept);
    case 'BlockedByPod':
    case 'NoPlaceToMovePods':
      return obstacle.blocker === undefined ? [] : remediesForBlocker(obstacle.blocker, kept);
    default:
      return [];
  }
}

const DISABLED = 'cluster-autoscaler.kubernetes.io/scale-down-disabled';

/** An unreadable node is disabled, too: no annotation of it helps. */
function remediesForAnnotation({ name, disabledBecause }: Node): readonly RemovalRemedy[] {
  const key = disabledBecause === '' ? DISABLED : /^karpenter\.sh\/do-not-disrupt/.exec(disabledBecause)?.[0];
  return key === undefined ? [] : one({ kind: 'remove-node-annotation', node: name, key }, 1);
}

/** AKS keeps at least one node of a system pool (azure-wire 374). */
const SYSTEM_MODE = { key: 'kubernetes.azure.com/mode', value: 'system' } as const;

/** One node fewer may free another node of the group. */
function remediesForMinimum({ id, minSize, schedule }: NodeGroup, { labels }: Node): readonly RemovalRemedy[] {
  // guard: no fix lowers the minimum of a pool where a schedule holds it
  if (schedule?.min !== undefined && minSize > schedule.pool.min) return [];
  const least = labels[SYSTEM_MODE.key] === SYSTEM_MODE.value ? 1 : 0;
  const sizes = [...new Set([1, 2, 4, 8, minSize].map((step) => Math.max(least, minSize - step)))].filter((size) => size < minSize);
  return sizes.map((to, at) => ({ changes: [{ kind: 'lower-minimum', group: id, from: minSize, to }], effort: 1 + at / 10 }));
}

function remediesForClusterMinimum({ detail = '' }: UnremovableNode, { node, input }: KeptNode): readonly RemovalRemedy[] {
  const { minCoresTotal, minMemoryTotalBytes } = input.policy.scaleDown;
  const cores = Math.max(0, minCoresTotal - Math.ceil((node.capacity[CPU] ?? 0) / 1000));
  const gib = Math.max(0, Math.floor((minMemoryTotalBytes - (node.capacity[MEMORY] ?? 0)) / 2 ** 30));
  const changes: readonly Change[] = [
    ...(detail.includes('CPU above') ? [{ kind: 'set-removal-setting', setting: 'scaleDown.minCoresTotal', to: cores } as const] : []),
    ...(detail.includes('memory above') ? [{ kind: 'set-removal-setting', setting: 'scaleDown.minMemoryTotalGib', to: gib } as const] : []),
  ];
  return changes.length === 0 ? [] : [{ changes, effort: 1 }];
}

/** A node that is fuller is of use. */
const MOST_USE = 0.9;

function remediesForUse(
  { utilization = 1, threshold = 0 }: UnremovableNode,
  group: NodeGroup,
  { node, input }: KeptNode,
): readonly RemovalRemedy[] {
  const to = Math.ceil(utilization * 100) / 100;
  const devices =
    (input.names.toRecord(node.allocatable)['nvidia.com/gpu'] ?? input.names.toRecord(node.allocatable)['amd.com/gpu'] ?? 0) > 0;
  const raised: readonly RemovalRemedy[] =
    to > MOST_USE ? [] : one({ kind: 'raise-threshold', group: group.id, devices, from: threshold, to }, 1.5 + 4 * (to - threshold));
  return optionsOf(group, input.policy).ignoreDaemonSetsUtilization
    ? raised
    : [...raised, ...one({ kind: 'ignore-daemon-sets', group: group.id }, 2)];
}

/** Instances of Flexible sets and of VMs pools have no such protection that a command could remove. */
function remediesForProtection({ name }: Node, { id, kind, instances = [] }: NodeGroup, { input }: KeptNode): readonly RemovalRemedy[] {
  const key = input.observation.cloud.instanceOfNode.get(name);
  const from = instances.find((instance) => instance.key === key)?.protectedFrom;
  if (key === undefined || from === undefined || kind !== 'vmss-uniform') return [];
  return one({ kind: 'unprotect-instance', node: name, group: id, instance: key, from }, 2);
}

/** All nodes of an atomic group must be removable; the first other node that is not has to be freed. */
function remediesForSiblings(kept: KeptNode): readonly RemovalRemedy[] {
  const { observation } = kept.input;
  const sibling = kept.plan.kept.find(
    ({ node, reason }) =>
      reason !== 'AtomicScaleDownFailed' && node !== kept.node.name && observation.cloud.groupOfNode.get(node) === kept.group?.id,
  );
  const node = sibling === undefined ? undefined : observation.cluster.nodes.get(sibling.node);
  return sibling === undefined || node === undefined ? [] : remediesFor(sibling, { ...kept, node });
}

const SAFE_TO_EVICT = 'cluster-autoscaler.kubernetes.io/safe-to-evict';
const LOCAL_VOLUMES = 'cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes';
const DO_NOT_DISRUPT = 'karpenter.sh/do-not-disrupt';

function remediesForBlocker(blocker: Blocker, kept: KeptNode): readonly RemovalRemedy[] {
  const pod = findPod(blocker.pod, kept);
  if (pod === undefined) return [];
  const workload = workloadOf(pod);
  // AKS owns most of kube-system and reverts what others change in it; a further budget is not touched.
  if (pod.namespace === 'kube-system') return blocker.reason === 'UnmovableKubeSystemPod' ? remediesByBudget(pod, workload) : [];
  const annotate = (key: string, value?: string): Change => ({
    kind: 'annotate-workload',
    workload,
    key,
    ...(value === undefined ? {} : { value }),
  });
  switch (blocker.reason) {
    case 'ControllerNotFound':
      return one({ kind: 'delete-pod', namespace: pod.namespace, name: pod.name }, 4);
    case 'NotReplicated':
      return pod.controller === undefined ? one({ kind: 'own-pod', workload }, 3) : one(annotate(SAFE_TO_EVICT, 'true'), 2.5);
    case 'LocalStorageRequested':
      return one(
        annotate(
          LOCAL_VOLUMES,
          [...new Set([...pod.annotations.safeToEvictVolumes, ...pod.mounts.localVolumes.map(({ name }) => name)])].join(','),
        ),
        2.5,
      );
    case 'NotSafeToEvictAnnotation':
      return one(annotate(SAFE_TO_EVICT), 3);
    case 'DoNotDisruptAnnotation':
      return one(annotate(DO_NOT_DISRUPT), 3);
    case 'UnmovableKubeSystemPod':
      return remediesByBudget(pod, workload);
    case 'GangMinimum':
      return one(annotate(SAFE_TO_EVICT, 'true'), 3);
    case 'MinReplicasReached':
      return remediesForReplicas(pod, workload, kept);
    case 'NotEnoughPdb':
      return remediesForBudgets(pod, workload, kept);
    case 'NoPlaceFound':
      return placesFor(pod, kept);
    case 'UnexpectedError':
      return [];
  }
}

/** On the node as a rule; an earlier simulation may have moved it there. */
function findPod(name: string, { node, input }: KeptNode): Pod | undefined {
  const { podsByNode } = input.observation.cluster;
  const here = (podsByNode.get(node.name) ?? []).find((pod) => podName(pod) === name);
  return here ?? [...podsByNode.values()].flat().find((pod) => podName(pod) === name);
}

function remediesByBudget({ shape }: Pod, { namespace, name }: Workload): readonly RemovalRemedy[] {
  const { 'pod-template-hash': _hash, 'controller-revision-hash': _revision, [POD_GROUP_LABEL]: _group, ...labels } = shape.labels;
  return Object.keys(labels).length === 0 ? [] : one({ kind: 'add-budget', namespace, name, labels }, 2);
}

function remediesForReplicas(pod: Pod, workload: Workload, { input }: KeptNode): readonly RemovalRemedy[] {
  const { minReplicaCount } = input.policy.scaleDown;
  const from = countReplicas(workload, input);
  return [
    ...(isScalable(workload) ? one({ kind: 'scale-workload', workload, from, to: minReplicaCount }, 2) : []),
    ...one({ kind: 'set-removal-setting', setting: 'scaleDown.minReplicaCount', to: from }, 2.5),
  ];
}

const SCALABLE: ReadonlySet<string> = new Set(['Deployment', 'StatefulSet', 'ReplicaSet', 'ReplicationController']);

function isScalable({ kind }: Workload): boolean {
  return SCALABLE.has(kind);
}

function countReplicas(workload: Workload, { observation }: RemovalInput): number {
  const { podsByNode, pendingPods } = observation.cluster;
  return [...[...podsByNode.values()].flat(), ...pendingPods].filter((pod) => isOf(pod, workload) && pod.deletionAtMs === undefined).length;
}

/**
 * A budget that only waits for healthy pods needs no change. With two budgets the Eviction API refuses the pod whatever they demand, so
 * one has to go: the one that covers the fewest other pods. A budget that covers others is deleted only if nothing gentler helps.
 */
function remediesForBudgets(pod: Pod, workload: Workload, { input }: KeptNode): readonly RemovalRemedy[] {
  const budgets = input.observation.cluster.disruptionBudgets.filter((budget) => selects(budget, pod));
  const named = (budget: DisruptionBudget) => ({
    namespace: budget.namespace,
    budget: budget.name,
    covers: coverageOf(budget, workload, input),
  });
  if (budgets.length > 1) {
    const gentlest = budgets.map(named).sort((left, right) => left.covers.others - right.covers.others);
    // guard: a budget that covers other pods is deleted only if nothing gentler helps
    return gentlest.flatMap((budget, at) => one({ kind: 'delete-budget', ...budget }, (budget.covers.others === 0 ? 3 : 5.5) + at / 10));
  }
  const [budget] = budgets;
  if (budget === undefined) return [];
  // guard: a budget that only waits for ready pods is not relaxed
  const isTooStrict = budget.desiredHealthy >= budget.expectedPods;
  const change = { kind: 'relax-budget', ...named(budget), ...defined({ from: budget.demand }), to: relaxed(budget) } as const;
  const relaxation = isTooStrict ? one(change, 3) : [];
  const more = replicasFor(budget);
  if (more === undefined || !isScalable(workload)) return relaxation;
  const from = countReplicas(workload, input);
  return [...one({ kind: 'scale-workload', workload, from, to: from + more }, 2 + more / 20), ...relaxation];
}

function coverageOf(budget: DisruptionBudget, workload: Workload, { observation }: RemovalInput): BudgetCoverage {
  const { podsByNode, pendingPods } = observation.cluster;
  const covered = [...[...podsByNode.values()].flat(), ...pendingPods].filter((pod) => selects(budget, pod));
  const others = covered.filter((pod) => !isOf(pod, workload)).length;
  return { pods: covered.length, others, ...(budget.selector?.requirements.length === 0 ? { wholeNamespace: true } : {}) };
}

/** Further replicas cost more than they free. */
const MOST_REPLICAS = 10;

/** How many more healthy pods make the budget allow a disruption. */
function replicasFor(budget: DisruptionBudget): number | undefined {
  for (let more = 1; more <= MOST_REPLICAS; more++) if (grown(budget, more).disruptionsAllowed > 0) return more;
  return undefined;
}
