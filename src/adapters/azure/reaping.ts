/** Clears ended rows and lost fences away from time to time. */
import type { Clock } from '../../domain/clock.ts';
import { asAutoscalerError } from '../../domain/errors.ts';
import type { Log } from '../../telemetry/log.ts';

const REAP_EVERY_MS = 60_000;

export interface ReapingParts {
  readonly clock: Pick<Clock, 'sleep'>;
  readonly log: Pick<Log, 'error'>;
  readonly reap: () => void;
}

/** Until the signal fires; never rejects. */
export async function reapUntil({ clock, log, reap }: ReapingParts, signal: AbortSignal): Promise<void> {
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
