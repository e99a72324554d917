/**
 * Counts the orders that came to nothing by what was in the way, each once. One that was accepted fails in several voices: its
 * operation says so and each of its machines does, in any order and within moments.
 */
import type { InstanceKey, NodeGroupId } from '../../domain/ids.ts';
import type { CloudView, CloudEvent } from '../../domain/observation.ts';
import type { Clock } from '../../lib/clock.ts';
import { type ErrorKind, AutoscalerError } from '../../lib/errors.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { FAILURE_REASONS, failureReason, type FailureReason } from '../arm/errors.ts';
import type { RegisteredGroup } from '../groups/registry.ts';
import type { AzureStore } from '../inventory/inventory.ts';
import { defined } from '../../lib/defined.ts';

/** Shorter than the shortest rest after a failure, so that the next order is not taken for the same one. */
const SAME_ORDER_MS = 4 * 60_000;

interface Failure {
  readonly detail: ErrorKind;
  readonly code: string | undefined;
}

export class FailureCounts {
  readonly #counter: Metrics['scaleUp']['failures'];
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #known = new Set<NodeGroupId>();
  /** When a failure was last counted, by group and reason. */
  readonly #lastAt = new Map<string, number>();
  #failed: ReadonlySet<InstanceKey> = new Set();

  constructor(counter: Metrics['scaleUp']['failures'], clock: Pick<Clock, 'monotonic'>) {
    this.#counter = counter;
    this.#clock = clock;
  }

  /** Azure did not accept the order. A call that we gave up ourselves is no failure. */
  refused(group: NodeGroupId, failure: Failure): void {
    if (failure.detail.kind !== 'cancelled') this.#count(group, failureReason(failure));
  }

  /** Azure gave an accepted order up. */
  gaveUp(group: NodeGroupId, failure: Failure): void {
    this.#countOnce(group, failureReason(failure));
  }

  /** Takes in machines that failed; one is seen in many loops. One that is a node did come, whatever befell it since. */
  look({ groups, instanceOfNode }: Pick<CloudView, 'groups' | 'instanceOfNode'>): void {
    const joined = new Set(instanceOfNode.values());
    const failed = new Set<InstanceKey>();
    for (const { id, instances = [] } of groups) {
      this.#begin(id);
      for (const { key, state, error } of instances) {
        if (state !== 'failed' || error === undefined || joined.has(key)) continue;
        failed.add(key);
        if (!this.#failed.has(key)) this.#countOnce(id, failureReason(error));
      }
    }
    this.#failed = failed;
  }

  /** Series begin at 0: a first failure that made its own series would be no increase to who reads it. */
  #begin(group: NodeGroupId): void {
    if (this.#known.has(group)) return;
    this.#known.add(group);
    for (const reason of FAILURE_REASONS) this.#counter.inc({ node_group: group, reason }, 0);
  }

  #countOnce(group: NodeGroupId, reason: FailureReason): void {
    const lastAt = this.#lastAt.get(`${group}|${reason}`);
    if (lastAt === undefined || this.#clock.monotonic() - lastAt >= SAME_ORDER_MS) this.#count(group, reason);
  }

  #count(group: NodeGroupId, reason: FailureReason): void {
    this.#lastAt.set(`${group}|${reason}`, this.#clock.monotonic());
    this.#counter.inc({ node_group: group, reason });
  }
}

// What orders, removals and refusals say of the region's quotas before Azure's own count follows, and when that is to be read again.

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
  ordered(group: RegisteredGroup, nodes: number): void {
    const { store, clock } = this.#parts;
    store.quota.recordIncrease(store.facts.drawsOf(group), nodes, clock.now());
  }

  /** What a refusal tells of a quota is newer than what usages say, which are read again all the same. */
  refused(group: RegisteredGroup, error: AutoscalerError): AutoscalerError {
    const { store, clock } = this.#parts;
    const { detail, message, context, code } = error;
    if (detail.kind !== 'quota') return error;
    store.usageDue();
    if (!store.quota.recordRefusal(store.facts.drawsOf(group), detail, clock.now())) return error;
    return new AutoscalerError({ ...detail, counted: true }, message, { cause: error, context, ...defined({ code }) });
  }

  /** What became of an order or a removal changes what may be ordered next; Azure's own count follows late. */
  settle(event: CloudEvent): void {
    const { store, failures } = this.#parts;
    const group = store.registration().byId.get(event.group);
    if (group === undefined) return;
    const draws = store.facts.drawsOf(group);
    if (event.kind === 'increase-failed') {
      failures.gaveUp(event.group, event.error);
      store.quota.recordReturn(draws, event.requested);
      if (event.error.detail.kind === 'quota') store.usageDue();
    }
    if (event.kind !== 'delete-succeeded') return;
    const wasShort = store.quota.isShort(draws, event.atMs);
    store.quota.recordReturn(draws, event.instances.length);
    if (wasShort) store.usageDue();
  }
}
