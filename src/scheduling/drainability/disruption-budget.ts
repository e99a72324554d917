import type { DrainRule } from './drain-rule.ts';

/** Any budget that allows no disruption now. One that never can (it asks for every pod) is told apart from a spent one. */
export const disruptionBudget: DrainRule = (pod, context) => {
  const spent = context.budgetsOf(pod).filter((budget) => budget.disruptionsAllowed < 1);
  const [first] = spent;
  if (first === undefined) return undefined;
  const passing = spent.every((budget) => budget.desiredHealthy < budget.expectedPods);
  const detail = `${first.namespace}/${first.name}: ${first.currentHealthy} healthy of ${first.desiredHealthy} wanted`;
  return { kind: 'block', reason: 'NotEnoughPdb', detail, passing };
};
