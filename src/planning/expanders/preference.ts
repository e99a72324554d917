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

const known = new WeakMap<ScaleUpPolicy, LevelOf>();

/** Whether the user's order of groups decides before prices do. */
export function ordersFirst({ expanders }: Pick<ScaleUpPolicy, 'expanders'>): boolean {
  const [priority, price] = [expanders.indexOf('priority'), expanders.indexOf('price')];
  return priority >= 0 && (price < 0 || priority < price);
}

/** How the user's order of groups, if it decides first, puts a group beside others. Groups without a level are behind all others. */
export function orderOf(policy: ScaleUpPolicy, group: NodeGroup, others: readonly NodeGroup[]): 'before' | 'behind' | 'same' {
  if (!ordersFirst(policy)) return 'same';
  const levelOf = known.get(policy) ?? levelRule(policy);
  known.set(policy, levelOf);
  const level = levelOf(group) ?? -1;
  const levels = others.map((other) => levelOf(other) ?? -1);
  if (levels.some((other) => other > level)) return 'behind';
  return levels.length > 0 && levels.every((other) => other < level) ? 'before' : 'same';
}

/** Equal texts: no expander prefers one of the groups by its level or its price. Throws like {@link levelRule}. */
export function preferenceRule(policy: ScaleUpPolicy, levelOf: LevelOf = levelRule(policy)): (group: NodeGroup) => string {
  // guard: list prices that are read by default separate no groups that are planned as one
  const decisive = decisivePrices(policy);
  return (group) => `${levelOf(group)} ${priceOf(decisive, group)}`;
}
