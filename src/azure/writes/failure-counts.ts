/**
 * Counts failed increases by reason, each once. An accepted increase fails in several places within moments: its operation and
 * each of its instances report the failure, in any order.
 */
import type { InstanceKey, NodeGroupId } from '../../domain/ids.ts';
import type { Instance } from '../../domain/node-group.ts';
import type { CloudView, CloudEvent } from '../../domain/observation.ts';
import type { Clock } from '../../lib/clock.ts';
import { type ErrorKind, AutoscalerError } from '../../lib/errors.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { FAILURE_REASONS, failureReason, type FailureReason } from '../arm/errors.ts';
import type { RegisteredGroup } from '../groups/registry.ts';
import type { AzureInventory } from '../inventory/inventory.ts';
import { defined } from '../../lib/defined.ts';

/** Shorter than the shortest backoff after a failure, so that the next increase counts separately. */
const SAME_INCREASE_MS = 4 * 60_000;

const NO_INSTANCES: readonly Instance[] = [];

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
  /** Groups whose last increase was for headroom alone. */
  readonly #uncounted = new Set<NodeGroupId>();
  #failed: ReadonlySet<InstanceKey> = new Set();
  readonly #failedOf = new WeakMap<readonly Instance[], readonly Instance[]>();

  constructor(counter: Metrics['scaleUp']['failures'], clock: Pick<Clock, 'monotonic'>) {
    this.#counter = counter;
    this.#clock = clock;
  }

  /** Whether failures of the group are counted from now on: those of an increase for headroom alone keep no pod waiting. */
  expect(group: NodeGroupId, failures: 'counted' | 'not-counted'): void {
    if (failures === 'counted') this.#uncounted.delete(group);
    else this.#uncounted.add(group);
  }

  /** Azure refused an increase. A call that we cancelled is not a failure. */
  countRefusal(group: NodeGroupId, failure: Failure): void {
    if (failure.detail.kind !== 'cancelled') this.#count(group, failureReason(failure));
  }

  /** An accepted increase failed. */
  countLateFailure(group: NodeGroupId, failure: Failure): void {
    this.#countOnce(group, failureReason(failure));
  }

  /** Counts each failed instance once, in however many loops it is seen. One that has a node is not counted. */
  countFailedInstances({ groups, instanceOfNode }: Pick<CloudView, 'groups' | 'instanceOfNode'>): void {
    for (const { id } of groups) this.#begin(id);
    const found = groups.flatMap(({ id, instances = NO_INSTANCES }) => this.#failedIn(instances).map((instance) => ({ id, instance })));
    const joined = new Set(found.length === 0 ? [] : instanceOfNode.values());
    const failed = new Set<InstanceKey>();
    for (const {
      id,
      instance: { key, error },
    } of found) {
      if (error === undefined || joined.has(key)) continue;
      failed.add(key);
      if (!this.#failed.has(key)) this.#countOnce(id, failureReason(error));
    }
    this.#failed = failed;
  }

  /** The view keeps its list while no instance changed. */
  #failedIn(instances: readonly Instance[]): readonly Instance[] {
    const failed = this.#failedOf.get(instances) ?? instances.filter(({ state }) => state === 'failed');
    this.#failedOf.set(instances, failed);
    return failed;
  }

  /** Without a series at 0, Prometheus `increase()` would miss the first failure. */
  #begin(group: NodeGroupId): void {
    if (this.#known.has(group)) return;
    this.#known.add(group);
    for (const reason of FAILURE_REASONS) this.#counter.inc({ node_group: group, reason }, 0);
  }

  #countOnce(group: NodeGroupId, reason: FailureReason): void {
    const lastAt = this.#lastAt.get(`${group}|${reason}`);
    if (lastAt === undefined || this.#clock.monotonic() - lastAt >= SAME_INCREASE_MS) this.#count(group, reason);
  }

  #count(group: NodeGroupId, reason: FailureReason): void {
    // guard: no alert follows from headroom that Azure does not give
    if (this.#uncounted.has(group)) return;
    this.#lastAt.set(`${group}|${reason}`, this.#clock.monotonic());
    this.#counter.inc({ node_group: group, reason });
  }
}

export interface QuotaAccountDeps {
  readonly inventory: AzureInventory;
  readonly failures: FailureCounts;
  readonly clock: Pick<Clock, 'now'>;
}

/**
 * Adjusts the region's quotas by our increases, deletions and refusals, since Azure's own count follows late. Requests the usages
 * when they are worth reading again.
 */
export class QuotaAccount {
  readonly #deps: QuotaAccountDeps;

  constructor(deps: QuotaAccountDeps) {
    this.#deps = deps;
  }

  /** How many nodes an increase of the group adds without using quota. To be asked before the write, which uses the reserved capacity. */
  reservedFor(group: RegisteredGroup): number {
    return this.#deps.inventory.reservations.unusedFor(group.key, this.#deps.clock.now());
  }

  /** An increase by this many nodes was sent. At most `reserved` of them use no quota. */
  recordIncrease(group: RegisteredGroup, nodes: number, reserved: number): void {
    const { inventory, clock } = this.#deps;
    // guard: nodes in reserved capacity do not count against the quota a second time
    const beyond = Math.max(0, nodes - reserved);
    if (beyond > 0) inventory.quota.recordIncrease(inventory.facts.drawsOf(group), beyond, clock.now());
  }

  /** Nodes will not be created or are gone. Nodes of reserved capacity may not have used quota, so they give none back. */
  recordReturn(group: RegisteredGroup, nodes: number): void {
    const { inventory } = this.#deps;
    if (!inventory.reservations.isReserving(group.key)) inventory.quota.recordReturn(inventory.facts.drawsOf(group), nodes);
  }

  /** A refusal is newer than the usages. They are read again nevertheless. Returns the error with what is known of the quota. */
  recordRefusal(group: RegisteredGroup, error: AutoscalerError): AutoscalerError {
    const { inventory, clock } = this.#deps;
    const { detail, message, context, code } = error;
    if (detail.kind !== 'quota') return error;
    inventory.usageDoubt.begin();
    if (!inventory.quota.recordRefusal(inventory.facts.drawsOf(group), detail, clock.now())) return error;
    return new AutoscalerError({ ...detail, counted: true }, message, { cause: error, context, ...defined({ code }) });
  }

  /** The end of an increase or a deletion changes how much quota is left. */
  recordEvent(event: CloudEvent): void {
    const { inventory, failures } = this.#deps;
    const group = inventory.registration().byId.get(event.group);
    if (group === undefined) return;
    const draws = inventory.facts.drawsOf(group);
    if (event.kind === 'increase-failed') {
      failures.countLateFailure(event.group, event.error);
      this.recordReturn(group, event.requested);
      if (event.error.detail.kind === 'quota') inventory.usageDoubt.begin();
    }
    // Azure counts those in its quotas.
    if (event.kind !== 'delete-succeeded' || event.remain === true) return;
    const wasShort = inventory.quota.isShort(draws, event.atMs);
    this.recordReturn(group, event.instances.length);
    if (wasShort) inventory.usageDoubt.begin();
  }
}
