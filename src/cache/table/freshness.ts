/** How far behind the agents may be before removals and increases stop. Pure. */
import { compareBy } from '../../lib/comparison.ts';
import { formatDuration } from '../../lib/duration.ts';

/** A removal needs data no older than this many intervals. Adding a few nodes on old data is better than waiting pods. */
export const SCALE_DOWN_LIMIT = 2;
const SCALE_UP_LIMIT = 6;
/** After this many intervals without success the process is ready but degraded. */
const DEGRADED_LIMIT = 3;

/** The part of an agent's status that decides about freshness. */
export interface AgentFreshness {
  readonly id: string;
  readonly required: boolean;
  readonly enabled: boolean;
  readonly intervalMs: number;
  /** Start of the last successful run. */
  readonly lastSuccessMs: number | undefined;
  /** When it last skipped a turn because a read would have shown nothing new. If undefined, it has run since. */
  readonly lastRestMs: number | undefined;
  readonly heldUntilMs: number | undefined;
  readonly lastError: string | undefined;
}

export interface FreshnessVerdict {
  /** If set, nothing may be removed; the reason, with the agent's name. */
  readonly scaleDownBlocked: string | undefined;
  /** If set, nothing may be added; the reason. */
  readonly scaleUpBlocked: string | undefined;
  /** One sentence per agent that is far behind. */
  readonly degraded: readonly string[];
}

/** Checks required agents by the age of their last success. Agents come in any order; the reasons name the first by id. */
export function checkFreshness(agents: readonly AgentFreshness[], nowMs: number): FreshnessVerdict {
  const required = agents.filter((agent) => agent.required).sort(compareBy((item) => item.id));
  const behind = (limit: number): readonly string[] =>
    required.filter((agent) => intervalsBehind(agent, nowMs) > limit).map((agent) => describe(agent, nowMs));
  return {
    scaleDownBlocked: behind(SCALE_DOWN_LIMIT)[0],
    scaleUpBlocked: behind(SCALE_UP_LIMIT)[0],
    degraded: behind(DEGRADED_LIMIT),
  };
}

function intervalsBehind(agent: AgentFreshness, nowMs: number): number {
  if (agent.lastSuccessMs === undefined) return Number.POSITIVE_INFINITY;
  // An agent that rests is not behind: it could have read, and its rest has an end of its own.
  return (nowMs - Math.max(agent.lastSuccessMs, agent.lastRestMs ?? agent.lastSuccessMs)) / agent.intervalMs;
}

function describe(agent: AgentFreshness, nowMs: number): string {
  const age =
    agent.lastSuccessMs === undefined ? 'has never succeeded' : `last succeeded ${formatDuration(nowMs - agent.lastSuccessMs)} ago`;
  return `${agent.id} ${age}${whyBehind(agent, nowMs)}`;
}

function whyBehind(agent: AgentFreshness, nowMs: number): string {
  if (!agent.enabled) return ' (disabled)';
  if (agent.heldUntilMs !== undefined && agent.heldUntilMs > nowMs) return ' (throttled)';
  return agent.lastError === undefined ? '' : ` (${agent.lastError})`;
}
