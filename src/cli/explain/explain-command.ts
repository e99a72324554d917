/**
 * `explain`: why a pod is pending, why a node stays, why a pool does not grow, and why a decision was made. Must not know how answers
 * are found, or how to write to the cluster or to Azure.
 */
import { parseArgs } from 'node:util';
import { type Answer, answerOn, type LiveAnswer, SUBJECT_KINDS, type Subject } from '../../planning/explain/answers/answer.ts';
import type { AnswerInput } from '../../planning/explain/answers/pod-answer.ts';
import { nearestName } from '../../lib/nearest-name.ts';
import { asAutoscalerError, configError } from '../../lib/errors.ts';
import { podName } from '../../domain/ids.ts';
import { type PlanInput, planLoop } from '../plan/report/plan-loop.ts';
import { readPlanInput } from '../plan/read-input.ts';
import { EXIT_FAILED, EXIT_OK, stopSignals, systemClock, type Terminal } from '../process/process.ts';
import { readHistory } from '../journal/history-entries.ts';
import { wrongArguments } from '../process/wrong-arguments.ts';
import { formatMoment } from '../../planning/explain/spans.ts';
import { askDaemon, LIVE_OPTIONS, refusalText } from './live-answers.ts';
import { type AnswerSource, renderAnswer } from './explain-text.ts';

const HELP = `Explain why a pod is pending, why a node stays, why a pool does not grow, or why a decision was made.
Changes nothing. Without a source it asks the replica that leads, with your kubeconfig and your rights.

Usage:
  explain pod NAMESPACE/NAME [SOURCE] [--json] [--watch]
  explain node NAME [SOURCE] [--json] [--watch]
  explain pool NAME [SOURCE] [--json] [--watch]
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

Options:
  --json              print the answer as JSON, with every number that the text has
  --all               show every pool and name
  --watch             ask again every 10 seconds, and print the answer when it changes

'Fix that works' is the smallest change that was simulated on this input and places the pod.

Exit code: 0 answered, 1 failed, 2 wrong use, 3 no such pod, node or pool, 4 no replica leads.
`;

const EXIT_NOT_FOUND = 3;
const EXIT_NO_LEADER = 4;
const WATCH_MS = 10_000;

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
  watch: { type: 'boolean' },
  help: { type: 'boolean' },
} as const;

/** @returns the exit code. @throws AutoscalerError with one sentence for invalid input, or if no daemon can be asked. */
export async function run(argv: readonly string[], terminal: Terminal): Promise<number> {
  const { values, positionals } = readArguments(argv);
  if (values.help === true) {
    terminal.out(HELP);
    return EXIT_OK;
  }
  const subject = readSubject(positionals);
  if (values.dump !== undefined || values.cluster !== undefined || values.pools !== undefined)
    return explainFiles(subject, values, terminal);
  if (values.history !== undefined) return explainHistory(subject, values.history, values, terminal);
  return explainLive(subject, values, terminal);
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
  terminal.out(values.json === true ? `${text}\n` : shownAnswer(text, { from: directory, asJson: false, all: values.all === true }).text);
  return EXIT_OK;
}

type ExplainOptions = ReturnType<typeof readArguments>['values'];

async function explainFiles(subject: Subject, values: ExplainOptions, terminal: Terminal): Promise<number> {
  if (values.dump === undefined && (values.cluster === undefined || values.pools === undefined))
    throw configError('--cluster FILE and --pools FILE belong together; see explain --help.');
  if (values.watch === true) throw configError('--watch asks a running daemon; files do not change; see explain --help.');
  const { input } = await readPlanInput(values, { settings: [], manifests: [] }, terminal);
  const decision = planLoop(input);
  const answer = answerOn(subject, decision);
  if (answer === undefined) {
    terminal.err(`${notFound(subject, decision)}\n`);
    return EXIT_NOT_FOUND;
  }
  terminal.out(
    values.json === true
      ? `${JSON.stringify(answer, undefined, 2)}\n`
      : renderAnswer(answer, { ...sourceOf(values, input), all: values.all === true }),
  );
  return EXIT_OK;
}

async function explainLive(subject: Subject, values: ExplainOptions, terminal: Terminal): Promise<number> {
  const signals = stopSignals(terminal.signals);
  const stop = new AbortController();
  void signals.stopped.then(() => stop.abort());
  try {
    let shown = '';
    for (;;) {
      const { code, text, key } = await askOnce(subject, values, terminal, stop.signal);
      if (key !== shown) (code === EXIT_OK ? terminal.out : terminal.err)(`${shown === '' ? '' : '\n'}${text}`);
      shown = key;
      if (values.watch !== true) return code;
      await systemClock.sleep(WATCH_MS, stop.signal);
    }
  } catch (thrown) {
    const error = asAutoscalerError(thrown);
    // A person who watches ends it with a signal.
    if (error.kind === 'cancelled') return EXIT_OK;
    if (error.kind !== 'not-found') throw error;
    terminal.err(`${error.message}\n`);
    return EXIT_NO_LEADER;
  } finally {
    signals.release();
  }
}

interface ShownAnswer {
  readonly code: number;
  readonly text: string;
  /** Changes when the answer does, and not with the clock. */
  readonly key: string;
}

async function askOnce({ kind, name }: Subject, values: ExplainOptions, terminal: Terminal, signal: AbortSignal): Promise<ShownAnswer> {
  const path = `/api/v1/${kind}s/${name.split('/').map(encodeURIComponent).join('/')}`;
  const { status, text, from } = await askDaemon(values, path, terminal, signal);
  if (status === 200) return shownAnswer(text, { from, asJson: values.json === true, all: values.all === true });
  const code = { 404: EXIT_NOT_FOUND, 409: EXIT_NO_LEADER, 503: EXIT_NO_LEADER }[status] ?? EXIT_FAILED;
  const message = refusalText(text);
  return { code, text: message, key: message };
}

interface ShownOptions {
  readonly from: string;
  readonly asJson: boolean;
  readonly all: boolean;
}

function shownAnswer(text: string, { from, asJson, all }: ShownOptions): ShownAnswer {
  const answer = JSON.parse(text) as LiveAnswer;
  const { loop, decidedAt, ...rest } = answer;
  const nowMs = Date.parse(decidedAt);
  const source = `From ${from}, loop ${loop}, ${formatMoment(nowMs, systemClock.now())}.`;
  return {
    code: EXIT_OK,
    text: asJson ? `${JSON.stringify(answer, undefined, 2)}\n` : renderAnswer(rest, { nowMs, from: source, all }),
    key: JSON.stringify(withoutTicking(rest)),
  };
}

/** Sentences count the minutes of waits. */
function withoutTicking(answer: Answer): object {
  return { ...answer, sentence: answer.sentence.replace(/^Pending for [^:]+/, '').replace(/, in \d+ (s|min)/, '') };
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
): Omit<AnswerSource, 'all'> {
  const { nowMs, loopId } = observation;
  const at = `${new Date(nowMs).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
  if (dump !== undefined) return { nowMs, from: `From ${dump}, loop ${loopId} at ${at}.` };
  return {
    nowMs,
    from: `From ${cluster ?? ''}, as of ${at}.`,
    lacks: "Without the daemon's memory: back-offs and idle timers are unknown.",
  };
}
