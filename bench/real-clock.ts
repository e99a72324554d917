import { setTimeout as wait } from 'node:timers/promises';
import type { Clock } from '../src/lib/clock.ts';
import { AutoscalerError } from '../src/lib/errors.ts';

/** Real time, for benchmarks. */
export class SystemClock implements Clock {
  now(): number {
    return Date.now();
  }

  monotonic(): number {
    return performance.now();
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    try {
      await wait(ms, undefined, signal === undefined ? {} : { signal });
    } catch (cause) {
      throw new AutoscalerError({ kind: 'cancelled' }, 'The wait was cancelled.', { cause });
    }
  }
}
