/** What orders, removals and refusals say of the region's quotas before Azure's own count follows, and when that is to be read again. */
import type { Clock } from '../../domain/clock.ts';
import { AutoscalerError } from '../../domain/errors.ts';
import type { CloudEvent } from '../../domain/observation.ts';
import type { FailureCounts } from './failure-counts.ts';
import type { Registered } from './registry.ts';
import type { AzureStore } from './store.ts';

export interface QuotaAccountParts {
  readonly store: AzureStore;
  readonly failures: FailureCounts;
  readonly clock: Pick<Clock, 'now'>;
}

export class QuotaAccount {
  readonly #parts: QuotaAccountParts;

  constructor(parts: QuotaAccountParts) {
    this.#parts = parts;
  }

  /** Azure has taken an order of so many nodes. */
  ordered(group: Registered, nodes: number): void {
    const { store, clock } = this.#parts;
    store.quota.ordered(store.facts.drawsOf(group), nodes, clock.now());
  }

  /** What a refusal tells of a quota is newer than what usages say, which are read again all the same. */
  refused(group: Registered, error: AutoscalerError): AutoscalerError {
    const { store, clock } = this.#parts;
    const { detail, message, context, code } = error;
    if (detail.kind !== 'quota') return error;
    store.usageDue();
    if (!store.quota.refused(store.facts.drawsOf(group), detail, clock.now())) return error;
    return new AutoscalerError({ ...detail, counted: true }, message, { cause: error, context, ...(code === undefined ? {} : { code }) });
  }

  /** What became of an order or a removal changes what may be ordered next; Azure's own count follows late. */
  settle(event: CloudEvent): void {
    const { store, failures } = this.#parts;
    const group = store.registration().byId.get(event.group);
    if (group === undefined) return;
    const draws = store.facts.drawsOf(group);
    if (event.kind === 'increase-failed') {
      failures.gaveUp(event.group, event.error);
      store.quota.returned(draws, event.requested);
      if (event.error.detail.kind === 'quota') store.usageDue();
    }
    if (event.kind !== 'delete-succeeded') return;
    const wasShort = store.quota.isShort(draws, event.atMs);
    store.quota.returned(draws, event.instances.length);
    if (wasShort) store.usageDue();
  }
}
