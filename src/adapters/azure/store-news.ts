/** What is worth telling of the cache from loop to loop: groups that drift, tags that cannot be read, ages, quotas. Decides nothing. */
import type { Clock } from '../../domain/clock.ts';
import type { NodeGroupId } from '../../domain/ids.ts';
import type { CloudView } from '../../domain/observation.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { badTags } from './bad-tags.ts';
import { DriftWatch, driftsOf, isAtRest } from './drift.ts';
import type { AzureStore } from './store.ts';
import type { Tags } from './tags.ts';

export interface StoreNewsParts {
  readonly store: AzureStore;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
}

export class StoreNews {
  readonly #parts: StoreNewsParts;
  readonly #drifts = new DriftWatch();
  /** The tags of each group that were looked at last. */
  readonly #read = new Map<NodeGroupId, { readonly tags: Tags; readonly problems: readonly string[] }>();

  constructor(parts: StoreNewsParts) {
    this.#parts = parts;
  }

  tell(view: CloudView, nowMs: number): void {
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
      const problems = badTags(set.tags);
      this.#read.set(id, { tags: set.tags, problems });
      const isNews = problems.length > 0 && JSON.stringify(problems) !== JSON.stringify(before?.problems);
      if (isNews) log.warn({ nodeGroup: id, problems }, 'tags that describe new nodes of a group cannot be read and are left out');
    }
  }

  /** Gauges of what is cached and of quotas. */
  measure(): void {
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
      const drifts = driftsOf(group, { agentPoolCount: pool?.count, parks: pool?.parks === true, nodes: nodes.get(group.id) ?? 0 });
      for (const { kind, counted, expected } of drifts) {
        metrics.cluster.groupDrift.set({ node_group: group.id, kind }, counted - expected);
      }
      return isAtRest(group, this.#parts.store.changes.inFlight(registered.key)) ? [{ id: group.id, drifts }] : [];
    });
    const news = this.#drifts.look(atRest, nowMs);
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
