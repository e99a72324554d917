/** What groups that are planned, balanced or reduced together have in common beside their nodes: the user's order, and the price that decides. Pure. */
import type { NodeGroup } from '../../domain/node-group.ts';
import type { ScaleUpPolicy } from '../../domain/policy.ts';
import { decisivePrices, priceOf } from './node-price.ts';
import { createPriorityRules } from './priority.ts';

type LevelOf = (group: NodeGroup) => number | undefined;

/**
 * The group's level for the expander `priority`: its own, else that of the rules. undefined: no rule covers it.
 * @throws AutoscalerError `config` if a pattern is not a regular expression.
 */
export function levelRule({ priorities }: Pick<ScaleUpPolicy, 'priorities'>): LevelOf {
  const rules = priorities === undefined ? undefined : createPriorityRules(priorities);
  return (group) => group.options.expanderPriority ?? rules?.levelOf(group);
}

/** Equal texts: no expander prefers one of the groups by its level or its price. Throws like {@link levelRule}. */
export function preferenceRule(policy: ScaleUpPolicy, levelOf: LevelOf = levelRule(policy)): (group: NodeGroup) => string {
  // guard: list prices that are read by default separate no groups that are planned as one
  const decisive = decisivePrices(policy);
  return (group) => `${levelOf(group)} ${priceOf(decisive, group)}`;
}
