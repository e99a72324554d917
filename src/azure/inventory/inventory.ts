/**
 * What is known of Azure: the tables, the agents that fill them, single reads between the lists, and the groups registered from
 * them. Must not know Kubernetes, nor decide or write anything.
 */
import { isDeepStrictEqual } from 'node:util';
import type { CacheHooks } from '../../cache/table/hooks.ts';
import { AgentScheduler } from '../../cache/agents/agent-scheduler.ts';
import type { AgentStatus } from '../../cache/agents/agent-state.ts';
import { LogicalClock } from '../../cache/logical-clock.ts';
import { Slots } from '../../cache/concurrency.ts';
import { Table } from '../../cache/table/table.ts';
import type { Clock } from '../../lib/clock.ts';
import type { InstanceKey } from '../../domain/ids.ts';
import type { Random } from '../../lib/random.ts';
import type { StoredText } from '../../domain/ports/stored-text.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { scaleSetInstancesAgent, vmsAgent, type AgentDeps } from '../agents/agents.ts';
import type { ArmCalls } from '../arm/arm-client.ts';
import type { ArmClients } from '../arm/sdk-clients.ts';
import type { AzureOptions, GroupSelection } from '../arm/options.ts';
import type { RateLimits } from '../arm/rate-limits.ts';
import { QuotaLedger } from '../sizes/core-quotas.ts';
import type { OwnWrites } from '../groups/own-writes.ts';
import { GroupRegistry, type RegisteredGroup, type Registration } from '../groups/registry.ts';
import type { InstanceRow, ScaleSetRow } from '../rows/scale-set.ts';
import { AgentRoster, instanceListAgentId } from '../agents/instance-list-agents.ts';
import { loadInitially } from './initial-load.ts';
import { ForeignItems } from '../rows/foreign-items.ts';
import { EarlyLooks } from './early-looks.ts';
import { GroupChanges } from './group-changes.ts';
import { GroupFacts } from './group-facts.ts';
import { createRetailPrices, type RetailPrices } from '../prices/price-cache.ts';
import { allAgents } from '../agents/all-agents.ts';
import { Refresh } from './refresh.ts';
import { countInstances, type ScaleSetReading } from './single-reads.ts';
import type { SharedTexts } from '../../domain/ports/shared-text.ts';
import { renewCatalog, type SkuCatalog } from '../sizes/sku-catalog.ts';
import { AGENT_POOLS_AGENT, INSTANCES, VMS_AGENT, isAgentId, SCALE_SETS, SCALE_SETS_AGENT, USAGE_AGENT } from '../rows/tables.ts';
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
  /** Rate-limit tokens of our own writes: without one a group cannot be increased. */
  readonly ownWrites: Pick<OwnWrites, 'tokens' | 'countSyncs'>;
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
  /** undefined: prices are not read. */
  readonly prices: RetailPrices | undefined;
  readonly facts: GroupFacts;
  readonly changes: GroupChanges;
  readonly #deps: AzureInventoryDeps;
  readonly #agentDeps: AgentDeps;
  readonly #reads: Refresh;
  readonly #looks: EarlyLooks;
  readonly #roster: AgentRoster;
  readonly #registrations: GroupRegistry;
  #choice: GroupSelection;
  #pools: AgentPools | undefined;
  #catalog: SkuCatalog | undefined;
  #silent: ReadonlySet<string> = new Set();
  #usageDoubtedAtMs = Number.NEGATIVE_INFINITY;

  constructor(deps: AzureInventoryDeps) {
    const { clock, hooks, options } = deps;
    this.#deps = deps;
    this.#choice = options;
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
    this.vmsPools = new VmsPools({ ...deps, order, slots, list: listPools, named: () => this.#choice.nodeGroups });
    const foreign = new ForeignItems(deps);
    this.#agentDeps = { ...deps, order, foreign, scaleSets: this.scaleSets, instances: this.instances, silent: () => this.#silent };
    this.#reads = new Refresh({
      agents: this.#agentDeps,
      clock,
      slots,
      hooks,
      runNow: (id, signal) => this.scheduler.runNow(id, signal),
    });
    this.#registrations = new GroupRegistry(deps.log);
    const groups = (): Iterable<RegisteredGroup> => this.registration().groups.values();
    const { scaleSets, instances, vmsPools, quota } = this;
    const known = { pools: () => this.#pools, catalog: () => this.#catalog, groups };
    this.facts = new GroupFacts({
      options,
      clock,
      scaleSets,
      vmsPools,
      tokens: deps.ownWrites.tokens,
      rateLimits: deps.rateLimits,
      countSyncs: deps.ownWrites.countSyncs,
      quota,
      ...known,
    });
    const lists = { listedAtMs: (key: string) => this.instancesListedAtMs(key), listDue: (key: string) => this.requestInstanceList(key) };
    const lookSoon = (key: string): void => this.#looks.begin(key);
    this.changes = new GroupChanges({ clock, scaleSets, instances, vmsPools, ...lists, lookSoon });
    this.#looks = new EarlyLooks({
      clock,
      log: deps.log,
      countFailed: (key, signal) => this.#countFailed(key, signal),
      listedFailed: (key) => [...instances.scope(key).values()].filter(({ value }) => value.state === 'failed').length,
      newInstances: (key) => this.changes.newInstances(key),
      listWaitMs: (key) => this.listWaitMs(key),
      singleReadsLeft: (key) => this.singleReadsLeft(key),
      readEach: (keys, groupKey) => keys.forEach((key) => this.requestInstance(key, groupKey)),
      listDue: (key) => this.requestInstanceList(key),
      noteListDue: (key) => this.changes.listTiming.noteListRequested(key, clock.now()),
    });
    this.prices = createRetailPrices(deps, () => [...groups()].flatMap((group) => this.facts.skuOf(group)?.name ?? []));
    this.#addAgents(deps.shared ?? {});
    if (options.agents !== undefined) this.scheduler.select(options.agents);
    this.scaleSets.subscribe((event) => {
      this.#syncAgents();
      if (event.kind === 'changed' && event.after === undefined) this.instances.endScope(event.key);
      if (event.kind === 'external-change') this.changes.noteExternalChange(event);
      const isForeign = event.kind === 'changed' && this.changes.isForeignTag(event.key, event.before?.etag, event.after?.etag);
      if (isForeign) this.requestInstanceList(event.key);
      // If AKS is changing the pool, the pool must be frozen at once, not when the next list of pools is due.
      if (isForeign || event.kind === 'external-change') this.#roster.due(AGENT_POOLS_AGENT);
    });
    this.vmsPools.sizes.subscribe((event) => {
      this.#syncAgents();
      if (event.kind === 'external-change') this.changes.noteExternalChange(event);
    });
  }

  get catalog(): SkuCatalog | undefined {
    return this.#catalog;
  }

  /** Returns the same object until a scale set, a pool or one of its sizes changes. */
  registration(): Registration {
    return this.#registrations.registrationFrom({
      selection: this.#choice,
      version: this.scaleSets.version + this.vmsPools.sizes.version,
      scaleSets: this.scaleSets,
      poolSizes: this.vmsPools.sizes,
      pools: this.#pools,
    });
  }

  /** The selected groups, with options for single ones. */
  get selection(): GroupSelection {
    return this.#choice;
  }

  /** Applies other groups or limits. Pools are read at once for newly named sizes: AKS leaves out sizes without an instance. */
  selectGroups({ nodeGroups, discovery, nodeGroupOptions = [] }: GroupSelection): void {
    const { nodeGroups: named, discovery: rules, nodeGroupOptions: stated = [] } = this.#choice;
    if (isDeepStrictEqual([nodeGroups, discovery, nodeGroupOptions], [named, rules, stated])) return;
    this.#choice = { ...this.#choice, nodeGroups, discovery, nodeGroupOptions };
    this.#syncAgents();
    this.#roster.due(AGENT_POOLS_AGENT);
  }

  /** Reads what the first decision needs. Rejects if the scale sets could not be read. */
  async load(signal: AbortSignal): Promise<void> {
    const { clock, log, options } = this.#deps;
    await loadInitially({ scheduler: this.scheduler, clock, log, patienceMs: options.startPatienceMs ?? 0 }, signal);
    this.changes.noteInherited();
  }

  /** Requests a GET of the scale set; does not wait. */
  requestScaleSet(key: string): void {
    this.#reads.scaleSets.request(key, '');
  }

  /** Reads the scale set by a GET that begins after this call. */
  refreshScaleSet(key: string, signal: AbortSignal): Promise<void> {
    return this.#reads.scaleSets.refresh(key, '', signal);
  }

  /** The same, and returns what the GET shows, whether the table believes its capacity or not; undefined: gone. */
  readScaleSet(key: string, signal: AbortSignal): Promise<ScaleSetReading | undefined> {
    return this.#reads.readScaleSet(key, signal);
  }

  /** Requests a read of one instance of a group, listed or not; does not wait. */
  requestInstance(key: InstanceKey, groupKey: string): void {
    this.#reads.requestInstance(key, groupKey);
  }

  /** How many instances of a group may still be read singly now; none while Azure throttles such reads. */
  singleReadsLeft(groupKey: string, purpose?: 'delete'): number {
    const resource = this.scaleSets.get(groupKey)?.value.name;
    const call =
      resource === undefined ? ({ operation: 'getVm', resource: '' } as const) : ({ operation: 'getInstance', resource } as const);
    return this.#deps.rateLimits.heldReason(call) === undefined ? this.#reads.singleReadsLeft(groupKey, purpose) : 0;
  }

  refreshInstance(key: string, scope: string, signal: AbortSignal): Promise<void> {
    return this.#reads.refreshInstance(key, scope, signal);
  }

  /** Lists a group's instances in a call that begins after this one, as soon as their rate allows it. */
  refreshInstances(groupKey: string, signal: AbortSignal, options: { readonly atAnyRate?: boolean } = {}): Promise<void> {
    return this.scheduler.runNow(instanceListAgentId(groupKey), signal, options);
  }

  /** Requests a read of the usages: the ones known so far are in doubt. */
  requestUsage(): void {
    this.#usageDoubtedAtMs = this.#deps.clock.now();
    this.scheduler.dueNow(USAGE_AGENT);
  }

  hasInstanceList(groupKey: string): boolean {
    return this.#roster.has(instanceListAgentId(groupKey));
  }

  /** The instances of VMs pools whose nodes are silent: lists read their instance views, and a new one is listed soon. */
  noteSilent(instances: ReadonlySet<InstanceKey>): void {
    const isNew = [...instances].some((key) => !this.#silent.has(key));
    this.#silent = instances;
    if (isNew) this.#roster.due(VMS_AGENT);
  }

  /** Requests a list of a group's instances. */
  requestInstanceList(groupKey: string): void {
    this.#roster.due(instanceListAgentId(groupKey));
  }

  /** How long a list of a group's instances has to wait, ms, since the last minute had as many as it should have; 0: it may be sent. */
  listWaitMs(groupKey: string): number {
    return this.scheduler.requestedRunWaitMs(instanceListAgentId(groupKey));
  }

  /** Start of the last complete list of a group's instances, ms since the epoch. */
  instancesListedAtMs(groupKey: string): number | undefined {
    const id = instanceListAgentId(groupKey);
    return id === VMS_AGENT ? this.instances.listedAtMs(id) : this.instances.listedAtMs(id, groupKey);
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
    this.#reads.stop();
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
    if ((this.scaleSets.view(key)?.inFlight ?? 0) === 0) this.#reads.scaleSets.request(key, '');
  }

  #wantInstance(key: string, scope: string): void {
    if (!this.changes.isCoveredByList(scope)) this.#reads.requestInstance(key, scope);
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
      keepCatalog: (catalog) => void (this.#catalog = renewCatalog(this.#catalog, catalog)),
      catalog: () => this.#catalog,
      isRestricted: () => [...this.registration().groups.values()].some((group) => this.facts.restrictedReason(group) !== undefined),
    });
    for (const agent of agents) this.#roster.add(agent.id, () => agent);
    this.#syncAgents();
  }

  #keepPools(pools: AgentPools): void {
    this.#pools = pools;
    this.vmsPools.commitList(pools.pages, true);
    if ([...pools.byName.values()].some((pool) => pool.type === 'VirtualMachines'))
      this.#roster.add(VMS_AGENT, () => vmsAgent(this.#agentDeps));
  }

  /** One agent for the instances of each registered scale set that exists. */
  #syncAgents(): void {
    const wanted = new Set<string>();
    for (const group of this.registration().groups.values()) {
      if (group.kind === 'vms-pool') this.#roster.add(VMS_AGENT, () => vmsAgent(this.#agentDeps));
      else if (this.scaleSets.get(group.key) !== undefined) wanted.add(group.key);
    }
    this.#roster.syncInstanceLists(wanted, (key) => scaleSetInstancesAgent(this.#agentDeps, key));
  }
}
