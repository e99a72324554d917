/** How old an answer may be, by what it is for. Pure. */
import { compareBy } from '../../lib/comparison.ts';

/** `fresh-enough`: within the TTL, or older up to a hard limit while a refresh is on its way. */
export type ReadMode = 'fresh-enough' | 'any-age' | 'refresh';

/** `serve-and-refresh`: usable now, and a refresh must be asked for. `refresh-first`: not usable. */
export type ReadDecision = 'serve' | 'serve-and-refresh' | 'refresh-first';

export interface ReadQuestion {
  readonly mode: ReadMode;
  /** Milliseconds since the read began that the row shows; undefined: never read. Infinity: invalidated. */
  readonly ageMs: number | undefined;
  readonly ttlMs: number;
  /** Beyond this even a busy reader waits. Default: 6 x ttlMs, as long as growing is allowed on old data. */
  readonly hardLimitMs?: number;
}

/** Removing needs data no older than this many intervals; growing a little blind beats pods that wait. */
export const SCALE_DOWN_LIMIT = 2;
export const SCALE_UP_LIMIT = 6;
/** Beyond this many intervals without success the process is ready but degraded. */
export const DEGRADED_LIMIT = 3;

/** Decides whether an answer of this age will do. */
export function decideRead(question: ReadQuestion): ReadDecision {
  const { mode, ageMs, ttlMs } = question;
  if (mode === 'refresh' || ageMs === undefined) return 'refresh-first';
  if (mode === 'any-age') return 'serve';
  if (ageMs <= ttlMs) return 'serve';
  return ageMs <= (question.hardLimitMs ?? SCALE_UP_LIMIT * ttlMs) ? 'serve-and-refresh' : 'refresh-first';
}

/** The part of an agent's status that freshness is judged by. */
export interface AgentFreshness {
  readonly id: string;
  readonly required: boolean;
  readonly enabled: boolean;
  readonly intervalMs: number;
  /** Start of the last run that succeeded. */
  readonly lastSuccessMs: number | undefined;
  readonly heldUntilMs: number | undefined;
  readonly lastError: string | undefined;
}

export interface FreshnessVerdict {
  /** Set: nothing may be removed; the reason, with the agent's name. */
  readonly scaleDownBlocked: string | undefined;
  /** Set: nothing may be added. */
  readonly scaleUpBlocked: string | undefined;
  /** One sentence per agent that is far behind. */
  readonly degraded: readonly string[];
}

/** Judges required agents by the age of their last success. Agents come in any order; reasons name the first by id. */
export function judgeFreshness(agents: readonly AgentFreshness[], nowMs: number): FreshnessVerdict {
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
  return agent.lastSuccessMs === undefined ? Number.POSITIVE_INFINITY : (nowMs - agent.lastSuccessMs) / agent.intervalMs;
}

function describe(agent: AgentFreshness, nowMs: number): string {
  const age =
    agent.lastSuccessMs === undefined ? 'has never succeeded' : `last succeeded ${Math.round((nowMs - agent.lastSuccessMs) / 1000)} s ago`;
  return `${agent.id} ${age}${whyBehind(agent, nowMs)}`;
}

function whyBehind(agent: AgentFreshness, nowMs: number): string {
  if (!agent.enabled) return ' (disabled)';
  if (agent.heldUntilMs !== undefined && agent.heldUntilMs > nowMs) return ' (throttled)';
  return agent.lastError === undefined ? '' : ` (${agent.lastError})`;
}
