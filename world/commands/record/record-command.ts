/**
 * `record`: writes down the load of a cluster, for a laboratory. The room reads clusters, dumps and time series with the daemon's own
 * readers. Must not know how a load is run, a simulator, or how to write to a cluster or to Azure.
 */
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { loadConfig } from '../../../src/config/load.ts';
import { type Config, isConfigErrors } from '../../../src/config/types/config.ts';
import type { Clock } from '../../../src/lib/clock.ts';
import { defined } from '../../../src/lib/defined.ts';
import { parseDurationMs } from '../../../src/lib/duration.ts';
import { asAutoscalerError, configError } from '../../../src/lib/errors.ts';
import { LoadRecorder } from '../../lab/recordings/load-recorder.ts';
import { EXIT_OK, stopSignals, systemClock, type Terminal } from '../../../src/cli/process/process.ts';
import { splitSettings } from '../../../src/cli/process/split-settings.ts';
import { wrongArguments } from '../../../src/cli/process/wrong-arguments.ts';
import { importLoad } from './import-load.ts';
import { openTarget } from './recording-target.ts';
import { summaryOf } from './summary-text.ts';
import { play } from './timeline.ts';

const HELP = `Record the load of a cluster: which pods are wanted when, with their shapes, and the pools. Changes nothing
in the cluster or in Azure. The file is for the command lab run.

Usage:
  record --out FILE [--for 7d] [--hash-names] [--kubeconfig FILE] [--context NAME]
  record --out FILE --azure [--for 7d] [--hash-names] [SETTINGS]
  record --out FILE --import FILE... [--for 1d] [--hash-names]

Options:
  --out FILE         JSON lines; compressed with gzip if the name ends in .gz
  --for SPAN         end after this time, such as 12h or 7d (default: at Ctrl-C or SIGTERM);
                     with --import, how long the load goes on after the last file (default: 0)
  --hash-names       replace every name by a hash with a secret that is deleted at the end. Names that
                     Kubernetes and AKS give to nodes stay: zones, sizes, modes, architectures
  --name NAME        name of the recording (default: the file's name)
  --kubeconfig FILE  default: $KUBECONFIG, else ~/.kube/config; in a pod its service account
  --context NAME     a context of that file (default: its current one)
  --azure            read limits, sizes and list prices of the pools from Azure. SETTINGS are those of the
                     command run: --config, --cloud-config, environment variables, all other flags
  --import FILE      instead of a live cluster (may be repeated): dumps of any number of moments, as from
                       kubectl get nodes,pods,deployments,statefulsets,pdb,events -A -o json
                     or results of query_range of Prometheus; world/docs/record.md has the queries. Decisions of
                     --dump-directory may be beside them: they say what Azure refused

The file never contains images, commands, environment variables, annotations other than whether a pod may be
evicted, or addresses. A file that an earlier process was recording goes on, with the time between marked as
a gap. What is written survives a crash of this process.

Exit code: 0 recorded, 1 failed, 2 wrong use.
`;

const OPTIONS = {
  out: { type: 'string' },
  for: { type: 'string' },
  name: { type: 'string' },
  'hash-names': { type: 'boolean' },
  kubeconfig: { type: 'string' },
  context: { type: 'string' },
  azure: { type: 'boolean' },
  import: { type: 'string', multiple: true },
  help: { type: 'boolean' },
} as const;

type RecordOptions = ReturnType<typeof readOptions>;

/** @returns the exit code. @throws AutoscalerError with one sentence for invalid input, or if the cluster or the file cannot be used. */
export async function run(argv: readonly string[], terminal: Terminal, clock: Clock = systemClock): Promise<number> {
  const { own, settings } = argv.includes('--azure') ? splitSettings(argv, OPTIONS) : { own: argv, settings: [] };
  const given = readOptions(own);
  if (given.help === true) {
    terminal.out(HELP);
    return EXIT_OK;
  }
  const signals = stopSignals(terminal.signals);
  const stop = new AbortController();
  void signals.stopped.then(() => stop.abort());
  try {
    if (given.import !== undefined) return await recordPast(given, given.import, terminal);
    const config = given.azure === true ? readConfig(settings, given, terminal) : undefined;
    await record(given, { path: pathOf(given), forMs: spanOf(given), config, terminal, clock }, stop.signal);
    return EXIT_OK;
  } finally {
    signals.release();
  }
}

interface RecordInput {
  readonly path: string;
  readonly forMs: number | undefined;
  /** With `--azure`. */
  readonly config: Config | undefined;
  readonly terminal: Terminal;
  readonly clock: Clock;
}

