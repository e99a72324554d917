import type { AutoscalerError } from '../domain/errors.ts';
import type { CachingAgent, CommitSummary, RunToken } from './agent.ts';
import type { RunOutcome } from './hooks.ts';
import { SCALE_DOWN_LIMIT, type AgentFreshness } from './read-mode.ts';
import type { Candidate } from './schedule.ts';

/** For /debug/agents and for judging freshness. All times in ms since the epoch. */
export interface AgentStatus extends AgentFreshness {
  readonly kind: string;
  /** The throttling budget that its calls draw on. */
  readonly bucket: string | undefined;
  readonly state: 'idle' | 'running' | 'held' | 'disabled';
  readonly lastStartMs: number | undefined;
  readonly lastDurationMs: number | undefined;
  readonly lastOutcome: RunOutcome | undefined;
  readonly consecutiveFailures: number;
  readonly nextDueMs: number;
  readonly lastCommit: CommitSummary | undefined;
}

export interface RunWaiting {
  readonly resolve: () => void;
  readonly reject: (error: AutoscalerError) => void;
}

/** A run that holds its agent. When it is no longer the agent's, its token is void. */
export interface Run {
  readonly token: RunToken;
  readonly abort: AbortController;
  readonly startMs: number;
  readonly startedAtMs: number;
  readonly cold: boolean;
  /** Asked for by the commit of the run before. */
  readonly again: boolean;
  readonly waiting: readonly RunWaiting[];
}

/** What the scheduler knows of one agent. Mutable. `dueMs` is monotonic, the rest wall-clock time. */
export interface AgentState {
  readonly agent: CachingAgent;
  readonly phase: number;
  enabled: boolean;
  dueMs: number;
  requested: boolean;
  /** The last commit asked for another run. */
  again: boolean;
  run: Run | undefined;
  /** Those who wait for a run that has not begun. */
  waiting: RunWaiting[];
  failures: number;
  lastStartMs: number | undefined;
  lastSuccessMs: number | undefined;
  lastDurationMs: number | undefined;
  lastOutcome: RunOutcome | undefined;
  lastError: AutoscalerError | undefined;
  lastCommit: CommitSummary | undefined;
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
    requested: false,
    again: false,
    run: undefined,
    waiting: [],
    failures: 0,
    lastStartMs: undefined,
    lastSuccessMs: undefined,
    lastDurationMs: undefined,
    lastOutcome: undefined,
    lastError: undefined,
    lastCommit: undefined,
  };
}

/** The moment it is looked at, by both clocks, and the hold on its bucket (monotonic). */
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
    lastError: state.lastError?.message,
    heldUntilMs: held ? toEpoch(moment.heldUntilMs) : undefined,
    consecutiveFailures: state.failures,
    nextDueMs: toEpoch(Math.max(state.dueMs, moment.heldUntilMs ?? state.dueMs)),
    lastCommit: state.lastCommit,
  };
}

export function candidateOf(state: AgentState, nowMs: number, monotonicMs: number): Candidate {
  const { id, required, policy } = state.agent;
  const sinceSuccessMs = nowMs - (state.lastSuccessMs ?? Number.NEGATIVE_INFINITY);
  return {
    id,
    requested: state.requested,
    starving: required && sinceSuccessMs > SCALE_DOWN_LIMIT * policy.intervalMs,
    overdueMs: monotonicMs - state.dueMs,
    intervalMs: policy.intervalMs,
  };
}

export function isRunnable(state: AgentState): boolean {
  return state.enabled && state.run === undefined;
}

/** Settles as the next run that begins does. */
export function nextRun(state: AgentState): Promise<void> {
  return new Promise((resolve, reject) => state.waiting.push({ resolve, reject }));
}
