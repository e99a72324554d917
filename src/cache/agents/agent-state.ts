/**
 * What is known of one agent: its next turn, what is wanted of it besides, its runs, and in which order agents that are due begin.
 * Idea: agent, want.
 */
import { RateWindow } from '../../lib/allowance.ts';
import type { AutoscalerError } from '../../lib/errors.ts';
import { SCALE_DOWN_LIMIT, type AgentFreshness } from '../table/freshness.ts';
import type { RunOutcome } from '../table/hooks.ts';
import type { CachingAgent, CommitSummary, RunToken } from './agent.ts';
import { compareText } from '../../lib/comparison.ts';
import { Want } from '../want.ts';

/** For /debug/agents and for checking freshness. All times in ms since the epoch. */
export interface AgentStatus extends AgentFreshness {
  readonly kind: string;
  /** The throttling bucket of its calls. */
  readonly bucket: string;
  readonly state: 'idle' | 'running' | 'held' | 'disabled';
  readonly lastStartMs: number | undefined;
  readonly lastDurationMs: number | undefined;
  readonly lastOutcome: RunOutcome | undefined;
  readonly consecutiveFailures: number;
  readonly nextDueMs: number;
  readonly lastCommit: CommitSummary | undefined;
}

/** A run that holds its agent. If the agent has another run or none, the token is invalid. */
export interface Run {
  readonly token: RunToken;
  readonly abort: AbortController;
  readonly startMs: number;
  readonly startedAtMs: number;
  /** What it serves. */
  readonly want: AgentWant;
}

/** How a run is wanted. */
export interface WantOptions {
  /** `unrest`: a read may show something new, so an agent that has skipped a turn takes it now. If absent, a run is requested in any case. */
  readonly because?: 'request' | 'unrest';
  /** `pass`: a decision waits for the run, which begins at any rate. `renew`: an operator asks, and the rate begins again. If absent, kept. */
  readonly rate?: 'pass' | 'renew';
}

/** The run of an agent that begins next. */
export class AgentWant extends Want {
  /**
   * `turn`: nothing but time. `request`: some part needs it. `doubt`: the list of the run before could not be believed. `start`: the first
   * decision waits for it.
   */
  because: 'turn' | 'request' | 'doubt' | 'start' = 'turn';
  /** Whether it begins whatever the agent's rate is, since a decision waits for it. */
  passesRate = false;

  /** A request, or more: what was wanted before stays wanted. */
  request({ passesRate = false, isDoubt = false }: { readonly passesRate?: boolean; readonly isDoubt?: boolean } = {}): void {
    this.because = isDoubt || this.because === 'doubt' ? 'doubt' : 'request';
    this.passesRate ||= passesRate;
  }
}

/** What the scheduler knows of one agent. Mutable. `dueMs` is monotonic; other times are wall-clock. */
export interface AgentState {
  readonly agent: CachingAgent;
  readonly phase: number;
  enabled: boolean;
  dueMs: number;
  want: AgentWant;
  run: Run | undefined;
  /** The last starts (monotonic). If undefined, requested runs have no rate. */
  readonly starts: RateWindow | undefined;
  failures: number;
  lastStartMs: number | undefined;
  lastSuccessMs: number | undefined;
  lastDurationMs: number | undefined;
  lastOutcome: RunOutcome | undefined;
  lastError: AutoscalerError | undefined;
  lastCommit: CommitSummary | undefined;
  /** Until when turns may be skipped (monotonic). */
  restUntilMs: number;
  /** The last skipped turn since the last run. If undefined, none was. */
  lastRestMs: number | undefined;
}

export function newAgentState(
  agent: CachingAgent,
  start: { readonly phase: number; readonly nowMs: number; readonly enabled: boolean },
): AgentState {
  return {
    agent,
    phase: start.phase,
    enabled: start.enabled,
    dueMs: start.nowMs + start.phase * agent.policy.intervalMs,
    want: new AgentWant(),
    run: undefined,
    starts: agent.policy.requestedRate === undefined ? undefined : new RateWindow(agent.policy.requestedRate),
    failures: 0,
    lastStartMs: undefined,
    lastSuccessMs: undefined,
    lastDurationMs: undefined,
    lastOutcome: undefined,
    lastError: undefined,
    lastCommit: undefined,
    restUntilMs: Number.NEGATIVE_INFINITY,
    lastRestMs: undefined,
  };
}

/** The moment of the status, by both clocks, and the hold on its bucket (monotonic). */
export interface Moment {
  readonly nowMs: number;
  readonly monotonicMs: number;
  readonly heldUntilMs: number | undefined;
}

export function statusOf(state: AgentState, moment: Moment): AgentStatus {
  const { agent } = state;
  const toEpoch = (monotonicMs: number): number => moment.nowMs + monotonicMs - moment.monotonicMs;
  const held = moment.heldUntilMs !== undefined && moment.heldUntilMs > moment.monotonicMs;
  const idle = held ? 'held' : 'idle';
  return {
    id: agent.id,
    kind: agent.kind,
    bucket: agent.bucket,
    required: agent.required,
    enabled: state.enabled,
    intervalMs: agent.policy.intervalMs,
    state: state.run !== undefined ? 'running' : state.enabled ? idle : 'disabled',
    lastStartMs: state.lastStartMs,
    lastDurationMs: state.lastDurationMs,
    lastOutcome: state.lastOutcome,
    lastSuccessMs: state.lastSuccessMs,
    lastRestMs: state.lastRestMs,
    lastError: state.lastError?.message,
    heldUntilMs: held ? toEpoch(moment.heldUntilMs) : undefined,
    consecutiveFailures: state.failures,
    nextDueMs: toEpoch(Math.max(state.dueMs, moment.heldUntilMs ?? state.dueMs)),
    lastCommit: state.lastCommit,
  };
}

/**
 * The order of agents that are due. Requested first, then starving, then the most overdue by share of its interval. Waiting raises the
 * priority, so every agent runs.
 */
export function compareDue(left: AgentState, right: AgentState, moment: { readonly nowMs: number; readonly monotonicMs: number }): number {
  return (
    Number(right.want.because !== 'turn') - Number(left.want.because !== 'turn') ||
    Number(isStarving(right, moment.nowMs)) - Number(isStarving(left, moment.nowMs)) ||
    overdueShare(right, moment.monotonicMs) - overdueShare(left, moment.monotonicMs) ||
    compareText(left.agent.id, right.agent.id)
  );
}

/** Whether a decision waits for it: required, and without success for two intervals. */
function isStarving({ agent, lastSuccessMs = Number.NEGATIVE_INFINITY }: AgentState, nowMs: number): boolean {
  return agent.required && nowMs - lastSuccessMs > SCALE_DOWN_LIMIT * agent.policy.intervalMs;
}

function overdueShare({ agent, dueMs }: AgentState, monotonicMs: number): number {
  return (monotonicMs - dueMs) / agent.policy.intervalMs;
}

/** When the wanted run is due, without holds. Monotonic. */
export function wantedMs(state: AgentState): number {
  return state.want.because === 'turn' ? state.dueMs : requestedMs(state);
}

/** When the agent's rate allows a requested run. Monotonic; in the past: at once. */
export function requestedMs({ starts, want }: AgentState): number {
  return want.passesRate || starts === undefined ? Number.NEGATIVE_INFINITY : starts.nextMs;
}

export function isRunnable(state: AgentState): boolean {
  return state.enabled && state.run === undefined;
}
