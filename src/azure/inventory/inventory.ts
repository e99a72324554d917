/**
 * What is known of Azure: the tables, the agents that fill them, single reads between the lists, and the groups registered from
 * them. Must not know Kubernetes, nor decide or write anything.
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
import { QuotaDoubt } from '../sizes/quota-doubt.ts';
import type { OwnWrites } from '../groups/own-writes.ts';
import type { RegisteredGroup, Registration } from '../groups/registry.ts';
import type { InstanceRow, ScaleSetRow } from '../rows/scale-set.ts';
import { AgentRoster, instanceListAgentId } from '../agents/instance-list-agents.ts';
import { RestWatch } from '../agents/rest-watch.ts';
import { InstanceLists } from './instance-lists.ts';
import { KnownGroups } from './known-groups.ts';
import { loadInitially } from './initial-load.ts';
import { ForeignItems } from '../rows/foreign-items.ts';
import { EarlyLooks } from './early-looks.ts';
import { GroupChanges } from './group-changes.ts';
import { GroupFacts } from './group-facts.ts';
import { createRetailPrices, type RetailPrices } from '../prices/price-cache.ts';
import { allAgents } from '../agents/all-agents.ts';
import { reservationsAgent, type ReservationReading } from '../agents/reservations-agent.ts';
import { isInResourceGroup, parseInstanceId, scaleSetOfInstance } from '../arm/resource-ids.ts';
import { ReservedCapacities } from './reserved-capacity.ts';
import { Refresh } from './refresh.ts';
import { countInstances } from './single-reads.ts';
import type { SharedTexts } from '../../domain/ports/shared-text.ts';
import type { SkuCatalog } from '../sizes/sku-catalog.ts';
import { SizeKnowledge } from '../sizes/size-knowledge.ts';
import {
  AGENT_POOLS_AGENT,
  INSTANCES,
  isAgentId,
  RESERVATIONS_AGENT,
  SCALE_SETS,
  SCALE_SETS_AGENT,
  SKUS_AGENT,
  USAGE_AGENT,
} from '../rows/tables.ts';
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
  readonly vmsPools: VmsPools;
  readonly quota = new QuotaLedger();
  readonly reservations: ReservedCapacities;
  readonly #sizes: SizeKnowledge;
  /** undefined: prices are not read. */
  readonly prices: RetailPrices | undefined;
  readonly facts: GroupFacts;
  readonly changes: GroupChanges;
  readonly lists: InstanceLists;
  /** Agents that rest while nothing moves. undefined: each runs at each of its turns. */
  readonly rest: RestWatch | undefined;
  readonly #deps: AzureInventoryDeps;
  readonly #agentDeps: AgentDeps;
  /** Reads between the lists. */
  readonly reads: Refresh;
  readonly #looks: EarlyLooks;
  readonly #roster: AgentRoster;
  readonly #known: KnownGroups;
  readonly #quotaDoubt: QuotaDoubt;
  #reservationIds: ReadonlySet<string> = new Set();
  #usageDoubtedAtMs = Number.NEGATIVE_INFINITY;

  constructor(deps: AzureInventoryDeps) {
    const { clock, hooks, options } = deps;
    this.#deps = deps;
    const order = new LogicalClock(clock);
    const slots = new Slots(Math.max(1, options.maxConcurrentCalls));
    const table = { clock, order, hooks };
    this.scaleSets = new Table({ ...table, definition: SCALE_SETS, requestRefresh: (key) => this.#wantSet(key) });
    this.instances = new Table({ ...table, definition: INSTANCES, requestRefresh: (key, scope) => this.#wantInstance(key, scope) });
    this.scheduler = new AgentScheduler({
      clock,
      random: deps.random,
      clusterId: `${options.subscriptionId}/${options.nodeResourceGroup}`,
      slots,
      hooks,
      mayBeAdded: isAgentId,
    });
    this.#roster = new AgentRoster(this.scheduler);
    const listPools = (signal: AbortSignal): Promise<void> => this.scheduler.runNow(AGENT_POOLS_AGENT, signal);
    this.vmsPools = new VmsPools({ ...deps, order, slots, list: listPools, named: () => this.#known.selection.nodeGroups });
    this.#known = new KnownGroups({
      selection: options,
      scaleSets: this.scaleSets,
      poolSizes: () => this.vmsPools.sizes,
      log: deps.log,
    });
    this.#quotaDoubt = new QuotaDoubt({
      clock,
      ledger: this.quota,
      draws: () => [...this.#known.groups()].map((group) => this.facts.drawsOf(group)),
      quotas: () => this.facts.quotas(clock.now()),
    });
    const foreign = new ForeignItems(deps);
    this.rest = options.readOnChange === true ? this.#restWatch() : undefined;
    this.lists = new InstanceLists({
      roster: this.#roster,
      scheduler: this.scheduler,
      instances: this.instances,
      agents: () => this.#agentDeps,
      hasScaleSet: (key) => this.scaleSets.get(key) !== undefined,
    });
    this.#agentDeps = {
      ...deps,
      order,
      foreign,
      scaleSets: this.scaleSets,
      instances: this.instances,
      silent: () => this.lists.silent,
      rest: this.rest,
      vmsGroups: () => this.#known.vmsGroups(),
    };
    this.reads = new Refresh({
      agents: this.#agentDeps,
      clock,
      slots,
      hooks,
      rateLimits: deps.rateLimits,
      runNow: (id, signal) => this.scheduler.runNow(id, signal),
    });
    const { scaleSets, instances, vmsPools, quota } = this;
    this.#sizes = new SizeKnowledge(clock, () => this.scheduler.dueNow(SKUS_AGENT));
    const known = { pools: () => this.#known.pools, sizes: this.#sizes, groups: () => this.#known.groups() };
    this.facts = new GroupFacts({
      options,
      clock,
      scaleSets,
      vmsPools,
      ownWrites: deps.ownWrites,
      rateLimits: deps.rateLimits,
      quota,
      ...known,
    });
    this.reservations = new ReservedCapacities({
      groups: () => this.facts.reservingGroups((group) => this.#targetOf(group)),
      groupOfVm: (armId) => this.#groupOfVm(armId),
    });
    const { lists } = this;
    const listDue = (key: string): void => lists.request(key);
    const lookSoon = (key: string): void => this.#looks.begin(key);
    this.changes = new GroupChanges({
      clock,
      scaleSets,
      instances,
      vmsPools,
      listDue,
      lookSoon,
      listedAtMs: (key) => lists.listedAtMs(key),
    });
    this.#looks = new EarlyLooks({
      clock,
      log: deps.log,
      countFailed: (key, signal) => this.#countFailed(key, signal),
      listedFailed: (key) => [...instances.scope(key).values()].filter(({ value }) => value.state === 'failed').length,
      newInstances: (key) => this.changes.newInstances(key),
      listWaitMs: (key) => lists.waitMs(key),
      singleReadsLeft: (key) => this.reads.singleReadsLeft(key),
      readEach: (keys, groupKey) => keys.forEach((key) => this.reads.requestInstance(key, groupKey)),
      listDue,
      noteListDue: (key) => this.changes.listTiming.noteListRequested(key, clock.now()),
    });
    this.prices = createRetailPrices(deps, () => [...this.#known.groups()].flatMap((group) => this.facts.skuOf(group)?.name ?? []));
    this.#addAgents(deps.shared ?? {});
    if (options.agents !== undefined) this.scheduler.select(options.agents);
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
    this.#roster.due(AGENT_POOLS_AGENT);
  }

  /** Reads what the first decision needs. Rejects if the scale sets could not be read. */
  async load(signal: AbortSignal): Promise<void> {
    const { clock, log, options } = this.#deps;
    await loadInitially({ scheduler: this.scheduler, clock, log, patienceMs: options.startPatienceMs ?? 0 }, signal);
    this.changes.noteInherited();
  }

  /** Pods wait for nodes: usages that another process read must not keep them waiting. */
  noteWaitingPods(count: number): void {
    if (this.#quotaDoubt.arises(count)) this.requestUsage();
  }

  /** Requests a read of the usages: the ones known so far are in doubt. */
  requestUsage(): void {
    this.#usageDoubtedAtMs = this.#deps.clock.now();
    this.scheduler.dueNow(USAGE_AGENT);
  }

  invalidate(groupKey?: string): void {
    this.scaleSets.invalidate(groupKey === undefined ? {} : { key: groupKey });
    this.instances.invalidate(groupKey === undefined ? {} : { scope: groupKey });
    this.vmsPools.sizes.invalidate(groupKey === undefined ? {} : { key: groupKey });
    for (const id of groupKey === undefined ? this.#roster.ids : [SCALE_SETS_AGENT, instanceListAgentId(groupKey)])
      this.#roster.due(id, { atAnyRate: true });
  }

  status(): readonly AgentStatus[] {
    return this.scheduler.status();
  }

  removeExpired(): void {
    this.scaleSets.reap(this.#roster.ids);
    this.instances.reap(this.#roster.ids);
    this.vmsPools.sizes.reap(this.#roster.ids);
  }

  stop(): void {
    this.reads.stop();
    this.#looks.stop();
    this.vmsPools.stop();
  }

  /** undefined: not a Uniform scale set, or unknown. @throws AutoscalerError */
  async #countFailed(key: string, signal: AbortSignal): Promise<number | undefined> {
    const set = this.scaleSets.get(key)?.value;
    return set?.orchestration === 'Uniform' ? countInstances(this.#agentDeps, { set: set.name, state: 'failed' }, signal) : undefined;
  }

  /** Does not read while our own change is in progress; its end triggers the read. */
  #wantSet(key: string): void {
    if ((this.scaleSets.view(key)?.inFlight ?? 0) === 0) this.reads.requestScaleSet(key);
  }

  #wantInstance(key: string, scope: string): void {
    if (!this.changes.isCoveredByList(scope)) this.reads.requestInstance(key, scope);
  }

  #followTables(): void {
    this.scaleSets.subscribe((event) => {
      this.#syncAgents();
      if (event.kind === 'changed' && event.after === undefined) this.instances.endScope(event.key);
      if (event.kind === 'external-change') this.changes.noteExternalChange(event);
      const isForeign = event.kind === 'changed' && this.changes.isForeignTag(event.key, event.before?.etag, event.after?.etag);
      if (isForeign) this.lists.request(event.key);
      // If AKS is changing the pool, the pool must be frozen at once, not when the next list of pools is due.
      if (isForeign || event.kind === 'external-change') this.#roster.due(AGENT_POOLS_AGENT);
    });
    this.vmsPools.sizes.subscribe((event) => {
      this.#syncAgents();
      if (event.kind === 'external-change') this.changes.noteExternalChange(event);
    });
  }

  #addAgents(shared: SharedTexts): void {
    const agents = allAgents({
      ...this.#deps,
      agents: this.#agentDeps,
      shared,
      usageDoubtedAtMs: () => this.#usageDoubtedAtMs,
      quota: this.quota,
      prices: this.prices?.cache,
      setDue: (key) => this.#wantSet(key),
      keepPools: (pools) => this.#keepPools(pools),
      sizes: this.#sizes,
      isRestricted: () => [...this.#known.groups()].some((group) => this.facts.restrictedReason(group) !== undefined),
    });
    for (const agent of agents) this.#roster.add(agent.id, () => agent);
    this.#syncAgents();
  }

  #keepPools(pools: AgentPools): void {
    this.#known.keepPools(pools);
    this.vmsPools.commitList(pools.pages, true);
    if (this.#known.hasVmsPool()) this.lists.addVms();
    this.#syncReservations();
  }

  #syncAgents(): void {
    this.lists.sync(this.#known.groups());
    this.#syncReservations();
  }

  /** A capacity reservation group that a pool names for the first time is read soon. */
  #syncReservations(): void {
    const ids = this.reservations.groupIds();
    const isNew = ids.some((id) => !this.#reservationIds.has(id));
    this.#reservationIds = new Set(ids);
    if (!isNew) return;
    if (this.#roster.has(RESERVATIONS_AGENT)) this.#roster.due(RESERVATIONS_AGENT, { atAnyRate: true });
    const keep = (readings: ReadonlyMap<string, ReservationReading>): void => this.reservations.keep(readings);
    const deps = { ...this.#agentDeps, groupIds: () => this.reservations.groupIds(), keep };
    this.#roster.add(RESERVATIONS_AGENT, () => reservationsAgent(deps));
  }

  #targetOf({ kind, key }: RegisteredGroup): number | undefined {
    return kind === 'vms-pool' ? this.vmsPools.sizes.view(key)?.target : this.scaleSets.view(key)?.target;
  }

  #groupOfVm(armId: string): string | undefined {
    const parsed = parseInstanceId(armId);
    if (!parsed.ok) return undefined;
    const { key } = parsed.ref;
    return this.instances.get(key)?.value.group ?? (isInResourceGroup(key, this.#deps.options) ? scaleSetOfInstance(key) : undefined);
  }

  #restWatch(): RestWatch {
    return new RestWatch({
      tagOf: (key) => (this.scaleSets.get(key) ?? this.vmsPools.sizes.get(key))?.etag,
      arePoolsChanging: () => this.#known.hasVmsPool() || this.#known.hasOperation(),
      endRest: (id) => this.scheduler.endRest(id),
    });
  }
}