async function record(given: RecordOptions, { path, forMs, config, terminal, clock }: RecordInput, signal: AbortSignal): Promise<void> {
  // Loaded only now: wrong arguments are reported without waiting for the SDKs.
  const { connectCluster } = await import('./connect-cluster.ts');
  const cluster = await connectCluster(config?.kubernetes ?? clusterOptions(given, terminal), { clock, random: Math.random }, signal);
  try {
    const startMs = Math.floor(clock.now() / 1_000) * 1_000;
    const currency = config?.azure.retailPrices?.currency ?? DEFAULT_CURRENCY;
    const target = await openTarget({ ...targetOptions(given, path), currency, startMs });
    const { known, hasher, log } = target;
    const recorder = new LoadRecorder({ startMs: target.startMs, ...defined({ hasher, known }) });
    const say = (sentence: string): void => terminal.err(`${sentence}\n`);
    try {
      await cluster.record({ recorder, log, forMs, config, say, gapFromMs: known?.untilMs }, signal);
    } catch (thrown) {
      if (log.hasBegun) throw thrown;
      await target.discard();
      if (asAutoscalerError(thrown).kind === 'cancelled') return say('Nothing was recorded.');
      throw thrown;
    }
    await target.deleteSecret();
    terminal.out(summaryOf({ path, bytes: log.bytes, counts: recorder.counts, spanMs: clock.now() - target.startMs }));
  } finally {
    await cluster.close();
  }
}

async function recordPast(given: RecordOptions, files: readonly string[], terminal: Terminal): Promise<number> {
  if (given.azure === true || given.kubeconfig !== undefined || given.context !== undefined)
    throw configError('--import cannot be combined with --azure, --kubeconfig or --context: it reads files alone.');
  const path = pathOf(given);
  const { startMs, endMs, steps, settleMs, notes } = await importLoad(files, terminal.readChunks);
  const target = await openTarget({ ...targetOptions(given, path), currency: DEFAULT_CURRENCY, startMs, isNew: true });
  const { log, hasher } = target;
  const recorder = new LoadRecorder({ startMs, ...defined({ hasher, settleMs }) });
  for (const note of notes) recorder.note(note);
  const lastMs = endMs + (spanOf(given) ?? 0);
  try {
    await play({ startMs, endMs: lastMs, steps }, recorder, async (lines) => {
      log.append(lines);
      await log.flush();
    });
    await log.finish();
  } catch (thrown) {
    await target.discard();
    throw thrown;
  }
  await target.deleteSecret();
  terminal.out(summaryOf({ path, bytes: log.bytes, counts: recorder.counts, spanMs: lastMs - startMs }));
  return EXIT_OK;
}

function targetOptions(given: RecordOptions, path: string) {
  return { path, name: given.name ?? nameOf(path), hashNames: given['hash-names'] === true };
}

/** Where prices are unknown, nothing depends on it. */
const DEFAULT_CURRENCY = 'USD';

function pathOf({ out }: RecordOptions): string {
  if (out === undefined || out === '') throw configError('--out is missing; it must name the file to write. See record --help.');
  return out;
}

function spanOf({ for: span }: RecordOptions): number | undefined {
  if (span === undefined) return undefined;
  const spanMs = parseDurationMs(span, { days: true });
  if (spanMs === undefined || spanMs === 0) throw configError(`--for is "${span}"; it must be a span such as 12h or 7d.`);
  return spanMs;
}

function nameOf(path: string): string {
  return (
    basename(path)
      .replace(/\.gz$/, '')
      .replace(/\.[^.]*$/, '') || 'recording'
  );
}

function readConfig(settings: readonly string[], { kubeconfig, context }: RecordOptions, terminal: Terminal): Config {
  const named = [
    ...(kubeconfig === undefined ? [] : [`--kubeconfig=${kubeconfig}`]),
    ...(context === undefined ? [] : [`--context=${context}`]),
  ];
  const config = loadConfig({ argv: [...named, ...settings], env: terminal.env, readFile: terminal.readFile, hostname: terminal.hostname });
  if (isConfigErrors(config)) throw configError(config.errors[0] ?? 'The configuration is invalid.');
  return config;
}

/** In a pod, its service account. */
function clusterOptions({ kubeconfig, context }: RecordOptions, { env }: Terminal) {
  const inPod = env['KUBERNETES_SERVICE_HOST'] !== undefined && env['KUBECONFIG'] === undefined;
  const kubeconfigPath = kubeconfig ?? (inPod ? undefined : (env['KUBECONFIG'] ?? join(env['HOME'] ?? '', '.kube', 'config')));
  return { namespace: 'kube-system', leaseName: '', identity: 'record', leaderElect: false, ...defined({ kubeconfigPath, context }) };
}

function readOptions(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS, strict: true, allowPositionals: false }).values;
  } catch (cause) {
    throw wrongArguments(cause, 'record');
  }
}
