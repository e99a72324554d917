/**
 * Decides when which agent reads. One run per agent, a token per run, a commit only with a valid token. It must not know
 * what is read, nor where from.
 */
import { AutoscalerError } from '../domain/errors.ts';
import type { Clock } from '../domain/clock.ts';
import type { Random } from '../domain/random.ts';
import type { CachingAgent, CommitSummary } from './agent.ts';
import type { CacheHooks, RunOutcome } from './hooks.ts';
import type { AgentFreshness } from './read-mode.ts';
import type { Slots } from './slots.ts';

const todo = (): never => {
  throw new AutoscalerError({ kind: 'bug' }, 'signature published first; body follows');
};

export interface SchedulerParts {
  readonly clock: Clock;
  /** Jitter comes from here. */
  readonly random: Random;
  /** Seeds the phase, so that clusters that start together do not read together. */
  readonly clusterId: string;
  /** Default 8 slots. */
  readonly slots?: Slots;
  /** Periodic runs at once per bucket. Default 2. */
  readonly maxPerBucket?: number;
  readonly hooks?: CacheHooks;
}

/** For /debug/agents and for judging freshness. All times in ms since the epoch. */
export interface AgentStatus extends AgentFreshness {
  readonly kind: string;
  readonly state: 'idle' | 'running' | 'held' | 'disabled';
  readonly lastStartMs: number | undefined;
  readonly lastDurationMs: number | undefined;
  readonly lastOutcome: RunOutcome | undefined;
  readonly consecutiveFailures: number;
  readonly nextDueMs: number;
  readonly lastCommit: CommitSummary | undefined;
}

/** Ids or globs (`*`, `?`). Disabled wins over enabled. */
export interface AgentSelection {
  readonly enabled?: readonly string[];
  readonly disabled?: readonly string[];
  /** Lets required agents be disabled. */
  readonly allowDegraded?: boolean;
}

export interface ColdStartResult {
  readonly agentId: string;
  readonly error: AutoscalerError | undefined;
}

export class AgentScheduler {
  constructor(_parts: SchedulerParts) {}
  /** Also while running. First due by phase; a required one at once when `coldStart` is under way. Throws `bug` on a known id. */
  add(_agent: CachingAgent): void {
    return todo();
  }
  /** Aborts its run, if any; its rows are the table's affair. */
  remove(_agentId: string): void {
    return todo();
  }
  /** Throws `config`, naming the entry, on an exact id that no agent has and on disabling a required agent. */
  select(_selection: AgentSelection): void {
    return todo();
  }
  /** Runs every required agent once, by order, at most 4 at a time; agents added on the way included. Failures are values. */
  coldStart(_signal: AbortSignal): Promise<readonly ColdStartResult[]> {
    return todo();
  }
  /** Ticks until the signal fires. Never throws; resolves when its runs have ended. */
  run(_signal: AbortSignal): Promise<void> {
    return todo();
  }
  /** Starts what is due now, as far as there is room. Returns how many. */
  tick(): number {
    return todo();
  }
  /** Due at once, before agents that are merely overdue. While running: once more after this run. */
  dueNow(_agentId: string): void {
    return todo();
  }
  /** As dueNow, and waits for a run begun after this call; rejects with its failure. */
  runNow(_agentId: string, _signal: AbortSignal): Promise<void> {
    return todo();
  }
  /** No run of the bucket starts before `untilMs` (epoch). Never shortens a hold. */
  hold(_bucket: string, _untilMs: number): void {
    return todo();
  }
  /** While on, intervals of the bucket are doubled: few calls are left. */
  stretch(_bucket: string, _on: boolean): void {
    return todo();
  }
  /** Not leading: running agents lose their token, none starts. */
  setLeading(_leading: boolean): void {
    return todo();
  }
  status(): readonly AgentStatus[] {
    return todo();
  }
}
