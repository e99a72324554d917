/**
 * Decides when each agent reads. One run per agent, a token per run, a commit only with a valid token. Must not know
 * what is read, or from where.
 */
import { asAutoscalerError, AutoscalerError } from '../../lib/errors.ts';
import type { Clock } from '../../lib/clock.ts';
import { streamFor, type Random } from '../../lib/random.ts';
import type { CachingAgent } from './agent.ts';
import { carryOut, runCancelled, type RunEnd } from './agent-run.ts';
import {
  AgentWant,
  compareDue,
  isRunnable,
  newAgentState,
  requestedMs,
  statusOf,
  wantedMs,
  type AgentState,
  type AgentStatus,
  type Run,
  type WantOptions,
} from './agent-state.ts';
import { afterFailure, afterSuccess, phaseOf, skipTurn, takeSkippedTurn } from './agent-turns.ts';
import { ThrottlingBuckets } from './throttling-buckets.ts';
import { runByRank, type ColdStartResult } from './cold-start.ts';
import { callHook, type CacheHooks } from '../table/hooks.ts';
import { checkSelection, EVERY_AGENT, isSelected, type AgentSelection } from './agent-selection.ts';
import type { ReleaseSlot, Slots } from '../concurrency.ts';
import { Want } from '../want.ts';
import { endWaits, onAbort } from '../../lib/abort.ts';
import { compareBy } from '../../lib/comparison.ts';

/** The loop checks at least this often, ms, in case a wake-up is missed. */
const MAX_SLEEP_MS = 60_000;

export interface SchedulerDeps {
  readonly clock: Clock;
  /** Source of jitter. */
  readonly random: Random;
  /** Seeds the phase, so that clusters started together do not read together. */
  readonly clusterId: string;
  readonly slots: Slots;
  /** Ids that a selection may name although no agent has them yet. */
  readonly mayBeAdded: (id: string) => boolean;
  readonly hooks: CacheHooks;
}

export class AgentScheduler {
  readonly #deps: SchedulerDeps;
  readonly #hooks: CacheHooks;
  readonly #slots: Slots;
  readonly #buckets = new ThrottlingBuckets();
  readonly #states = new Map<string, AgentState>();
  readonly #ending = new Set<Promise<void>>();
  #selection: AgentSelection = EVERY_AGENT;
  #runs = 0;
  #alarm: AbortController | undefined;

  constructor(deps: SchedulerDeps) {
    this.#deps = deps;
    this.#hooks = deps.hooks;
    this.#slots = deps.slots;
  }

