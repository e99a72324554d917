/**
 * The Azure side of the autoscaler: node groups read through caching agents and written with conditional requests.
 * Responsible for putting the parts together and for their life; knows ARM and nothing of Kubernetes, planning or the loop.
 */
import type { TokenCredential } from '@azure/core-auth';
import type { AgentSelection } from '../cache/agents/agent-selection.ts';
import type { NodeGroupId } from '../domain/ids.ts';
import type { NodeGroup } from '../domain/node-group.ts';
import type { CloudView, ClusterView } from '../domain/observation.ts';
import type { DeleteOutcome, IncreaseOutcome } from '../domain/outcome.ts';
import type { CloudNodeGroups, DeleteRequest, IncreaseRequest } from '../domain/ports/cloud.ts';
import type { ForeignLock } from '../domain/ports/leadership.ts';
import type { PriceTableReader, StoredText } from '../domain/ports/stored-text.ts';
import type { ResourceNames } from '../domain/resources.ts';
import type { Clock } from '../lib/clock.ts';
import { asAutoscalerError, AutoscalerError } from '../lib/errors.ts';
import type { Random } from '../lib/random.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { ArmCalls } from './arm/arm-client.ts';
import { OperationTracker } from './arm/operations.ts';
import type { GroupSelection, AzureOptions } from './arm/options.ts';
import { RateLimits } from './arm/rate-limits.ts';
import { createClients, createCredential } from './arm/sdk-clients.ts';
import { withEndpointSettings } from './arm/sign-in-errors.ts';
import { frozenReason, type RegisteredGroup } from './groups/registry.ts';
import { reapUntil } from './inventory/initial-load.ts';
import { AzureStore } from './inventory/inventory.ts';
import type { SkuShare } from './inventory/sku-agent.ts';
import { TemplateMemory } from './templates/template-memory.ts';
import { type TemplateReport, reportTemplate } from './templates/template-report.ts';
import { type AgentReport, cacheHooks, fencedTables, reportAgents } from './view/cache-metrics.ts';
import { CloudEventQueue } from './view/cloud-events.ts';
import { CloudViewBuilder } from './view/cloud-view.ts';
import { InventoryReporter } from './view/drift.ts';
import { deleteFromScaleSet, deleteFromVmsPool } from './writes/delete-backends.ts';
import { FailureCounts, QuotaAccount } from './writes/failure-counts.ts';
import { increaseScaleSet } from './writes/increase-scale-set.ts';
import { increaseThroughAks } from './writes/increase-through-aks.ts';
import { increaseVmsPool } from './writes/increase-vms-pool.ts';
import { removalTurn } from './writes/pool-turn.ts';
import { GiveBack } from './writes/undo-unfilled-increase.ts';
import { GroupLocks, type WriteParts } from './writes/write-context.ts';

// What the Azure adapter is to the program that runs it: the port, and what operators and the next process ask of it.

/** `revision` grows with each change of the text. */
export interface LearnedText {
  readonly revision: number;
  readonly text: () => string;
}

export interface AzureNodeGroups extends CloudNodeGroups {
  /** undefined: the public price list is not read. */
  readonly prices: PriceTableReader | undefined;
  /** Other groups, limits or options of groups, from the next `observe` on. */
  regroup(choice: GroupSelection): void;
  /** One plain record per caching agent, for `/debug/agents`. */
  agentStatus(): readonly AgentReport[];
  /** One plain record per group, for `/debug/templates`. */
  templateReports(): readonly TemplateReport[];
  /** Which caching agents run from now on. Throws a `config` error that names what cannot be selected. */
  selectAgents(selection: AgentSelection): void;
  /** What was learned of the groups' nodes, to be kept for the next process. */
  learnedTemplates(): LearnedText;
  /** Takes over what an earlier process kept, before the first `observe`. @returns why the text is not believed; undefined: it is. */
  restoreTemplates(text: string): string | undefined;
  /** ARM and token calls under way; a harness in virtual time holds its clock while there are any. */
  inFlightCalls(): number;
  /** Stops the agents and the following of operations. */
  close(): Promise<void>;
}

export interface AzureDependencies {
  readonly options: AzureOptions;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly names: ResourceNames;
  /** While it is held every group is frozen. Absent: there is none. */
  readonly foreignLock?: ForeignLock;
  /** Where processes of one subscription keep the VM sizes for each other; undefined: nowhere. */
  readonly skuShare?: SkuShare | undefined;
  /** Where the last answer about prices is kept for the next process; undefined: nowhere. */
  readonly keptPrices?: StoredText | undefined;
  /** Called right before each write; who may not write any more fires its signal. */
  readonly beforeWrite?: () => void;
  /** Instead of the one made from `options.credential`; for tests. */
  readonly credential?: TokenCredential;
}

