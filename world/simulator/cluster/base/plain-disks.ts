/** Disks of a cluster without an Azure beside it: they exist by name alone, and moves take their usual time. */
import type { DiskDriver } from '../../base/disk-driver.ts';
import type { Timers } from '../store/timers.ts';
import type { ClusterLatencies } from './latencies.ts';

export function createPlainDisks(
  timers: Pick<Timers, 'after'>,
  knobs: Pick<ClusterLatencies, 'diskAttachMs' | 'diskDetachMs'>,
): DiskDriver {
  return {
    create: ({ name }) => `/disks/${name}`,
    attach: (_place, done) => void timers.after(knobs.diskAttachMs, () => done(undefined)),
    detach: (_place, done) => void timers.after(knobs.diskDetachMs, () => done(undefined)),
    remove: () => undefined,
  };
}
