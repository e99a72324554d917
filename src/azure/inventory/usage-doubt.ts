/**
 * When the usages of quotas are in doubt, so that this process reads them itself: Azure contradicted them, or quotas that another process
 * read could keep nodes from pods. No number of another process may decide that.
 * Idea: want.
 */
import type { Clock } from '../../lib/clock.ts';
import { USAGE_AGENT } from '../rows/tables.ts';
import type { QuotaLedger } from '../sizes/core-quotas.ts';
import type { AzureReads } from './azure-reads.ts';
import type { GroupFacts } from './group-facts.ts';
import type { KnownGroups } from './known-groups.ts';

/** If the quotas cannot be read, they are not requested in each loop. */
const REQUEST_EVERY_MS = 5 * 60_000;

interface UsageDoubtDeps {
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly reads: Pick<AzureReads, 'want'>;
  readonly quota: Pick<QuotaLedger, 'isShared'>;
  readonly known: Pick<KnownGroups, 'groups'>;
  readonly facts: Pick<GroupFacts, 'drawsOf' | 'quotas'>;
}

export class UsageDoubt {
  readonly #deps: UsageDoubtDeps;
  #sinceMs = Number.NEGATIVE_INFINITY;
  #requestedAtMs = Number.NEGATIVE_INFINITY;

  constructor(deps: UsageDoubtDeps) {
    this.#deps = deps;
  }

  /** When the usages were last doubted, ms since the epoch: older ones of another process do not count. */
  get sinceMs(): number {
    return this.#sinceMs;
  }

  /** Requests a read of the usages: the ones known so far are in doubt. */
  begin(): void {
    this.#sinceMs = this.#deps.clock.now();
    this.#deps.reads.want({ what: 'list', agent: USAGE_AGENT });
  }

  /** So many pods wait for nodes: usages that another process read must not keep them waiting. */
  noteWaitingPods(count: number): void {
    const nowMs = this.#deps.clock.monotonic();
    if (!this.#deps.quota.isShared || nowMs - this.#requestedAtMs < REQUEST_EVERY_MS || !this.#isShortFor(count)) return;
    this.#requestedAtMs = nowMs;
    this.begin();
  }

  /** Each pod may need a node of its own, of the largest size. Without waiting pods, a pool may be below its minimum size. */
  #isShortFor(waitingPods: number): boolean {
    const { known, facts, clock } = this.#deps;
    const largest = new Map<string, number>();
    for (const { quota, cores } of [...known.groups()].flatMap((group) => facts.drawsOf(group)))
      largest.set(quota, Math.max(cores, largest.get(quota) ?? 0));
    return facts.quotas(clock.now()).some(({ name, limit, used }) => limit - used < Math.max(1, waitingPods) * (largest.get(name) ?? 0));
  }
}
