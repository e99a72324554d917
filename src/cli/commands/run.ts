/** `run`: the daemon against a real cluster, until SIGTERM. */
import { isConfigErrors, type Config } from '../../config/config.ts';
import { loadConfig } from '../../config/load.ts';
import { redact } from '../../config/redact.ts';
import { flagHelp } from '../../config/sources/flag-table.ts';
import { asAutoscalerError } from '../../domain/errors.ts';
import { createLog, type Log } from '../../telemetry/log.ts';
import type { Daemon } from '../daemon.ts';
import { stopSignals } from '../signals.ts';
import { systemClock } from '../system-clock.ts';
import { EXIT_CONFIG, EXIT_FAILED, EXIT_OK, type Terminal } from '../terminal.ts';

const HELP = `Runs the autoscaler until SIGTERM.

Settings come from (later wins): defaults, --cloud-config, --config, environment variables, flags.

`;

/** @returns the exit code: 0 stopped on request, 1 failed, 2 wrong configuration. */
export async function run(argv: readonly string[], terminal: Terminal): Promise<number> {
  if (argv.includes('--help')) {
    terminal.out(HELP + flagHelp());
    return EXIT_OK;
  }
  const config = loadConfig({ argv, env: terminal.env, readFile: terminal.readFile, hostname: `${terminal.hostname}_${process.pid}` });
  if (isConfigErrors(config)) {
    for (const sentence of config.errors) terminal.err(`${sentence}\n`);
    return EXIT_CONFIG;
  }
  const log = createLog(config.logLevel, { write: terminal.out }, systemClock, { dryRun: config.dryRun });
  log.info({ config: redact(config) }, 'effective configuration');
  for (const warning of config.warnings) log.warn({ warning }, 'a setting is not obeyed as given');
  const signals = stopSignals(terminal.signals);
  try {
    const daemon = await connect(config, log, signals.stopped);
    return daemon === undefined ? EXIT_OK : await supervise(daemon, signals.stopped, log);
  } finally {
    signals.release();
  }
}

/** undefined: asked to stop before anybody had answered. */
async function connect(config: Config, log: Log, stopped: Promise<void>): Promise<Daemon | undefined> {
  const stop = new AbortController();
  void stopped.then(() => stop.abort());
  // Loaded only now: the SDKs are most of the program, and a mistake in the configuration should be told at once.
  const [{ composeDaemon }, { createMetrics }] = await Promise.all([import('../compose.ts'), import('../../telemetry/metrics.ts')]);
  try {
    const { signal } = stop;
    return await composeDaemon({ config, clock: systemClock, random: Math.random, log, metrics: createMetrics(), signal });
  } catch (thrown) {
    if (!stop.signal.aborted || asAutoscalerError(thrown).kind !== 'cancelled') throw thrown;
    log.info({}, 'stopping');
    return undefined;
  }
}

async function supervise(daemon: Daemon, stopped: Promise<void>, log: Log): Promise<number> {
  try {
    // A stop while the start still waits (for the lease, for Azure) ends that wait.
    const started = daemon.start().then(() => daemon.ended);
    const error = await Promise.race([started, stopped]);
    if (error !== undefined && error !== null) {
      log.error({ kind: error.kind, error: error.message }, 'the daemon ends');
      return EXIT_FAILED;
    }
    log.info({}, 'stopping');
    started.catch(() => undefined);
    return EXIT_OK;
  } finally {
    await daemon.stop();
  }
}
