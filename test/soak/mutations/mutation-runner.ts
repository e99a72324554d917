/**
 * `npm run soak -- --mutations`: removes each guard of the daemon in turn, in a copy of the repository, and runs what must notice. The
 * checkout is never changed. First everything runs once with all guards in place, unless it has just passed: a run that fails anyway notices
 * nothing.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { Copy } from './copy.ts';
import { RUN_LOOPS, type Guard } from './guard.ts';
import { findMarks, GUARDS } from './guards.ts';
import { markedStatements, removeGuard } from './marked-statements.ts';
import type { FileResult } from './test-process.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
/** One run each. A run has one busy process and is mostly its start. */
const MOST_COPIES = 4;

export interface MutationOptions {
  /** Only the tests of the gate. */
  readonly quick: boolean;
  /** Another step has run all tests of this checkout with all guards in place, and they are judged there. */
  readonly tested: boolean;
  /** Only guards whose title contains this text. */
  readonly guard?: string | undefined;
  readonly json: boolean;
}

/** `failed`: names of what noticed; empty: nothing did. */
interface Outcome {
  readonly failed: readonly string[];
  /** The run could not be judged: for example, the mutated file is no program. */
  readonly broken?: string;
}

/** @returns the exit code: 1 if a guard can be lost without notice. */
export async function runMutations(
  { quick, tested, guard: text = '', json }: MutationOptions,
  print: (line: string) => void,
): Promise<number> {
  const chosen = GUARDS.filter((guard) => guard.title.includes(text) && (!quick || guard.quick === true));
  const copies = Array.from({ length: Math.min(availableParallelism(), MOST_COPIES) }, () => new Copy(ROOT));
  try {
    const proofs = chosen.flatMap((guard) => proofsOf(guard, quick));
    const unfit = await baseline(copies, tested ? proofs.filter(({ test }) => test === undefined) : proofs, print);
    const marks = findMarks(ROOT);
    let unnoticed = 0;
    await eachIn(copies, proofs, async (copy, proof) => {
      const outcome = unfit.has(proof.name)
        ? { failed: [], broken: 'it fails with all guards in place' }
        : await mutate(copy, marks.get(proof.guard.title) ?? [], proof);
      const isNoticed = outcome.broken === undefined && outcome.failed.length > 0;
      if (!isNoticed) unnoticed++;
      print(json ? JSON.stringify({ guard: proof.guard.title, by: proof.name, noticed: isNoticed, ...outcome }) : describe(proof, outcome));
    });
    print(JSON.stringify({ guards: chosen.length, runs: proofs.length, unnoticed }));
    return unnoticed > 0 || proofs.length === 0 ? 1 : 0;
  } finally {
    await Promise.all(copies.map((copy) => copy.end()));
  }
}

/** Each copy takes the next item when it is free. */
async function eachIn<Item>(
  copies: readonly Copy[],
  items: readonly Item[],
  act: (copy: Copy, item: Item) => Promise<void>,
): Promise<void> {
  const queue = [...items];
  const work = async (copy: Copy): Promise<void> => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await act(copy, item);
  };
  await Promise.all(copies.map(work));
}

interface Proof {
  readonly guard: Guard;
  readonly name: string;
  /** The test file, unless a run of the soak is the proof. */
  readonly test?: string;
  /** `changed`: the source that lacks the guard. */
  readonly run: (copy: Copy, changed?: string) => Promise<Outcome>;
}

function proofsOf(guard: Guard, quick: boolean): readonly Proof[] {
  const { test, row, run } = guard;
  const name = row === undefined ? test : `${test}, ${row}`;
  const tests = test === undefined ? [] : [{ guard, name: name ?? test, test, run: runTest(test, row) }];
  if (run === undefined || quick) return tests;
  const { theme, seed } = run;
  const args = ['--theme', theme, '--first', String(seed), '--seeds', '1', '--loops', String(RUN_LOOPS), '--json'];
  return [...tests, { guard, name: `${theme} ${seed}`, run: (copy) => runSoak(copy, args) }];
}

