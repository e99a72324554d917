/**
 * `npm run soak -- --mutations`: removes each guard of the daemon in turn, in a copy of the repository, and runs what must notice. The
 * checkout is never changed. First everything runs once with all guards in place: a run that fails anyway notices nothing.
 */
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { RUN_LOOPS, type Guard } from './guard.ts';
import { findMarks, GUARDS } from './guards.ts';
import { markedStatements, removeGuard } from './marked-statements.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const VITEST = join('node_modules', 'vitest', 'vitest.mjs');
/** A mutated program may not end. Milliseconds of the machine. */
const LIMIT_MS = 15 * 60_000;
/** One run each. A run has one busy process and is mostly its start. */
const MOST_COPIES = 4;

export interface MutationOptions {
  /** Only the tests of the gate. */
  readonly quick: boolean;
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
export async function runMutations({ quick, guard: text = '', json }: MutationOptions, print: (line: string) => void): Promise<number> {
  const chosen = GUARDS.filter((guard) => guard.title.includes(text) && (!quick || guard.quick === true));
  const copies = Array.from({ length: Math.min(availableParallelism(), MOST_COPIES) }, copyRepository);
  try {
    const proofs = chosen.flatMap((guard) => proofsOf(guard, quick));
    const unfit = await baseline(copies, proofs, print);
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
    for (const copy of copies) rmSync(copy, { recursive: true, force: true });
  }
}

/** Each copy takes the next item when it is free. */
async function eachIn<Item>(
  copies: readonly string[],
  items: readonly Item[],
  act: (copy: string, item: Item) => Promise<void>,
): Promise<void> {
  const queue = [...items];
  const work = async (copy: string): Promise<void> => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await act(copy, item);
  };
  await Promise.all(copies.map(work));
}

interface Proof {
  readonly guard: Guard;
  readonly name: string;
  /** The test file, unless a run of the soak is the proof. */
  readonly test?: string;
  readonly run: (copy: string) => Promise<Outcome>;
}

function proofsOf(guard: Guard, quick: boolean): readonly Proof[] {
  const { test, row, run } = guard;
  const name = row === undefined ? test : `${test}, ${row}`;
  const tests = test === undefined ? [] : [{ guard, name: name ?? test, test, run: (copy: string) => runTest(copy, test, row) }];
  if (run === undefined || quick) return tests;
  const { theme, seed } = run;
  const args = ['--theme', theme, '--first', String(seed), '--seeds', '1', '--loops', String(RUN_LOOPS), '--json'];
  return [...tests, { guard, name: `${theme} ${seed}`, run: (copy) => runSoak(copy, args) }];
}

