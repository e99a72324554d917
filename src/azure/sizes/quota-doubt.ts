/**
 * Whether quotas that another process read could keep nodes from pods. Then this process reads them itself, since no number of another may
 * decide. Makes no requests.
 */
import type { CloudQuota, QuotaDraw } from '../../domain/quotas-and-prices.ts';
import type { Clock } from '../../lib/clock.ts';
import type { QuotaLedger } from './core-quotas.ts';

/** If the quotas cannot be read, they are not asked for in each loop. */
const ASK_EVERY_MS = 5 * 60_000;

interface QuotaDoubtDeps {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly ledger: Pick<QuotaLedger, 'isShared'>;
  /** What one node of each group uses. */
  readonly draws: () => readonly (readonly QuotaDraw[])[];
  /** Those that the groups use. */
  readonly quotas: () => readonly CloudQuota[];
}

export class QuotaDoubt {
  readonly #deps: QuotaDoubtDeps;
  #askedAtMs = Number.NEGATIVE_INFINITY;

  constructor(deps: QuotaDoubtDeps) {
    this.#deps = deps;
  }

  /** Whether the quotas have to be read now. `waitingPods`: each may need a node of its own, of the largest size. */
  arises(waitingPods: number): boolean {
    const nowMs = this.#deps.clock.monotonic();
    if (!this.#deps.ledger.isShared || nowMs - this.#askedAtMs < ASK_EVERY_MS || !this.#isShortFor(waitingPods)) return false;
    this.#askedAtMs = nowMs;
    return true;
  }

  /** Without waiting pods, a pool may be below its minimum size. */
  #isShortFor(waitingPods: number): boolean {
    const largest = new Map<string, number>();
    for (const { quota, cores } of this.#deps.draws().flat()) largest.set(quota, Math.max(cores, largest.get(quota) ?? 0));
    return this.#deps.quotas().some(({ name, limit, used }) => limit - used < Math.max(1, waitingPods) * (largest.get(name) ?? 0));
  }
}
