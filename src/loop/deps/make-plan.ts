/**
 * Makes a plan while watches, the lease and the server go on. The plan is about one observation, which nothing changes; what changes in the
 * world meanwhile is noticed by the checks before each write. Must not know what is planned.
 */
import { finishInSlices, Turns, type SlicedWork } from '../../lib/slices.ts';
import type { LoopDeps } from './loop-deps.ts';

/** Turns between the steps of a loop. */
export function turnsOf({ clock, pacing }: Pick<LoopDeps, 'clock' | 'pacing'>): Turns {
  return new Turns(pacing === undefined ? undefined : { clock, ...pacing });
}

/** Returns undefined if the signal fires before the plan is done. */
export function makePlan<Plan>(
  work: SlicedWork<Plan>,
  { clock, pacing }: Pick<LoopDeps, 'clock' | 'pacing'>,
  over: AbortSignal,
): Promise<Plan | undefined> {
  return finishInSlices(work, pacing === undefined ? undefined : { clock, ...pacing }, over);
}
