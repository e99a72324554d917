/**
 * Compares four counts of a pool: AKS's `count`, the capacity of the scale set, the listed instances, and the nodes. A
 * difference while no operation runs is an error or will become one: any operation of AKS on the pool sets the capacity to
 * AKS's count. Must not know how to repair a difference; it only reports.
 */
import { isDeepStrictEqual } from 'node:util';
import type { NodeGroupId } from '../../domain/ids.ts';
import type { Instance, NodeGroup } from '../../domain/node-group.ts';
import type { CloudView } from '../../domain/observation.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { isGroupSettled } from '../groups/settled.ts';
import type { AzureInventory } from '../inventory/inventory.ts';
import type { AgentPoolRow } from '../rows/agent-pool.ts';
import { tagProblems, type Tags } from '../rows/tags.ts';

/** Which count differs: AKS and the list of instances against the capacity, nodes against running instances. */
type DriftKind = 'agent-pool' | 'instances' | 'nodes';

interface Drift {
  readonly kind: DriftKind;
  readonly counted: number;
  readonly expected: number;
}

/** The inputs that are not part of the group itself. */
interface DriftInput {
  /** AKS's count. undefined: unknown, or of a VMs pool, whose size it is. */
  readonly agentPoolCount: number | undefined;
  /** AKS scales the pool down by deallocating, and does not count deallocated instances. If absent, AKS deletes them. */
  readonly deallocates?: boolean;
  /** Nodes that belong to the group. */
  readonly nodes: number;
}

/** Every count that can be compared. Empty if the size or the instances are unknown. */
export function driftsOf({ target, instances }: NodeGroup, { agentPoolCount, deallocates = false, nodes }: DriftInput): readonly Drift[] {
  if (!target.known || instances === undefined) return [];
  const { staying, running, deallocated } = countsOf(instances);
  const capacity = target.value;
  const counted = deallocates ? capacity - deallocated : capacity;
  // The node of a deallocated instance remains unless it is removed by hand.
  const joined = Math.min(Math.max(nodes, running), running + deallocated);
  return [
    ...(agentPoolCount === undefined ? [] : [{ kind: 'agent-pool' as const, counted: agentPoolCount, expected: counted }]),
    { kind: 'instances', counted: staying, expected: capacity },
    { kind: 'nodes', counted: nodes, expected: joined },
  ];
}

interface InstanceCounts {
  readonly staying: number;
  readonly running: number;
  readonly deallocated: number;
}

/** The view keeps its list while no instance changed. */
const counts = new WeakMap<readonly Instance[], InstanceCounts>();

function countsOf(instances: readonly Instance[]): InstanceCounts {
  const count = (isCounted: (instance: Instance) => boolean): number => instances.filter(isCounted).length;
  const known = counts.get(instances) ?? {
    staying: count(({ state }) => state !== 'deleting'),
    running: count(({ state }) => state === 'running'),
    deallocated: count(({ state }) => state === 'deallocated'),
  };
  counts.set(instances, known);
  return known;
}

/** AKS's count if it differs from what AKS would count; undefined: equal, or unknown. */
export function differingAksCount(group: Pick<NodeGroup, 'target' | 'instances'>, pool: AgentPoolRow | undefined): number | undefined {
  // Where AKS scales the pool itself, its operations keep the size.
  if (pool?.count === undefined || pool.managedAutoscaler || !group.target.known) return undefined;
  const { target, instances = [] } = group;
  const deallocated = pool.deallocates === true ? countsOf(instances).deallocated : 0;
  return pool.count === target.value - deallocated ? undefined : pool.count;
}

/** A node takes minutes to join, and a list is minutes old. Only a lasting difference is reported. */
const LASTING_MS = 10 * 60_000;

const COUNTED_BY: Readonly<Record<DriftKind, string>> = {
  'agent-pool': 'the count of AKS',
  instances: 'its instances',
  nodes: 'its nodes',
};

export class DriftWatch {
  readonly #since = new Map<string, number>();
  #reported = '';

  /**
   * Compares every settled group; groups that are missing are changing, and their differences start again. Returns one line
   * per lasting difference if the set of differences changed; undefined: unchanged.
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
    const summary = lasting.join(' ');
    if (summary === this.#reported) return undefined;
    this.#reported = summary;
    return lasting.flatMap((key) => live.get(key) ?? []);
  }
}

interface InventoryReporterDeps {
  readonly store: AzureInventory;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
}

/** Reports on the cached data once per loop: drifting groups, unreadable tags, ages and quotas. Decides nothing. */
export class InventoryReporter {
  readonly #deps: InventoryReporterDeps;
  readonly #drifts = new DriftWatch();
  #counted: { readonly groupOfNode: CloudView['groupOfNode']; readonly nodes: ReadonlyMap<NodeGroupId, number> } | undefined;
  /** The last checked tags of each group. */
  readonly #checkedTags = new Map<NodeGroupId, { readonly tags: Tags; readonly problems: readonly string[] }>();

