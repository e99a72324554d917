import type { DisruptionBudget } from '../../domain/workload.ts';
import { block, type DrainRule } from './drain-rule.ts';

/**
 * Any budget that allows no disruption now, one that never can told apart from a spent one; and more than one budget at
 * once, which the Eviction API refuses whatever they allow.
 */
export const disruptionBudget: DrainRule = (pod, context) => {
  const budgets = context.budgetsOf(pod);
  if (budgets.length > 1) {
    return block('NotEnoughPdb', `${budgets.map(nameOf).sort().join(' and ')} select the pod; evictions allow for one budget only`);
  }
  // The hot path: nearly every pod has a budget that allows something, and nothing is made for it.
  const [budget] = budgets;
  if (budget === undefined || budget.disruptionsAllowed >= 1) return undefined;
  const passing = !neverAllows(budget);
  const wanted = `${budget.currentHealthy} healthy of ${budget.desiredHealthy} wanted`;
  const never = `it can never allow a disruption: ${budget.desiredHealthy} of ${budget.expectedPods} pods must be healthy`;
  return { kind: 'block', reason: 'NotEnoughPdb', detail: `${nameOf(budget)}: ${passing ? wanted : never}`, passing };
};

/** It asks for every pod that it selects, so that no number of healthy ones is enough. Nothing expected: its status is not known yet. */
function neverAllows(budget: DisruptionBudget): boolean {
  return budget.expectedPods > 0 && budget.desiredHealthy >= budget.expectedPods;
}

function nameOf(budget: DisruptionBudget): string {
  return `${budget.namespace}/${budget.name}`;
}
