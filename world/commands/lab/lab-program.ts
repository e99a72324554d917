/** The production daemon as a laboratory runs it: on the laboratory's clock, with metrics of its own, and in one process with the world. */
import { readFileSync } from 'node:fs';
import { loadConfig } from '../../../src/config/load.ts';
import { isConfigErrors, type Config } from '../../../src/config/types/config.ts';
import { CLIENT } from '../../lab/client-files.ts';
import type { Program } from '../../lab/program.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { createMetrics, type Metrics } from '../../../src/telemetry/metrics.ts';
import { composeDaemon } from '../../../src/cli/compose.ts';
import type { Daemon } from '../../../src/cli/daemon.ts';

export const DAEMON: Program<Config, Daemon, Metrics> = {
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

/** The daemon with the settings of a policy, except for those that lead out of the simulated world. */
export const POLICY_DAEMON: Program<Config, Daemon, Metrics> = {
  ...DAEMON,
  configure: (argv, env) => insideWorld(DAEMON.configure(argv, env)),
};

/**
 * Nothing is read from or written to what belongs to a real daemon: folders, shared stores, the public price list, other clusters. A
 * policy acts, although its file may be that of a dry run.
 */
function insideWorld(config: Config): Config {
  const { azure, kubernetes } = config;
  const { context: _context, apiServer: _apiServer, ...cluster } = kubernetes;
  const retailPrices = azure.retailPrices && { ...azure.retailPrices, endpoint: `${azure.armEndpoint}/api/retail/prices`, file: undefined };
  return {
    ...config,
    dryRun: false,
    dumpDirectory: undefined,
    historyDirectory: undefined,
    http: { ...config.http, debugTokenFile: undefined },
    kubernetes: cluster,
    azure: { ...azure, credential: { method: 'client-secret', ...CLIENT }, redis: undefined, skuFolder: undefined, retailPrices },
  };
}
