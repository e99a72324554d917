import { hasProtectionEnded, protectionText, type Protection } from '../../domain/annotations.ts';
import type { Pod } from '../../domain/pod.ts';
import { isBuiltInDaemonSet, isOwnerKind, ownerKey, ownerOf, type DisruptionBudget } from '../../domain/workloads.ts';
import { defined } from '../../lib/defined.ts';
import { type DrainRule, blockVerdict, type DrainContext, type DrainVerdict } from './drain-rule.ts';

export const daemonSetPod: DrainRule = (pod) => (pod.daemonSet ? { kind: 'daemon-set' } : undefined);

/**
 * A pod with an explicit priority below the cutoff. It blocks no node and needs no other one, as it causes no scale-up either. Its
 * annotations against eviction still count, unlike in the Cluster Autoscaler.
 */
export const expendable: DrainRule = (pod, { policy, nowMs }) =>
  isExpendable(pod, policy.expendablePriorityCutoff, nowMs) ? { kind: 'expendable' } : undefined;

/** Without `nowMs`, the answer does not depend on the time: a protection that ends counts. */
export function isExpendable(pod: Pod, cutoff: number, nowMs = Number.NEGATIVE_INFINITY): boolean {
  const { priority } = pod.shape;
  const { safeToEvict: answer } = pod.annotations;
  if (priority === undefined || priority >= cutoff) return false;
  return protectionAt(pod, nowMs) === undefined && answer !== 'false' && answer !== 'on-completion';
}

/** Data on the node's disk is lost with it, unless the owner lists the volume as safe to lose. */
export const localStorage: DrainRule = (pod, { policy }) => {
  if (!policy.skipNodesWithLocalStorage) return undefined;
  const { mounts, annotations } = pod;
  const lost = mounts.localVolumes.find(({ name }) => !annotations.safeToEvictVolumes.includes(name));
  return lost === undefined ? undefined : blockVerdict('LocalStorageRequested', `${lost.kind} volume ${lost.name}`);
};

/** How long past its grace period a pod may terminate before it counts as stuck. The Cluster Autoscaler's figure. */
const SLACK_MS = 30_000;

/** A pod that should have ended long ago no longer counts: its kubelet is likely gone. */
export const longTerminating: DrainRule = (pod, { nowMs }) => (isLongTerminating(pod, nowMs) ? { kind: 'skip' } : undefined);

/** Grace period and slack are added to the deletion time, as in the Cluster Autoscaler. */
export function isLongTerminating(pod: Pod, nowMs: number): boolean {
  return pod.deletionAtMs !== undefined && pod.deletionAtMs + pod.terminationGraceMs + SLACK_MS < nowMs;
}

/** A mirror pod belongs to the kubelet: the API cannot move it. */
export const mirrorPod: DrainRule = (pod) => (pod.mirror ? { kind: 'skip' } : undefined);

/** `safe-to-evict: "false"`, or Karpenter's `do-not-disrupt`, which many workloads have. */
export const notSafeToEvict: DrainRule = (pod, { nowMs }) => {
  if (pod.annotations.safeToEvict === 'false')
    return blockVerdict('NotSafeToEvictAnnotation', 'cluster-autoscaler.kubernetes.io/safe-to-evict: "false"');
  const protection = protectionAt(pod, nowMs);
  if (protection === undefined) return undefined;
  const verdict = { kind: 'block', reason: 'DoNotDisruptAnnotation', detail: protectionText(protection), passing: false } as const;
  return { ...verdict, ...defined({ untilMs: protection.protectedUntilMs }) };
};

function protectionAt({ annotations: { protection } }: Pod, nowMs: number): Protection | undefined {
  // guard: a pod is protected for the time that its annotation states
  return protection === undefined || hasProtectionEnded(protection, nowMs) ? undefined : protection;
}

/**
 * A gang that runs keeps the pods that it needs: the pods of one node must leave at least `minCount` on the nodes that stay. A gang whose owner
 * wants it disrupted as a whole only loses none of them. One that runs with fewer pods than it needs is broken already.
 */
export const gangMinimum: DrainRule = (pod, { gangs }) => {
  const gang = pod.nodeName === undefined ? undefined : gangs.gangOf(pod);
  if (gang === undefined || pod.nodeName === undefined) return undefined;
  const { here, elsewhere } = gangs.splitAt(gang, pod.nodeName);
  const running = here + elsewhere;
  if (running < gang.minCount) return undefined;
  // guard: a removal takes no running gang below its minimum
  if (elsewhere >= gang.minCount && !gang.disruptedAsWhole) return undefined;
  const counts = `${running} pods of ${gang.title} run, ${here} of them here`;
  const rule = gang.disruptedAsWhole ? 'its disruptionMode allows to disrupt all of them only' : `${gang.minCount} must run together`;
  return blockVerdict('GangMinimum', `${counts}; ${rule}`);
};

export const onCompletion: DrainRule = (pod) =>
  pod.annotations.safeToEvict === 'on-completion' ? { kind: 'wait-for-completion' } : undefined;

/**
 * A bare pod is not recreated. Neither, possibly, is one of an unknown kind of controller. As in the Cluster Autoscaler the kind decides:
 * a StatefulSet or Job of another API group recreates its pods too.
 */
