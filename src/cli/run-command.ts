/** `run`: runs the daemon against a cluster until SIGTERM. */
import type { Config, ConfigErrors } from '../config/types/config.ts';
import { configFiles, loadSettings, type Settings } from '../config/load.ts';
import { redact } from '../config/redact.ts';
import { flagHelp } from '../config/sources/flag-table.ts';
import { asAutoscalerError } from '../lib/errors.ts';
import { createLog, type Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { ConfigReload } from './config-reload.ts';
import type { Daemon } from './daemon.ts';
import {
  stopSignals,
  giveBackStartMemory,
  ifStillAliveAfter,
  systemClock,
  EXIT_CONFIG,
  EXIT_FAILED,
  EXIT_OK,
  type Terminal,
} from './process/process.ts';

const HELP = `Run the autoscaler until SIGTERM.

Usage: run [OPTIONS]

Settings are read in this order; a later source overrides an earlier one:
defaults, --cloud-config, --config, environment variables, flags.

`;

/** @returns the exit code: 0 stopped by a signal, 1 failed, 2 wrong configuration. */
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
  log.info({ config: redact(config) }, 'Effective configuration');
  for (const warning of config.warnings) log.warn({ warning }, 'Setting ignored');
  const signals = stopSignals(terminal.signals);
  const live = { shutdownTimeoutMs: config.loop.shutdownTimeoutMs };
  void signals.stopped.then(() => exitAfter(live.shutdownTimeoutMs, terminal));
  try {
    const composed = await composeUnlessStopped(config, log, signals.stopped);
    if (composed === undefined) return endWith(EXIT_OK, terminal);
    const { daemon, metrics } = composed;
    let calendars = settings.files;
    const apply = ({ config: next, files }: Settings): void => {
      calendars = files;
      live.shutdownTimeoutMs = next.loop.shutdownTimeoutMs;
      daemon.reconfigure(next);
    };
    const content = (): string => contentOf([...configFiles(argv), ...calendars], terminal);
    const watching = watchConfig({ daemon, log, metrics, settings, apply, content, load: () => load(true) });
    const ended = new AbortController();
    const memory = giveBackStartMemory(systemClock, ended.signal);
    try {
      return endWith(await supervise(daemon, signals.stopped, log), terminal);
    } finally {
      ended.abort();
      await Promise.all([watching.end(), memory]);
    }
  } finally {
    signals.release();
  }
}

/** Time for connections to close after all parts of the daemon have stopped. */
const CLOSING_MS = 500;

/** Ends the process with this code although a connection is still open: a request of the sign-in library cannot be cancelled. */
function endWith(code: number, { signals }: Terminal): number {
  ifStillAliveAfter(CLOSING_MS, () => signals.exit(code));
  return code;
}

/** Ends the process although something is frozen: a part of the daemon that ignores its cancellation, or a connection. */
function exitAfter(timeoutMs: number, { err, signals }: Terminal): void {
  ifStillAliveAfter(timeoutMs, () => {
    err(`The stop took longer than loop.shutdownTimeout (${timeoutMs} ms); the process ends now.\n`);
    signals.exit(EXIT_FAILED);
  });
}

interface ComposedDaemon {
  readonly daemon: Daemon;
  readonly metrics: Metrics;
}

interface WatchConfigInput {
  readonly daemon: Daemon;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly settings: Settings;
  readonly load: () => Settings | ConfigErrors;
  readonly apply: (settings: Settings) => void;
  readonly content: () => string;
}

function watchConfig({ daemon, log, metrics, settings, load, apply, content }: WatchConfigInput): { readonly end: () => Promise<void> } {
  const stop = new AbortController();
  const deps = {
    clock: systemClock,
    log,
    metrics: metrics.config,
    content,
    load,
    apply,
    announce: daemon.announce.bind(daemon),
  };
  const reload = new ConfigReload(deps, settings);
  const watching = reload.watch(stop.signal);
  return {
    end: () => {
      stop.abort();
      return watching;
    },
  };
}

/** Returns the content of all configuration files. A file that disappears counts as one change, its return as another. */
function contentOf(files: readonly string[], { readFile }: Terminal): string {
  const texts = files.map((file) => {
    try {
      return readFile(file);
    } catch (thrown) {
      return thrown instanceof Error && 'code' in thrown ? `unreadable: ${String(thrown.code)}` : 'unreadable';
    }
  });
  return JSON.stringify(texts);
}

/** undefined: a signal asked for a stop before the connections were made. */
async function composeUnlessStopped(config: Config, log: Log, stopped: Promise<void>): Promise<ComposedDaemon | undefined> {
  const stop = new AbortController();
  void stopped.then(() => stop.abort());
  // Loaded only now: the SDKs are most of the program, and configuration errors should be reported without waiting for them.
  const [{ composeDaemon }, { createMetrics }] = await Promise.all([import('./compose.ts'), import('../telemetry/metrics.ts')]);
  try {
    const { signal } = stop;
    const metrics = createMetrics();
    return { daemon: await composeDaemon({ config, clock: systemClock, random: Math.random, log, metrics, signal }), metrics };
  } catch (thrown) {
    if (!stop.signal.aborted || asAutoscalerError(thrown).kind !== 'cancelled') throw thrown;
    log.info({}, 'Stopping');
    return undefined;
  }
}

async function supervise(daemon: Daemon, stopped: Promise<void>, log: Log): Promise<number> {
  try {
    // A stop also ends a start that still waits for the lease or for Azure.
    const started = daemon.start().then(() => daemon.ended);
    const error = await Promise.race([started, stopped]);
    if (error !== undefined && error !== null) {
      log.error({ kind: error.kind, error: error.message }, 'Daemon ended by an error');
      return EXIT_FAILED;
    }
    log.info({}, 'Stopping');
    started.catch(() => undefined);
    return EXIT_OK;
  } finally {
    await daemon.stop();
  }
}