/** Makes the adapter. No call leaves before `start`. Throws a `config` error when the credential cannot be made. */
export function connectAzure(deps: AzureDependencies): AzureNodeGroups {
  return new AzureAdapter(deps);
}

class AzureAdapter implements AzureNodeGroups {
  readonly #deps: AzureDependencies;
  readonly #calls: ArmCalls;
  readonly #budgets: RateLimits;
  readonly #store: AzureStore;
  readonly #views: CloudViewBuilder;
  readonly #memory: TemplateMemory;
  #groups: readonly NodeGroup[] = [];
  readonly #events: CloudEventQueue;
  readonly #tracker: OperationTracker;
  readonly #writes: WriteParts;
  readonly #giveBack: GiveBack;
  readonly #closing = new AbortController();
  readonly #news: InventoryReporter;
  readonly #failures: FailureCounts;
  readonly #account: QuotaAccount;
  #background: Promise<unknown> | undefined;

  constructor(deps: AzureDependencies) {
    const { options, clock, random, log, metrics, names } = deps;
    this.#deps = deps;
    const budgets = (this.#budgets = new RateLimits(clock, metrics.arm));
    this.#calls = new ArmCalls({
      clock,
      metrics: metrics.arm,
      rateLimits: budgets,
      timeoutMs: options.requestTimeoutMs,
      maxConcurrent: options.maxConcurrentCalls,
      rateLimit: options.rateLimit,
      readRetries: options.readRetries,
      random,
      beforeWrite: deps.beforeWrite,
    });
    const clients = createClients(options, deps.credential ?? createCredential(options), this.#calls);
    const shared = { options, clients, calls: this.#calls, clock, random, log, metrics };
    this.#store = new AzureStore({
      ...shared,
      skuShare: deps.skuShare,
      keptPrices: deps.keptPrices,
      hooks: cacheHooks(metrics.cache, log, clock),
    });
    this.#news = new InventoryReporter({ store: this.#store, log, metrics, clock });
    budgets.onLow((family, low) => this.#store.scheduler.stretch(family, low));
    budgets.onThrottled((family, untilMs) => this.#store.scheduler.hold(family, untilMs));
    this.#events = new CloudEventQueue(log);
    this.#failures = new FailureCounts(metrics.scaleUp.failures, clock);
    this.#account = new QuotaAccount({ store: this.#store, failures: this.#failures, clock });
    const lockedBecause = (): string | undefined => deps.foreignLock?.heldBecause();
    this.#memory = new TemplateMemory(names, metrics.templates);
    this.#views = new CloudViewBuilder({ store: this.#store, options, names, lockedBecause, memory: this.#memory });
    this.#tracker = new OperationTracker(shared);
    this.#writes = {
      ...shared,
      store: this.#store,
      tracker: this.#tracker,
      locks: new GroupLocks(),
      tell: (event) => {
        this.#account.settle(event);
        this.#events.push(event);
      },
      unfilled: (group, raise) => this.#giveBack.begin(group, raise),
      closing: this.#closing.signal,
    };
    this.#giveBack = new GiveBack({ writes: this.#writes, writable: ({ id }) => this.#writable(id) });
    for (const table of [this.#store.scaleSets, this.#store.vmsPools.sizes]) {
      table.subscribe((event) => {
        if (event.kind === 'external-change') this.#externalChange(event.key, event.from, event.to);
      });
    }
  }

  async start(signal: AbortSignal): Promise<void> {
    const life = AbortSignal.any([signal, this.#closing.signal]);
    await this.#store.prices?.cache.restore(life);
    await this.#store.fill(life).catch((thrown: unknown) => {
      throw withEndpointSettings(asAutoscalerError(thrown), this.#deps.options);
    });
    const reap = (): void => this.#store.reap();
    this.#background = Promise.allSettled([this.#store.scheduler.run(life), reapUntil({ ...this.#deps, reap }, life)]);
  }

  get prices(): PriceTableReader | undefined {
    return this.#store.prices?.cache;
  }

  observe(cluster: ClusterView, nowMs: number): CloudView {
    this.#news.updateGauges();
    const view = this.#views.build(cluster, nowMs, this.#events.drain());
    this.#news.report(view, nowMs);
    this.#failures.look(view);
    this.#groups = view.groups;
    return view;
  }

  async increase(request: IncreaseRequest, signal: AbortSignal): Promise<IncreaseOutcome> {
    const group = this.#writable(request.group);
    if (typeof group === 'string') return { kind: 'refused', group: request.group, reason: group };
    const write =
      group.kind === 'vms-pool' ? increaseVmsPool : this.#store.facts.isWrittenThroughAks(group) ? increaseThroughAks : increaseScaleSet;
    const outcome = await write(this.#writes, group, request, AbortSignal.any([signal, this.#closing.signal]));
    if (outcome.kind === 'accepted') this.#account.ordered(group, outcome.target - request.from);
    if (outcome.kind === 'failed') this.#failures.refused(group.id, outcome.error);
    return this.#learn(group, outcome.kind === 'failed' ? { ...outcome, error: this.#account.refused(group, outcome.error) } : outcome);
  }

  async deleteInstances(request: DeleteRequest, signal: AbortSignal): Promise<DeleteOutcome> {
    const group = this.#writable(request.group);
    if (typeof group === 'string') return { kind: 'refused', group: request.group, reason: group };
    const remove = group.kind === 'vms-pool' ? deleteFromVmsPool : deleteFromScaleSet;
    return this.#learn(group, await remove(this.#writes, group, request, AbortSignal.any([signal, this.#closing.signal])));
  }

  async untilRemovable(id: NodeGroupId, signal: AbortSignal): Promise<void> {
    const group = this.#store.registration().byId.get(id);
    if (group !== undefined) await removalTurn(this.#writes, group, AbortSignal.any([signal, this.#closing.signal]));
  }

  async refresh(id: NodeGroupId, signal: AbortSignal): Promise<void> {
    const group = this.#store.registration().byId.get(id);
    if (group === undefined) return;
    if (signal.aborted) throw new AutoscalerError({ kind: 'cancelled' }, `The read of ${id} was cancelled before it began.`);
    const life = AbortSignal.any([signal, this.#closing.signal]);
    await Promise.all([
      group.kind === 'scale-set' ? this.#store.refreshSet(group.key, life) : this.#store.vmsPools.refresh(group.key, life),
      this.#store.hasAgentFor(group.key) ? this.#store.refreshInstances(group.key, life) : undefined,
    ]);
  }

  invalidate(id?: NodeGroupId): void {
    const group = id === undefined ? undefined : this.#store.registration().byId.get(id);
    if (id !== undefined && group === undefined) return;
    this.#store.holds.forget(group?.key);
    this.#store.invalidate(group?.key);
  }

  regroup(choice: GroupSelection): void {
    this.#store.choose(choice);
  }

  onWake(listener: () => void): () => void {
    return this.#events.onWake(listener);
  }

  agentStatus(): readonly AgentReport[] {
    return reportAgents(this.#store.status(), fencedTables(this.#store), (family) => this.#budgets.remainingCallsOf(family));
  }

  selectAgents(selection: AgentSelection): void {
    this.#store.scheduler.select(selection);
  }

  templateReports(): readonly TemplateReport[] {
    return this.#groups.map((group) => reportTemplate(group, this.#memory.recordOf(group.id), this.#deps.names));
  }

  learnedTemplates(): LearnedText {
    const memory = this.#memory;
    return { revision: memory.revision, text: () => memory.text };
  }

  restoreTemplates(text: string): string | undefined {
    return this.#memory.restore(text);
  }

  inFlightCalls(): number {
    return this.#calls.inFlight + (this.#store.prices?.inFlight() ?? 0);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#store.stop();
    await this.#tracker.close();
    await this.#giveBack.close();
    await this.#background;
  }

  /** The group, or why it may not be written. */
  #writable(id: NodeGroupId): RegisteredGroup | string {
    const group = this.#store.registration().byId.get(id);
    if (group === undefined) return 'it is not a node group';
    const resting = this.#store.holds.reasonOf(group.key, this.#deps.clock.now());
    if (resting !== undefined) return resting;
    const locked = this.#deps.foreignLock?.heldBecause();
    if (locked !== undefined) return locked;
    // What a pool of virtual machines allows is judged over a fresh read, in the write itself.
    if (group.kind === 'vms-pool') return group;
    const row = this.#store.scaleSets.get(group.key)?.value;
    return frozenReason(group, row, this.#store.facts.poolOf(group), this.#store.facts.ownOperationIn(group) !== undefined) ?? group;
  }

  /** What asking again does not cure makes the group rest, with the reason shown. */
  #learn<Outcome extends IncreaseOutcome | DeleteOutcome>(group: RegisteredGroup, outcome: Outcome): Outcome {
    if (outcome.kind !== 'failed' && outcome.kind !== 'accepted') return outcome;
    const error = outcome.kind === 'failed' ? outcome.error : undefined;
    const reason = this.#store.holds.learn(group.key, error, this.#deps.clock.now());
    if (reason !== undefined) this.#deps.log.warn({ nodeGroup: group.id, code: error?.code, reason }, 'a node group rests after a refusal');
    return outcome;
  }

  #externalChange(key: string, from: number, to: number): void {
    const group = this.#store.registration().groups.get(key);
    if (group === undefined) return;
    this.#deps.metrics.cache.externalChanges.inc({ node_group: group.id });
    this.#deps.log.info({ nodeGroup: group.id, from, to }, 'somebody else changed the capacity');
    this.#events.push({ kind: 'external-change', group: group.id, from, to, atMs: this.#deps.clock.now() });
  }
}
