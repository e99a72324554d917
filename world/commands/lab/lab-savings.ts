/**
 * `lab savings`: what each feature that is about money brings, as pairs of runs with and without it on the same loads and seeds. Must not know how
 * a run is made.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { EXIT_FAILED, EXIT_OK, stopSignals, type Terminal } from '../../../src/cli/process/process.ts';
import { wrongArguments } from '../../../src/cli/process/wrong-arguments.ts';
import { configError } from '../../../src/lib/errors.ts';
import { NO_CONTRACT } from '../../lab/judge/price-list.ts';
import type { RunResult } from '../../lab/judge/run-figures.ts';
import { SAVING_STUDIES, type SavingStudy, type StudySide } from '../../lab/studies/saving-studies.ts';
import { studyFigures, studyProblems, type StudyResults, studyTable } from '../../lab/studies/study-table.ts';
import { wholeNumber } from './lab-options.ts';
import { runAll, type RunOrder, type StartRun } from './run-orders.ts';

const EXIT_STOPPED = 130;
const DEFAULT_SEEDS = 3;
const HOUR_MS = 3_600_000;

interface SavingsOptions {
  readonly studies: readonly SavingStudy[];
  readonly seeds: readonly number[];
  readonly jobs: number;
  /** The file for the results; undefined: none. */
  readonly out: string | undefined;
}

/** @returns the exit code: 1 if a run broke what holds for every policy. @throws AutoscalerError `config` for wrong arguments. */
export async function runSavings(argv: readonly string[], terminal: Terminal, start: StartRun): Promise<number> {
  const options = parse(argv);
  const dir = mkdtempSync(join(tmpdir(), 'lab-savings-'));
  try {
    const results = await resultsOf(options, { terminal, start, dir });
    if (results === undefined) return EXIT_STOPPED;
    if (options.out !== undefined) writeFileSync(options.out, `${JSON.stringify(results, undefined, 2)}\n`);
    const problems = studyProblems(results);
    terminal.out(`${[...studyTable(results), ...problems].join('\n')}\n`);
    return problems.length === 0 ? EXIT_OK : EXIT_FAILED;
  } finally {
    rmSync(dir, { recursive: true });
  }
}

function parse(argv: readonly string[]): SavingsOptions {
  const { values } = parsed(argv);
  const first = wholeNumber('--first-seed', values['first-seed'] ?? '1', { least: 0, most: 1_000_000 });
  const count = wholeNumber('--seeds', values.seeds ?? String(DEFAULT_SEEDS), { least: 1, most: 100 });
  return {
    studies: values.study === undefined ? SAVING_STUDIES : values.study.map(studyOf),
    seeds: Array.from({ length: count }, (_, at) => first + at),
    jobs: values.jobs === undefined ? availableParallelism() : wholeNumber('--jobs', values.jobs, { least: 1, most: 256 }),
    out: values.out,
  };
}

function parsed(argv: readonly string[]) {
  const text = { type: 'string' } as const;
  const study = { type: 'string', multiple: true } as const;
  try {
    return parseArgs({ args: [...argv], options: { study, seeds: text, 'first-seed': text, jobs: text, out: text } });
  } catch (cause) {
    throw wrongArguments(cause, 'lab');
  }
}

function studyOf(name: string): SavingStudy {
  const found = SAVING_STUDIES.find((study) => study.name === name);
  if (found !== undefined) return found;
  throw configError(`--study is "${name}"; the studies are ${SAVING_STUDIES.map((study) => study.name).join(', ')}.`);
}

interface RunDeps {
  readonly terminal: Terminal;
  readonly start: StartRun;
  /** For the files of the policies. */
  readonly dir: string;
}

/** undefined: a signal stopped the runs. */
async function resultsOf({ studies, seeds, jobs }: SavingsOptions, deps: RunDeps): Promise<StudyResults | undefined> {
  const sides = new Map(studies.flatMap((study) => [study.without, study.with]).map((side) => [keyOf(side), side]));
  const orders = seeds.flatMap((seed) => [...sides.values()].map((side, at) => orderOf(side, { seed, name: `p${at}`, dir: deps.dir })));
  const runs = await runUntilStopped(orders, jobs, deps);
  if (runs === undefined) return undefined;
  const bySide = new Map(
    [...sides.keys()].map((key, at) => [
      key,
      new Map(runs.filter(({ policy }) => policy === `p${at}`).map((run) => [run.seed, run.figures])),
    ]),
  );
  const figuresOf = (side: StudySide, seed: number) => {
    const figures = bySide.get(keyOf(side))?.get(seed);
    return figures === undefined ? [] : [figures];
  };
  return {
    command: commandOf(seeds),
    seeds,
    currency: 'USD',
    studies: studies.map((study) => {
      const pairs = seeds.flatMap((seed) =>
        figuresOf(study.without, seed).flatMap((without) => figuresOf(study.with, seed).map((other) => ({ without, with: other }))),
      );
      return { name: study.name, what: study.what, scenario: study.with.scenario, hours: study.with.hours, figures: studyFigures(pairs) };
    }),
  };
}

function commandOf(seeds: readonly number[]): string {
  const more = [
    ...(seeds.length === DEFAULT_SEEDS ? [] : [` --seeds ${seeds.length}`]),
    ...(seeds[0] === 1 ? [] : [` --first-seed ${seeds[0] ?? 1}`]),
  ];
  return `npm run --silent cli -- lab savings${more.join('')}`;
}

function keyOf({ scenario, config }: StudySide): string {
  return `${scenario} ${JSON.stringify(config)}`;
}

interface OrderInput {
  readonly seed: number;
  readonly name: string;
  readonly dir: string;
}

/** JSON is YAML. */
function orderOf({ scenario, fromHour, hours, config }: StudySide, { seed, name, dir }: OrderInput): RunOrder {
  const file = join(dir, `${name}.yaml`);
  writeFileSync(file, JSON.stringify(config));
  return {
    scenario: { name: scenario, path: undefined, days: 1, window: { fromMs: fromHour * HOUR_MS, durationMs: hours * HOUR_MS }, limits: {} },
    seed,
    contestant: { kind: 'policy', name, file },
    contract: NO_CONTRACT,
    realTimeSpeed: undefined,
  };
}

async function runUntilStopped(
  orders: readonly RunOrder[],
  jobs: number,
  { terminal, start }: RunDeps,
): Promise<readonly RunResult[] | undefined> {
  const signals = stopSignals(terminal.signals);
  const stop = new AbortController();
  void signals.stopped.then(() => stop.abort());
  try {
    const runs = await runAll({
      orders,
      jobs,
      start,
      signal: stop.signal,
      onRun: ({ scenario, seed }, over) => terminal.err(`${scenario.name}, seed ${seed}: done (${over} of ${orders.length} runs)\n`),
      onProgress: () => undefined,
    });
    return stop.signal.aborted ? undefined : runs;
  } finally {
    signals.release();
  }
}
