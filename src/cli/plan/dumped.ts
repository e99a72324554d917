/** A dumped decision as a question: with what the loop had decided before it, so that the answer is the decision itself. */
import { AutoscalerError } from '../../domain/errors.ts';
import { nodeGroupId } from '../../domain/ids.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import { readDump, type Dump } from '../../loop/dump.ts';
import { cutLike } from '../../loop/replay.ts';
import type { Decided, Question } from './answer.ts';

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
