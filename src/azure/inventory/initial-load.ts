/**
 * The reads before the first decision. Errors that may pass are retried; others end the start at once.
 * Idea: want.
 */
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
  /** How long the start retries while Azure throttles or does not answer. If 0, the first failure ends it. */
  readonly patienceMs: number;
}

/**
 * Reads what the first decision needs and has not been read. Only a failure of the scale-set agent stops the start: then it rejects.
 * @throws AutoscalerError, `cancelled` with the signal.
 */
export async function loadInitially({ scheduler, clock, log, patienceMs }: InitialLoadDeps, signal: AbortSignal): Promise<void> {
  const giveUpAtMs = clock.monotonic() + patienceMs;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(LONGEST_PAUSE_MS, 2 * pauseMs)) {
    const results = await scheduler.coldStart(signal);
    if (signal.aborted) throw new AutoscalerError({ kind: 'cancelled' }, 'The first read of Azure was cancelled.');
    const sets = results.find(({ agentId }) => agentId === SCALE_SETS_AGENT)?.error;
    for (const { agentId, error } of sets === undefined ? results : [])
      if (error !== undefined) log.warn({ agent: agentId, err: error }, 'Initial read failed; continuing without it');
    if (sets === undefined) return;
    const waitMs = Math.max(pauseMs, retryAfterOf(sets) ?? 0);
    if (!mayPass(sets) || clock.monotonic() + waitMs > giveUpAtMs) throw sets;
    log.warn({ err: sets, waitMs }, 'Azure could not be read at the start; retrying');
    await clock.sleep(waitMs, signal);
  }
}

function mayPass({ kind }: AutoscalerError): boolean {
  return kind === 'throttled' || kind === 'unavailable';
}

function retryAfterOf({ detail, retryAfterMs }: AutoscalerError): number | undefined {
  return detail.kind === 'throttled' ? detail.retryAfterMs : retryAfterMs;
}

const CLEAN_UP_EVERY_MS = 60_000;

export interface CleanupDeps {
  readonly clock: Pick<Clock, 'sleep'>;
  readonly log: Pick<Log, 'error'>;
  readonly removeExpired: () => void;
}

/** Removes ended rows and lost fences from the cache once a minute until the signal is aborted. Never rejects. */
export async function cleanUpUntil({ clock, log, removeExpired }: CleanupDeps, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await clock.sleep(CLEAN_UP_EVERY_MS, signal);
      removeExpired();
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      if (error.kind !== 'cancelled') log.error({ err: error }, 'Could not remove expired rows from the cache');
    }
  }
}
