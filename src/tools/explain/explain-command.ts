/**
 * `explain`: why a pod is pending, why a node stays, why a pool does not grow, and why a decision was made. Must not know how answers
 * are found, or how to write to the cluster or to Azure.
 */
import { parseArgs } from 'node:util';
import { answerOn, SUBJECT_KINDS, type Subject } from '../../planning/explain/answers/answer.ts';
import { type AnswerInput, ONLY_DECIDED } from '../../planning/explain/answers/pod-answer.ts';
import { nearestName } from '../../lib/nearest-name.ts';
import { isConfigErrors } from '../../config/types/config.ts';
import { loadConfig } from '../../config/load.ts';
import { defined } from '../../lib/defined.ts';
import { configError } from '../../lib/errors.ts';
import { podName } from '../../domain/ids.ts';
import { type PlanInput, planLoop } from '../plan/report/plan-loop.ts';
import { readPlanInput } from '../plan/read-input.ts';
import { EXIT_OK, type Terminal } from '../../cli/process/process.ts';
import { readHistory } from '../../cli/journal/history-entries.ts';
import { splitSettings } from '../../cli/process/split-settings.ts';
import { wrongArguments } from '../../cli/process/wrong-arguments.ts';
import { colourChoice } from '../../cli/text/colours.ts';
import { EXIT_NOT_FOUND, explainLive, shownAnswer } from './explain-live.ts';
import { type AnswerSource, lookOf, renderAnswer } from './explain-text.ts';
import { LIVE_OPTIONS } from './live-answers.ts';
import { settingsFor } from './without-leader.ts';

const HELP = `Explain why a pod is pending, why a node stays, why a pool does not grow, or why a decision was made.
Changes nothing. Without a source it asks the replica that leads, with your kubeconfig and your rights.

Usage:
  explain pod NAMESPACE/NAME [SOURCE] [SETTINGS] [--json] [--watch]
  explain node NAME [SOURCE] [SETTINGS] [--json] [--watch]
  explain pool NAME [SOURCE] [SETTINGS] [--json] [--watch]
  explain decision [last] [SOURCE] [--json] [--watch]

The replica that leads (default):
  --kubeconfig FILE   default: $KUBECONFIG, else ~/.kube/config
  --context NAME      a context of that file (default: its current one)
  --namespace NAME    where the autoscaler runs (default: kube-system)
  --lease-name NAME   its Lease (default: aks-autoscaler)
  --port N            its port for metrics and health (default: 8085)
  --url URL           ask this address instead, such as http://127.0.0.1:8085
  --token-file FILE   the token of http.debugTokenFile, if that is set
Your user needs get of leases, and create and get of pods/portforward, in that namespace.

Other sources:
  --dump FILE         a decision that the daemon recorded (--dump-directory), with its timers
  --history DIR       for a decision: the folder of historyDirectory, without a daemon
  --cluster FILE --pools FILE
                      files as for the command plan; back-offs and idle timers are unknown
  --config FILE       with --cluster: the daemon's configuration
  --now TIME          with --cluster: the time of the answer (default: the newest time in the file)

Without a leader:
  SETTINGS            those of the command run: --config, --cloud-config, environment variables, all other
                      flags. If no leader can be reached, the answer is computed from the cluster and Azure
                      as they are now, and its first line says what is unknown

Options:
  --json              print the answer as JSON, with every number that the text has
  --all               show every pool and name, and cut none
  --color WHEN        always, never or auto: on a terminal, unless NO_COLOR is set (default)
  --watch             ask again every 10 seconds, and print the answer when it changes

'Fix that works' is the smallest change that was simulated on this input and places the pod.

Exit code: 0 answered, 1 failed, 2 wrong use, 3 no such pod, node or pool, 4 no replica leads.
`;

const OPTIONS = {
  dump: { type: 'string' },
  history: { type: 'string' },
  cluster: { type: 'string' },
  pools: { type: 'string' },
  config: { type: 'string' },
  now: { type: 'string' },
  ...LIVE_OPTIONS,
  json: { type: 'boolean' },
  all: { type: 'boolean' },
  color: { type: 'string' },
  watch: { type: 'boolean' },
  help: { type: 'boolean' },
} as const;

/** @returns the exit code. @throws AutoscalerError with one sentence for invalid input, or if no daemon can be asked. */
export async function run(argv: readonly string[], terminal: Terminal): Promise<number> {
  const { own, settings } = splitArguments(argv);
  const { values, positionals } = readArguments(own);
  if (values.help === true) {
    terminal.out(HELP);
    return EXIT_OK;
  }
  const subject = readSubject(positionals);
  colourChoice(values.color);
  if (values.dump !== undefined || values.cluster !== undefined || values.pools !== undefined)
    return explainFiles(subject, values, terminal);
  if (values.history !== undefined) return explainHistory(subject, values.history, values, terminal);
  if (settings.length > 0) checkSettings(settingsFor(values, settings), terminal);
  return explainLive({ subject, values, settings, terminal });
}

