/** The laboratory with the daemon in it, as the tests use it: the composition root's daemon, at the tests' start of time. */
import { readFileSync } from 'node:fs';
import { composeDaemon } from '../../src/cli/compose.ts';
import type { Daemon } from '../../src/cli/daemon.ts';
import { loadConfig } from '../../src/config/load.ts';
import { isConfigErrors, type Config } from '../../src/config/types/config.ts';
import type { Program } from '../../src/lab/program.ts';
import { VirtualRun as LabRun, type VirtualRunInput } from '../../src/lab/virtual-run.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { createMetrics, type Metrics } from '../../src/telemetry/metrics.ts';
import { START_MS } from './builders.ts';

const DAEMON: Program<Config, Daemon, Metrics> = {
  configure: (argv, env) => {
    const config = loadConfig({ argv, env, readFile: (path) => readFileSync(path, 'utf8') });
    if (isConfigErrors(config)) throw new Error(config.errors.join(' '));
    return config;
  },
  launch: ({ onLog, ...input }) => {
    const metrics = createMetrics();
    const { dryRun } = input.config;
    const log = onLog === undefined ? createLog('silent') : createLog('info', { write: onLog }, input.clock, { dryRun });
    return { metrics, composed: composeDaemon({ ...input, log, metrics, tokensFollowClock: true }) };
  },
};

export type VirtualRunOptions = Omit<VirtualRunInput, 'startMs'>;
export type VirtualRun = LabRun<Config, Daemon, Metrics>;

export const VirtualRun = {
  start: (options: VirtualRunOptions): Promise<VirtualRun> => LabRun.start(DAEMON, { ...options, startMs: START_MS }),
};
