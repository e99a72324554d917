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
  const never = neverAllows(budget);
  const isCounted = budget.expectedPods > 0 || budget.desiredHealthy > 0 || budget.currentHealthy > 0;
  const wanted = isCounted ? `${budget.currentHealthy} healthy of ${budget.desiredHealthy} wanted` : 'nobody has counted its pods yet';
  const said = never === undefined ? wanted : `it can never allow a disruption: ${never}`;
  return { kind: 'block', reason: 'NotEnoughPdb', detail: `${nameOf(budget)}: ${said}`, passing: never === undefined };
};

/** It asks for every pod that it selects, so that no number of healthy ones is enough. Nothing expected: its status is not known yet. */
function neverAllows({ neverAllows: written, expectedPods, desiredHealthy }: DisruptionBudget): string | undefined {
  if (written !== undefined || expectedPods === 0 || desiredHealthy < expectedPods) return written;
  return `${desiredHealthy} of ${expectedPods} pods must be healthy`;
}

function nameOf(budget: DisruptionBudget): string {
  return `${budget.namespace}/${budget.name}`;
}
