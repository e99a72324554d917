/**
 * What is known of Azure: the tables, the agents that fill them, single reads between the lists, and the groups registered from
 * them. Must not know Kubernetes, nor decide or write anything.
 * Idea: row, agent.
 */
import type { CacheHooks } from '../../cache/table/hooks.ts';
import { AgentScheduler } from '../../cache/agents/agent-scheduler.ts';
import type { AgentStatus } from '../../cache/agents/agent-state.ts';
import { LogicalClock } from '../../cache/logical-clock.ts';
import { Slots } from '../../cache/concurrency.ts';
import { Table } from '../../cache/table/table.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Random } from '../../lib/random.ts';
import type { StoredText } from '../../domain/ports/stored-text.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { AgentDeps } from '../agents/agents.ts';
import type { ArmCalls } from '../arm/arm-client.ts';
import type { ArmClients } from '../arm/sdk-clients.ts';
import type { AzureOptions, GroupSelection } from '../arm/options.ts';
import type { RateLimits } from '../arm/rate-limits.ts';
import { QuotaLedger } from '../sizes/core-quotas.ts';
import type { OwnWrites } from '../groups/own-writes.ts';
import type { Registration } from '../groups/registry.ts';
import type { InstanceRow, ScaleSetRow } from '../rows/scale-set.ts';
import { RestWatch } from '../agents/rest-watch.ts';
import { AzureReads } from './azure-reads.ts';
import { InstanceLists } from './instance-lists.ts';
import { KnownGroups } from './known-groups.ts';
import { loadInitially } from './initial-load.ts';
import { ForeignItems } from '../rows/foreign-items.ts';
import { GroupChanges } from './group-changes.ts';
import { GroupFacts } from './group-facts.ts';
import { GroupInstances } from './group-instances.ts';
import { ReadsAfterIncrease } from './reads-after-increase.ts';
import { createRetailPrices, type RetailPrices } from '../prices/price-cache.ts';
import { allAgents } from '../agents/all-agents.ts';
import { reservationsAgent, type ReservationReading } from '../agents/reservations-agent.ts';
import { PlacementScores } from '../sizes/spot-placements.ts';
import { maintenanceAgent } from '../agents/maintenance-agent.ts';
import { maintenanceUseOf } from '../groups/maintenance-use.ts';
import { MaintenanceReadings } from './maintenance-readings.ts';
import { ReservedCapacities } from './reserved-capacity.ts';
import { NOTHING_SHARED, type SharedTexts } from '../../domain/ports/shared-text.ts';
import type { SkuCatalog } from '../sizes/sku-catalog.ts';
import { SizeKnowledge } from '../sizes/size-knowledge.ts';
import {
  AGENT_POOLS_AGENT,
  instanceListAgentId,
  INSTANCES,
  isAgentId,
  MAINTENANCE_AGENT,
  RESERVATIONS_AGENT,
  SCALE_SETS,
  SCALE_SETS_AGENT,
  SKUS_AGENT,
} from '../rows/tables.ts';
import { POOL_SIZES } from '../rows/vms-pool.ts';
import { UsageDoubt } from './usage-doubt.ts';
import { VmsPools } from './vms-pools.ts';
import type { AgentPools } from '../rows/agent-pool.ts';

export interface AzureInventoryDeps {
  readonly options: AzureOptions;
  readonly clients: ArmClients;
  readonly calls: ArmCalls;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly hooks: CacheHooks;
  /** Our own writes keep a group from being increased, or from being written directly. */
  readonly ownWrites: Pick<OwnWrites, 'increaseHeldReason' | 'isThroughAks'>;
  /** Holds of Azure: without admission a group cannot be increased. */
  readonly rateLimits: Pick<RateLimits, 'heldReason'>;
  /** If absent, this process reads the VM sizes for itself. */
  readonly shared?: SharedTexts | undefined;
  /** If absent, list prices are not stored for the next process. */
  readonly keptPrices?: StoredText | undefined;
}

export class AzureInventory {
  readonly scaleSets: Table<ScaleSetRow>;
  readonly instances: Table<InstanceRow>;
  readonly scheduler: AgentScheduler;
  /** The order of readings and of our own writes. */
  readonly order: LogicalClock;
  readonly vmsPools: VmsPools;
  readonly quota = new QuotaLedger();
  readonly reservations: ReservedCapacities;
  readonly placements: PlacementScores;
  /** The hours of AKS. Read only while removals of a group keep out of them or to them. */
  readonly maintenance: MaintenanceReadings;
  /** undefined: prices are not read. */
  readonly prices: RetailPrices | undefined;
  readonly facts: GroupFacts;
  readonly changes: GroupChanges;
  readonly increases: ReadsAfterIncrease;
  readonly lists: InstanceLists;
  readonly reads: AzureReads;
  readonly usageDoubt: UsageDoubt;
  /** Agents that rest while nothing moves. undefined: each runs at each of its turns. */
  readonly rest: RestWatch | undefined;
  readonly #deps: AzureInventoryDeps;
  readonly #agents: AgentDeps;
  readonly #sizes: SizeKnowledge;
  readonly #known: KnownGroups;
  #reservationIds: ReadonlySet<string> = new Set();

