/**
 * The Azure side of the autoscaler: node groups read through caching agents and written with conditional requests.
 * Responsible for observing, increasing and deleting, and for the life of the adapter; `wiring.ts` connects its rooms.
 * Must not know Kubernetes, planning or the loop.
 */
import type { AgentSelection } from '../cache/agents/agent-selection.ts';
import type { NodeGroupId } from '../domain/ids.ts';
import type { RemainingWrites } from '../domain/quotas-and-prices.ts';
import type { NodeGroup } from '../domain/node-group.ts';
import type { CloudView, ClusterView } from '../domain/observation.ts';
import type { AnsweredIncrease, DeleteOutcome } from '../domain/outcome.ts';
import type { CloudNodeGroups, DeleteRequest, IncreaseRequest, UnansweredIncrease } from '../domain/ports/cloud.ts';
import type { PriceTableReader } from '../domain/ports/stored-text.ts';
import { asAutoscalerError, AutoscalerError } from '../lib/errors.ts';
import type { SlicedWork } from '../lib/slices.ts';
import type { GroupSelection } from './arm/options.ts';
import { withEndpointSettings } from './arm/sign-in-errors.ts';
import type { RegisteredGroup } from './groups/registry.ts';
import { cleanUpUntil } from './inventory/initial-load.ts';
import { reportTemplate, type TemplateReport } from './templates/template-report.ts';
import { fencedTables, reportAgents, type AgentReport } from './view/cache-metrics.ts';
import { wireAzure, type AzureDeps, type AzureRooms } from './wiring.ts';
import { increaseWithStopped } from './stops/start-stopped.ts';
import { reimageInstance } from './stops/reimage-instance.ts';
import { stopMachines, stopOrDelete } from './stops/stop-instances.ts';
import { increaseScaleSet } from './writes/increase-scale-set.ts';
import { increaseThroughAks } from './writes/increase-through-aks.ts';
import { increaseVmsPool } from './writes/increase-vms-pool.ts';
import { untilDeletionTurn } from './writes/pool-turn.ts';

/** `revision` grows with each change of the text. */
interface LearnedText {
  readonly revision: number;
  readonly text: () => string;
}

/** The port, and what operators and the next process need beside it. */
export interface AzureNodeGroups extends CloudNodeGroups {
  /** undefined: the public price list is not read. */
  readonly prices: PriceTableReader | undefined;
  /** Other groups, limits or options of groups, from the next `observe` on. */
  regroup(selection: GroupSelection): void;
  /** One plain record per caching agent, for `/debug/agents`. */
  agentStatus(): readonly AgentReport[];
  /** One plain record per group, for `/debug/templates`. */
  templateReports(): readonly TemplateReport[];
  /** Capacity writes that the group's scale set has left, as Azure last reported. undefined: unknown. */
  remainingWrites(group: NodeGroupId): RemainingWrites | undefined;
  /** Which caching agents run from now on. Throws a `config` error that names what cannot be selected. */
  selectAgents(selection: AgentSelection): void;
  /** How long the last nodes of each group took until they were ready: minimums of schedules are prepared so long before. */
  noteStartTimes(times: ReadonlyMap<NodeGroupId, readonly number[]>): void;
  /** What was learned of the groups' nodes, to be stored for the next process. */
  learnedTemplates(): LearnedText;
  /** Takes over what an earlier process stored, before the first `observe`. @returns why the text is rejected; undefined: it is accepted. */
  restoreTemplates(text: string): string | undefined;
  /** ARM and token calls under way; a harness in virtual time holds its clock while there are any. */
  inFlightCalls(): number;
  /** Stops the agents and the following of operations. */
  close(): Promise<void>;
}

/** Makes the adapter. No call leaves before `start`. Throws a `config` error when the credential cannot be made. */
export function connectAzure(deps: AzureDeps): AzureNodeGroups {
  return new AzureAdapter(deps);
}

class AzureAdapter implements AzureNodeGroups {
  readonly #deps: AzureDeps;
  readonly #rooms: AzureRooms;
  #groups: readonly NodeGroup[] = [];
  #background: Promise<unknown> | undefined;

