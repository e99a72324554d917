/**
 * Asks the leader a question once, or again and again, and shows the answers; without a leader the answer is computed. Must not know what
 * answers mean.
 */
import { defined } from '../../lib/defined.ts';
import { asAutoscalerError } from '../../lib/errors.ts';
import type { Answer, LiveAnswer, Subject } from '../../planning/explain/answers/answer.ts';
import { formatMoment } from '../../planning/explain/spans.ts';
import { EXIT_FAILED, EXIT_OK, stopSignals, systemClock, type Terminal } from '../../cli/process/process.ts';
import { type LookOptions, lookOf, renderAnswer } from './explain-text.ts';
import { askDaemon, type LiveSource, refusalText } from './live-answers.ts';
import { answerWithoutLeader, HOW_WITHOUT_LEADER, settingsFor } from './without-leader.ts';

export const EXIT_NOT_FOUND = 3;
const EXIT_NO_LEADER = 4;
const WATCH_MS = 10_000;

type ExplainOptions = LiveSource & LookOptions & { readonly json?: boolean | undefined; readonly watch?: boolean | undefined };

interface LiveQuestion {
  readonly subject: Subject;
  readonly values: ExplainOptions;
  readonly settings: readonly string[];
  readonly terminal: Terminal;
}

/** Watching goes on while no replica leads, once there was an answer. */
export async function explainLive(question: LiveQuestion): Promise<number> {
  const { values, terminal } = question;
  const signals = stopSignals(terminal.signals);
  const stop = new AbortController();
  void signals.stopped.then(() => stop.abort());
  try {
    let shown = '';
    for (;;) {
      const asked = await askOnce(question, stop.signal);
      const { code, text, key } = shown === '' && asked.code === EXIT_NO_LEADER ? await computed(question, asked) : asked;
      if (key !== shown) (code === EXIT_OK ? terminal.out : terminal.err)(`${shown === '' ? '' : '\n'}${text}`);
      if (values.watch !== true || (shown === '' && code !== EXIT_OK)) return code;
      shown = key;
      await (terminal.clock ?? systemClock).sleep(WATCH_MS, stop.signal);
    }
  } catch (thrown) {
    // A person who watches ends it with a signal.
    if (asAutoscalerError(thrown).kind === 'cancelled') return EXIT_OK;
    throw thrown;
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

async function askOnce({ subject: { kind, name }, values, terminal }: LiveQuestion, signal: AbortSignal): Promise<ShownAnswer> {
  const path = `/api/v1/${kind}s/${name.split('/').map(encodeURIComponent).join('/')}`;
  try {
    const { status, text, from } = await askDaemon(values, path, terminal, signal);
    if (status === 200) return shownAnswer(text, from, values, terminal);
    return refused({ 404: EXIT_NOT_FOUND, 409: EXIT_NO_LEADER, 503: EXIT_NO_LEADER }[status] ?? EXIT_FAILED, refusalText(text));
  } catch (thrown) {
    const { kind: trouble, message } = asAutoscalerError(thrown);
    if (trouble !== 'not-found' && trouble !== 'unavailable') throw thrown;
    return refused(EXIT_NO_LEADER, `${message}\n`);
  }
}

function refused(code: number, text: string): ShownAnswer {
  return { code, text, key: text };
}

/** Why the leader was not asked goes to the error output. An address that was given is the only one that is asked. */
async function computed({ subject, values, settings, terminal }: LiveQuestion, asked: ShownAnswer): Promise<ShownAnswer> {
  if (values.url !== undefined) return asked;
  if (settings.length === 0) return { ...asked, text: `${asked.text}${HOW_WITHOUT_LEADER}; see explain --help.\n` };
  terminal.err(asked.text);
  const { answer, nowMs, lacks, currency } = await answerWithoutLeader(subject, settingsFor(values, settings), terminal);
  if (answer === undefined) return refused(EXIT_NOT_FOUND, `${subject.kind} ${subject.name} not found\n`);
  const from = 'Computed from the cluster and Azure as they are now.';
  const text =
    values.json === true
      ? `${JSON.stringify({ ...answer, ...defined({ currency }), decidedAt: new Date(nowMs).toISOString(), lacks }, undefined, 2)}\n`
      : renderAnswer(answer, { ...lookOf(values, terminal), ...defined({ currency }), nowMs, from, lacks });
  return { code: EXIT_OK, text, key: JSON.stringify(withoutTicking(answer)) };
}

export function shownAnswer(text: string, from: string, values: ExplainOptions, terminal: Terminal): ShownAnswer {
  const answer = JSON.parse(text) as LiveAnswer;
  const { loop, decidedAt, currency, ...rest } = answer;
  const nowMs = Date.parse(decidedAt);
  const source = `From ${from}, loop ${loop}, ${formatMoment(nowMs, (terminal.clock ?? systemClock).now())}.`;
  return {
    code: EXIT_OK,
    text:
      values.json === true
        ? `${JSON.stringify(answer, undefined, 2)}\n`
        : renderAnswer(rest, { ...lookOf(values, terminal), ...defined({ currency }), nowMs, from: source }),
    key: JSON.stringify(withoutTicking(rest)),
  };
}

/** Sentences count the minutes of waits. */
function withoutTicking(answer: Answer): object {
  return { ...answer, sentence: answer.sentence.replace(/^Pending for [^:]+/, '').replace(/, in \d+ (s|min)/, '') };
}
