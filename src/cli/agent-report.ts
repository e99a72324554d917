import type { AgentStatus } from '../cache/agent-state.ts';

type Told = Pick<AgentStatus, 'lastStartMs' | 'lastSuccessMs' | 'nextDueMs'> & { readonly id: string };

/** What is known of the agents as a document for a person at a terminal: the times, which programs read in ms, in words too. Pure. */
export function agentReport(agents: readonly Told[]): readonly object[] {
  return agents.map(({ lastStartMs, lastSuccessMs, nextDueMs, ...rest }) => ({
    ...rest,
    lastStart: time(lastStartMs),
    lastStartMs: whole(lastStartMs),
    lastSuccess: time(lastSuccessMs),
    lastSuccessMs: whole(lastSuccessMs),
    nextDue: time(nextDueMs),
    nextDueMs: whole(nextDueMs),
  }));
}

/** An agent that has never run, or is never due, has no such time. */
function whole(ms: number | undefined): number | undefined {
  return ms === undefined || !Number.isFinite(ms) ? undefined : Math.round(ms);
}

function time(ms: number | undefined): string | undefined {
  const rounded = whole(ms);
  return rounded === undefined ? undefined : new Date(rounded).toISOString();
}