  /**
   * May be called while running. The phase sets the first due time; use `want` for an immediate run. @throws
   * AutoscalerError `bug` on a duplicate id.
   */
  add(agent: CachingAgent): void {
    if (this.#states.has(agent.id)) throw new AutoscalerError({ kind: 'bug' }, `The caching agent "${agent.id}" already exists.`);
    const phase = phaseOf(this.#deps.clusterId, agent.id);
    const enabled = isSelected(this.#selection, agent);
    this.#states.set(agent.id, newAgentState(agent, { phase, enabled, nowMs: this.#deps.clock.monotonic() }));
    this.#wake();
  }

  /** Adds the agent and runs it soon, unless there is one with this id. */
  ensure(id: string, make: () => CachingAgent): void {
    if (this.#states.has(id)) return;
    this.add(make());
    // A new pool stays frozen until it has been read, so the first read must not wait for the usual interval.
    this.want(id);
  }

  has(agentId: string): boolean {
    return this.#states.has(agentId);
  }

  /** In the order in which they were added. */
  get ids(): readonly string[] {
    return [...this.#states.keys()];
  }

  /** Aborts the agent's run, if any, which then commits nothing. The table keeps its rows. Unknown ids are ignored. */
  remove(agentId: string): void {
    const state = this.#states.get(agentId);
    if (state === undefined) return;
    this.#states.delete(agentId);
    this.#revoke(state);
    state.want.settle(runCancelled(agentId));
  }

  /** @throws AutoscalerError `config`, naming the entry, on an id that no agent has or on disabling a required agent. */
  select(selection: AgentSelection): void {
    const agents = [...this.#states.values()].map((state) => state.agent);
    checkSelection(selection, agents, this.#deps.mayBeAdded);
    this.#selection = selection;
    for (const state of this.#states.values()) {
      const enabled = isSelected(selection, state.agent);
      if (enabled && !state.enabled) state.dueMs = this.#deps.clock.monotonic();
      state.enabled = enabled;
    }
    this.#wake();
  }

  /**
   * Runs every agent once that is required or warm and never succeeded: by order, at most 4 at a time, and including
   * agents added meanwhile. A failure is a value: one unreadable pool must not keep the others from starting. Rejects
   * `cancelled` with the signal.
   */
  coldStart(signal: AbortSignal): Promise<readonly ColdStartResult[]> {
    return runByRank(
      () => this.#states.values(),
      (state) => this.#coldRun(state, signal),
    );
  }

  /** Ticks until the signal fires, then ends its runs. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const stopListening = this.#slots.onFree(() => this.#wake());
    while (!signal.aborted) {
      this.#alarm = new AbortController();
      this.tick();
      await this.#sleep(AbortSignal.any([signal, this.#alarm.signal]));
    }
    stopListening();
    for (const state of this.#states.values()) this.#revoke(state);
    await Promise.all(this.#ending);
  }

  /** Starts what is due now, as far as slots allow. Returns the number of started runs. */
  tick(): number {
    const moment = { nowMs: this.#deps.clock.now(), monotonicMs: this.#deps.clock.monotonic() };
    const due = [...this.#states.values()].filter(
      (state) => isRunnable(state) && this.#dueMs(state) <= moment.monotonicMs && !skipTurn(state, moment),
    );
    let started = 0;
    for (const state of due.sort((left, right) => compareDue(left, right, moment))) {
      if (!this.#buckets.hasRoom(state.agent.bucket)) continue;
      const release = this.#slots.tryTake();
      if (release === undefined) break;
      this.#start(state, release);
      started += 1;
    }
    return started;
  }

  /**
   * Wants a run that begins after this call: at once, before agents that are merely overdue; during a run, once more after it. Holds and
   * the agent's requested rate still apply. A caller that waits until it is served gets its failure, or `not-found` for an unknown id.
   */
  want(agentId: string, { because = 'request', rate }: WantOptions = {}): Want {
    const state = this.#states.get(agentId);
    if (state === undefined) return Want.refused(new AutoscalerError({ kind: 'not-found' }, `There is no caching agent "${agentId}".`));
    if (rate === 'renew') state.starts?.clear();
    if (because === 'request') state.want.request({ passesRate: rate === 'pass' });
    else if (!takeSkippedTurn(state, this.#deps.clock.monotonic())) return state.want;
    this.#wake();
    return state.want;
  }

  /**
   * No run of the bucket starts before `untilMs` (epoch). Never shortens a hold: a call within it would extend the
   * throttling.
   */
  hold(bucket: string, untilMs: number): void {
    this.#buckets.hold(bucket, untilMs - this.#deps.clock.now() + this.#deps.clock.monotonic());
  }

  /** How long a requested run has to wait for the agent's rate, ms. 0: it has not, or the agent is unknown. */
  requestWaitMs(agentId: string): number {
    const state = this.#states.get(agentId);
    return state === undefined ? 0 : Math.max(0, requestedMs(state) - this.#deps.clock.monotonic());
  }

  /** Ends every hold: an operator wants to know now. What is sent may be held again. */
  releaseHolds(): void {
    this.#buckets.release();
    this.#wake();
  }

  /** While on, the bucket's intervals double from the next run on, because few calls are left. */
  stretch(bucket: string, on: boolean): void {
    this.#buckets.stretch(bucket, on);
  }

  /** Sorted by id. */
  status(): readonly AgentStatus[] {
    const nowMs = this.#deps.clock.now();
    const monotonicMs = this.#deps.clock.monotonic();
    return [...this.#states.values()]
      .map((state) => statusOf(state, { nowMs, monotonicMs, heldUntilMs: this.#buckets.heldUntilMs(state.agent.bucket) }))
      .sort(compareBy((item) => item.id));
  }

  async #coldRun(state: AgentState, signal: AbortSignal): Promise<AutoscalerError | undefined> {
    const ran = state.want.served(signal);
    const removeListener = onAbort(signal, () => this.#revoke(state));
    try {
      await Promise.all([ran, this.#startCold(state, signal)]);
      return undefined;
    } catch (thrown) {
      if (signal.aborted) throw thrown;
      return asAutoscalerError(thrown);
    } finally {
      removeListener();
    }
  }

  async #startCold(state: AgentState, signal: AbortSignal): Promise<void> {
    const release = await this.#slots.take();
    if (!isRunnable(state) || signal.aborted) return release();
    state.want.because = 'start';
    this.#start(state, release);
  }

  #start(state: AgentState, release: ReleaseSlot): void {
    const { clock } = this.#deps;
    this.#runs += 1;
    const run: Run = {
      token: { agentId: state.agent.id, run: this.#runs },
      abort: new AbortController(),
      startMs: clock.monotonic(),
      startedAtMs: clock.now(),
      want: state.want,
    };
    state.run = run;
    state.want = new AgentWant();
    state.lastStartMs = run.startedAtMs;
    // guard: the instances of a set are listed twice in a minute at most
    state.starts?.note(run.startMs);
    this.#buckets.enter(state.agent.bucket);
    const ended = this.#carryOut(state, run).finally(() => {
      this.#buckets.leave(state.agent.bucket);
      release();
      this.#ending.delete(ended);
      this.#wake();
    });
    this.#ending.add(ended);
  }

  /** Never rejects. */
  async #carryOut(state: AgentState, run: Run): Promise<void> {
    const end = await carryOut(this.#deps.clock, state, run);
    // A run without its token lost it to code that has already updated the agent's state.
    if (end.outcome === 'token-lost') state.lastOutcome = end.outcome;
    else this.#ended(state, run, end);
    const durationMs = this.#deps.clock.monotonic() - run.startMs;
    const { id, kind } = state.agent;
    callHook(this.#hooks, 'agentRun', () => this.#hooks.agentRun({ id, kind, durationMs, ...end }));
    run.want.settle(end.error);
  }

  #ended(state: AgentState, run: Run, end: RunEnd): void {
    const { clock } = this.#deps;
    const random = streamFor(this.#deps.random, state.agent.id);
    const nowMs = clock.monotonic();
    state.run = undefined;
    state.lastOutcome = end.outcome;
    state.lastDurationMs = nowMs - run.startMs;
    if (end.error !== undefined) {
      afterFailure(state, end.error, { nowMs, random });
      this.#holdIfThrottled(state.agent, end.error, state.dueMs);
      return;
    }
    this.#recovered(state.lastError, nowMs);
    afterSuccess(state, run, { nowMs, random, stretched: this.#buckets.isStretched(state.agent.bucket) });
    // Only once: a list that was read again at once is believed or waits its turn, so that the agent cannot loop.
    if (state.lastCommit?.runAgain === true && run.want.because !== 'doubt') state.want.request({ isDoubt: true });
  }

  /**
   * Agents that failed alike are likely to work again too. So after a long outage, none waits for a delay drawn during
   * it.
   */
  #recovered(trouble: AutoscalerError | undefined, nowMs: number): void {
    if (trouble === undefined) return;
    for (const other of this.#states.values()) {
      if (other.run === undefined && other.lastError?.kind === trouble.kind) other.dueMs = Math.min(other.dueMs, nowMs);
    }
  }

  #holdIfThrottled(agent: CachingAgent, error: AutoscalerError, retryMs: number): void {
    if (error.detail.kind !== 'throttled') return;
    const { retryAfterMs } = error.detail;
    this.#buckets.hold(agent.bucket, retryAfterMs === undefined ? retryMs : this.#deps.clock.monotonic() + retryAfterMs);
  }

  /** Invalidates the token of the current run. The agent is due as soon as it may run again. */
  #revoke(state: AgentState): void {
    const { run } = state;
    if (run === undefined) return;
    state.run = undefined;
    state.dueMs = this.#deps.clock.monotonic();
    run.abort.abort();
  }

  #dueMs(state: AgentState): number {
    const due = wantedMs(state);
    return Math.max(due, this.#buckets.heldUntilMs(state.agent.bucket) ?? due);
  }

  /** Until the next agent is due or the alarm fires. A due agent without a slot waits for one, which fires the alarm. */
  async #sleep(signal: AbortSignal): Promise<void> {
    const nowMs = this.#deps.clock.monotonic();
    const next = [...this.#states.values()]
      .filter(isRunnable)
      .map((state) => this.#dueMs(state))
      .filter((due) => due > nowMs)
      .reduce((least, due) => Math.min(least, due), nowMs + MAX_SLEEP_MS);
    try {
      await this.#deps.clock.sleep(next - nowMs, signal);
    } catch (thrown) {
      if (!signal.aborted) throw thrown;
    }
  }

  #wake(): void {
    if (this.#alarm !== undefined) endWaits(this.#alarm);
  }
}
