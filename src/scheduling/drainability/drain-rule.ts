import { matchesSelector } from '../../domain/labels.ts';
import { compareText } from '../../lib/comparison.ts';
import { AnchoredRules, anchorsOf, selectorAnchors } from '../predicates/anchored-rules.ts';
import type { ClusterView } from '../../domain/observation.ts';
import type { Pod, PodShape } from '../../domain/pod.ts';
import type { Policy, ScaleDownPolicy } from '../../domain/policy.ts';
import type { BlockingPodReason } from '../../domain/reasons.ts';
import type { DisruptionBudget, OwnerStates } from '../../domain/workloads.ts';
import { RunningGangs } from './running-gangs.ts';

const NONE: readonly DisruptionBudget[] = [];

/** Which budgets select which pods. Found once per shape, since replicas share one. */
export class BudgetIndex {
  readonly #byNamespace = new Map<string, AnchoredRules<DisruptionBudget>>();
  readonly #byShape = new WeakMap<PodShape, readonly DisruptionBudget[]>();

  constructor(budgets: readonly DisruptionBudget[]) {
    for (const budget of budgets) {
      if (budget.selector === undefined) continue;
      const known = this.#byNamespace.get(budget.namespace) ?? new AnchoredRules<DisruptionBudget>();
      this.#byNamespace.set(budget.namespace, known);
      known.add(budget, selectorAnchors(budget.selector));
    }
  }

  /** Budgets of the pod's own namespace, as the API defines. */
  budgetsOf({ shape }: Pod): readonly DisruptionBudget[] {
    if (this.#byNamespace.size === 0) return NONE;
    const known = this.#byShape.get(shape);
    if (known !== undefined) return known;
    const possible = this.#byNamespace.get(shape.namespace)?.since(0, anchorsOf(shape)) ?? [];
    const found = possible
      .filter(({ selector }) => selector !== undefined && matchesSelector(selector, shape.labels))
      .sort((left, right) => compareText(left.name, right.name));
    this.#byShape.set(shape, found);
    return found;
  }
}

const indexes = new WeakMap<readonly DisruptionBudget[], BudgetIndex>();

/** A view keeps its list while no budget changed, and a thousand nodes may be removed at once. */
export function budgetIndex(budgets: readonly DisruptionBudget[]): BudgetIndex {
  const known = indexes.get(budgets) ?? new BudgetIndex(budgets);
  indexes.set(budgets, known);
  return known;
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
  const budgets = budgetIndex(cluster.disruptionBudgets);
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
