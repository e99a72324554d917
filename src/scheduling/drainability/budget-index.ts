import { matchesSelector } from '../../domain/labels.ts';
import type { Pod } from '../../domain/pod.ts';
import type { DisruptionBudget } from '../../domain/workload.ts';

const NONE: readonly DisruptionBudget[] = [];

/** Which budgets select which pods. Remembers the answer per shape: replicas share one. Lives as long as one view. */
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

  /** Budgets of the pod's own namespace only, as the API has it. */
  of(pod: Pod): readonly DisruptionBudget[] {
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