  constructor(deps: AzureDeps) {
    this.#deps = deps;
    this.#rooms = wireAzure(deps);
  }

  async start(signal: AbortSignal): Promise<void> {
    const { inventory, closing } = this.#rooms;
    const life = AbortSignal.any([signal, closing.signal]);
    await inventory.prices?.cache.restore(life);
    await inventory.load(life).catch((thrown: unknown) => {
      throw withEndpointSettings(asAutoscalerError(thrown), this.#deps.options);
    });
    const removeExpired = (): void => inventory.removeExpired();
    this.#background = Promise.allSettled([inventory.scheduler.run(life), cleanUpUntil({ ...this.#deps, removeExpired }, life)]);
  }

  prepare(cluster: ClusterView, nowMs: number): SlicedWork<void> {
    return this.#rooms.views.prepare(cluster, nowMs);
  }

  withoutStopped(cluster: ClusterView): ClusterView {
    return this.#rooms.views.withoutStopped(cluster);
  }

  observe(cluster: ClusterView, nowMs: number): CloudView {
    const { reporter, views, events, failures, countSync, hints } = this.#rooms;
    reporter.updateGauges();
    const view = views.build(cluster, nowMs, events.drain());
    reporter.report(view, nowMs);
    failures.countFailedInstances(view);
    // guard: a lack of capacity that only instances show is reported to other clusters
    hints.noteFailedInstances(view.groups);
    countSync.observe(view.groups);
    this.#groups = view.groups;
    return view;
  }

  async increase(request: IncreaseRequest, signal: AbortSignal): Promise<AnsweredIncrease | UnansweredIncrease> {
    // guard: a capacity write does not look at hints
    const { gate, writes, inventory, quotaAccount, failures } = this.#rooms;
    // guard: no increase is written into a pause
    const group = gate.writableGroup(request.group, 'increase');
    if (typeof group === 'string') return { kind: 'refused', group: request.group, reason: group };
    const write =
      group.kind === 'vms-pool' ? increaseVmsPool : inventory.facts.isWrittenThroughAks(group) ? increaseThroughAks : increaseScaleSet;
    const reserved = quotaAccount.reservedFor(group);
    failures.expect(group.id, request.forHeadroom === true ? 'not-counted' : 'counted');
    const written = await increaseWithStopped(writes, group, { request, create: write }, this.#untilClosed(signal));
    const createdFrom = request.from + (written.kind === 'accepted' ? (written.started ?? 0) : 0);
    // guard: nodes of an increase use up quota as soon as it is sent
    if (written.kind === 'accepted' || written.kind === 'sent') quotaAccount.recordIncrease(group, written.target - createdFrom, reserved);
    if (written.kind !== 'sent') return this.#recordAnswer(group, written);
    const answer = written.answer.then((late) => {
      if (late.kind !== 'accepted') quotaAccount.recordReturn(group, written.target - request.from);
      return this.#recordAnswer(group, late);
    });
    return { ...written, answer };
  }

  #recordAnswer(group: RegisteredGroup, answer: AnsweredIncrease): AnsweredIncrease {
    const { gate, quotaAccount, failures, hints } = this.#rooms;
    if (answer.kind === 'failed') {
      failures.countRefusal(group.id, answer.error);
      hints.noteFailure(answer.error);
    }
    const outcome = answer.kind === 'failed' ? { ...answer, error: quotaAccount.recordRefusal(group, answer.error) } : answer;
    gate.recordOutcome(group, outcome);
    return outcome;
  }

  async deleteInstances(request: DeleteRequest, signal: AbortSignal): Promise<DeleteOutcome> {
    const { gate, writes } = this.#rooms;
    const areFailed = request.instances.every((key) => request.failed.has(key));
    // guard: no deletion is sent into a pause
    const group = gate.writableGroup(request.group, areFailed ? 'give-back' : 'removal');
    if (typeof group === 'string') return { kind: 'refused', group: request.group, reason: group };
    const plain = group.kind === 'vms-pool' ? stopMachines : stopOrDelete;
    const remove = request.reimages ? reimageInstance : plain;
    const outcome = await remove(writes, group, request, this.#untilClosed(signal));
    gate.recordOutcome(group, outcome);
    return outcome;
  }

  removalPausedBecause(id: NodeGroupId): string | undefined {
    const { inventory, gate } = this.#rooms;
    const group = inventory.registration().byId.get(id);
    return group === undefined ? undefined : gate.pausedBecause(group, 'removal');
  }

  async untilRemovable(id: NodeGroupId, signal: AbortSignal): Promise<void> {
    const group = this.#rooms.inventory.registration().byId.get(id);
    if (group !== undefined) await untilDeletionTurn(this.#rooms.writes, group, this.#untilClosed(signal));
  }

  async syncCounts(busy: ReadonlySet<NodeGroupId>, signal: AbortSignal): Promise<void> {
    if (this.#deps.options.syncAgentPoolCount) await this.#rooms.countSync.syncOne(busy, this.#untilClosed(signal));
  }

  async refresh(id: NodeGroupId, signal: AbortSignal): Promise<void> {
    const { inventory } = this.#rooms;
    const group = inventory.registration().byId.get(id);
    if (group === undefined) return;
    if (signal.aborted) throw new AutoscalerError({ kind: 'cancelled' }, `The read of ${id} was cancelled before it began.`);
    const life = this.#untilClosed(signal);
    await Promise.all([
      inventory.reads.want({ what: 'size', group: group.key }).served(life),
      inventory.lists.has(group.key) ? inventory.reads.want({ what: 'instances', group: group.key, rate: 'pass' }).served(life) : undefined,
    ]);
  }

  invalidate(id?: NodeGroupId): void {
    const { inventory, ownWrites, rateLimits } = this.#rooms;
    const group = id === undefined ? undefined : inventory.registration().byId.get(id);
    if (id !== undefined && group === undefined) return;
    ownWrites.backoffs.forget(group?.key);
    // guard: a manual refresh ends the pauses of calls
    rateLimits.releaseHolds();
    // guard: a manual refresh ends the pauses of lists
    inventory.scheduler.releaseHolds();
    inventory.invalidate(group?.key);
  }

  get prices(): PriceTableReader | undefined {
    return this.#rooms.inventory.prices?.cache;
  }

  regroup(selection: GroupSelection): void {
    this.#rooms.inventory.selectGroups(selection);
  }

  onWake(listener: () => void): () => void {
    return this.#rooms.events.onWake(listener);
  }

  agentStatus(): readonly AgentReport[] {
    const { inventory, rateLimits } = this.#rooms;
    return reportAgents(inventory.scheduler.status(), fencedTables(inventory), (family) => rateLimits.remainingCallsOf(family));
  }

  remainingWrites(id: NodeGroupId): RemainingWrites | undefined {
    const group = this.#rooms.inventory.registration().byId.get(id);
    return group?.kind === 'scale-set' ? this.#rooms.rateLimits.remainingWritesOf(group.key) : undefined;
  }

  selectAgents(selection: AgentSelection): void {
    this.#rooms.inventory.scheduler.select(selection);
  }

  templateReports(): readonly TemplateReport[] {
    return this.#groups.map((group) => reportTemplate(group, this.#rooms.evidence.recordOf(group.id), this.#deps.names));
  }

  noteStartTimes(times: ReadonlyMap<NodeGroupId, readonly number[]>): void {
    this.#rooms.schedules.noteStartTimes(times);
  }

  learnedTemplates(): LearnedText {
    const { evidence } = this.#rooms;
    return { revision: evidence.revision, text: () => evidence.text };
  }

  restoreTemplates(text: string): string | undefined {
    return this.#rooms.evidence.restore(text);
  }

  inFlightCalls(): number {
    const { calls, inventory } = this.#rooms;
    return calls.inFlight + (inventory.prices?.inFlight() ?? 0);
  }

  async close(): Promise<void> {
    const { closing, inventory, writes, undo } = this.#rooms;
    closing.abort();
    inventory.stop();
    await writes.tracker.close();
    await undo.close();
    await this.#background;
    this.#deps.onClosed?.();
  }

  #untilClosed(signal: AbortSignal): AbortSignal {
    return AbortSignal.any([signal, this.#rooms.closing.signal]);
  }
}
