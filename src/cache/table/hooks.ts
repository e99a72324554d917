/**
 * What the cache reports to the outside. Metrics never affect behaviour: a hook that throws is reported and otherwise
 * ignored.
 */
import { asAutoscalerError, type AutoscalerError } from '../../lib/errors.ts';
import type { RejectReason } from './row.ts';

export type EvictionCause = 'absent' | 'not-found' | 'unknown-agent';
export type RunOutcome = 'succeeded' | 'failed' | 'timed-out' | 'token-lost';

/** One ended run of an agent. `durationMs` covers start to commit; `error` is set if it failed with a known reason. */
export interface AgentRun {
  readonly id: string;
  readonly kind: string;
  readonly outcome: RunOutcome;
  readonly durationMs: number;
  readonly error: AutoscalerError | undefined;
}

export interface CacheHooks {
  rowRejected(table: string, reason: RejectReason): void;
  evicted(table: string, cause: EvictionCause, count: number): void;
  duplicates(table: string, count: number): void;
  /** A list was too short to be believed at once. */
  listDoubted(table: string, agentId: string): void;
  /** A change was in flight for more than half an hour and now counts as lost. */
  mutationLost(table: string, keys: readonly string[]): void;
  onDemand(table: string, outcome: 'refreshed' | 'failed' | 'merged' | 'listed'): void;
  agentRun(run: AgentRun): void;
  /** A listener or another hook threw; worth a log line. */
  threw(where: string, error: AutoscalerError): void;
}

/** Calls a hook or listener. Passes what it throws to `threw` only, so that observers cannot stop the cache. */
export function callHook(hooks: CacheHooks, where: string, call: () => void): void {
  try {
    call();
  } catch (thrown) {
    report(hooks, where, thrown);
  }
}

function report(hooks: CacheHooks, where: string, thrown: unknown): void {
  try {
    hooks.threw(where, asAutoscalerError(thrown));
  } catch {
    // The last reporter failed too; nothing else can report it.
  }
}
