/**
 * `explain`: why a pod is pending, why a node stays, why a pool does not grow, and why a decision was made. Must not know how answers
 * are found, or how to write to the cluster or to Azure.
 */
import { parseArgs } from 'node:util';
import { answerDecision } from '../../planning/explain/answers/decision-answer.ts';
import { answerNode } from '../../planning/explain/answers/node-answer.ts';
import { type AnswerInput, answerPod } from '../../planning/explain/answers/pod-answer.ts';
import { answerPool } from '../../planning/explain/answers/pool-answer.ts';
import { nearestName } from '../../lib/nearest-name.ts';
import { configError } from '../../lib/errors.ts';
import { podName } from '../../domain/ids.ts';
import { type PlanInput, planLoop } from '../plan/plan-report.ts';
import { readPlanInput } from '../plan/read-input.ts';
import { EXIT_OK, type Terminal } from '../process/process.ts';
import { type Answer, type AnswerSource, renderAnswer } from './explain-text.ts';

const HELP = `Explain why a pod is pending, why a node stays, why a pool does not grow, or why a decision was made.
Changes nothing.

Usage:
  explain pod NAMESPACE/NAME SOURCE [--json]
  explain node NAME SOURCE [--json]
  explain pool NAME SOURCE [--json]
  explain decision SOURCE [--json]

Sources:
  --dump FILE       a decision that the daemon recorded (--dump-directory), with its timers
  --cluster FILE --pools FILE
                    files as for the command plan; back-offs and idle timers are unknown
  --config FILE     with --cluster: the daemon's configuration
  --now TIME        with --cluster: the time of the answer (default: the newest time in the file)

Options:
  --json            print the answer as JSON, with every number that the text has

'Fix that works' is the smallest change that was simulated on this input and places the pod.

Exit code: 0 answered, 2 wrong use, 3 no such pod, node or pool.
`;

const EXIT_NOT_FOUND = 3;

const OPTIONS = {
  dump: { type: 'string' },
  cluster: { type: 'string' },
  pools: { type: 'string' },
  config: { type: 'string' },
  now: { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean' },
} as const;

/** @returns the exit code. @throws AutoscalerError `config` with one sentence for invalid input. */
export async function run(argv: readonly string[], terminal: Terminal): Promise<number> {
  const { values, positionals } = readArguments(argv);
  if (values.help === true) {
    terminal.out(HELP);
    return EXIT_OK;
  }
  const subject = readSubject(positionals);
  if (values.dump === undefined && (values.cluster === undefined || values.pools === undefined))
    throw configError('explain needs --dump FILE, or --cluster FILE and --pools FILE; see explain --help.');
  const { input } = await readPlanInput(values, { settings: [], manifests: [] }, terminal);
  const decision = planLoop(input);
  const answer = answerOn(subject, decision);
  if (answer === undefined) {
    terminal.err(`${notFound(subject, decision)}\n`);
    return EXIT_NOT_FOUND;
  }
  terminal.out(values.json === true ? `${JSON.stringify(answer, undefined, 2)}\n` : renderAnswer(answer, sourceOf(values, input)));
  return EXIT_OK;
}

function readArguments(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS, strict: true, allowPositionals: true });
  } catch (cause) {
    const message = (cause instanceof Error ? cause.message : String(cause)).split(/\. |\n/)[0] ?? '';
    throw configError(`${message.replace(/\.$/, '')}; see explain --help.`);
  }
}

const KINDS = ['pod', 'node', 'pool', 'decision'] as const;

interface Subject {
  readonly kind: (typeof KINDS)[number];
  readonly name: string;
}

function readSubject([given = '', name = '', ...rest]: readonly string[]): Subject {
  const kind = KINDS.find((each) => each === given);
  if (kind === undefined) throw configError(`explain needs one of ${KINDS.join(', ')}; see explain --help.`);
  if (rest.length > 0) throw configError(`explain ${kind} takes one name, not ${rest.length + 1}; see explain --help.`);
  if (kind !== 'decision' && name === '')
    throw configError(`explain ${kind} needs ${kind === 'pod' ? 'NAMESPACE/NAME' : 'a NAME'}; see explain --help.`);
  // As kubectl does, a name without a namespace means the default one.
  return { kind, name: kind === 'pod' && !name.includes('/') ? `default/${name}` : name };
}

function answerOn({ kind, name }: Subject, decision: AnswerInput): Answer | undefined {
  switch (kind) {
    case 'pod':
      return answerPod(decision, name);
    case 'node':
      return answerNode(decision, name);
    case 'pool':
      return answerPool(decision, name);
    case 'decision':
      return answerDecision(decision);
  }
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
): AnswerSource {
  const { nowMs, loopId } = observation;
  const at = `${new Date(nowMs).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
  if (dump !== undefined) return { nowMs, from: `\nFrom ${dump}, loop ${loopId} at ${at}.` };
  return {
    nowMs,
    from: `\nFrom ${cluster ?? ''}, as of ${at}.`,
    lacks: "Without the daemon's memory: back-offs and idle timers are unknown.",
  };
}
