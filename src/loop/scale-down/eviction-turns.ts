/**
 * How many evictions are under way at once, in total and of one PodDisruptionBudget. Must not know why a pod is evicted.
 */
import type { DisruptionBudget } from '../../domain/workloads.ts';
import { Slots } from '../../lib/abort.ts';

interface EvictionLimits {
  readonly total: number;
  readonly perBudget: number;
}

/**
 * All drains together. Each eviction writes the status of the pod's budget. The API server tries that write 20 times, half a second apart,
 * so that a few evictions at once are faster than many. With answers after 50 ms these are 400 evictions per second, and 100 of one budget.
 */
export const DRAIN_EVICTIONS: EvictionLimits = { total: 20, perBudget: 5 };

/**
 * All preempted nodes together, which do not wait for drains. Of 20 writers of one status each succeeds within the 20 attempts of the API
 * server, since in every round at least one does. A webhook that takes 10 seconds lets 100 evictions through within the notice of 30 seconds.
 */
export const PREEMPTION_EVICTIONS: EvictionLimits = { total: 50, perBudget: 20 };

/** Shared by all nodes whose pods are evicted for the same cause. */
export class EvictionTurns {
  readonly #limits: EvictionLimits;
  readonly #all: Slots;
  /** Only of budgets with evictions under way. */
  readonly #byBudget = new Map<string, Slots>();

  constructor(limits: EvictionLimits) {
    this.#limits = limits;
    this.#all = new Slots(limits.total);
  }

  /**
   * Runs one eviction when it is its turn. `budgets`: those that select the pod. The API server refuses a pod of several without a write.
   * @throws AutoscalerError `cancelled` if the signal fires before that.
   */
  async take<Outcome>(budgets: readonly DisruptionBudget[], evict: () => Promise<Outcome>, signal: AbortSignal): Promise<Outcome> {
    const [budget, ...others] = budgets;
    // guard: the evictions of all drains together are limited
    const inTotal = (): Promise<Outcome> => this.#all.run(evict, signal);
    if (budget === undefined || others.length > 0) return inTotal();
    const key = `${budget.namespace}/${budget.name}`;
    const known = this.#byBudget.get(key);
    const slots = known ?? new Slots(this.#limits.perBudget);
    if (known === undefined) this.#byBudget.set(key, slots);
    try {
      // guard: few evictions of one budget are under way at once
      return await slots.run(inTotal, signal);
    } finally {
      if (slots.isIdle && this.#byBudget.get(key) === slots) this.#byBudget.delete(key);
    }
  }
}
