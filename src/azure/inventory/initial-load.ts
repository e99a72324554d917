/** The reads before the first decision. What will not pass by itself ends the start at once; what may is waited for. */
import type { AgentScheduler } from '../../cache/agents/agent-scheduler.ts';
import type { Clock } from '../../lib/clock.ts';
import { AutoscalerError, asAutoscalerError } from '../../lib/errors.ts';
import type { Log } from '../../telemetry/log.ts';
import { SCALE_SETS_AGENT } from '../rows/tables.ts';

const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 60_000;

export interface InitialLoadDeps {
  readonly scheduler: Pick<AgentScheduler, 'coldStart'>;
  readonly clock: Pick<Clock, 'monotonic' | 'sleep'>;
  readonly log: Log;
  /** For how long a start goes on trying while Azure throttles or does not answer; 0: the first failure ends it. */
  readonly patienceMs: number;
}

/**
 * Reads everything that a first decision needs, what was read already not again. An agent that fails is gone on without, but for
 * that of the scale sets. Rejects when those could not be read; `cancelled` with the signal.
 */
export async function loadInitially({ scheduler, clock, log, patienceMs }: InitialLoadDeps, signal: AbortSignal): Promise<void> {
  const giveUpAtMs = clock.monotonic() + patienceMs;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(LONGEST_PAUSE_MS, 2 * pauseMs)) {
    const results = await scheduler.coldStart(signal);
    if (signal.aborted) throw new AutoscalerError({ kind: 'cancelled' }, 'The first read of Azure was cancelled.');
    const sets = results.find(({ agentId }) => agentId === SCALE_SETS_AGENT)?.error;
    for (const { agentId, error } of sets === undefined ? results : [])
      if (error !== undefined) log.warn({ agent: agentId, err: error }, 'could not read on the first attempt; going on without');
    if (sets === undefined) return;
    const waitMs = Math.max(pauseMs, retryAfterOf(sets) ?? 0);
    if (!mayPass(sets) || clock.monotonic() + waitMs > giveUpAtMs) throw sets;
    log.warn({ err: sets, waitMs }, 'Azure could not be read at the start; trying again');
    await clock.sleep(waitMs, signal);
  }
}

function mayPass({ kind }: AutoscalerError): boolean {
  return kind === 'throttled' || kind === 'unavailable';
}

function retryAfterOf({ detail }: AutoscalerError): number | undefined {
  return detail.kind === 'throttled' ? detail.retryAfterMs : undefined;
}

// Clears ended rows and lost fences away from time to time.

const REAP_EVERY_MS = 60_000;

export interface CleanupDeps {
  readonly clock: Pick<Clock, 'sleep'>;
  readonly log: Pick<Log, 'error'>;
  readonly reap: () => void;
}

/** Until the signal fires; never rejects. */
export async function cleanUpUntil({ clock, log, reap }: CleanupDeps, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await clock.sleep(REAP_EVERY_MS, signal);
      reap();
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      if (error.kind !== 'cancelled') log.error({ err: error }, 'clearing the cache failed');
    }
  }
}
