/**
 * Asks the real scheduler and the planner the same, and expects the same answer. PARITY_SEED and PARITY_CLUSTERS ask other
 * questions, and more; with PARITY_KEEP what was found is written to that folder as cases for the corpus.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { placedByPlan } from '../../differential/gang-case.ts';
import { askPlanner, disagreements, type ParityCase, type ParityCluster } from '../../differential/parity-case.ts';
import { usualMinor } from '../binaries.ts';
import { MINOR_VARIABLE } from '../given.ts';
import { knownDifference } from '../../differential/known-differences.ts';
import { askAgain, minimise } from './minimise.ts';
import type { Question } from './random-cases.ts';
import type { Asked, AskedGang, RealScheduler } from './real-scheduler.ts';

/** Of the questions. */
export const SEED = Number(process.env['PARITY_SEED'] ?? 7);
/** Of all kinds of questions, a dozen pods each: a run asks about more than 2,000 pods. */
export const CLUSTERS = Number(process.env['PARITY_CLUSTERS'] ?? 125);
export const LIMIT_MS = 900_000;
/** More of them are seldom more than one. */
const MOST_MINIMISED = 3;

interface Tally {
  /** Pods that some node let in, and pods that none did. */
  some: number;
  none: number;
  /** Answers about one pod and one node. */
  pairs: number;
  /** Groups of pods: those that start as a whole, in part, and not at all. */
  readonly gangs: { whole: number; part: number; none: number; wrong: string[] };
  /** Differences that are known. */
  known: number;
  /** Differences that were gone when the same was asked again. */
  hasty: number;
  /** What the API server would not take. */
  readonly invalid: string[];
}

async function compare(scheduler: RealScheduler, question: Question, tally: Tally): Promise<readonly ParityCase[]> {
  const { cluster: shared, asked, invalid, gang } = await scheduler.ask(question.cluster, question.pods, question.gang);
  tally.invalid.push(...invalid);
  if (gang !== undefined) await compareGang(scheduler, { question, shared, gang }, tally);
  return asked.flatMap((each): readonly ParityCase[] => {
    const { answered, pairs, isKnown } = judge(shared, each);
    tally[answered.scheduler.length > 0 ? 'some' : 'none'] += 1;
    tally.pairs += pairs;
    if (isKnown) tally.known += 1;
    return answered.name === '' || isKnown ? [] : [answered];
  });
}

/** `answered.name`: in words, where the two do not agree; empty: they do. */
function judge(shared: ParityCluster, { pod, claims, verdict: { nodes, message } }: Asked) {
  const cluster = [...shared, ...claims];
  const answer = askPlanner(cluster, pod);
  const passed = nodes.filter((name) => answer.reasons.has(name));
  const name = disagreements(cluster, passed, answer).join('; ');
  const answered: ParityCase = { name, cluster, pod, scheduler: passed, ...(message === undefined ? {} : { message }) };
  const isKnown = name !== '' && knownDifference({ ...answered, minor: process.env[MINOR_VARIABLE] }, answer) !== undefined;
  return { answered, pairs: answer.reasons.size, isKnown };
}

interface GangAnswer {
  readonly question: Question;
  readonly shared: ParityCluster;
  readonly gang: AskedGang;
}

/** A difference counts as known if it is one of the copied pod alone. */
async function compareGang(scheduler: RealScheduler, { question, shared, gang }: GangAnswer, tally: Tally): Promise<void> {
  const { gangs } = tally;
  gangs[gang.placed === 0 ? 'none' : gang.placed === gang.pods.length ? 'whole' : 'part'] += 1;
  if (question.gang === undefined || placedByPlan([...shared, ...gang.claims], gang) === gang.placed) return;
  const { member } = gang;
  const { cluster, asked, gang: again } = await scheduler.ask(question.cluster, [member], { ...question.gang, members: [member] });
  if (again === undefined) return;
  const all = [...cluster, ...again.claims];
  const planned = placedByPlan(all, again);
  if (planned === again.placed) return;
  if (asked.some((each) => judge(cluster, each).isKnown)) tally.known += 1;
  else gangs.wrong.push(`${JSON.stringify({ scheduler: again.placed, planner: planned, ...again, cluster: all }, undefined, 2)}\n`);
}

/** An API server that is older than the usual one refuses objects with fields that it does not know. */
function isNewestMinor(): boolean {
  return (process.env[MINOR_VARIABLE] ?? '').localeCompare(usualMinor(), 'en', { numeric: true }) >= 0;
}

function describeGangs({ whole, part, none, wrong }: Tally['gangs']): string {
  const asked = whole + part + none;
  return asked === 0 ? '' : `; ${asked} gangs (${whole} whole, ${part} in part, ${none} not at all), ${wrong.length} differences`;
}

/** @throws AssertionError with the smallest cases on which scheduler and planner differ. */
export async function expectAgreement(scheduler: RealScheduler, questions: readonly Question[], name: string): Promise<void> {
  const tally: Tally = { some: 0, none: 0, pairs: 0, known: 0, hasty: 0, invalid: [], gangs: { whole: 0, part: 0, none: 0, wrong: [] } };
  const found: ParityCase[] = [];
  for (const question of questions) {
    for (const each of await compare(scheduler, question, tally)) {
      // The scheduler may not have heard of each claim and volume when it was asked first: what remains when asked anew counts.
      const again = await askAgain(scheduler, each);
      if (again === undefined) tally.hasty += 1;
      else found.push(again);
    }
  }
  const { some, none, pairs, known, hasty, invalid, gangs } = tally;
  process.stdout.write(
    `parity, ${name}: ${some} pods that some node lets in and ${none} that none does, ${pairs} pods by nodes; ` +
      `${found.length} differences and ${known} known ones, ${hasty} gone when asked again; the API server refused ${invalid.length} objects${describeGangs(gangs)}\n`,
  );
  if (process.env['PARITY_VERBOSE'] === '1')
    process.stdout.write(`${[...invalid, ...found.map((each) => `${each.name} ${each.message ?? ''}`)].join('\n')}\n`);
  const small: ParityCase[] = [];
  for (const each of found.slice(0, MOST_MINIMISED)) small.push(await minimise(scheduler, each));
  const texts = [...small.map((each) => `${JSON.stringify(each, undefined, 2)}\n`), ...gangs.wrong.slice(0, MOST_MINIMISED)];
  const keep = process.env['PARITY_KEEP'];
  if (keep !== undefined) texts.forEach((text, at) => writeFileSync(join(keep, `${name}-${SEED}-${at}.json`), text));
  expect(texts.join('\n')).toBe('');
  // Neither so tight nor so wide that agreeing would be easy, and nearly everything is taken by the API server.
  expect(Math.min(some, none)).toBeGreaterThan(questions.length);
  const { whole, part, none: unplaced } = gangs;
  if (whole + part + unplaced > 0) expect(Math.min(whole + part, unplaced)).toBeGreaterThan((whole + part + unplaced) / 10);
  expect(some + none).toBeGreaterThan((isNewestMinor() ? 10 : 5) * questions.length);
}
