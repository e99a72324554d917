/**
 * What is known of Azure: the tables, the agents that fill them, the reads out of turn, and the registration made from them.
 * Decides nothing about groups; knows no Kubernetes.
 */
import { isDeepStrictEqual } from 'node:util';
import type { CacheHooks } from '../../cache/table/hooks.ts';
import { AgentScheduler } from '../../cache/agents/agent-scheduler.ts';
import type { AgentStatus } from '../../cache/agents/agent-state.ts';
import { LogicalClock } from '../../cache/logical-clock.ts';
import { Slots } from '../../cache/concurrency.ts';
import { Table } from '../../cache/table/table.ts';
import { asAutoscalerError } from '../../lib/errors.ts';
import type { Clock } from '../../lib/clock.ts';
import type { InstanceKey } from '../../domain/ids.ts';
import type { Random } from '../../lib/random.ts';
import type { KeptText } from '../../domain/ports/stored-text.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { instancesOf, machinesAgent, type AgentParts } from './agents.ts';
import { foldName } from '../arm/resource-ids.ts';
import type { ArmCalls } from '../arm/arm-client.ts';
import type { ArmClients } from '../arm/sdk-clients.ts';
import type { AzureOptions, GroupChoice } from '../arm/options.ts';
import { QuotaLedger } from '../sizes/core-quotas.ts';
import { Raises, WriteHolds, WriteTokens } from '../groups/own-writes.ts';
import { Registrations, type Registered, type Registration } from '../groups/registry.ts';
import type { InstanceRow, ScaleSetRow } from '../rows/scale-set.ts';
import { AgentRoster, machineListOf } from './instance-list-agents.ts';
import { firstReads } from './initial-load.ts';
import { GroupChanges } from './group-changes.ts';
import { GroupFacts } from './group-facts.ts';
import { listPrices, type ListPrices } from '../prices/price-cache.ts';
import { standingAgents } from './all-agents.ts';
import { ReadsOutOfTurn } from './refresh.ts';
import type { SkuShare } from './sku-agent.ts';
import { renewCatalog, type SkuCatalog } from '../sizes/sku-catalog.ts';
import { AGENT_POOLS_AGENT, INSTANCES, MACHINES_AGENT, mayBeAgent, SCALE_SETS, SCALE_SETS_AGENT, USAGE_AGENT } from '../rows/tables.ts';
import { VmsPools } from './vms-pools.ts';
import type { AgentPools } from '../rows/agent-pool.ts';

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
  readonly holds = new WriteHolds();
  readonly writes = new WriteTokens();
  readonly raises = new Raises();
  readonly quota = new QuotaLedger();
  /** undefined: prices are not read. */
  readonly prices: ListPrices | undefined;
  readonly facts: GroupFacts;
  readonly changes: GroupChanges;
  readonly #closing = new AbortController();
  readonly #parts: StoreParts;
  readonly #agentParts: AgentParts;
  readonly #reads: ReadsOutOfTurn;
  readonly #roster: AgentRoster;
  readonly #registrations: Registrations;
  #choice: GroupChoice;
  #pools: AgentPools | undefined;
  #catalog: SkuCatalog | undefined;
  #silent: ReadonlySet<string> = new Set();

  constructor(parts: StoreParts) {
    const { clock, hooks, options } = parts;
    this.#parts = parts;
    this.#choice = options;
    const order = new LogicalClock(clock);
    const slots = new Slots(Math.max(1, options.maxConcurrentCalls));
    const table = { clock, order, hooks };
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
    this.#roster = new AgentRoster(this.scheduler);
    const listPools = (signal: AbortSignal): Promise<void> => this.scheduler.runNow(AGENT_POOLS_AGENT, signal);
    this.vmsPools = new VmsPools({ ...parts, order, slots, list: listPools, named: () => this.#choice.nodeGroups });
    this.#agentParts = { ...parts, order, scaleSets: this.scaleSets, instances: this.instances, silent: () => this.#silent };
    this.#reads = new ReadsOutOfTurn({
      agents: this.#agentParts,
      clock,
      slots,
      hooks,
      runNow: (id, signal) => this.scheduler.runNow(id, signal),
      listDue: (group) => this.instancesDue(group),
    });
    this.#registrations = new Registrations(parts.log);
    const groups = (): Iterable<Registered> => this.registration().groups.values();
    const { scaleSets, instances, vmsPools, writes, quota } = this;
    const known = { pools: () => this.#pools, catalog: () => this.#catalog, groups };
    this.facts = new GroupFacts({ options, clock, scaleSets, vmsPools, writes, quota, ...known });
    const lists = { listedAtMs: (key: string) => this.instancesListedAtMs(key), listDue: (key: string) => this.instancesDue(key) };
    this.changes = new GroupChanges({ clock, scaleSets, instances, vmsPools, ...lists });
    this.prices = listPrices(parts, () => [...groups()].flatMap((group) => this.facts.skuOf(group)?.name ?? []));
    this.#addAgents(parts.skuShare);
    if (options.agents !== undefined) this.scheduler.select(options.agents);
    this.scaleSets.subscribe((event) => {
      this.#syncAgents();
      if (event.kind === 'external-change') this.changes.changedByOthers(event);
      const isForeign = event.kind === 'changed' && this.changes.isForeignTag(event.key, event.before?.etag, event.after?.etag);
      if (isForeign) this.instancesDue(event.key);
      // It may be AKS, at work on the pool: then it is to be left alone, and not only when the list of pools is due.
      if (isForeign || event.kind === 'external-change') this.#roster.due(AGENT_POOLS_AGENT);
    });
    this.vmsPools.sizes.subscribe((event) => {
      this.#syncAgents();
      if (event.kind === 'external-change') this.changes.changedByOthers(event);
    });
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
    this.#roster.due(AGENT_POOLS_AGENT);
  }

  /** Reads everything that a first decision needs. Rejects when the scale sets could not be read. */
  async fill(signal: AbortSignal): Promise<void> {
    const { clock, log, options } = this.#parts;
    await firstReads({ scheduler: this.scheduler, clock, log, patienceMs: options.startPatienceMs ?? 0 }, signal);
    this.changes.inherit();
  }

  /** A GET of the set soon; does not wait. */
  setDue(key: string): void {
    this.#reads.sets.request(key, '');
  }

  /** One GET of the set, begun after this call. */
  refreshSet(key: string, signal: AbortSignal): Promise<void> {
    return this.#reads.sets.refresh(key, '', signal);
  }

  refreshInstance(key: string, scope: string, signal: AbortSignal): Promise<void> {
    return this.#reads.machines.refresh(key, scope, signal);
  }

  /** One list of a group's machines, begun after this call. */
  refreshInstances(groupKey: string, signal: AbortSignal): Promise<void> {
    return this.scheduler.runNow(machineListOf(groupKey), signal);
  }

  /** An operation of ours is over in whatever pool the group is written through; nothing for a set that is written itself. */
  async ownOperationEnded(group: Registered): Promise<void> {
    const pool = this.facts.writtenPoolOf(group);
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

  /** Usages are read again soon. */
  usageDue(): void {
    this.scheduler.dueNow(USAGE_AGENT);
  }

  hasAgentFor(groupKey: string): boolean {
    return this.#roster.has(machineListOf(groupKey));
  }

  /** The machines of VMs pools whose nodes are silent now: lists look at them closely, and one that is new is looked at soon. */
  noteSilent(machines: ReadonlySet<InstanceKey>): void {
    const isNew = [...machines].some((key) => !this.#silent.has(key));
    this.#silent = machines;
    if (isNew) this.#roster.due(MACHINES_AGENT);
  }

  /** Lists a group's machines soon. */
  instancesDue(groupKey: string): void {
    this.#roster.due(machineListOf(groupKey));
  }

  /** Start of the last complete list of a group's machines, ms since the epoch. */
  instancesListedAtMs(groupKey: string): number | undefined {
    const id = machineListOf(groupKey);
    return id === MACHINES_AGENT ? this.instances.listedAtMs(id) : this.instances.listedAtMs(id, groupKey);
  }

  invalidate(groupKey?: string): void {
    this.scaleSets.invalidate(groupKey === undefined ? {} : { key: groupKey });
    this.instances.invalidate(groupKey === undefined ? {} : { scope: groupKey });
    this.vmsPools.sizes.invalidate(groupKey === undefined ? {} : { key: groupKey });
    for (const id of groupKey === undefined ? this.#roster.ids : [SCALE_SETS_AGENT, machineListOf(groupKey)]) this.#roster.due(id);
  }

  status(): readonly AgentStatus[] {
    return this.scheduler.status();
  }

  reap(): void {
    this.scaleSets.reap(this.#roster.ids);
    this.instances.reap(this.#roster.ids);
    this.vmsPools.sizes.reap(this.#roster.ids);
  }

  stop(): void {
    this.#closing.abort();
    this.#reads.stop();
    this.vmsPools.stop();
  }

  /** While another change of ours runs, what is read would be neither before nor after; its end asks again. */
  #wantSet(key: string): void {
    if ((this.scaleSets.view(key)?.inFlight ?? 0) === 0) this.#reads.sets.request(key, '');
  }

  #wantInstance(key: string, scope: string): void {
    if (!this.changes.isToldByList(scope)) this.#reads.machines.request(key, scope);
  }

  #addAgents(skuShare: SkuShare | undefined): void {
    const agents = standingAgents({
      ...this.#parts,
      agents: this.#agentParts,
      skuShare,
      quota: this.quota,
      prices: this.prices?.book,
      setDue: (key) => this.#wantSet(key),
      keepPools: (pools) => this.#keepPools(pools),
      keepCatalog: (catalog) => void (this.#catalog = renewCatalog(this.#catalog, catalog)),
      catalog: () => this.#catalog,
      isRestricted: () => [...this.registration().groups.values()].some((group) => this.facts.restrictedBecause(group) !== undefined),
    });
    for (const agent of agents) this.#roster.add(agent.id, () => agent);
    this.#syncAgents();
  }

  #keepPools(pools: AgentPools): void {
    this.#pools = pools;
    this.vmsPools.commitList(pools.pages, true);
    if ([...pools.byName.values()].some((pool) => pool.type === 'VirtualMachines'))
      this.#roster.add(MACHINES_AGENT, () => machinesAgent(this.#agentParts));
  }

  /** One agent for the machines of each registered set that exists. */
  #syncAgents(): void {
    const wanted = new Set<string>();
    for (const group of this.registration().groups.values()) {
      if (group.kind === 'vms-pool') this.#roster.add(MACHINES_AGENT, () => machinesAgent(this.#agentParts));
      else if (this.scaleSets.get(group.key) !== undefined) wanted.add(group.key);
    }
    this.#roster.listMachinesOf(wanted, (key) => instancesOf(this.#agentParts, key));
  }
}
