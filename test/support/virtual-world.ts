/** The laboratory with the daemon in it, as the tests use it: the composition root's daemon, at the tests' start of time. */
import type { Daemon } from '../../src/cli/daemon.ts';
import { DAEMON } from '../../world/commands/lab/lab-program.ts';
import type { Config } from '../../src/config/types/config.ts';
import { VirtualRun as LabRun, type VirtualRunInput } from '../../world/lab/virtual-run.ts';
import type { Metrics } from '../../src/telemetry/metrics.ts';
import { START_MS } from './builders.ts';

export type VirtualRunOptions = Omit<VirtualRunInput, 'startMs'>;
export type VirtualRun = LabRun<Config, Daemon, Metrics>;

export const VirtualRun = {
  start: (options: VirtualRunOptions): Promise<VirtualRun> => LabRun.start(DAEMON, { ...options, startMs: START_MS }),
};
