/**
 * Asks the real scheduler and the planner the same, and expects the same answer. PARITY_SEED and PARITY_CLUSTERS ask other
 * questions, and more; with PARITY_KEEP what was found is written to that folder as cases for the corpus.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { askPlanner, disagreements, type ParityCase } from '../../differential/parity-case.ts';
import { usualMinor } from '../binaries.ts';
import { MINOR_VARIABLE } from '../given.ts';
import { knownDifference } from '../../differential/known-differences.ts';
import { askAgain, minimise } from './minimise.ts';
import type { Question } from './random-cases.ts';
import type { RealScheduler } from './real-scheduler.ts';

/** Of the questions. */
export const SEED = Number(process.env['PARITY_SEED'] ?? 7);
/** Of each kind of question: a dozen pods each. */
export const CLUSTERS = Number(process.env['PARITY_CLUSTERS'] ?? 175);
export const LIMIT_MS = 900_000;
/** More of them are seldom more than one. */
const MOST_MINIMISED = 3;

interface Tally {
  /** Pods that some node let in, and pods that none did. */
  some: number;
  none: number;
  /** Answers about one pod and one node. */
  pairs: number;
  /** Differences that are known. */
  known: number;
  /** Differences that were gone when the same was asked again. */
  hasty: number;
  /** What the API server would not take. */
  readonly invalid: string[];
}

async function compare(scheduler: RealScheduler, { cluster: drafts, pods }: Question, tally: Tally): Promise<readonly ParityCase[]> {
  const { cluster: shared, asked, invalid } = await scheduler.ask(drafts, pods);
  tally.invalid.push(...invalid);
  return asked.flatMap(({ pod, claims, verdict: { nodes, message } }): readonly ParityCase[] => {
    const cluster = [...shared, ...claims];
    const answer = askPlanner(cluster, pod);
    const passed = nodes.filter((name) => answer.reasons.has(name));
    tally[passed.length > 0 ? 'some' : 'none'] += 1;
    tally.pairs += answer.reasons.size;
    const wrong = disagreements(cluster, passed, answer);
    if (wrong.length === 0) return [];
    const told = message === undefined ? {} : { message };
    if (knownDifference({ cluster, pod, scheduler: passed, minor: process.env[MINOR_VARIABLE], ...told }, answer) !== undefined) {
      tally.known += 1;
      return [];
    }
    return [{ name: wrong.join('; '), cluster, pod, scheduler: passed, ...told }];
  });
}

/** An API server that is older than the usual one refuses objects with fields that it does not know. */
function isNewestMinor(): boolean {
  return (process.env[MINOR_VARIABLE] ?? '').localeCompare(usualMinor(), 'en', { numeric: true }) >= 0;
}

/** @throws AssertionError with the smallest cases on which scheduler and planner differ. */
export async function expectAgreement(scheduler: RealScheduler, questions: readonly Question[], name: string): Promise<void> {
  const tally: Tally = { some: 0, none: 0, pairs: 0, known: 0, hasty: 0, invalid: [] };
  const found: ParityCase[] = [];
  for (const question of questions) {
    for (const each of await compare(scheduler, question, tally)) {
      // The scheduler may not have heard of each claim and volume when it was asked first: what remains when asked anew counts.
      const again = await askAgain(scheduler, each);
      if (again === undefined) tally.hasty += 1;
      else found.push(again);
    }
  }
  const { some, none, pairs, known, hasty, invalid } = tally;
  process.stdout.write(
    `parity, ${name}: ${some} pods that some node lets in and ${none} that none does, ${pairs} pods by nodes; ` +
      `${found.length} differences and ${known} known ones, ${hasty} gone when asked again; the API server refused ${invalid.length} objects\n`,
  );
  if (process.env['PARITY_VERBOSE'] === '1')
    process.stdout.write(`${[...invalid, ...found.map((each) => `${each.name} ${each.message ?? ''}`)].join('\n')}\n`);
  const small: ParityCase[] = [];
  for (const each of found.slice(0, MOST_MINIMISED)) small.push(await minimise(scheduler, each));
  const texts = small.map((each) => `${JSON.stringify(each, undefined, 2)}\n`);
  const keep = process.env['PARITY_KEEP'];
  if (keep !== undefined) texts.forEach((text, at) => writeFileSync(join(keep, `${name}-${SEED}-${at}.json`), text));
  expect(texts.join('\n')).toBe('');
  // Neither so tight nor so wide that agreeing would be easy, and nearly everything is taken by the API server.
  expect(Math.min(some, none)).toBeGreaterThan(questions.length);
  expect(some + none).toBeGreaterThan((isNewestMinor() ? 10 : 5) * questions.length);
}
