/** A caching agent: one unit of reading. It loads and returns how to commit; only the scheduler commits. */
import type { RateLimit } from '../../lib/allowance.ts';
import type { AutoscalerError } from '../../lib/errors.ts';

/** Unique per run and never reused: a run that timed out cannot pass for its successor. */
export interface RunToken {
  readonly agentId: string;
  readonly run: number;
}

/**
 * How the next due time is scattered, so that agents with equal intervals drift apart. `spread`: interval x (1 +/-
 * fraction). `shorten`: interval minus up to `maxMs`.
 */
export type Jitter = { readonly kind: 'spread'; readonly fraction: number } | { readonly kind: 'shorten'; readonly maxMs: number };

/** All in milliseconds. */
export interface AgentPolicy {
  readonly intervalMs: number;
  readonly jitter: Jitter;
  /** First delay after a failure; doubles up to `maxErrorIntervalMs`. */
  readonly errorIntervalMs: number;
  readonly maxErrorIntervalMs: number;
  /** After this the run is aborted and its token is invalid. */
  readonly timeoutMs: number;
  /**
   * Requested runs keep to this rate, since each is expensive, also those that a caller waits for.
   * If undefined, requested runs start at once.
   */
  readonly requestedRate: RateLimit | undefined;
}

export interface RunContext {
  /** Fires on timeout, on removal of the agent and on stop. */
  readonly signal: AbortSignal;
  readonly token: RunToken;
}

export interface CommitSummary {
  readonly rows: number;
  readonly added: number;
  readonly changed: number;
  readonly evicted: number;
  readonly rejected: number;
  /** Run again now: the list was too short to be believed. */
  readonly runAgain: boolean;
  /** The process that read it for all, if it was another one. */
  readonly readBy: string | undefined;
}

/** The summary of a run whose rows replace those before. */
export function replacedRows(rows: number, changed = rows): CommitSummary {
  return { rows, added: 0, changed, evicted: 0, rejected: 0, runAgain: false, readBy: undefined };
}

/** The result of a run's reads. */
export interface Loaded {
  /** Synchronous. Called at most once, and only while the run's token is valid. */
  commit(): CommitSummary;
  /** If set, reading was interrupted. What was read may be committed (upserts only), but the run counts as failed. */
  readonly error: AutoscalerError | undefined;
}

/** Lets an agent skip turns while a read would show nothing new. */
export interface AgentRest {
  /** Asked at each turn, never for a requested run. */
  readonly mayRest: () => boolean;
  /** The agent runs this long after the start of its last successful run in any case, ms. */
  readonly atMostMs: number;
}

export interface CachingAgent {
  /** `<kind>` or `<kind>/<scope>`, unique. */
  readonly id: string;
  /** From a closed set; the label of metrics. */
  readonly kind: string;
  /** Decisions need it: it cannot be disabled, runs at once on a cold start, and its age can block decisions. */
  readonly required: boolean;
  /** If true, it runs at once on a cold start too, although no decision waits for it later. */
  readonly warm: boolean;
  /** Cold start order: lower first. All agents of one number end before the next begin. */
  readonly order: number;
  /** Calls that share a throttling limit share a bucket; a 429 holds all of it. */
  readonly bucket: string;
  readonly policy: AgentPolicy;
  /** If undefined, the agent runs at each of its turns. */
  readonly rest: AgentRest | undefined;
  /** Reads. Throws an AutoscalerError on failure: an error is never an empty list. */
  load(context: RunContext): Promise<Loaded>;
}
