/** How long this process works before other work has its turn. Must not know what is computed. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../../lib/clock.ts';
import { Turns } from '../../lib/slices.ts';

/** Well below the time after which a health check or the renewal of the lease is late, and long enough to cost nothing. */
const SLICE_MS = 20;

/** One for each work that runs beside others. */
export function turnsOf(clock: Pick<Clock, 'monotonic'>): Turns {
  return new Turns({ clock, sliceMs: SLICE_MS, pause: nextTurn });
}
