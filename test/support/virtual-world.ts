/** The laboratory with the daemon in it, as the tests use it: the composition root's daemon, at the tests' start of time. */
import type { Daemon } from '../../src/cli/daemon.ts';
import { DAEMON } from '../../world/commands/lab/lab-program.ts';
import type { Config } from '../../src/config/types/config.ts';
import { onTestFinished } from 'vitest';
import { VirtualRun as LabRun, type VirtualRunInput } from '../../world/lab/virtual-run.ts';
import type { Metrics } from '../../src/telemetry/metrics.ts';
import { START_MS } from './builders.ts';

export type VirtualRunOptions = Omit<VirtualRunInput, 'startMs'>;
export type VirtualRun = LabRun<Config, Daemon, Metrics>;

export const VirtualRun = {
  start: (options: VirtualRunOptions): Promise<VirtualRun> => LabRun.start(DAEMON, { ...options, startMs: START_MS }),
};

let latest: VirtualRun | undefined;

async function stopLatest(): Promise<void> {
  const stopping = latest;
  latest = undefined;
  await stopping?.stop();
}

/** A world with a daemon in it that stops by itself: when the test is over, or when the test starts another one. */
export async function startedWorld(options: VirtualRunOptions): Promise<VirtualRun> {
  await stopLatest();
  onTestFinished(stopLatest);
  latest = await VirtualRun.start(options);
  return latest;
}