  constructor(deps: InventoryReporterDeps) {
    this.#deps = deps;
  }

  report(view: CloudView, nowMs: number): void {
    this.#reportDrift(view, nowMs);
    this.#reportTags(view);
  }

  /** Logs the problems of a set's tags once, and again when they change. */
  #reportTags({ groups }: CloudView): void {
    const { store, log } = this.#deps;
    for (const { id } of groups) {
      const set = store.scaleSets.get(store.registration().byId.get(id)?.key ?? '')?.value;
      const before = this.#checkedTags.get(id);
      if (set === undefined || before?.tags === set.tags) continue;
      const problems = tagProblems(set.tags);
      this.#checkedTags.set(id, { tags: set.tags, problems });
      const isNews = problems.length > 0 && !isDeepStrictEqual(problems, before?.problems);
      if (isNews) log.warn({ nodeGroup: id, problems }, 'Template tags of a group cannot be parsed and are ignored');
    }
  }

  /** Updates the gauges of cached rows and of quotas. */
  updateGauges(): void {
    this.#measureQuotas();
    this.#measureLags();
    const { cache } = this.#deps.metrics;
    for (const table of [this.#deps.store.scaleSets, this.#deps.store.instances, this.#deps.store.vmsPools.sizes]) {
      const ageMs = table.oldestAgeMs();
      cache.rows.set({ table: table.name }, table.snapshot().size);
      if (ageMs !== undefined && Number.isFinite(ageMs)) cache.rowAge.set({ table: table.name }, ageMs / 1000);
      cache.fencesActive.set({ table: table.name }, table.fences().length);
    }
  }

  #reportDrift({ groups, groupOfNode }: CloudView, nowMs: number): void {
    const { log, metrics } = this.#deps;
    metrics.cluster.groupDrift.reset();
    const nodes = this.#nodesOf(groupOfNode);
    const settled = groups.flatMap((group) => {
      const registered = this.#deps.store.registration().byId.get(group.id);
      if (registered === undefined) return [];
      const pool = registered.kind === 'scale-set' ? this.#deps.store.facts.poolOf(registered) : undefined;
      const drifts = driftsOf(group, {
        agentPoolCount: pool?.managedAutoscaler === true ? undefined : pool?.count,
        deallocates: pool?.deallocates === true,
        nodes: nodes.get(group.id) ?? 0,
      });
      for (const { kind, counted, expected } of drifts) {
        metrics.cluster.groupDrift.set({ node_group: group.id, kind }, counted - expected);
      }
      return isGroupSettled(group, this.#deps.store.changes.inFlight(registered.key)) ? [{ id: group.id, drifts }] : [];
    });
    const news = this.#drifts.newLastingDrifts(settled, nowMs);
    if (news === undefined) return;
    if (news.length === 0) log.info({}, 'AKS, scale sets and nodes agree on pool sizes again');
    // One line for all pools: the sentence is the same.
    else {
      const why = 'the next operation of AKS on such a pool, such as an upgrade or a label change, sets its capacity to the count of AKS';
      log.warn({ pools: news, why }, 'AKS, scale sets and nodes differ on pool sizes although no operation runs');
    }
  }

  /** The view keeps its map while no node came or went. */
  #nodesOf(groupOfNode: CloudView['groupOfNode']): ReadonlyMap<NodeGroupId, number> {
    if (this.#counted?.groupOfNode === groupOfNode) return this.#counted.nodes;
    const nodes = new Map<NodeGroupId, number>();
    for (const id of groupOfNode.values()) nodes.set(id, (nodes.get(id) ?? 0) + 1);
    this.#counted = { groupOfNode, nodes };
    return nodes;
  }

  #measureLags(): void {
    const { store, clock, metrics } = this.#deps;
    const lags = new Map<string, number>();
    for (const { kind, enabled, state, nextDueMs } of store.status()) {
      const lagMs = enabled && state === 'idle' ? Math.max(0, clock.now() - nextDueMs) : 0;
      lags.set(kind, Math.max(lagMs, lags.get(kind) ?? 0));
    }
    for (const [kind, lagMs] of lags) metrics.cache.agentLag.set({ kind }, lagMs / 1000);
  }

  #measureQuotas(): void {
    const { quota } = this.#deps.metrics;
    for (const { name, limit, used } of this.#deps.store.facts.quotas(this.#deps.clock.now())) {
      quota.limit.set({ quota: name }, limit);
      quota.used.set({ quota: name }, used);
    }
  }
}