export const replicated: DrainRule = (pod, { policy }) => {
  if (pod.controller === undefined) return blockVerdict('NotReplicated', 'no controller');
  if (!policy.skipNodesWithCustomControllerPods || isOwnerKind(pod.controller.kind)) return undefined;
  return blockVerdict('NotReplicated', `controller of kind ${pod.controller.kind}`);
};

/**
 * The owner's consent overrides the rules that follow, and a budget that is exhausted for the moment: the eviction is tried until the
 * Eviction API grants it, as in the Cluster Autoscaler. Unlike there, a budget that can never grant it blocks: the drain would evict the
 * node's other pods again and again, and then be undone.
 */
export const safeToEvict: DrainRule = (pod, context) => {
  if (pod.annotations.safeToEvict !== 'true') return undefined;
  const byBudget = disruptionBudget(pod, context);
  // guard: safe-to-evict does not pass a budget that never allows a disruption
  return byBudget?.kind === 'block' && !byBudget.passing ? byBudget : { kind: 'move' };
};

/**
 * A young kube-system pod without a budget blocks its node. An old one does not by this rule; unlike in the Cluster Autoscaler the rules
 * that follow still apply, so its annotations and volumes count.
 */
export const systemPod: DrainRule = (pod, context) => {
  if (!context.policy.skipNodesWithSystemPods || pod.namespace !== 'kube-system') return undefined;
  const { systemPodBlocksForMs } = context.policy;
  if (context.budgetsOf(pod).length > 0 || pod.createdAtMs + systemPodBlocksForMs < context.nowMs) return undefined;
  return blockVerdict('UnmovableKubeSystemPod', 'in kube-system without a PodDisruptionBudget');
};

/** A pod that ended and is not restarted in place has nothing to lose. */
export const terminalPod: DrainRule = (pod) => {
  const ended = pod.phase === 'Failed' || (pod.phase === 'Succeeded' && pod.restartPolicy !== 'Always');
  return ended ? { kind: 'move' } : undefined;
};

/**
 * A pod whose controller no longer exists would not come back. DaemonSets of `apps` are watched. Other built-in controllers count if they
 * were read; the others are read before a node is changed. Controllers of other API groups are not looked up, unlike in the Cluster
 * Autoscaler, which looks for a built-in one of their name.
 */
export const replicaCount: DrainRule = (pod, context) => {
  if (!context.policy.skipNodesWithCustomControllerPods) return undefined;
  if (pod.controller === undefined || !isBuiltInDaemonSet(pod.controller)) return missingOwner(pod, context);
  const name = `${pod.namespace}/${pod.controller.name}`;
  return context.daemonSets?.has(name) !== false ? undefined : blockVerdict('ControllerNotFound', `DaemonSet ${name}`);
};

function missingOwner(pod: Pod, { owners, policy }: DrainContext): DrainVerdict | undefined {
  if (owners.size === 0) return undefined;
  const owner = ownerOf(pod);
  const state = owner === undefined ? undefined : owners.get(ownerKey(owner));
  if (owner === undefined || state === undefined) return undefined;
  if (!state.exists) return blockVerdict('ControllerNotFound', ownerKey(owner));
  const { minReplicaCount } = policy;
  if (state.desired === undefined || state.desired >= minReplicaCount) return undefined;
  return blockVerdict(
    'MinReplicasReached',
    `${ownerKey(owner)} has ${state.desired} replicas, a drain needs at least ${minReplicaCount} (scaleDown.minReplicaCount)`,
  );
}

/**
 * A budget that allows no disruption now; one that never can is reported as such. Also several budgets at once: the Eviction API then
 * refuses, whatever they allow.
 */
export const disruptionBudget: DrainRule = (pod, context) => {
  const budgets = context.budgetsOf(pod);
  // The hot path: nearly every pod has a budget that allows a disruption, or none, and nothing is allocated for it.
  const budget = budgets[0];
  if (budget === undefined) return undefined;
  if (budgets.length > 1) {
    return blockVerdict(
      'NotEnoughPdb',
      `${budgets.map(nameOf).sort().join(' and ')} select the pod; the Eviction API accepts one budget only`,
    );
  }
  if (budget.disruptionsAllowed >= 1) return undefined;
  const never = neverAllows(budget);
  const isCounted = budget.expectedPods > 0 || budget.desiredHealthy > 0 || budget.currentHealthy > 0;
  const counts = isCounted
    ? `${budget.currentHealthy} of ${budget.desiredHealthy} required pods are healthy`
    : 'its status has no pod counts yet';
  const detail = `${nameOf(budget)}: ${never === undefined ? counts : `it can never allow a disruption: ${never}`}`;
  return { kind: 'block', reason: 'NotEnoughPdb', detail, passing: never === undefined };
};

/**
 * Whether the budget requires every selected pod, so that no healthy count is enough. Without expected pods its status is not known yet.
 */
function neverAllows({ neverAllows: written, expectedPods, desiredHealthy }: DisruptionBudget): string | undefined {
  if (written !== undefined || expectedPods === 0 || desiredHealthy < expectedPods) return written;
  return `${desiredHealthy} of ${expectedPods} pods must be healthy`;
}

function nameOf(budget: DisruptionBudget): string {
  return `${budget.namespace}/${budget.name}`;
}
