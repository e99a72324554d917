/**
 * Turns that an agent skips while a read would show nothing new. A skipped turn is no run: it commits nothing and its time is no success.
 * Must not know what an agent reads, nor why it may rest.
 */
import type { AgentState } from './agent-state.ts';

/** The moment by both clocks, ms. */
export interface RestMoment {
  readonly nowMs: number;
  readonly monotonicMs: number;
}

/**
 * Skips the turn of an agent that is due and may rest, until its next turn or the end of the longest rest, whichever is earlier. Returns
 * false if the agent has to run. Requested runs are never skipped, nor those after a failure.
 */
export function skipTurn(state: AgentState, { nowMs, monotonicMs }: RestMoment): boolean {
  const { rest, policy } = state.agent;
  // guard: a list that rests is read after a quarter of an hour in any case
  if (rest === undefined || state.want !== undefined || state.lastError !== undefined || monotonicMs >= state.restUntilMs) return false;
  if (!rest.mayRest()) return false;
  state.lastRestMs = nowMs;
  state.dueMs = Math.min(monotonicMs + policy.intervalMs, state.restUntilMs);
  return true;
}

/** A run that began at `startMs` (monotonic) succeeded: the agent may rest for as long after it as its rule allows. */
export function noteRunForRest(state: AgentState, startMs: number): void {
  state.lastRestMs = undefined;
  state.restUntilMs = startMs + (state.agent.rest?.atMostMs ?? 0);
}

/** Makes an agent due that has skipped a turn since its last run. Returns false if it has not. */
export function endRest(state: AgentState, monotonicMs: number): boolean {
  if (state.lastRestMs === undefined || state.run !== undefined) return false;
  state.lastRestMs = undefined;
  state.dueMs = Math.min(state.dueMs, monotonicMs);
  return true;
}
