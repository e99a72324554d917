/** `run`: the daemon against a real cluster, until SIGTERM. */
import type { Config, ConfigErrors } from '../config/types/config.ts';
import { configFiles, loadSettings, type Settings } from '../config/load.ts';
import { redact } from '../config/redact.ts';
import { flagHelp } from '../config/sources/flag-table.ts';
import { asAutoscalerError } from '../lib/errors.ts';
import { createLog, type Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { ConfigReload, type ConfigNews } from './config-reload.ts';
import type { Daemon } from './daemon.ts';
import { stopSignals, giveBackStartMemory, systemClock, EXIT_CONFIG, EXIT_FAILED, EXIT_OK, type Terminal } from './process/process.ts';

const HELP = `Runs the autoscaler until SIGTERM.

Settings come from (later wins): defaults, --cloud-config, --config, environment variables, flags.

`;

/** @returns the exit code: 0 stopped on request, 1 failed, 2 wrong configuration. */
export async function run(argv: readonly string[], terminal: Terminal): Promise<number> {
  if (argv.includes('--help') || argv.includes('-h')) {
    terminal.out(HELP + flagHelp());
    return EXIT_OK;
  }
  const { env, readFile } = terminal;
  const load = (refuseEmptyFiles: boolean): Settings | ConfigErrors =>
    loadSettings({ argv, env, readFile, refuseEmptyFiles, hostname: `${terminal.hostname}_${process.pid}` });
  const settings = load(false);
  if ('errors' in settings) {
    for (const sentence of settings.errors) terminal.err(`${sentence}\n`);
    return EXIT_CONFIG;
  }
  const { config } = settings;
  const log = createLog(config.logLevel, { write: terminal.out }, systemClock, { dryRun: config.dryRun });
  log.info({ config: redact(config) }, 'effective configuration');
  for (const warning of config.warnings) log.warn({ warning }, 'a setting is not obeyed as given');
  const signals = stopSignals(terminal.signals);
  try {
    const connected = await connect(config, log, signals.stopped);
    if (connected === undefined) return EXIT_OK;
    const { daemon, metrics } = connected;
    const watching = watchConfig({ daemon, log, metrics, settings, load: () => load(true), content: () => contentOf(argv, terminal) });
    const over = new AbortController();
    const settling = giveBackStartMemory(systemClock, over.signal);
    try {
      return await supervise(daemon, signals.stopped, log);
    } finally {
      over.abort();
      await Promise.all([watching.end(), settling]);
    }
  } finally {
    signals.release();
  }
}

interface Connected {
  readonly daemon: Daemon;
  readonly metrics: Metrics;
}

interface Watched {
  readonly daemon: Daemon;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly settings: Settings;
  readonly load: () => Settings | ConfigErrors;
  readonly content: () => string;
}

function watchConfig({ daemon, log, metrics, settings, load, content }: Watched): { readonly end: () => Promise<void> } {
  const stop = new AbortController();
  const announce = (news: ConfigNews): void => daemon.announce(news);
  const apply = ({ config }: Settings): void => daemon.reconfigure(config);
  const reload = new ConfigReload({ clock: systemClock, log, metrics: metrics.config, content, load, apply, announce }, settings);
  const watching = reload.watch(stop.signal);
  return {
    end: () => {
      stop.abort();
      return watching;
    },
  };
}

/** A file that is away for a moment is a change that is told, and the end of it another. */
function contentOf(argv: readonly string[], { readFile }: Terminal): string {
  const texts = configFiles(argv).map((file) => {
    try {
      return readFile(file);
    } catch (thrown) {
      return thrown instanceof Error && 'code' in thrown ? `unreadable: ${String(thrown.code)}` : 'unreadable';
    }
  });
  return JSON.stringify(texts);
}

/** undefined: asked to stop before anybody had answered. */
async function connect(config: Config, log: Log, stopped: Promise<void>): Promise<Connected | undefined> {
  const stop = new AbortController();
  void stopped.then(() => stop.abort());
  // Loaded only now: the SDKs are most of the program, and a mistake in the configuration should be told at once.
  const [{ composeDaemon }, { createMetrics }] = await Promise.all([import('./compose.ts'), import('../telemetry/metrics.ts')]);
  try {
    const { signal } = stop;
    const metrics = createMetrics();
    return { daemon: await composeDaemon({ config, clock: systemClock, random: Math.random, log, metrics, signal }), metrics };
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
