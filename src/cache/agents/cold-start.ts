/**
 * The first runs, before any decision: all that it needs is wanted at once, and read in ranks, a few agents of a rank at a time.
 * Idea: want.
 */
import type { AutoscalerError } from '../../lib/errors.ts';
import type { AgentState } from './agent-state.ts';
import { compareBy } from '../../lib/comparison.ts';

const MAX_COLD = 4;

export interface ColdStartResult {
  readonly agentId: string;
  readonly error: AutoscalerError | undefined;
}

/**
 * Runs every enabled agent once that is required or warm and never succeeded, by order. Reads `states` again after each
 * rank, since a run may add agents. A failure is a value: one unreadable pool must not keep the others from starting.
 * Rejects if `run` does.
 */
export async function runByRank(
  states: () => Iterable<AgentState>,
  run: (state: AgentState) => Promise<AutoscalerError | undefined>,
): Promise<readonly ColdStartResult[]> {
  const results = new Map<string, ColdStartResult>();
  for (;;) {
    const left = [...states()].filter((state) => isWanted(state) && !results.has(state.agent.id));
    if (left.length === 0) return [...results.values()];
    const order = Math.min(...left.map((state) => state.agent.order));
    const batch = left.filter((state) => state.agent.order === order).sort(compareBy((item) => item.agent.id));
    const take = async (): Promise<void> => {
      for (let state = batch.shift(); state !== undefined; state = batch.shift()) {
        results.set(state.agent.id, { agentId: state.agent.id, error: await run(state) });
      }
    };
    await Promise.all(Array.from({ length: MAX_COLD }, take));
  }
}

function isWanted({ agent, enabled, lastSuccessMs }: AgentState): boolean {
  return (agent.required || agent.warm) && enabled && lastSuccessMs === undefined;
}
