import { RateWindow } from '../../lib/allowance.ts';
import { durationAfterMs } from '../../lib/closure.ts';
import type { AutoscalerError } from '../../lib/errors.ts';
import { stableHash, type Random } from '../../lib/random.ts';
import { SCALE_DOWN_LIMIT, type AgentFreshness } from '../table/freshness.ts';
import type { RunOutcome } from '../table/hooks.ts';
import type { AgentPolicy, CachingAgent, CommitSummary, RunToken } from './agent.ts';
import { compareText } from '../../lib/comparison.ts';

/** Minimum delay before a retry, ms, whatever the jitter. */
const MIN_ERROR_DELAY_MS = 1000;
/** The part of the interval to wait after a run that took longer than its interval. */
const OVERRUN_PART = 0.1;

/** The position of an agent within its interval, in [0, 1): equal after every restart, different between clusters. */
export function phaseOf(clusterId: string, agentId: string): number {
  return stableHash(`${clusterId}/${agentId}`) / 4_294_967_296;
}

/** Due time after a success. Counted from the start of the run, so that slow runs do not stretch the interval. */
export function dueAfterSuccess(
  policy: AgentPolicy,
  run: { readonly startMs: number; readonly endMs: number; readonly stretched: boolean },
  random: Random,
): number {
  const intervalMs = policy.intervalMs * (run.stretched ? 2 : 1);
  const due = run.startMs + jittered(intervalMs, policy, random);
  return due > run.endMs ? due : run.endMs + OVERRUN_PART * intervalMs;
}

function jittered(intervalMs: number, { jitter }: AgentPolicy, random: Random): number {
  if (jitter.kind === 'spread') return intervalMs * (1 + jitter.fraction * (2 * random() - 1));
  return intervalMs - random() * Math.min(jitter.maxMs, intervalMs);
}

/** Delay after the n-th failure in a row: doubles up to the cap, drawn between zero and all of it ("full jitter"). */
export function errorDelayMs(policy: AgentPolicy, failures: number, random: Random): number {
  const capMs = durationAfterMs({ firstMs: policy.errorIntervalMs, longestMs: policy.maxErrorIntervalMs }, failures);
  return Math.max(Math.min(MIN_ERROR_DELAY_MS, capMs), random() * capMs);
}

/**
 * Due time after a cold run: within the second half of the interval, by phase, so that clusters started together spread
 * out.
 */
export function dueAfterColdRun(policy: AgentPolicy, startMs: number, phase: number): number {
  return startMs + (policy.intervalMs * (1 + phase)) / 2;
}

/** The facts that order due agents. */
export interface Candidate {
  readonly id: string;
  /** Whether this run was requested. */
  readonly requested: boolean;
  /** Whether a decision waits for it: required, and without success for two intervals. */
  readonly starving: boolean;
  readonly overdueMs: number;
  readonly intervalMs: number;
}

/**
 * Requested first, then starving, then the most overdue by share of its interval. Waiting raises the priority, so every
 * agent runs.
 */
export function compareCandidates(left: Candidate, right: Candidate): number {
  if (left.requested !== right.requested) return left.requested ? -1 : 1;
  if (left.starving !== right.starving) return left.starving ? -1 : 1;
  const ratio = right.overdueMs / right.intervalMs - left.overdueMs / left.intervalMs;
  if (ratio !== 0) return ratio;
  return compareText(left.id, right.id);
}

/** For /debug/agents and for checking freshness. All times in ms since the epoch. */
export interface AgentStatus extends AgentFreshness {
  readonly kind: string;
  /** The throttling bucket of its calls. */
  readonly bucket: string | undefined;
  readonly state: 'idle' | 'running' | 'held' | 'disabled';
  readonly lastStartMs: number | undefined;
  readonly lastDurationMs: number | undefined;
  readonly lastOutcome: RunOutcome | undefined;
  readonly consecutiveFailures: number;
  readonly nextDueMs: number;
  readonly lastCommit: CommitSummary | undefined;
}

interface RunWaiting {
  readonly resolve: () => void;
  readonly reject: (error: AutoscalerError) => void;
}

/** A run that holds its agent. If the agent has another run or none, the token is invalid. */
export interface Run {
  readonly token: RunToken;
  readonly abort: AbortController;
  readonly startMs: number;
  readonly startedAtMs: number;
  readonly cold: boolean;
  /** Whether the commit of the previous run requested it. */
  readonly isRepeat: boolean;
  readonly waiting: readonly RunWaiting[];
}

/** A run that was requested and has not begun. */
interface Want {
  /** Whether it starts whatever the agent's rate is, since a decision waits for it. */
  readonly isForced: boolean;
  /** Whether the commit of the run before requested it. */
  readonly isRepeat: boolean;
}

/** What the scheduler knows of one agent. Mutable. `dueMs` is monotonic; other times are wall-clock. */
export interface AgentState {
  readonly agent: CachingAgent;
  readonly phase: number;
  enabled: boolean;
  dueMs: number;
  want: Want | undefined;
  run: Run | undefined;
  /** Callers that wait for a run that has not begun. */
  waiting: RunWaiting[];
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
    want: undefined,
    run: undefined,
    waiting: [],
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

export function candidateOf(state: AgentState, nowMs: number, monotonicMs: number): Candidate {
  const { id, required, policy } = state.agent;
  const sinceSuccessMs = nowMs - (state.lastSuccessMs ?? Number.NEGATIVE_INFINITY);
  return {
    id,
    requested: state.want !== undefined,
    starving: required && sinceSuccessMs > SCALE_DOWN_LIMIT * policy.intervalMs,
    overdueMs: monotonicMs - state.dueMs,
    intervalMs: policy.intervalMs,
  };
}

/** When the agent is due by its own timing, without holds. Monotonic. */
export function ownDueMs(state: AgentState): number {
  return state.want === undefined ? state.dueMs : requestedDueMs(state);
}

/** When the agent's rate allows a requested run. Monotonic; in the past: at once. */
export function requestedDueMs({ starts, want }: AgentState): number {
  return want?.isForced === true || starts === undefined ? Number.NEGATIVE_INFINITY : starts.nextMs;
}

/** A run is requested that begins later than now. Requests are merged: one of them is enough to force it, or to make it a repetition. */
export function wantRun(state: AgentState, { isForced = false, isRepeat = false }: Partial<Want> = {}): void {
  const { want } = state;
  state.want = { isForced: isForced || want?.isForced === true, isRepeat: isRepeat || want?.isRepeat === true };
}

export function isRunnable(state: AgentState): boolean {
  return state.enabled && state.run === undefined;
}

/** Settles like the next run that begins. */
export function nextRun(state: AgentState): Promise<void> {
  return new Promise((resolve, reject) => state.waiting.push({ resolve, reject }));
}