/** Names of proofs that fail without any mutation. All test files run at once: most of the time of a single one goes by before it begins. */
async function baseline(copies: readonly Copy[], proofs: readonly Proof[], print: (line: string) => void): Promise<ReadonlySet<string>> {
  const unfit = new Set<string>();
  const note = (name: string, { failed, broken }: Outcome): void => {
    if (failed.length === 0 && broken === undefined) return;
    unfit.add(name);
    print(`${name} fails with all guards in place: ${broken ?? failed.join('; ')}`);
  };
  const each = [...new Map(proofs.map((proof) => [proof.name, proof])).values()];
  const files = [...new Set(each.flatMap(({ test }) => test ?? []))];
  const results = files.length === 0 ? [] : ((await copies[0]?.runTests({ files, isShort: false })) ?? []);
  for (const { name, test, guard } of each) {
    if (test !== undefined)
      note(
        name,
        outcomeOf(
          results.filter(({ file }) => file === test),
          guard.row,
        ),
      );
  }
  const runs = each.filter(({ test }) => test === undefined);
  await eachIn(copies, runs, async (place, { name, run }) => note(name, await run(place)));
  return unfit;
}

/** `files`: those that have the mark of the guard. */
async function mutate(copy: Copy, [file, ...others]: readonly string[], { guard, run }: Proof): Promise<Outcome> {
  if (file === undefined || others.length > 0) return { failed: [], broken: 'the sources do not have its mark exactly once' };
  const path = join(copy.folder, file);
  const whole = readFileSync(path, 'utf8');
  const marked = markedStatements(whole).find(({ title }) => title === guard.title);
  const changed = marked === undefined ? undefined : removeGuard(whole, marked, guard.change);
  if (changed === undefined) return { failed: [], broken: `its change does not fit the statement that is marked in ${file}` };
  try {
    writeFileSync(path, changed);
    return await run(copy, file);
  } finally {
    writeFileSync(path, whole);
  }
}

/** Ends with the first test that fails. */
function runTest(test: string, row: string | undefined): Proof['run'] {
  return async (copy, changed) => {
    const order = { files: [test], isShort: true, ...(row === undefined ? {} : { row }), ...(changed === undefined ? {} : { changed }) };
    return outcomeOf(await copy.runTests(order), row);
  };
}

function outcomeOf(results: readonly FileResult[], row = ''): Outcome {
  const tests = results.flatMap((result) => result.tests).filter(({ name }) => name.includes(row));
  const failed = tests.filter(({ status }) => status === 'failed').map(({ name }) => name);
  if (failed.length > 0 || tests.some(({ status }) => status === 'passed')) return { failed };
  return { failed, broken: results[0]?.message?.split('\n')[0] ?? 'no test ran' };
}

interface SoakLine {
  readonly violations: readonly string[];
  readonly unplannedRemovals: readonly string[];
  readonly unrest: readonly string[];
  readonly crash?: string;
}

async function runSoak(copy: Copy, args: readonly string[]): Promise<Outcome> {
  const output = await copy.runProgram(['--disable-warning=ExperimentalWarning', 'test/soak/main.ts', ...args]);
  const first = output.split('\n')[0] ?? '';
  if (!first.startsWith('{"seed"')) return { failed: [], broken: first === '' ? 'the run ended without a result' : first };
  const { violations, unplannedRemovals, unrest, crash } = JSON.parse(first) as SoakLine;
  const failed = [...violations, ...unplannedRemovals, ...unrest].slice(0, 2);
  return crash === undefined ? { failed } : { failed, broken: crash.split('\n')[0] ?? '' };
}

function describe({ guard, name }: Proof, { failed, broken }: Outcome): string {
  if (broken !== undefined) return `NOT JUDGED ${guard.title}: ${name}: ${broken}`;
  return failed.length === 0 ? `UNNOTICED ${guard.title}: ${name} passes without it` : `${guard.title}: ${name}: ${failed[0] ?? ''}`;
}
