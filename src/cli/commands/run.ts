/** `run`: the daemon against a real cluster, until SIGTERM. */
import { isConfigErrors } from '../../config/config.ts';
import { loadConfig } from '../../config/load.ts';
import { redact } from '../../config/redact.ts';
import { flagHelp } from '../../config/sources/flag-table.ts';
import { createLog, type Log } from '../../telemetry/log.ts';
import { createMetrics } from '../../telemetry/metrics.ts';
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
  const log = createLog(config.logLevel, { write: terminal.out }, systemClock);
  log.info({ config: redact(config) }, 'effective configuration');
  for (const warning of config.warnings) log.warn({ warning }, 'a setting is not obeyed as given');
  const signals = stopSignals(terminal.signals);
  try {
    // Loaded only now: the SDKs are most of the program, and a mistake in the configuration should be told at once.
    const { composeDaemon } = await import('../compose.ts');
    const daemon = await composeDaemon({ config, clock: systemClock, random: Math.random, log, metrics: createMetrics() });
    return await supervise(daemon, signals.stopped, log);
  } finally {
    signals.release();
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
