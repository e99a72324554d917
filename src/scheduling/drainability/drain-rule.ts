import { matchesSelector } from '../../domain/labels.ts';
import type { ClusterView } from '../../domain/observation.ts';
import type { Pod } from '../../domain/pod.ts';
import type { Policy, ScaleDownPolicy } from '../../domain/policy.ts';
import type { BlockingPodReason } from '../../domain/reasons.ts';
import type { DisruptionBudget, OwnerStates } from '../../domain/workloads.ts';
import { RunningGangs } from './running-gangs.ts';

const NONE: readonly DisruptionBudget[] = [];

/** Which budgets select which pods. Computed once per shape, since replicas share one. Lives as long as one view. */
export class BudgetIndex {
  readonly #byNamespace = new Map<string, DisruptionBudget[]>();
  readonly #byShape = new Map<string, Map<string, readonly DisruptionBudget[]>>();

  constructor(budgets: readonly DisruptionBudget[]) {
    for (const budget of budgets) {
      const known = this.#byNamespace.get(budget.namespace);
      if (known === undefined) this.#byNamespace.set(budget.namespace, [budget]);
      else known.push(budget);
    }
  }

  /** Budgets of the pod's own namespace, as the API defines. */
  budgetsOf(pod: Pod): readonly DisruptionBudget[] {
    const inNamespace = this.#byNamespace.get(pod.namespace);
    if (inNamespace === undefined) return NONE;
    let shapes = this.#byShape.get(pod.namespace);
    if (shapes === undefined) this.#byShape.set(pod.namespace, (shapes = new Map()));
    const known = shapes.get(pod.shape.key);
    if (known !== undefined) return known;
    const found = inNamespace.filter((budget) => budget.selector !== undefined && matchesSelector(budget.selector, pod.shape.labels));
    shapes.set(pod.shape.key, found);
    return found;
  }
}

/** What a drain does with one pod. */
export type DrainVerdict =
  /** Neither moved nor blocking. */
  | { readonly kind: 'skip' }
  /** Removed with its node: it runs on every node anyway. */
  | { readonly kind: 'daemon-set' }
  | { readonly kind: 'move' }
  /** Its priority is so low that it needs no other node: it is evicted without waiting. */
  | { readonly kind: 'expendable' }
  /** Never evicted: the drain waits until the pod has finished. */
  | { readonly kind: 'wait-for-completion' }
  /** `passing`: the budget is exhausted now, but allows disruptions in principle. `untilMs`: when the rule lets the pod go by itself. */
  | {
      readonly kind: 'block';
      readonly reason: BlockingPodReason;
      readonly detail: string;
      readonly passing: boolean;
      readonly untilMs?: number;
    };

/** The settings that the rules read. */
export interface DrainRulesPolicy extends Pick<
  ScaleDownPolicy,
  'skipNodesWithSystemPods' | 'systemPodBlocksForMs' | 'skipNodesWithLocalStorage' | 'skipNodesWithCustomControllerPods' | 'minReplicaCount'
> {
  /** Pods with an explicit priority below are expendable. */
  readonly expendablePriorityCutoff: number;
}

export function drainRulesOf({ scaleDown, scaleUp }: Policy): DrainRulesPolicy {
  return { ...scaleDown, expendablePriorityCutoff: scaleUp.expendablePriorityCutoff };
}

/** Everything that a rule may read besides the pod. */
export interface DrainContext {
  readonly nowMs: number;
  readonly policy: DrainRulesPolicy;
  /** `namespace/name` of every DaemonSet. undefined: unknown, and those that pods name are assumed to exist. */
  readonly daemonSets: ReadonlySet<string> | undefined;
  /** The state of other controllers. If absent, it is unknown, and they are assumed to exist. */
  readonly owners: OwnerStates;
  /** The pods of gangs that run, and where. */
  readonly gangs: RunningGangs;
  /** The disruption budgets that select the pod. */
  budgetsOf(pod: Pod): readonly DisruptionBudget[];
}

/** A rule decides about a pod, or returns undefined to leave it to the next rule. */
export type DrainRule = (pod: Pod, context: DrainContext) => DrainVerdict | undefined;

/** A context for one view of the cluster. The budgets' selectors are evaluated once per shape. */
export function drainContext(cluster: ClusterView, policy: DrainContext['policy'], nowMs: number): DrainContext {
  const budgets = new BudgetIndex(cluster.disruptionBudgets);
  return {
    nowMs,
    policy,
    daemonSets: cluster.daemonSetsUnknown ? undefined : new Set(cluster.daemonSets.map((set) => `${set.namespace}/${set.name}`)),
    owners: cluster.owners,
    gangs: new RunningGangs(cluster),
    budgetsOf: (pod) => budgets.budgetsOf(pod),
  };
}

export function blockVerdict(reason: BlockingPodReason, detail: string): DrainVerdict {
  return { kind: 'block', reason, detail, passing: false };
}
