/**
 * One run of a caching agent. It loads, and commits while its token is still valid. Must not know what else runs.
 */
import { asAutoscalerError, AutoscalerError } from '../../lib/errors.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Loaded } from './agent.ts';
import type { AgentState, Run } from './agent-state.ts';
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
