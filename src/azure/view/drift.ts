/**
 * Four parties count the machines of a pool: AKS by its `count`, the scale set by its capacity, the list of machines, and
 * the cluster by its nodes. When they differ while nothing runs, something is wrong, or will be: any operation of AKS on the
 * pool sets the capacity to its own count. Judges only; reads nothing.
 */
import type { NodeGroupId } from '../../domain/ids.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { CloudView } from '../../domain/observation.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { AzureInventory } from '../inventory/inventory.ts';
import { tagProblems, type Tags } from '../rows/tags.ts';

/** Who counts otherwise than expected: AKS and the list of machines against the capacity, nodes against running machines. */
export type DriftKind = 'agent-pool' | 'instances' | 'nodes';

export interface Drift {
  readonly kind: DriftKind;
  readonly counted: number;
  readonly expected: number;
}

/** What is not part of the group itself. */
export interface DriftInput {
  /** The count of AKS; undefined: not told, or of a pool whose size it is itself. */
  readonly agentPoolCount: number | undefined;
  /** AKS scales the pool down by deallocating, and does not count what it deallocated. Absent: it deletes. */
  readonly deallocates?: boolean;
  /** Nodes that belong to the group. */
  readonly nodes: number;
}

/** Every party that can be compared; empty when the size or the machines are not known. */
export function driftsOf(
  { target, instances }: NodeGroup,
  { agentPoolCount, deallocates: parks = false, nodes }: DriftInput,
): readonly Drift[] {
  if (!target.known || instances === undefined) return [];
  const staying = instances.filter(({ state }) => state !== 'deleting');
  const running = staying.filter(({ state }) => state === 'running');
  const parked = staying.filter(({ state }) => state === 'deallocated').length;
  const capacity = target.value;
  const counted = parks ? capacity - parked : capacity;
  // The node of a machine that was deallocated stays, unless somebody takes it away.
  const joined = Math.min(Math.max(nodes, running.length), running.length + parked);
  return [
    ...(agentPoolCount === undefined ? [] : [{ kind: 'agent-pool' as const, counted: agentPoolCount, expected: counted }]),
    { kind: 'instances', counted: staying.length, expected: capacity },
    { kind: 'nodes', counted: nodes, expected: joined },
  ];
}

/** Whether nothing is known to be under way in the group. `inFlight`: changes of ours that have not ended. */
export function isAtRest({ target, instances, frozen }: NodeGroup, inFlight: number): boolean {
  if (!target.known || !target.confirmed || inFlight > 0 || frozen !== undefined) return false;
  return instances?.every(({ state }) => state === 'running' || state === 'deallocated') === true;
}

/** A node takes minutes to join, and a list is minutes old: only a difference that lasts is told. */
const LASTING_MS = 10 * 60_000;

const COUNTED_BY: Readonly<Record<DriftKind, string>> = { 'agent-pool': 'the count of AKS', instances: 'its machines', nodes: 'its nodes' };

export class DriftWatch {
  readonly #since = new Map<string, number>();
  #told = '';