function copyRepository(): string {
  const copy = mkdtempSync(join(tmpdir(), 'aks-autoscaler-mutations-'));
  const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: ROOT, encoding: 'utf8' });
  for (const file of files.split('\0').filter((name) => name !== '')) cpSync(join(ROOT, file), join(copy, file), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

/** Names of proofs that fail without any mutation. All test files run at once: most of the time of a single one goes by before it begins. */
async function baseline(copies: readonly string[], proofs: readonly Proof[], print: (line: string) => void): Promise<ReadonlySet<string>> {
  const unfit = new Set<string>();
  const note = (name: string, { failed, broken }: Outcome): void => {
    if (failed.length === 0 && broken === undefined) return;
    unfit.add(name);
    print(`${name} fails with all guards in place: ${broken ?? failed.join('; ')}`);
  };
  const each = [...new Map(proofs.map((proof) => [proof.name, proof])).values()];
  const files = [...new Set(each.flatMap(({ test }) => test ?? []))];
  const [copy = ROOT] = copies;
  const results = files.length === 0 ? [] : await testResults(copy, files);
  for (const { name, test, guard } of each) {
    if (test !== undefined)
      note(
        name,
        outcomeOf(
          results.filter((result) => result.name === join(copy, test)),
          guard.row,
        ),
      );
  }
  const runs = each.filter(({ test }) => test === undefined);
  await eachIn(copies, runs, async (place, { name, run }) => note(name, await run(place)));
  return unfit;
}

/** `files`: those that have the mark of the guard. */
async function mutate(copy: string, [file, ...others]: readonly string[], { guard, run }: Proof): Promise<Outcome> {
  if (file === undefined || others.length > 0) return { failed: [], broken: 'the sources do not have its mark exactly once' };
  const path = join(copy, file);
  const whole = readFileSync(path, 'utf8');
  const marked = markedStatements(whole).find(({ title }) => title === guard.title);
  const changed = marked === undefined ? undefined : removeGuard(whole, marked, guard.change);
  if (changed === undefined) return { failed: [], broken: `its change does not fit the statement that is marked in ${file}` };
  try {
    writeFileSync(path, changed);
    return await run(copy);
  } finally {
    writeFileSync(path, whole);
  }
}

interface TestResult {
  /** The path of the file. */
  readonly name: string;
  readonly message?: string;
  readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
}

/** Ends with the first test that fails. */
async function runTest(copy: string, test: string, row: string | undefined): Promise<Outcome> {
  const rows = row === undefined ? [] : ['-t', row.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')];
  return outcomeOf(await testResults(copy, ['--maxWorkers=1', '--bail=1', test, ...rows]), row);
}

async function testResults(copy: string, args: readonly string[]): Promise<readonly TestResult[]> {
  const report = join(copy, 'mutation-report.json');
  rmSync(report, { force: true });
  await ended(copy, [VITEST, 'run', '--reporter=json', `--outputFile=${report}`, ...args]);
  try {
    return (JSON.parse(readFileSync(report, 'utf8')) as { readonly testResults: readonly TestResult[] }).testResults;
  } catch {
    return [];
  }
}

function outcomeOf(results: readonly TestResult[], row = ''): Outcome {
  const tests = results.flatMap(({ assertionResults }) => assertionResults).filter(({ fullName }) => fullName.includes(row));
  const failed = tests.filter(({ status }) => status === 'failed').map(({ fullName }) => fullName);
  if (failed.length > 0 || tests.some(({ status }) => status === 'passed')) return { failed };
  return { failed, broken: results[0]?.message?.split('\n')[0] ?? 'no test ran' };
}

interface SoakLine {
  readonly violations: readonly string[];
  readonly unplannedRemovals: readonly string[];
  readonly unrest: readonly string[];
  readonly crash?: string;
}

async function runSoak(copy: string, args: readonly string[]): Promise<Outcome> {
  const output = await ended(copy, ['--disable-warning=ExperimentalWarning', 'test/soak/main.ts', ...args]);
  const first = output.split('\n')[0] ?? '';
  if (!first.startsWith('{"seed"')) return { failed: [], broken: first === '' ? 'the run ended without a result' : first };
  const { violations, unplannedRemovals, unrest, crash } = JSON.parse(first) as SoakLine;
  const failed = [...violations, ...unplannedRemovals, ...unrest].slice(0, 2);
  return crash === undefined ? { failed } : { failed, broken: crash.split('\n')[0] ?? '' };
}

/** What the program printed, whatever its end. */
function ended(cwd: string, args: readonly string[]): Promise<string> {
  return new Promise((done, reject) => {
    const child = spawn(process.execPath, args, { cwd, timeout: LIMIT_MS, stdio: ['ignore', 'pipe', 'ignore'] });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString('utf8');
    });
    child.once('error', reject);
    child.once('close', () => done(output));
  });
}

function describe({ guard, name }: Proof, { failed, broken }: Outcome): string {
  if (broken !== undefined) return `NOT JUDGED ${guard.title}: ${name}: ${broken}`;
  return failed.length === 0 ? `UNNOTICED ${guard.title}: ${name} passes without it` : `${guard.title}: ${name}: ${failed[0] ?? ''}`;
}
