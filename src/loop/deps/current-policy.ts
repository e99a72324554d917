import type { Policy } from '../../domain/policy.ts';
import { defined } from '../../lib/defined.ts';
import type { LoopDeps } from './loop-deps.ts';

/**
 * Returns the policy with the priority rules and list prices of this moment. Read once per loop, so that all of its plans
 * and their record use the same rules and prices.
 */
export function currentPolicy(policy: Policy, { priorities, prices }: Pick<LoopDeps, 'priorities' | 'prices'>, nowMs: number): Policy {
  const levels = priorities?.current().levels;
  const view = prices?.current(nowMs);
  // guard: list prices that are read by default are not mixed with configured prices
  const listPrices = view?.onlyShown === true && policy.scaleUp.prices !== undefined ? undefined : view;
  if (levels === undefined && listPrices === undefined) return policy;
  return { ...policy, scaleUp: { ...policy.scaleUp, ...defined({ priorities: levels, listPrices }) } };
}
