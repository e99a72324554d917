/**
 * One run of a caching agent. It loads, commits while its token is still valid, and sets when the agent is due again.
 * Must not know what else runs.
 */
import { asAutoscalerError, AutoscalerError } from '../../lib/errors.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Random } from '../../lib/random.ts';
import type { Loaded } from './agent.ts';
import { type AgentState, type Run, dueAfterColdRun, dueAfterSuccess, errorDelayMs, wantRun } from './agent-state.ts';
import { noteRunForRest } from './agent-rest.ts';
import type { RunOutcome } from '../table/hooks.ts';
import { withTimeout } from '../../lib/abort.ts';

export interface RunEnd {
  readonly outcome: RunOutcome;
  readonly error: AutoscalerError | undefined;
}

/** Never rejects. `token-lost`: the run no longer belonged to the agent when it ended. */
export async function carryOut(clock: Clock, state: AgentState, run: Run): Promise<RunEnd> {
  try {
    return commit(state, run, await load(clock, state, run));
  } catch (thrown) {
    return { outcome: state.run === run ? 'failed' : 'token-lost', error: asAutoscalerError(thrown) };
  }
}

/** Undefined on timeout. Whatever the run loads after that is ignored. */
async function load(clock: Clock, { agent }: AgentState, run: Run): Promise<Loaded | undefined> {
  const loaded = await withTimeout(clock, {
    timeoutMs: agent.policy.timeoutMs,
    signals: [run.abort.signal],
    run: (signal) => agent.load({ signal, token: run.token }),
  });
  return loaded === 'timed-out' ? undefined : loaded;
}

function commit(state: AgentState, run: Run, loaded: Loaded | undefined): RunEnd {
  if (state.run !== run) return { outcome: 'token-lost', error: runCancelled(state.agent.id) };
  if (loaded === undefined) {
    const message = `The caching agent "${state.agent.id}" took longer than ${state.agent.policy.timeoutMs} ms.`;
    return { outcome: 'timed-out', error: new AutoscalerError({ kind: 'unavailable', effect: 'none' }, message) };
  }
  state.lastCommit = loaded.commit();
  return loaded.error === undefined ? { outcome: 'succeeded', error: undefined } : { outcome: 'failed', error: loaded.error };
}

/** The error for callers that wait for a run that lost its token, or whose agent was removed. */
export function runCancelled(agentId: string): AutoscalerError {
  return new AutoscalerError({ kind: 'cancelled' }, `The run of the caching agent "${agentId}" was cancelled.`);
}

/** The time of the end: monotonic, ms. */
interface EndedAt {
  readonly nowMs: number;
  readonly random: Random;
}

/** Updates the state after a run that failed or timed out: the agent is due after a growing delay. */
export function afterFailure(state: AgentState, error: AutoscalerError, { nowMs, random }: EndedAt): void {
  state.failures += 1;
  state.lastError = error;
  state.dueMs = nowMs + Math.max(errorDelayMs(state.agent.policy, state.failures, random), error.retryAfterMs ?? 0);
}

/** Updates the state after a successful run. `stretched`: few calls are left, so intervals double. */
export function afterSuccess(state: AgentState, run: Run, { nowMs, random, stretched }: EndedAt & { readonly stretched: boolean }): void {
  state.failures = 0;
  state.lastError = undefined;
  state.lastSuccessMs = run.startedAtMs;
  noteRunForRest(state, run.startMs);
  state.dueMs = run.cold
    ? Math.max(nowMs, dueAfterColdRun(state.agent.policy, run.startMs, state.phase))
    : dueAfterSuccess(state.agent.policy, { startMs: run.startMs, endMs: nowMs, stretched }, random);
  // Only once: a list that was read again at once is believed or waits its turn, so that the agent cannot loop.
  if (state.lastCommit?.runAgain === true && !run.isRepeat) wantRun(state, { isRepeat: true });
}
