import type { ClusterView } from '../../domain/observation.ts';
import type { Pod } from '../../domain/pod.ts';
import type { Policy, ScaleDownPolicy } from '../../domain/policy.ts';
import type { BlockingPodReason } from '../../domain/reasons.ts';
import type { DisruptionBudget, OwnerStates } from '../../domain/workload.ts';
import { BudgetIndex } from './budget-index.ts';

/** What a drain does about one pod. */
export type DrainVerdict =
  /** Neither moved nor in the way. */
  | { readonly kind: 'skip' }
  /** Goes with its node; runs on every node anyway. */
  | { readonly kind: 'daemon-set' }
  | { readonly kind: 'move' }
  /** Of so low a priority that it needs no other place: asked to go, not waited for. */
  | { readonly kind: 'expendable' }
  /** Never evicted: the node waits until the pod has finished. */
  | { readonly kind: 'wait-for-completion' }
  /** `passing`: a budget that is spent at the moment but allows disruptions in principle. */
  | { readonly kind: 'block'; readonly reason: BlockingPodReason; readonly detail: string; readonly passing: boolean };

/** The settings that the rules read. */
export interface DrainRulesPolicy extends Pick<
  ScaleDownPolicy,
  'skipNodesWithSystemPods' | 'systemPodBlocksForMs' | 'skipNodesWithLocalStorage' | 'skipNodesWithCustomControllerPods' | 'minReplicaCount'
> {
  /** Pods with an explicit priority below are expendable; absent: none is. */
  readonly expendablePriorityCutoff?: number;
}

export function drainRulesOf({ scaleDown, scaleUp }: Policy): DrainRulesPolicy {
  return { ...scaleDown, expendablePriorityCutoff: scaleUp.expendablePriorityCutoff };
}

/** Everything a rule may read besides the pod. */
export interface DrainContext {
  readonly nowMs: number;
  readonly policy: DrainRulesPolicy;
  /** `namespace/name` of every DaemonSet. undefined: not known, and those that pods name are trusted. */
  readonly daemonSets: ReadonlySet<string> | undefined;
  /** What is known of other controllers. Absent: nothing, and they are trusted. */
  readonly owners?: OwnerStates | undefined;
  /** The disruption budgets that select the pod. */
  budgetsOf(pod: Pod): readonly DisruptionBudget[];
}

/** One reason to decide about a pod; undefined: the next rule decides. */
export type DrainRule = (pod: Pod, context: DrainContext) => DrainVerdict | undefined;

/** A context for one view of the cluster; the budgets' selectors are evaluated once per shape of pod. */
export function drainContext(cluster: ClusterView, policy: DrainContext['policy'], nowMs: number): DrainContext {
  const budgets = new BudgetIndex(cluster.disruptionBudgets);
  return {
    nowMs,
    policy,
    daemonSets: cluster.daemonSetsUnknown === true ? undefined : new Set(cluster.daemonSets.map((set) => `${set.namespace}/${set.name}`)),
    owners: cluster.owners,
    budgetsOf: (pod) => budgets.of(pod),
  };
}

export function block(reason: BlockingPodReason, detail: string): DrainVerdict {
  return { kind: 'block', reason, detail, passing: false };
}
