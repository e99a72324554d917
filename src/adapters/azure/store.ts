/**
 * What is known of Azure: the tables, the agents that fill them, the reads out of turn, and the registration made from them.
 * Decides nothing about groups; knows no Kubernetes.
 */
import { isDeepStrictEqual } from 'node:util';
import type { CacheHooks } from '../../cache/hooks.ts';
import { AgentScheduler } from '../../cache/agent-scheduler.ts';
import type { CachingAgent } from '../../cache/agent.ts';
import type { AgentStatus } from '../../cache/agent-state.ts';
import { LogicalClock } from '../../cache/logical-clock.ts';
import { OnDemand } from '../../cache/on-demand.ts';
import { Slots } from '../../cache/slots.ts';
import { Table } from '../../cache/table.ts';
import { AutoscalerError, asAutoscalerError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/clock.ts';
import type { InstanceKey } from '../../domain/ids.ts';
import type { CloudQuota, QuotaDraw } from '../../domain/quota.ts';
import type { SizePrices } from '../../domain/retail-prices.ts';
import type { Random } from '../../domain/random.ts';
import type { KeptText } from '../../ports/kept-text.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { readsBetweenLists, spotSizesAgent } from './spot-sizes.ts';
import { agentPoolsAgent, instancesOf, listSkus, machinesAgent, scaleSetsAgent, type AgentParts, type AgentPools } from './agents.ts';
import { foldName } from './arm-ids.ts';
import type { ArmCalls } from './arm-calls.ts';
import type { ArmClients } from './clients.ts';
import type { AzureOptions, GroupChoice } from './options.ts';
import { drawsOf, QuotaLedger } from './quota.ts';
import { Raises } from './raises.ts';
import { Registrations } from './registrations.ts';
import { POOL_UNKNOWN, type Registered, type Registration } from './registry.ts';
import { isUpdating, type AgentPoolRow, type InstanceRow, type ScaleSetRow } from './rows.ts';
import { readInstance, readSet } from './single-reads.ts';
import { Settling } from './settling.ts';
import { skusAgent, type SkuShare } from './sku-agent.ts';
import { findSku, renewCatalog, unavailableBecause, type Sku, type SkuCatalog } from './skus.ts';
import {
  AGENT_POOLS_AGENT,
  INSTANCES,
  instancesAgent,
  MACHINES_AGENT,
  mayBeAgent,
  PRICES_AGENT,
  SCALE_SETS,
  SCALE_SETS_AGENT,
  SKUS_AGENT,
  SPOT_SIZES_AGENT,
  USAGE_AGENT,
} from './tables.ts';
import { PriceBook } from './price-book.ts';
import { RetailPriceClient } from './retail-price-client.ts';
import { poolOf, writePathTag } from './tags.ts';
import { usageAgent } from './usage-agent.ts';
import { WriteHolds } from './write-holds.ts';
import { WriteTokens } from './write-tokens.ts';
import { VmsPools } from './vms-pool-store.ts';

/** A set's tag may move once more after an operation of ours has ended. */
const OWN_ECHO_MS = 2 * 60_000;

export interface StoreParts {
  readonly options: AzureOptions;
  readonly clients: ArmClients;
  readonly calls: ArmCalls;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly hooks: CacheHooks;
  /** undefined: this process reads the sizes for itself alone. */
  readonly skuShare?: SkuShare | undefined;
  /** undefined: list prices are forgotten with the process. */
  readonly keptPrices?: KeptText | undefined;
}

export class AzureStore {
  readonly scaleSets: Table<ScaleSetRow>;
  readonly instances: Table<InstanceRow>;
  readonly scheduler: AgentScheduler;
  readonly vmsPools: VmsPools;
  readonly settling = new Settling();
  readonly holds = new WriteHolds();
  readonly writes = new WriteTokens();
  readonly raises = new Raises();
  readonly #closing = new AbortController();
  readonly #parts: StoreParts;
  readonly #agentParts: AgentParts;
  readonly #order: LogicalClock;
  readonly quota = new QuotaLedger();
  /** undefined: prices are not read. */
  readonly prices: PriceBook | undefined;
  readonly #priceClient: RetailPriceClient | undefined;
  readonly #setReads: OnDemand;
  readonly #instanceReads: OnDemand;
  readonly #agentIds = new Set<string>();
  /** When we last changed a set or saw the end of it; what follows is our own doing. */
  readonly #changed = new Map<string, number>();
  /** Groups whose machines are all told by the list that is asked for. */
  readonly #listing = new Set<string>();
  readonly #registrations: Registrations;
  #choice: GroupChoice;
  #pools: AgentPools | undefined;
  #catalog: SkuCatalog | undefined;
  #silent: ReadonlySet<string> = new Set();

  constructor(parts: StoreParts) {
    const { clock, hooks, options } = parts;
    this.#parts = parts;
    this.#choice = options;
    this.#order = new LogicalClock(clock);
    const slots = new Slots(Math.max(1, options.maxConcurrentCalls));
    const table = { clock, order: this.#order, hooks };
    this.scaleSets = new Table({ ...table, definition: SCALE_SETS, wantRefresh: (key) => this.#wantSet(key) });
    this.instances = new Table({ ...table, definition: INSTANCES, wantRefresh: (key, scope) => this.#wantInstance(key, scope) });
    this.scheduler = new AgentScheduler({
      clock,
      random: parts.random,
      clusterId: `${options.subscriptionId}/${options.nodeResourceGroup}`,
      slots,
      hooks,
      mayCome: mayBeAgent,
    });
    const listPools = (signal: AbortSignal): Promise<void> => this.scheduler.runNow(AGENT_POOLS_AGENT, signal);
    this.vmsPools = new VmsPools({ ...parts, order: this.#order, slots, list: listPools, named: () => this.#choice.nodeGroups });
    const reads = { clock, slots, hooks, timeoutMs: options.requestTimeoutMs };
    this.#setReads = new OnDemand({
      ...reads,
      name: SCALE_SETS.name,
      readOne: (key, signal) => readSet(this.#agentParts, key, signal),
      readScope: (_scope, signal) => this.scheduler.runNow(SCALE_SETS_AGENT, signal),
      confirmedAfter: (key, seq, signal) => this.scaleSets.confirmedAfter(key, seq, signal),
    });
    this.#instanceReads = new OnDemand({
      ...reads,
      name: INSTANCES.name,
      readOne: (key, signal) => readInstance(this.#agentParts, { key, listDue: (group) => this.instancesDue(group) }, signal),
      readScope: (scope, signal) => this.scheduler.runNow(this.#agentOfScope(scope), signal),
      confirmedAfter: (key, seq, signal) => this.instances.confirmedAfter(key, seq, signal),
    });
    this.#agentParts = { ...parts, order: this.#order, scaleSets: this.scaleSets, instances: this.instances, silent: () => this.#silent };
    this.#registrations = new Registrations(parts.log);
    this.#priceClient = priceClient(parts);
    this.prices = this.#priceClient === undefined ? undefined : this.#priceBook(this.#priceClient);
    this.#addAgents();
    if (options.agents !== undefined) this.scheduler.select(options.agents);
    this.scaleSets.subscribe((event) => {
      this.#syncAgents();
      if (event.kind === 'external-change') this.#changedByOthers(event);
      if (event.kind === 'changed' && this.#isForeignTag(event.key, event.before?.etag, event.after?.etag)) this.instancesDue(event.key);
    });
    this.vmsPools.sizes.subscribe((event) => {
      this.#syncAgents();
      if (event.kind === 'external-change') this.#changedByOthers(event);
    });
  }

  get pools(): AgentPools | undefined {
    return this.#pools;
  }

  get catalog(): SkuCatalog | undefined {
    return this.#catalog;
  }

  /** The same object while no scale set, no pool and no size of one changed. */
  registration(): Registration {
    return this.#registrations.from({
      choice: this.#choice,
      version: this.scaleSets.version + this.vmsPools.sizes.version,
      scaleSets: this.scaleSets,
      poolSizes: this.vmsPools.sizes,
      pools: this.#pools,
    });
  }

  /** Which groups there are, and what holds for some of them alone. */
  get choice(): GroupChoice {
    return this.#choice;
  }

  /** Other groups or limits from now on. Sizes that are named are asked for at once: AKS leaves out those without a machine. */
  choose({ nodeGroups, discovery, nodeGroupOptions = [] }: GroupChoice): void {
    const { nodeGroups: named, discovery: rules, nodeGroupOptions: stated = [] } = this.#choice;
    if (isDeepStrictEqual([nodeGroups, discovery, nodeGroupOptions], [named, rules, stated])) return;
    this.#choice = { nodeGroups, discovery, nodeGroupOptions };
    this.#syncAgents();
    if (this.#agentIds.has(AGENT_POOLS_AGENT)) this.scheduler.dueNow(AGENT_POOLS_AGENT);
  }

  /** Reads everything that a first decision needs. Rejects when the scale sets could not be read. */
  async fill(signal: AbortSignal): Promise<void> {
    const results = await this.scheduler.coldStart(signal);
    if (signal.aborted) throw new AutoscalerError({ kind: 'cancelled' }, 'The first read of Azure was cancelled.');
    for (const { agentId, error } of results) {
      if (error === undefined) continue;
      if (agentId === SCALE_SETS_AGENT) throw error;
      this.#parts.log.warn({ agent: agentId, err: error }, 'could not read on the first attempt; going on without');
    }
    for (const [key, { value }] of this.scaleSets.snapshot()) {
      if (isUpdating(value)) this.settling.inherited(key, this.#parts.clock.now());
    }
  }

  /** Whether an operation that this process did not begin may still change the machines of a set. */
  isInherited(groupKey: string): boolean {
    const row = this.scaleSets.get(groupKey)?.value;
    if (row === undefined) return false;
    const listedAtMs = this.instancesListedAtMs(groupKey) ?? Number.NEGATIVE_INFINITY;
    const seen = { updating: isUpdating(row), listedAtMs, nowMs: this.#parts.clock.now() };
    const proofOwed = this.settling.awaitsProof(groupKey);
    const inherited = this.settling.isInherited(groupKey, seen);
    if (inherited && !proofOwed && this.settling.awaitsProof(groupKey)) this.instancesDue(groupKey);
    return inherited;
  }

  /** A GET of the set soon; does not wait. */
  setDue(key: string): void {
    this.#setReads.request(key, '');
  }

  /** We asked for more machines: lists follow while they are awaited. */
  noteGrowth(groupKey: string): void {
    this.#touch(groupKey);
    this.settling.grew(groupKey, this.#parts.clock.now());
  }

  /** Our growth of a group has ended; a list is asked for unless the last one told all there is to tell. */
  growthEnded(groupKey: string, succeeded: boolean): void {
    this.#touch(groupKey);
    this.settling.growthEnded(groupKey);
    if (!succeeded || !this.#isComplete(groupKey)) this.instancesDue(groupKey);
  }

  /** Settles removals of a group so that one list, not a read of each machine, tells how they ended. */
  removalEnded(groupKey: string, settle: () => void): void {
    this.#touch(groupKey);
    this.#listing.add(groupKey);
    settle();
    this.#listing.delete(groupKey);
    // While more of the group's changes run, the machines are not counted anyway: the last end brings the list.
    if ((this.scaleSets.view(groupKey)?.inFlight ?? 0) === 0) this.instancesDue(groupKey);
  }

  /** One GET of the set, begun after this call. */
  refreshSet(key: string, signal: AbortSignal): Promise<void> {
    return this.#setReads.refresh(key, '', signal);
  }

  refreshInstance(key: string, scope: string, signal: AbortSignal): Promise<void> {
    return this.#instanceReads.refresh(key, scope, signal);
  }

  /** One list of a group's machines, begun after this call. */
  refreshInstances(groupKey: string, signal: AbortSignal): Promise<void> {
    return this.scheduler.runNow(this.#agentOfScope(groupKey), signal);
  }

  /** The agent pool of a group, when AKS was asked. */
  poolOf(group: Registered): AgentPoolRow | undefined {
    const row = this.scaleSets.get(group.key)?.value;
    // A name without a scale set may be that of a pool: then the pool says why there is none.
    const name = group.kind === 'vms-pool' ? group.key.split('/')[0] : row === undefined ? group.key : poolOf(row.tags);
    return name === undefined ? undefined : this.#pools?.byName.get(foldName(name));
  }

  /** The size of a group's machines, when the catalogue has it. */
  skuOf(group: Registered): Sku | undefined {
    return findSku(this.#catalog, this.scaleSets.get(group.key)?.value.vmSize ?? group.key.split('/')[1] ?? '');
  }

  /** Whether a scale set is written through its agent pool. */
  isWrittenThroughAks(group: Registered): boolean {
    const row = this.scaleSets.get(group.key)?.value;
    if (group.kind === 'vms-pool' || row === undefined) return false;
    return (writePathTag(row.tags) ?? this.#parts.options.writePath) === 'agentPool';
  }

  /** Why an operation of ours keeps AKS from taking another for this group. */
  ownOperationIn(group: Registered): string | undefined {
    if (group.kind === 'vms-pool') return this.vmsPools.heldBecause(group.key);
    const pool = this.isWrittenThroughAks(group) ? this.poolOf(group)?.name : undefined;
    return pool === undefined ? undefined : this.vmsPools.poolHeldBecause(pool);
  }

  /** The same of whatever pool the group is in; nothing for a set that is written itself. */
  async ownOperationEnded(group: Registered): Promise<void> {
    const pool = this.isWrittenThroughAks(group) ? this.poolOf(group)?.name : undefined;
    if (pool !== undefined) await this.poolOperationEnded(pool);
  }

  /** An operation of ours in the agent pool of a scale set is over; the pool is held until its state was read again. */
  async poolOperationEnded(pool: string): Promise<void> {
    try {
      await this.scheduler.runNow(AGENT_POOLS_AGENT, this.#closing.signal);
    } catch (thrown) {
      this.#parts.log.debug({ pool, err: asAutoscalerError(thrown) }, 'could not read agent pools after an operation');
    }
    this.vmsPools.release(foldName(pool));
  }

  /** Why no machine may be ordered now, while what runs goes on. */
  growthHeldBecause(group: Registered): string | undefined {
    const unknownPool = this.isWrittenThroughAks(group) && this.poolOf(group) === undefined ? POOL_UNKNOWN : undefined;
    const rest = unknownPool ?? this.ownOperationIn(group) ?? this.writes.growthHeldBecause(group.key, this.#parts.clock.monotonic());
    return rest ?? this.#restrictedBecause(group);
  }

  #restrictedBecause(group: Registered): string | undefined {
    const zones = this.scaleSets.get(group.key)?.value.zones ?? this.poolOf(group)?.zones ?? [];
    return unavailableBecause(this.skuOf(group), zones);
  }

  /** What one node of a group takes of the region's quotas; empty when its size is not known. */
  drawsOf(group: Registered): readonly QuotaDraw[] {
    const priority = this.scaleSets.get(group.key)?.value.priority ?? this.poolOf(group)?.priority ?? 'Regular';
    const sku = this.skuOf(group);
    return sku === undefined ? [] : drawsOf(sku, priority);
  }

  /** The quotas that groups draw on, as far as they are known. */
  quotas(nowMs: number): readonly CloudQuota[] {
    const drawn = new Set([...this.registration().groups.values()].flatMap((group) => this.drawsOf(group).map(({ quota }) => quota)));
    return this.quota.quotas(nowMs).filter(({ name }) => drawn.has(name));
  }

  /** Reads of prices under way. */
  get priceCalls(): number {
    return this.#priceClient?.inFlight ?? 0;
  }

  /** Usages are read again soon. */
  usageDue(): void {
    this.scheduler.dueNow(USAGE_AGENT);
  }

  /** Changes of ours to a group that have not ended. */
  inFlight(groupKey: string): number {
    return (this.scaleSets.view(groupKey) ?? this.vmsPools.sizes.view(groupKey))?.inFlight ?? 0;
  }

  hasAgentFor(groupKey: string): boolean {
    return this.#agentIds.has(this.#agentOfScope(groupKey));
  }

  /** The machines of VMs pools whose nodes are silent now: lists look at them closely, and one that is new is looked at soon. */
  noteSilent(machines: ReadonlySet<InstanceKey>): void {
    const isNew = [...machines].some((key) => !this.#silent.has(key));
    this.#silent = machines;
    if (isNew && this.#agentIds.has(MACHINES_AGENT)) this.scheduler.dueNow(MACHINES_AGENT);
  }

  /** Lists a group's machines soon. */
  instancesDue(groupKey: string): void {
    const id = this.#agentOfScope(groupKey);
    if (this.#agentIds.has(id)) this.scheduler.dueNow(id);
  }

  /** Start of the last complete list of a group's machines, ms since the epoch. */
  instancesListedAtMs(groupKey: string): number | undefined {
    const id = this.#agentOfScope(groupKey);
    return id === MACHINES_AGENT ? this.instances.listedAtMs(id) : this.instances.listedAtMs(id, groupKey);
  }

  invalidate(groupKey?: string): void {
    this.scaleSets.invalidate(groupKey === undefined ? {} : { key: groupKey });
    this.instances.invalidate(groupKey === undefined ? {} : { scope: groupKey });
    this.vmsPools.sizes.invalidate(groupKey === undefined ? {} : { key: groupKey });
    for (const id of groupKey === undefined ? this.#agentIds : [SCALE_SETS_AGENT, this.#agentOfScope(groupKey)]) {
      if (this.#agentIds.has(id)) this.scheduler.dueNow(id);
    }
  }

  status(): readonly AgentStatus[] {
    return this.scheduler.status();
  }

  reap(): void {
    this.scaleSets.reap(this.#agentIds);
    this.instances.reap(this.#agentIds);
    this.vmsPools.sizes.reap(this.#agentIds);
  }

  stop(): void {
    this.#closing.abort();
    this.#setReads.stop();
    this.vmsPools.stop();
    this.#instanceReads.stop();
  }

  /** While another change of ours runs, what is read would be neither before nor after; its end asks again. */
  #wantSet(key: string): void {
    if ((this.scaleSets.view(key)?.inFlight ?? 0) === 0) this.#setReads.request(key, '');
  }

  #wantInstance(key: string, scope: string): void {
    if (!this.#listing.has(scope)) this.#instanceReads.request(key, scope);
  }

  #touch(groupKey: string): void {
    this.#changed.set(groupKey, this.#parts.clock.now());
  }

  /** A tag that moved without us means that somebody did something to the set, and perhaps to its machines. */
  #isForeignTag(key: string, before: string | undefined, after: string | undefined): boolean {
    if (before === undefined || after === undefined || before === after) return false;
    if ((this.scaleSets.view(key)?.inFlight ?? 0) > 0) return false;
    return this.#parts.clock.now() - (this.#changed.get(key) ?? Number.NEGATIVE_INFINITY) > OWN_ECHO_MS;
  }

  #changedByOthers({ key, from, to }: { readonly key: string; readonly from: number; readonly to: number }): void {
    if (to > from) this.settling.grew(key, this.#parts.clock.now());
    this.instancesDue(key);
  }

  /** Whether the last list showed as many machines as were asked for, all of them at rest. */
  #isComplete(groupKey: string): boolean {
    const rows = [...this.instances.scope(groupKey).values()].filter(({ value }) => value.state !== 'deleting');
    const view = this.scaleSets.view(groupKey) ?? this.vmsPools.sizes.view(groupKey);
    return rows.length === view?.target && rows.every(({ value }) => value.state === 'running');
  }

  #addAgents(): void {
    const { options } = this.#parts;
    this.#add(SCALE_SETS_AGENT, () => scaleSetsAgent(this.#agentParts));
    if (readsBetweenLists(options)) {
      const spotKeys = (): readonly string[] =>
        [...this.scaleSets.snapshot()].flatMap(([key, { value }]) => (value.priority === 'Spot' ? [key] : []));
      const reads = { spotKeys, due: (key: string) => this.#wantSet(key), periodMs: options.spotSizeTtlMs ?? 0 };
      this.#add(SPOT_SIZES_AGENT, () => spotSizesAgent(SPOT_SIZES_AGENT, reads));
    }
    this.#add(SKUS_AGENT, () => this.#skusAgent());
    this.#add(USAGE_AGENT, () => usageAgent(this.#agentParts, (rows, atMs) => this.quota.observe(rows, atMs)));
    const { prices } = this;
    if (prices !== undefined) this.#add(PRICES_AGENT, () => prices.agent());
    if (options.clusterName !== undefined && options.clusterResourceGroup !== undefined) {
      const cluster = { resourceGroup: options.clusterResourceGroup, name: options.clusterName };
      this.#add('agentPools', () => agentPoolsAgent(this.#agentParts, cluster, (pools) => this.#keepPools(pools)));
    }
    this.#syncAgents();
  }

  #priceBook(client: RetailPriceClient): PriceBook {
    const { options, clock, log, keptPrices: kept } = this.#parts;
    const { currency = '', refreshMs = 0 } = options.retailPrices ?? {};
    const sizes = (): readonly string[] => [...this.registration().groups.values()].flatMap((group) => this.skuOf(group)?.name ?? []);
    const read = (vmSize: string, signal: AbortSignal): Promise<SizePrices> => client.read(vmSize, signal);
    return new PriceBook({ scope: { location: options.location, currency }, refreshMs, clock, log, read, sizes, kept });
  }

  #skusAgent(): CachingAgent {
    const { options, clock, log, skuShare: share } = this.#parts;
    return skusAgent({
      scope: options,
      clock,
      log,
      share,
      ttlMs: options.skuCacheTtlMs,
      list: (signal) => listSkus(this.#agentParts, signal),
      keep: (catalog) => void (this.#catalog = renewCatalog(this.#catalog, catalog)),
      current: () => this.#catalog,
      isRestricted: () => [...this.registration().groups.values()].some((group) => this.#restrictedBecause(group) !== undefined),
    });
  }

  #keepPools(pools: AgentPools): void {
    this.#pools = pools;
    this.vmsPools.commitList(pools.pages, true);
    if ([...pools.byName.values()].some((pool) => pool.type === 'VirtualMachines'))
      this.#add(MACHINES_AGENT, () => machinesAgent(this.#agentParts));
  }

  /** One agent for the machines of each registered set that exists. */
  #syncAgents(): void {
    const wanted = new Set<string>();
    for (const group of this.registration().groups.values()) {
      if (group.kind === 'vms-pool') this.#add(MACHINES_AGENT, () => machinesAgent(this.#agentParts));
      else if (this.scaleSets.get(group.key) !== undefined) wanted.add(group.key);
    }
    for (const key of wanted) this.#add(instancesAgent(key), () => instancesOf(this.#agentParts, key));
    for (const id of this.#agentIds) {
      if (!id.startsWith(instancesAgent('')) || wanted.has(id.slice(instancesAgent('').length))) continue;
      this.scheduler.remove(id);
      this.#agentIds.delete(id);
    }
  }

  #add(id: string, make: () => Parameters<AgentScheduler['add']>[0]): void {
    if (this.#agentIds.has(id)) return;
    this.#agentIds.add(id);
    this.scheduler.add(make());
    // A pool that appears must not wait for its place in the usual rhythm: until it was read, it is left alone.
    this.scheduler.dueNow(id);
  }

  #agentOfScope(groupKey: string): string {
    return groupKey.includes('/') ? MACHINES_AGENT : instancesAgent(foldName(groupKey));
  }
}

function priceClient({ options, clock }: StoreParts): RetailPriceClient | undefined {
  const { retailPrices, location, caPem, requestTimeoutMs: timeoutMs } = options;
  return retailPrices === undefined ? undefined : new RetailPriceClient({ options: retailPrices, location, caPem, timeoutMs, clock });
}
