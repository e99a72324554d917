/**
 * Decides when which agent reads. One run per agent, a token per run, a commit only with a valid token. It must not know
 * what is read, nor where from.
 */
import { asAutoscalerError, AutoscalerError } from '../../lib/errors.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Random } from '../../lib/random.ts';
import type { CachingAgent } from './agent.ts';
import { afterFailure, afterSuccess, calledOff, carryOut, type RunEnd } from './agent-run.ts';
import {
  candidateOf,
  isRunnable,
  newAgentState,
  nextRun,
  statusOf,
  type AgentState,
  type AgentStatus,
  type Run,
  compareCandidates,
  phaseOf,
} from './agent-state.ts';
import { Buckets } from './throttling-buckets.ts';
import { runByRank, type ColdStartResult } from './cold-start.ts';
import { tell, type CacheHooks } from '../table/hooks.ts';
import { checkSelection, isSelected, type AgentSelection } from './agent-selection.ts';
import { Slots, type ReleaseSlot } from '../concurrency.ts';
import { onAbort, withAbort } from '../../lib/abort.ts';
import { compareBy } from '../../lib/comparison.ts';
import { defined } from '../../lib/defined.ts';

const MAX_CONCURRENT = 8;
/** The loop looks at least this often, ms, should a wake-up ever be missed. */
const MAX_SLEEP_MS = 60_000;

export interface SchedulerParts {
  readonly clock: Clock;
  /** Jitter comes from here. */
  readonly random: Random;
  /** Seeds the phase, so that clusters that start together do not read together. */
  readonly clusterId: string;
  /** Default 8 slots. */
  readonly slots?: Slots;
  /** Periodic runs at once per bucket. Default 2. */
  readonly maxPerBucket?: number;
  /** Ids that a selection may name although no agent has them yet. Absent: none. */
  readonly mayCome?: (id: string) => boolean;
  readonly hooks?: CacheHooks;
}

export class AgentScheduler {
  readonly #parts: SchedulerParts;
  readonly #hooks: CacheHooks;
  readonly #slots: Slots;
  readonly #buckets: Buckets;
  readonly #states = new Map<string, AgentState>();
  readonly #ending = new Set<Promise<void>>();
  #selection: AgentSelection = {};
  #runs = 0;
  #alarm: AbortController | undefined;

  constructor(parts: SchedulerParts) {
    this.#parts = parts;
    this.#hooks = parts.hooks ?? {};
    this.#slots = parts.slots ?? new Slots(MAX_CONCURRENT);
    this.#buckets = new Buckets(parts.maxPerBucket ?? 2);
  }

