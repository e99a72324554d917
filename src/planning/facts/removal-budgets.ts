/**
 * Budgets of removals: removal windows that a user sets, by number or percent, for the cluster or for each pool, and for some reasons. The plan
 * counts in them, and the loop once more before each removal. Pure. Must not know what is removed, and why.
 * Idea: removal window.
 */
import type { NodeGroupId } from '../../domain/ids.ts';
import type { BudgetedRemoval } from '../../domain/loop-state.ts';
import type { Observation } from '../../domain/observation.ts';
import { REMOVAL_CAUSES, type RemovalCause } from '../../domain/plan.ts';
import type { RemovalBudget } from '../../domain/policy.ts';
import { formatDuration } from '../../lib/duration.ts';

/** Registered nodes by group. */
export type GroupSizes = ReadonlyMap<NodeGroupId, number>;

export interface Removed {
  readonly group: NodeGroupId;
  /** undefined: unknown, so it counts in every budget. */
  readonly cause: RemovalCause | undefined;
}

export interface BudgetRules {
  readonly budgets: readonly RemovalBudget[];
  readonly removalWindowMs: number;
}

/** The registered nodes of each group, those that are being removed included. */
export function groupSizes({ cluster, cloud }: Pick<Observation, 'cluster' | 'cloud'>): GroupSizes {
  const sizes = new Map<NodeGroupId, number>(cloud.groups.map(({ id }) => [id, 0]));
  for (const [node, group] of cloud.groupOfNode) {
    const size = sizes.get(group);
    if (size !== undefined && cluster.nodes.has(node)) sizes.set(group, size + 1);
  }
  return sizes;
}

/** How much of each budget is used. Mutable, and dropped with the plan. */
export class BudgetUse {
  readonly #rules: BudgetRules;
  readonly #sizes: GroupSizes;
  readonly #ofCluster: number;
  readonly #used = new Map<string, number>();

  /** `removed`: those that started within the window. */
  constructor(rules: BudgetRules, sizes: GroupSizes, removed: readonly Removed[]) {
    this.#rules = rules;
    this.#sizes = sizes;
    this.#ofCluster = [...sizes.values()].reduce((sum, size) => sum + size, 0);
    for (const each of removed) this.add(each);
  }

  add(removed: Removed): void {
    for (const [index, budget] of this.#rules.budgets.entries()) {
      if (counts(budget, removed.cause)) this.#count(keyOf(index, budget, removed.group));
    }
  }

  /** Why these may not start together, with the numbers of the first budget that is too small. undefined: they may. */
  shortage(wanted: readonly Removed[]): string | undefined {
    for (const [index, budget] of this.#rules.budgets.entries()) {
      const needed = new Map<string, number>();
      for (const { group, cause } of wanted) {
        if (!counts(budget, cause)) continue;
        const key = keyOf(index, budget, group);
        const count = (needed.get(key) ?? 0) + 1;
        needed.set(key, count);
        const used = this.#used.get(key) ?? 0;
        const limit = this.#limit(budget, group);
        if (used + count > limit) return this.#sentence(budget, group, { limit, used, needed: wanted.length });
      }
    }
    return undefined;
  }

  #count(key: string): void {
    this.#used.set(key, (this.#used.get(key) ?? 0) + 1);
  }

  /** A share is rounded up: else a small pool would never get smaller. */
  #limit(budget: RemovalBudget, group: NodeGroupId): number {
    return budget.unit === 'nodes' ? budget.amount : Math.ceil((this.#sizeOf(budget, group) * budget.amount) / 100);
  }

  #sizeOf({ per }: RemovalBudget, group: NodeGroupId): number {
    return per === 'cluster' ? this.#ofCluster : (this.#sizes.get(group) ?? 0);
  }

  #sentence(
    budget: RemovalBudget,
    group: NodeGroupId,
    { limit, used, needed }: { readonly limit: number; readonly used: number; readonly needed: number },
  ): string {
    const { unit, amount, per, causes } = budget;
    const whole = per === 'cluster' ? 'the cluster' : 'its node group';
    const share = unit === 'percent' ? `${amount} % of the ${this.#sizeOf(budget, group)} nodes of ${whole}` : `of ${whole}`;
    const reasons = causes.length === REMOVAL_CAUSES.length ? '' : ` (${causes.join(', ')})`;
    const nodes = `${limit} ${limit === 1 ? 'node' : 'nodes'}`;
    const size = unit === 'percent' ? `${nodes}, ${share},` : `${nodes} ${share}`;
    return `a removal budget allows ${size} within ${formatDuration(this.#rules.removalWindowMs)}${reasons}; used: ${used}, needed: ${needed}`;
  }
}

function counts({ causes }: RemovalBudget, cause: RemovalCause | undefined): boolean {
  return cause === undefined || causes.includes(cause);
}

function keyOf(index: number, { per }: RemovalBudget, group: NodeGroupId): string {
  return per === 'cluster' ? String(index) : `${index} ${group}`;
}

/**
 * What a new process counts: what was saved, and nodes that have the deletion taint and were not saved. Why they are removed is unknown.
 */
export function budgetedBeforeRestart(
  saved: readonly BudgetedRemoval[],
  tainted: readonly { readonly group: NodeGroupId; readonly atMs: number }[],
): readonly BudgetedRemoval[] {
  const known = new Map<NodeGroupId, number>();
  for (const { group } of saved) known.set(group, (known.get(group) ?? 0) + 1);
  const unknown = tainted.flatMap(({ group, atMs }): readonly BudgetedRemoval[] => {
    const left = known.get(group) ?? 0;
    known.set(group, left - 1);
    return left > 0 ? [] : [{ group, cause: undefined, startedAtMs: atMs }];
  });
  return [...saved, ...unknown].sort((left, right) => left.startedAtMs - right.startedAtMs);
}
