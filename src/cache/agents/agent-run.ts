/**
 * One run of a caching agent: it loads, it commits while its token is still the agent's, and its end says when the agent is
 * due again. It must not know what else runs.
 */
import { asAutoscalerError, AutoscalerError } from '../../lib/errors.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Random } from '../../lib/random.ts';
import type { Loaded } from './agent.ts';
import { type AgentState, type Run, dueAfterColdRun, dueAfterSuccess, errorDelayMs } from './agent-state.ts';
import type { RunOutcome } from '../table/hooks.ts';
import { withTimeout } from '../../lib/abort.ts';

export interface RunEnd {
  readonly outcome: RunOutcome;
  readonly error: AutoscalerError | undefined;
}

/** Never rejects. `token-lost`: the run was not the agent's any more when it ended. */
export async function carryOut(clock: Clock, state: AgentState, run: Run): Promise<RunEnd> {
  try {
    return commit(state, run, await load(clock, state, run));
  } catch (thrown) {
    return { outcome: state.run === run ? 'failed' : 'token-lost', error: asAutoscalerError(thrown) };
  }
}

/** undefined: timed out. What the run loads later on is nobody's. */
async function load(clock: Clock, { agent }: AgentState, run: Run): Promise<Loaded | undefined> {
  const loaded = await withTimeout(clock, {
    timeoutMs: agent.policy.timeoutMs,
    signals: [run.abort.signal],
    run: (signal) => agent.load({ signal, token: run.token }),
  });
  return loaded === 'timed-out' ? undefined : loaded;
}

function commit(state: AgentState, run: Run, loaded: Loaded | undefined): RunEnd {
  if (state.run !== run) return { outcome: 'token-lost', error: calledOff(state.agent.id) };
  if (loaded === undefined) {
    const message = `The caching agent "${state.agent.id}" took longer than ${state.agent.policy.timeoutMs} ms.`;
    return { outcome: 'timed-out', error: new AutoscalerError({ kind: 'unavailable', effect: 'none' }, message) };
  }
  state.lastCommit = loaded.commit();
  return loaded.error === undefined ? { outcome: 'succeeded', error: undefined } : { outcome: 'failed', error: loaded.error };
}

/** What whoever waits for a run is told when it lost its token or its agent is gone. */
export function calledOff(agentId: string): AutoscalerError {
  return new AutoscalerError({ kind: 'cancelled' }, `The run of the caching agent "${agentId}" was called off.`);
}

/** The monotonic time of the end, ms. */
interface EndedAt {
  readonly nowMs: number;
  readonly random: Random;
}

/** Puts the state right after a run that failed or timed out: the agent is due after a delay that grows. */
export function afterFailure(state: AgentState, error: AutoscalerError, { nowMs, random }: EndedAt): void {
  state.failures += 1;
  state.again = false;
  state.lastError = error;
  state.dueMs = nowMs + errorDelayMs(state.agent.policy, state.failures, random);
}

/** Puts the state right after a run that succeeded. `stretched`: few calls are left, and intervals double. */
export function afterSuccess(state: AgentState, run: Run, { nowMs, random, stretched }: EndedAt & { readonly stretched: boolean }): void {
  state.failures = 0;
  state.lastError = undefined;
  state.lastSuccessMs = run.startedAtMs;
  state.dueMs = run.cold
    ? Math.max(nowMs, dueAfterColdRun(state.agent.policy, run.startMs, state.phase))
    : dueAfterSuccess(state.agent.policy, { startMs: run.startMs, endMs: nowMs, stretched }, random);
  // Once: a list read again at once is believed or waits its turn, so that a stubborn agent cannot spin.
  state.again = state.lastCommit?.runAgain === true && !run.again;
  if (state.again) state.requested = true;
}