  constructor(deps: AzureInventoryDeps) {
    const { clock, hooks, log, options, ownWrites, random, rateLimits } = deps;
    this.#deps = deps;
    const order = new LogicalClock(clock);
    this.order = order;
    const slots = new Slots(Math.max(1, options.maxConcurrentCalls));
    const clusterId = `${options.subscriptionId}/${options.nodeResourceGroup}`;
    this.scheduler = new AgentScheduler({ clock, random, clusterId, slots, hooks, mayBeAdded: isAgentId });
    const table = { clock, order, hooks };
    this.scaleSets = new Table({ ...table, definition: SCALE_SETS, requestRefresh: (key) => this.#wantSet(key) });
    this.instances = new Table({ ...table, definition: INSTANCES, requestRefresh: (key, scope) => this.#wantInstance(key, scope) });
    const poolSizes = new Table({
      ...table,
      definition: POOL_SIZES,
      requestRefresh: (key) => this.reads.want({ what: 'size', group: key }),
    });
    const { scheduler, scaleSets, instances, quota } = this;

    this.#known = new KnownGroups({ selection: options, scaleSets, poolSizes, log });
    const known = this.#known;
    this.rest = options.readOnChange ? this.#restWatch() : undefined;
    this.#agents = { ...deps, order, foreign: new ForeignItems(deps), scaleSets, instances, rest: this.rest };
    const agents = this.#agents;
    this.lists = new InstanceLists({ scheduler, agents, known });
    const readPool = (key: string, signal: AbortSignal): Promise<unknown> => this.vmsPools.read(key, signal);
    this.reads = new AzureReads({ agents, clock, slots, hooks, rateLimits, scheduler, readPool });
    const { lists, reads } = this;
    this.vmsPools = new VmsPools({ ...deps, order, reads, known, sizes: poolSizes });
    const { vmsPools } = this;

    this.#sizes = new SizeKnowledge(clock, () => scheduler.want(SKUS_AGENT));
    const instanceZones = (key: string) => [...instances.scope(key).values()].map(({ value }) => value.zone);
    this.facts = new GroupFacts({
      options,
      clock,
      scaleSets,
      vmsPools,
      ownWrites,
      rateLimits,
      quota,
      known,
      sizes: this.#sizes,
      instanceZones,
      machineDisk: (key) => [...instances.scope(key).values()].find(({ value }) => value.diskSku !== undefined)?.value.diskSku,
    });
    const { facts } = this;
    this.usageDoubt = new UsageDoubt({ clock, reads, quota, known, facts });
    const seen = new GroupInstances(agents, vmsPools);
    this.increases = new ReadsAfterIncrease({ clock, log, reads, instances: seen });
    this.changes = new GroupChanges({ clock, scaleSets, lists, reads, instances: seen, increases: this.increases });
    this.reservations = new ReservedCapacities({
      groups: () => facts.reservingGroups((key) => seen.targetOf(key)),
      groupOfVm: (armId) => seen.groupOfVm(armId),
    });
    this.placements = new PlacementScores(() => facts.spotPools());
    this.maintenance = new MaintenanceReadings(options);
    this.prices = createRetailPrices(deps, () =>
      [...known.groups()].flatMap((group) => [facts.skuOf(group)?.name, facts.stoppedDiskOf(group)].filter((name) => name !== undefined)),
    );
    this.#addAgents(deps.shared ?? NOTHING_SHARED);
    scheduler.select(options.agents);
    this.#followTables();
  }

  get catalog(): SkuCatalog | undefined {
    return this.#sizes.catalog;
  }

  /** Returns the same object until a scale set, a pool or one of its sizes changes. */
  registration(): Registration {
    return this.#known.registration();
  }

  /** The selected groups, with options for single ones. */
  get selection(): GroupSelection {
    return this.#known.selection;
  }

  /** Applies other groups or limits. Pools are read at once for newly named sizes: AKS leaves out sizes without an instance. */
  selectGroups(selection: GroupSelection): void {
    if (!this.#known.select(selection)) return;
    this.#syncAgents();
    this.scheduler.want(AGENT_POOLS_AGENT);
  }

  /** Reads what the first decision needs. Rejects if the scale sets could not be read. */
  async load(signal: AbortSignal): Promise<void> {
    const { clock, log, options } = this.#deps;
    await loadInitially({ scheduler: this.scheduler, clock, log, patienceMs: options.startPatienceMs ?? 0 }, signal);
    this.changes.noteInherited();
  }

  invalidate(groupKey?: string): void {
    this.scaleSets.invalidate(groupKey === undefined ? {} : { key: groupKey });
    this.instances.invalidate(groupKey === undefined ? {} : { scope: groupKey });
    this.vmsPools.sizes.invalidate(groupKey === undefined ? {} : { key: groupKey });
    for (const id of groupKey === undefined ? this.scheduler.ids : [SCALE_SETS_AGENT, instanceListAgentId(groupKey)])
      this.scheduler.want(id, { rate: 'renew' });
  }

  status(): readonly AgentStatus[] {
    return this.scheduler.status();
  }

  removeExpired(): void {
    const agentIds = new Set(this.scheduler.ids);
    for (const table of [this.scaleSets, this.instances, this.vmsPools.sizes]) table.reap(agentIds);
  }

  stop(): void {
    this.reads.stop();
    this.increases.stop();
  }

  /** Does not read while our own change is in progress; its end triggers the read. */
  #wantSet(key: string): void {
    if ((this.scaleSets.view(key)?.inFlight ?? 0) === 0) this.reads.want({ what: 'size', group: key });
  }

  #wantInstance(key: string, scope: string): void {
    if (!this.changes.isCoveredByList(scope)) this.reads.want({ what: 'instance', group: scope, key });
  }

  #followTables(): void {
    this.scaleSets.subscribe((event) => {
      this.#syncAgents();
      if (event.kind === 'changed' && event.after === undefined) this.instances.endScope(event.key);
      if (event.kind === 'external-change') this.changes.noteExternalChange(event);
      const isForeign = event.kind === 'changed' && this.changes.isForeignTag(event.key, event.before?.etag, event.after?.etag);
      if (isForeign) this.reads.want({ what: 'instances', group: event.key });
      // If AKS is changing the pool, the pool must be frozen at once, not when the next list of pools is due.
      if (isForeign || event.kind === 'external-change') this.scheduler.want(AGENT_POOLS_AGENT);
    });
    this.vmsPools.sizes.subscribe((event) => {
      this.#syncAgents();
      if (event.kind === 'external-change') this.changes.noteExternalChange(event);
    });
  }

  #addAgents(shared: SharedTexts): void {
    const agents = allAgents({
      ...this.#deps,
      agents: this.#agents,
      shared,
      usageDoubtedAtMs: () => this.usageDoubt.sinceMs,
      quota: this.quota,
      prices: this.prices?.cache,
      placements: this.placements,
      setDue: (key) => this.#wantSet(key),
      keepPools: (pools) => this.#keepPools(pools),
      sizes: this.#sizes,
      isRestricted: () => [...this.#known.groups()].some((group) => this.facts.restrictedReason(group) !== undefined),
    });
    for (const agent of agents) this.scheduler.ensure(agent.id, () => agent);
    this.#syncAgents();
  }

  #keepPools(pools: AgentPools): void {
    this.#known.keepPools(pools);
    this.vmsPools.commitList(pools.pages, true);
    if (this.#known.hasVmsPool()) this.lists.addVms();
    // guard: a scale set that only its agent pool makes a group is listed, whichever list came first
    this.#syncAgents();
  }

  #syncAgents(): void {
    this.lists.sync();
    this.#syncReservations();
    this.#syncMaintenance();
  }

  /** A capacity reservation group that a pool names for the first time is read soon. */
  #syncReservations(): void {
    const ids = this.reservations.groupIds();
    const isNew = ids.some((id) => !this.#reservationIds.has(id));
    this.#reservationIds = new Set(ids);
    if (!isNew) return;
    if (this.scheduler.has(RESERVATIONS_AGENT)) this.scheduler.want(RESERVATIONS_AGENT);
    const keep = (readings: ReadonlyMap<string, ReservationReading>): void => this.reservations.keep(readings);
    const deps = { ...this.#agents, groupIds: () => this.reservations.groupIds(), keep };
    this.scheduler.ensure(RESERVATIONS_AGENT, () => reservationsAgent(deps));
  }

  /** The hours of AKS are read while they matter to a group. */
  #syncMaintenance(): void {
    const { clusterName: name, clusterResourceGroup: resourceGroup } = this.#deps.options;
    const { scheduler, maintenance, selection, facts } = this;
    const isWanted = [...this.#known.groups()].some((group) => maintenanceUseOf(selection, () => facts.namesOf(group)) !== 'ignore');
    if (!isWanted || name === undefined || resourceGroup === undefined) return scheduler.remove(MAINTENANCE_AGENT);
    const deps = { ...this.#agents, cluster: { resourceGroup, name }, readings: maintenance };
    scheduler.ensure(MAINTENANCE_AGENT, () => maintenanceAgent(deps));
  }

  #restWatch(): RestWatch {
    return new RestWatch({
      tagOf: (key) => (this.scaleSets.get(key) ?? this.vmsPools.sizes.get(key))?.etag,
      arePoolsChanging: () => this.#known.hasVmsPool() || this.#known.hasOperation(),
      scheduler: this.scheduler,
    });
  }
}