  /** Also while running. First due by its phase; call `dueNow` when it must not wait. Throws `bug` on an id that is taken. */
  add(agent: CachingAgent): void {
    if (this.#states.has(agent.id)) throw new AutoscalerError({ kind: 'bug' }, `The caching agent "${agent.id}" exists already.`);
    const phase = phaseOf(this.#parts.clusterId, agent.id);
    const enabled = isSelected(this.#selection, agent);
    this.#states.set(agent.id, newAgentState(agent, { phase, enabled, nowMs: this.#parts.clock.monotonic() }));
    this.#wake();
  }

  /** Aborts its run, if any, which commits nothing. Its rows are the table's affair. Unknown ids are ignored. */
  remove(agentId: string): void {
    const state = this.#states.get(agentId);
    if (state === undefined) return;
    this.#states.delete(agentId);
    this.#revoke(state);
    for (const waiting of state.waiting.splice(0)) waiting.reject(calledOff(agentId));
  }

  /** Throws `config`, naming the entry, on an exact id that no agent has and on disabling a required agent. */
  select(selection: AgentSelection): void {
    const agents = [...this.#states.values()].map((state) => state.agent);
    checkSelection(selection, agents, this.#parts.mayCome);
    this.#selection = selection;
    for (const state of this.#states.values()) {
      const enabled = isSelected(selection, state.agent);
      if (enabled && !state.enabled) state.dueMs = this.#parts.clock.monotonic();
      state.enabled = enabled;
    }
    this.#wake();
  }

  /**
   * Runs every agent that is required or warm and never succeeded once, by order, at most 4 at a time; agents added on the way included. A failure is a value:
   * one unreadable pool must not keep the others from starting. Rejects `cancelled` with the signal.
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

  /** Starts what is due now, as far as there is room. Returns how many. */
  tick(): number {
    const nowMs = this.#parts.clock.now();
    const monotonicMs = this.#parts.clock.monotonic();
    const due = [...this.#states.values()].filter((state) => isRunnable(state) && this.#dueMs(state) <= monotonicMs);
    const line = due.map((state) => ({ state, candidate: candidateOf(state, nowMs, monotonicMs) }));
    line.sort((left, right) => compareCandidates(left.candidate, right.candidate));
    let started = 0;
    for (const { state } of line) {
      if (!this.#buckets.hasRoom(state.agent.bucket)) continue;
      const release = this.#slots.tryTake();
      if (release === undefined) break;
      this.#start(state, release, false);
      started += 1;
    }
    return started;
  }

  /** Due at once, before agents that are merely overdue. While running: once more after this run. A hold is respected. */
  dueNow(agentId: string): void {
    const state = this.#states.get(agentId);
    if (state === undefined) return;
    state.requested = true;
    this.#wake();
  }

  /** As dueNow, and waits for a run begun after this call; rejects with its failure. Needs `run` or `tick` to be going. */
  runNow(agentId: string, signal: AbortSignal): Promise<void> {
    const state = this.#states.get(agentId);
    if (state === undefined) return Promise.reject(new AutoscalerError({ kind: 'not-found' }, `There is no caching agent "${agentId}".`));
    const ran = nextRun(state);
    this.dueNow(agentId);
    return withAbort(ran, signal);
  }

  /** No run of the bucket starts before `untilMs` (epoch). Never shortens a hold: a probe within it would extend the penalty. */
  hold(bucket: string, untilMs: number): void {
    this.#buckets.hold(bucket, untilMs - this.#parts.clock.now() + this.#parts.clock.monotonic());
  }

  /** While on, intervals of the bucket are doubled from the next run on: few calls are left. */
  stretch(bucket: string, on: boolean): void {
    this.#buckets.stretch(bucket, on);
  }

  /** Sorted by id. */
  status(): readonly AgentStatus[] {
    const nowMs = this.#parts.clock.now();
    const monotonicMs = this.#parts.clock.monotonic();
    return [...this.#states.values()]
      .map((state) => statusOf(state, { nowMs, monotonicMs, heldUntilMs: this.#buckets.heldUntilMs(state.agent.bucket) }))
      .sort(compareBy((item) => item.id));
  }

  async #coldRun(state: AgentState, signal: AbortSignal): Promise<AutoscalerError | undefined> {
    const ran = withAbort(nextRun(state), signal);
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
    if (isRunnable(state) && !signal.aborted) this.#start(state, release, true);
    else release();
  }

  #start(state: AgentState, release: ReleaseSlot, cold: boolean): void {
    const { clock } = this.#parts;
    this.#runs += 1;
    const run: Run = {
      token: { agentId: state.agent.id, run: this.#runs },
      abort: new AbortController(),
      startMs: clock.monotonic(),
      startedAtMs: clock.now(),
      cold,
      again: state.again,
      waiting: state.waiting,
    };
    state.run = run;
    state.waiting = [];
    state.requested = false;
    state.lastStartMs = run.startedAtMs;
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
    const end = await carryOut(this.#parts.clock, state, run);
    // A run without its token lost it to somebody who has already put the agent's state right.
    if (end.outcome === 'token-lost') state.lastOutcome = end.outcome;
    else this.#ended(state, run, end);
    const durationMs = this.#parts.clock.monotonic() - run.startMs;
    const { id, kind } = state.agent;
    const told = { id, kind, outcome: end.outcome, durationMs, ...defined({ error: end.error }) };
    tell(this.#hooks, 'agentRun', () => this.#hooks.agentRun?.(told));
    for (const waiting of run.waiting) {
      if (end.error === undefined) waiting.resolve();
      else waiting.reject(end.error);
    }
  }

  #ended(state: AgentState, run: Run, end: RunEnd): void {
    const { clock, random } = this.#parts;
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
  }

  /** What failed alike is likely to work again: after a long outage nobody waits out a delay that was drawn during it. */
  #recovered(trouble: AutoscalerError | undefined, nowMs: number): void {
    if (trouble === undefined) return;
    for (const other of this.#states.values()) {
      if (other.run === undefined && other.lastError?.kind === trouble.kind) other.dueMs = Math.min(other.dueMs, nowMs);
    }
  }

  #holdIfThrottled(agent: CachingAgent, error: AutoscalerError, retryMs: number): void {
    if (error.detail.kind !== 'throttled' || agent.bucket === undefined) return;
    const { retryAfterMs } = error.detail;
    this.#buckets.hold(agent.bucket, retryAfterMs === undefined ? retryMs : this.#parts.clock.monotonic() + retryAfterMs);
  }

  /** Voids the token of the run under way. The agent is due as soon as it may run again. */
  #revoke(state: AgentState): void {
    const { run } = state;
    if (run === undefined) return;
    state.run = undefined;
    state.dueMs = this.#parts.clock.monotonic();
    run.abort.abort();
  }

  #dueMs(state: AgentState): number {
    const due = state.requested ? Number.NEGATIVE_INFINITY : state.dueMs;
    return Math.max(due, this.#buckets.heldUntilMs(state.agent.bucket) ?? due);
  }

  /** Until the next agent falls due or the alarm rings. What is due and has no room waits for a slot, which rings it. */
  async #sleep(signal: AbortSignal): Promise<void> {
    const nowMs = this.#parts.clock.monotonic();
    const next = [...this.#states.values()]
      .filter(isRunnable)
      .map((state) => this.#dueMs(state))
      .filter((due) => due > nowMs)
      .reduce((least, due) => Math.min(least, due), nowMs + MAX_SLEEP_MS);
    try {
      await this.#parts.clock.sleep(next - nowMs, signal);
    } catch (thrown) {
      if (!signal.aborted) throw thrown;
    }
  }

  #wake(): void {
    this.#alarm?.abort();
  }
}
