/** A dumped decision as a question: with what the loop had decided before it, so that the answer is the decision itself. */
import { nodeGroupId } from '../../domain/ids.ts';
import { ResourceNames } from '../../domain/resources.ts';
import { AutoscalerError } from '../../lib/errors.ts';
import { readDump, type Dump, plainPlan } from '../../loop/replay/dump.ts';
import { cutLike, replay } from '../../loop/replay/replay.ts';
import { EXIT_FAILED, EXIT_OK, type Terminal } from '../process/process.ts';
import type { Decided, Question } from './question.ts';

/** @throws AutoscalerError `config` with one sentence for a text that is no whole dump. */
export function dumpedQuestion(file: string, text: string, names: ResourceNames): Question {
  const dump = readWholeDump(file, text, names);
  const { observation, state, policy } = dump;
  return { observation, state, policy, names, decided: decidedIn(dump) };
}

/** The same decision with all the time that it needs. */
export function withoutCuts({ scaleUp: { isLate: _up, ...scaleUp }, scaleDown }: Decided): Decided {
  if (scaleDown === undefined) return { scaleUp };
  const { isLate: _down, ...removals } = scaleDown;
  return { scaleUp, scaleDown: removals };
}

function decidedIn({ excluded, request, scaleUp, scaleDown, scaleUpPlanned }: Dump): Decided {
  const turn = request === undefined ? {} : { request };
  const growth = { exclude: new Set(excluded.map(nodeGroupId)), ...turn, ...cutLike(scaleUp[0]) };
  if (scaleDown === null || scaleDown === undefined) return { scaleUp: growth };
  return { scaleUp: growth, scaleDown: { scaleUpPlanned, ...cutLike(scaleDown) } };
}

/** Dumps are written by the daemon; one that somebody edited or cut is told from a mistake of ours. */
function readWholeDump(file: string, text: string, names: ResourceNames): Dump {
  const dump = readOrRefuse(file, text, names);
  const parts: readonly unknown[] = [
    dump.observation?.cluster?.nodes,
    dump.observation?.cluster?.pendingPods,
    dump.observation?.cloud?.groups,
    dump.state?.unneededSince,
    dump.policy?.scaleUp,
    dump.policy?.scaleDown,
  ];
  if (parts.some((part) => typeof part !== 'object' || part === null)) throw mistake(`${file} is not a whole dump of a decision.`);
  return dump;
}

function readOrRefuse(file: string, text: string, names: ResourceNames): Dump {
  try {
    return readDump(text, names);
  } catch (thrown) {
    if (thrown instanceof AutoscalerError) throw thrown;
    throw new AutoscalerError({ kind: 'config' }, `${file} is not a whole dump of a decision.`, { cause: thrown });
  }
}

function mistake(sentence: string): AutoscalerError {
  return new AutoscalerError({ kind: 'config' }, sentence);
}

// `replay FILE`: makes a dumped decision again and says whether it comes out the same.

const HELP = `Usage: replay FILE

Plans again what a file of --dump-directory recorded, prints the plan as JSON, and ends with 0 when it equals the recorded one.
`;

export function run(argv: readonly string[], terminal: Terminal): Promise<number> {
  const [file, ...rest] = argv;
  if (file === '--help') {
    terminal.out(HELP);
    return Promise.resolve(EXIT_OK);
  }
  if (file === undefined || rest.length > 0 || file.startsWith('-')) {
    throw new AutoscalerError({ kind: 'config' }, 'replay takes exactly one FILE, as written to --dump-directory.');
  }
  const names = new ResourceNames();
  const result = replay(readDump(read(file, terminal), names), names);
  for (const plan of [result.scaleUp, result.scaleDown]) {
    if (plan !== undefined) terminal.out(`${JSON.stringify(plainPlan(plan), undefined, 2)}\n`);
  }
  terminal.out(result.equal ? 'The plan equals the recorded one.\n' : 'The plan DIFFERS from the recorded one.\n');
  return Promise.resolve(result.equal ? EXIT_OK : EXIT_FAILED);
}

function read(file: string, terminal: Terminal): string {
  try {
    return terminal.readFile(file);
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown error';
    throw new AutoscalerError({ kind: 'config' }, `"${file}" cannot be read (${code}).`, { cause });
  }
}