  /**
   * Takes one look at every group at rest; groups that are left out are in motion, and their differences begin anew.
   * Answers a line per lasting difference when there are other ones than last time; undefined: no news.
   */
  newLastingDrifts(
    groups: readonly { readonly id: string; readonly drifts: readonly Drift[] }[],
    nowMs: number,
  ): readonly string[] | undefined {
    const live = new Map<string, string>();
    for (const { id, drifts } of groups) {
      for (const { kind, counted, expected } of drifts) {
        if (counted !== expected) live.set(`${id}|${kind}`, `${id}: ${COUNTED_BY[kind]} ${counted}, expected ${expected}`);
      }
    }
    for (const key of this.#since.keys()) if (!live.has(key)) this.#since.delete(key);
    for (const key of live.keys()) if (!this.#since.has(key)) this.#since.set(key, nowMs);
    const lasting = [...live.keys()].filter((key) => nowMs - (this.#since.get(key) ?? nowMs) >= LASTING_MS).sort();
    const news = lasting.join(' ');
    if (news === this.#told) return undefined;
    this.#told = news;
    return lasting.flatMap((key) => live.get(key) ?? []);
  }
}

// What is worth telling of the cache from loop to loop: groups that drift, tags that cannot be read, ages, quotas. Decides nothing.

export interface InventoryReporterDeps {
  readonly store: AzureInventory;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
}

export class InventoryReporter {
  readonly #parts: InventoryReporterDeps;
  readonly #drifts = new DriftWatch();
  /** The tags of each group that were looked at last. */
  readonly #read = new Map<NodeGroupId, { readonly tags: Tags; readonly problems: readonly string[] }>();

  constructor(parts: InventoryReporterDeps) {
    this.#parts = parts;
  }

  report(view: CloudView, nowMs: number): void {
    this.#tellDrift(view, nowMs);
    this.#tellTags(view);
  }

  /** Once for what a set says, and again when it says something else. */
  #tellTags({ groups }: CloudView): void {
    const { store, log } = this.#parts;
    for (const { id } of groups) {
      const set = store.scaleSets.get(store.registration().byId.get(id)?.key ?? '')?.value;
      const before = this.#read.get(id);
      if (set === undefined || before?.tags === set.tags) continue;
      const problems = tagProblems(set.tags);
      this.#read.set(id, { tags: set.tags, problems });
      const isNews = problems.length > 0 && JSON.stringify(problems) !== JSON.stringify(before?.problems);
      if (isNews) log.warn({ nodeGroup: id, problems }, 'tags that describe new nodes of a group cannot be read and are left out');
    }
  }

  /** Gauges of what is cached and of quotas. */
  updateGauges(): void {
    this.#measureQuotas();
    this.#measureLags();
    const { cache } = this.#parts.metrics;
    for (const table of [this.#parts.store.scaleSets, this.#parts.store.instances, this.#parts.store.vmsPools.sizes]) {
      const ageMs = table.oldestAgeMs();
      cache.rows.set({ table: table.name }, table.snapshot().size);
      if (ageMs !== undefined && Number.isFinite(ageMs)) cache.rowAge.set({ table: table.name }, ageMs / 1000);
      cache.fencesActive.set({ table: table.name }, table.fences().length);
    }
  }

  #tellDrift({ groups, groupOfNode }: CloudView, nowMs: number): void {
    const { log, metrics } = this.#parts;
    metrics.cluster.groupDrift.reset();
    const nodes = new Map<NodeGroupId, number>();
    for (const id of groupOfNode.values()) nodes.set(id, (nodes.get(id) ?? 0) + 1);
    const atRest = groups.flatMap((group) => {
      const registered = this.#parts.store.registration().byId.get(group.id);
      if (registered === undefined) return [];
      const pool = registered.kind === 'scale-set' ? this.#parts.store.facts.poolOf(registered) : undefined;
      const drifts = driftsOf(group, {
        agentPoolCount: pool?.count,
        deallocates: pool?.deallocates === true,
        nodes: nodes.get(group.id) ?? 0,
      });
      for (const { kind, counted, expected } of drifts) {
        metrics.cluster.groupDrift.set({ node_group: group.id, kind }, counted - expected);
      }
      return isAtRest(group, this.#parts.store.changes.inFlight(registered.key)) ? [{ id: group.id, drifts }] : [];
    });
    const news = this.#drifts.newLastingDrifts(atRest, nowMs);
    if (news === undefined) return;
    if (news.length === 0) log.info({}, 'AKS, scale sets and nodes agree about the sizes of pools again');
    // The sentence is the same for all pools, so that one line tells them all.
    else {
      const why = 'the next operation of AKS on such a pool, an upgrade or a change of a label, sets its capacity to the count of AKS';
      log.warn({ pools: news, why }, 'AKS, scale sets and nodes differ about the sizes of pools while nothing runs in them');
    }
  }

  #measureLags(): void {
    const { store, clock, metrics } = this.#parts;
    const lags = new Map<string, number>();
    for (const { kind, enabled, state, nextDueMs } of store.status()) {
      const lagMs = enabled && state === 'idle' ? Math.max(0, clock.now() - nextDueMs) : 0;
      lags.set(kind, Math.max(lagMs, lags.get(kind) ?? 0));
    }
    for (const [kind, lagMs] of lags) metrics.cache.agentLag.set({ kind }, lagMs / 1000);
  }

  #measureQuotas(): void {
    const { quota } = this.#parts.metrics;
    for (const { name, limit, used } of this.#parts.store.facts.quotas(this.#parts.clock.now())) {
      quota.limit.set({ quota: name }, limit);
      quota.used.set({ quota: name }, used);
    }
  }
}