const FILE_SOURCES = /^--(?:dump|history|cluster|pools)(?:=|$)/;

/** Files have no daemon: then every option is one of `explain`. */
function splitArguments(argv: readonly string[]): ReturnType<typeof splitSettings> {
  return argv.some((text) => FILE_SOURCES.test(text)) ? { own: argv, settings: [] } : splitSettings(argv, OPTIONS);
}

async function explainHistory({ kind, name }: Subject, directory: string, values: ExplainOptions, terminal: Terminal): Promise<number> {
  if (kind !== 'decision') throw configError('--history has decisions only; see explain --help.');
  const { entries } = await readHistory(directory);
  const decisions = entries.flatMap((entry) => (entry.kind === 'decision' ? [entry.decision] : []));
  const found = name === 'last' ? decisions.at(-1) : decisions.find(({ id }) => id === name);
  if (found === undefined) {
    terminal.err(`decision ${name} not found in ${directory}; it has ${decisions.length}\n`);
    return EXIT_NOT_FOUND;
  }
  const text = JSON.stringify(found.document, undefined, 2);
  terminal.out(values.json === true ? `${text}\n` : shownAnswer(text, directory, { ...values, json: false }, terminal).text);
  return EXIT_OK;
}

type ExplainOptions = ReturnType<typeof readArguments>['values'];

async function explainFiles(subject: Subject, values: ExplainOptions, terminal: Terminal): Promise<number> {
  if (values.dump === undefined && (values.cluster === undefined || values.pools === undefined))
    throw configError('--cluster FILE and --pools FILE belong together; see explain --help.');
  if (values.watch === true) throw configError('--watch asks a running daemon; files do not change; see explain --help.');
  const { input } = await readPlanInput(values, { settings: [], manifests: [] }, terminal);
  const decision = { ...ONLY_DECIDED, ...planLoop(input) };
  const answer = answerOn(subject, decision);
  if (answer === undefined) {
    terminal.err(`${notFound(subject, decision)}\n`);
    return EXIT_NOT_FOUND;
  }
  const { nowMs, from, lacks } = sourceOf(values, input);
  terminal.out(
    values.json === true
      ? `${JSON.stringify({ ...answer, ...defined({ lacks }) }, undefined, 2)}\n`
      : renderAnswer(answer, { ...lookOf(values, terminal), ...defined({ lacks, currency: input.currency }), nowMs, from }),
  );
  return EXIT_OK;
}

/** @throws AutoscalerError `config` at once: only without a leader the settings would be read otherwise. */
function checkSettings(settings: readonly string[], { env, readFile }: Terminal): void {
  const config = loadConfig({ argv: settings, env, readFile, hostname: 'explain' });
  if (isConfigErrors(config)) throw configError(config.errors[0] ?? 'The configuration is invalid.');
}

function readArguments(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS, strict: true, allowPositionals: true });
  } catch (cause) {
    throw wrongArguments(cause, 'explain');
  }
}

function readSubject([given = '', name = '', ...rest]: readonly string[]): Subject {
  const kind = SUBJECT_KINDS.find((each) => each === given);
  if (kind === undefined) throw configError(`explain needs one of ${SUBJECT_KINDS.join(', ')}; see explain --help.`);
  if (rest.length > 0) throw configError(`explain ${kind} takes one name, not ${rest.length + 1}; see explain --help.`);
  if (kind === 'decision') return { kind, name: name === '' ? 'last' : name };
  if (name === '') throw configError(`explain ${kind} needs ${kind === 'pod' ? 'NAMESPACE/NAME' : 'a NAME'}; see explain --help.`);
  // As kubectl does, a name without a namespace means the default one.
  return { kind, name: kind === 'pod' && !name.includes('/') ? `default/${name}` : name };
}

function notFound({ kind, name }: Subject, { input }: AnswerInput): string {
  const { cluster, cloud } = input.observation;
  const names = {
    pod: () => [...cluster.pendingPods, ...[...cluster.podsByNode.values()].flat()].map(podName),
    node: () => [...cluster.nodes.keys()],
    pool: () => cloud.groups.map(({ id }) => id as string),
    decision: () => [],
  }[kind]();
  const nearest = nearestName(name, names);
  return `${kind} ${name} not found${nearest === undefined ? '' : `; did you mean ${nearest}?`}`;
}

function sourceOf(
  { dump, cluster }: { readonly dump?: string | undefined; readonly cluster?: string | undefined },
  { observation }: PlanInput,
): Pick<AnswerSource, 'nowMs' | 'from' | 'lacks'> {
  const { nowMs, loopId } = observation;
  const at = `${new Date(nowMs).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
  if (dump !== undefined) return { nowMs, from: `From ${dump}, loop ${loopId} at ${at}.` };
  return {
    nowMs,
    from: `From ${cluster ?? ''}, as of ${at}.`,
    lacks: "Without the daemon's memory: back-offs and idle timers are unknown.",
  };
}
