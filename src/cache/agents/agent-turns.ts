/**
 * When the turn of an agent is: each run sets the next turn, after an interval, or after a delay that grows with failures. A turn passes
 * without a run while a read would show nothing new; it commits nothing then, and its time is no success.
 * Idea: agent.
 */
import { durationAfterMs } from '../../lib/closure.ts';
import type { AutoscalerError } from '../../lib/errors.ts';
import { stableHash, type Random } from '../../lib/random.ts';
import type { AgentPolicy } from './agent.ts';
import type { AgentState, Run } from './agent-state.ts';

/** Minimum delay before a retry, ms, whatever the jitter. */
const MIN_ERROR_DELAY_MS = 1000;
/** The part of the interval to wait after a run that took longer than its interval. */
const OVERRUN_PART = 0.1;

/** The position of an agent within its interval, in [0, 1): equal after every restart, different between clusters. */
export function phaseOf(clusterId: string, agentId: string): number {
  return stableHash(`${clusterId}/${agentId}`) / 4_294_967_296;
}

/** The end of a run: monotonic, ms. */
interface EndedAt {
  readonly nowMs: number;
  readonly random: Random;
}

/** Sets the next turn after a successful run. `stretched`: few calls are left, so intervals double. */
export function afterSuccess(state: AgentState, run: Run, ended: EndedAt & { readonly stretched: boolean }): void {
  const { rest } = state.agent;
  state.failures = 0;
  state.lastError = undefined;
  state.lastSuccessMs = run.startedAtMs;
  state.lastRestMs = undefined;
  state.restUntilMs = run.startMs + (rest?.atMostMs ?? 0);
  state.dueMs =
    run.want.because === 'start' ? Math.max(ended.nowMs, turnAfterStart(state, run)) : turnAfter(state.agent.policy, run, ended);
}

/** Counted from the start of the run, so that slow runs do not stretch the interval. */
function turnAfter(policy: AgentPolicy, { startMs }: Run, ended: EndedAt & { readonly stretched: boolean }): number {
  const intervalMs = policy.intervalMs * (ended.stretched ? 2 : 1);
  const dueMs = startMs + jittered(intervalMs, policy, ended.random);
  return dueMs > ended.nowMs ? dueMs : ended.nowMs + OVERRUN_PART * intervalMs;
}

function jittered(intervalMs: number, { jitter }: AgentPolicy, random: Random): number {
  if (jitter.kind === 'spread') return intervalMs * (1 + jitter.fraction * (2 * random() - 1));
  return intervalMs - random() * Math.min(jitter.maxMs, intervalMs);
}

/** Within the second half of the interval, by phase, so that clusters started together spread out. */
function turnAfterStart({ agent: { policy }, phase }: AgentState, { startMs }: Run): number {
  return startMs + (policy.intervalMs * (1 + phase)) / 2;
}

/** Sets the next turn after a run that failed or timed out. */
export function afterFailure(state: AgentState, error: AutoscalerError, { nowMs, random }: EndedAt): void {
  state.failures += 1;
  state.lastError = error;
  state.dueMs = nowMs + Math.max(errorDelayMs(state.agent.policy, state.failures, random), error.retryAfterMs ?? 0);
}

/** Delay after the n-th failure in a row: doubles up to the cap, drawn between zero and all of it ("full jitter"). */
function errorDelayMs(policy: AgentPolicy, failures: number, random: Random): number {
  const capMs = durationAfterMs({ firstMs: policy.errorIntervalMs, longestMs: policy.maxErrorIntervalMs }, failures);
  return Math.max(Math.min(MIN_ERROR_DELAY_MS, capMs), random() * capMs);
}

/**
 * Skips the turn of an agent that is due and may rest, until its next turn or the end of the longest rest, whichever is earlier. Returns
 * false if the agent has to run. Requested runs are never skipped, nor those after a failure. Both clocks, ms.
 */
export function skipTurn(state: AgentState, { nowMs, monotonicMs }: { readonly nowMs: number; readonly monotonicMs: number }): boolean {
  const { rest, policy } = state.agent;
  const isTurn = state.want.because === 'turn' && state.lastError === undefined;
  // guard: a list that rests is read after a quarter of an hour in any case
  if (rest === undefined || !isTurn || monotonicMs >= state.restUntilMs) return false;
  if (!rest.mayRest()) return false;
  state.lastRestMs = nowMs;
  state.dueMs = Math.min(monotonicMs + policy.intervalMs, state.restUntilMs);
  return true;
}

/** The turn that the agent skipped last is now. Returns false if it has skipped none since its last run. */
export function takeSkippedTurn(state: AgentState, monotonicMs: number): boolean {
  if (state.lastRestMs === undefined || state.run !== undefined) return false;
  state.lastRestMs = undefined;
  state.dueMs = Math.min(state.dueMs, monotonicMs);
  return true;
}
