/**
 * `lab run`: compares policies over a scenario, in virtual time and with the production daemon, and writes a report. Must not know how
 * a run is made or judged.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { defined } from '../../../src/lib/defined.ts';
import { configError } from '../../../src/lib/errors.ts';
import { compareRuns } from '../../lab/judge/comparison.ts';
import type { RunResult } from '../../lab/judge/run-figures.ts';
import { SCENARIO_NAMES } from '../../lab/loads/scenario-catalogue.ts';
import type { ScenarioWindow } from '../../lab/loads/slice-scenario.ts';
import { htmlReport } from '../../lab/report/html-report.ts';
import { jsonReport, type LabReport } from '../../lab/report/lab-report.ts';
import { pageAssets } from '../../lab/report/page-assets.ts';
import { markdownReport } from '../../lab/report/markdown-report.ts';
import { EXIT_CONFIG, EXIT_OK, stopSignals, systemClock, type Terminal } from '../../../src/cli/process/process.ts';
import { coloursOf } from '../../../src/cli/text/colours.ts';
import { widthOf } from '../../../src/cli/text/text-layout.ts';
import { startChildRun } from './child-runs.ts';
import { parseLabOptions, type LabOptions } from './lab-options.ts';
import { currencyNotes, lengthNotes, realTimeNotes } from './lab-notes.ts';
import { labText } from './lab-text.ts';
import { runSavings } from './lab-savings.ts';
import { workForParent, type LabProgram } from './lab-worker.ts';
import { checkPolicies } from './policy-files.ts';
import { runAll, type Contestant, type RunOrder, type StartRun } from './run-orders.ts';
import { findScenario, loadScenario, type LoadedScenario } from './scenario-source.ts';

const HELP = `Compare policies in a simulated AKS cluster before money is spent. Nothing real is read or written.

Usage: lab run SCENARIO --policy FILE [--policy FILE] [OPTIONS]
       lab savings [--study NAME] [--seeds N] [--first-seed N] [--jobs N] [--out FILE]

\`lab savings\` prints what each feature that is about money brings, as pairs of runs with and without it;
--out FILE keeps the figures as JSON. Exit code 1 if a write was unsafe, or if with repacking more pods
are moved twice in an hour or wait longer.

SCENARIO is a generated load or a file of \`record\`:
${SCENARIO_NAMES.map(({ name, what, days }) => `  ${name.padEnd(14)}${what} (${days} d)`).join('\n')}

  --policy FILE      a configuration of \`run\`, unchanged; the first is the base of the comparison
  --seeds N          number of seeds, which every policy runs (default 5)
  --first-seed N     the first seed (default 1)
  --days N           length of a generated scenario, may be a fraction
  --jobs N           runs at the same time (default: one for each core)
  --out DIR          folder for the report: lab-SCENARIO.html, .md and .json (default: here)
  --json             print the JSON report instead of the text
  --from SPAN        play the scenario from there on, such as 8h or 1d12h
  --for SPAN         play this much of it
  --limits POOL=MIN:MAX
                     nodes of a pool at least and at most, for a recording that lacks them; may be repeated

  --rival NAME=PATH  compare with another autoscaler's binary, such as a Cluster Autoscaler. A binary cannot
                     follow virtual time, so everything runs in real time and at once: --for is 30m by
                     default, --seeds 3
  --rival-flag FLAG  a flag for it, such as --rival-flag=--scale-down-unneeded-time=5m; may be repeated
  --speed N          make the world N times faster than Azure (default 1); timers of programs do not follow

One virtual day of a policy takes a minute to a minute and a half of one core. Ctrl-C stops all runs;
no report is written then.

Exit code: 0 the report is written, 1 a run failed, 2 the arguments or a policy are wrong, 130 stopped.
`;

const EXIT_STOPPED = 130;

interface LabDeps {
  /** The daemon, as the composition root makes it. */
  readonly program: () => Promise<LabProgram>;
  /** If absent, each run is a process. */
  readonly start?: StartRun;
}

/** @returns the exit code. */
export async function run(argv: readonly string[], terminal: Terminal, { program, start = startChildRun }: LabDeps): Promise<number> {
  const [action, ...rest] = argv;
  if (action === undefined || argv.includes('--help') || argv.includes('-h')) {
    terminal.out(HELP);
    return action === undefined ? EXIT_CONFIG : EXIT_OK;
  }
  if (action === 'worker') return workForParent(await program());
  if (action === 'savings') return runSavings(rest, terminal, start);
  if (action !== 'run') throw configError(`"${action}" is not an action of lab; it has two: run, savings.`);
  return runLab(parseLabOptions(rest), terminal, start);
}

async function runLab(options: LabOptions, terminal: Terminal, start: StartRun): Promise<number> {
  const { what, ...found } = findScenario(options.scenario, options.days);
  const { notes, errors, contract, currencies } = checkPolicies(options.policies, terminal);
  for (const error of errors) terminal.err(`${error}\n`);
  if (errors.length > 0) return EXIT_CONFIG;
  const source = { ...found, window: windowOf(options), limits: options.limits };
  const loaded = await loadScenario(source, options.seeds[0] ?? 1);
  const contestants = contestantsOf(options);
  const clock = terminal.clock ?? systemClock;
  const startedMs = clock.now();
  const runs = await runUntilStopped({ orders: ordersOf(options, contestants, { scenario: source, contract }), options, terminal, start });
  if (runs === undefined) return EXIT_STOPPED;
  const report = reportOf({ options, loaded, what, contestants, runs, notes: [...notes, ...currencyNotes(currencies, loaded.scenario)] });
  const files = await writeReport(report, options.out);
  const tookMs = clock.now() - startedMs;
  terminal.out(
    options.json ? jsonReport(report) : labText({ report, tookMs, files, width: widthOf(terminal), colours: coloursOf(terminal) }),
  );
  return EXIT_OK;
}

function ordersOf(
  { seeds, rival }: LabOptions,
  contestants: readonly Contestant[],
  common: Pick<RunOrder, 'scenario' | 'contract'>,
): readonly RunOrder[] {
  return seeds.flatMap((seed) => contestants.map((contestant): RunOrder => ({ ...common, seed, contestant, realTimeSpeed: rival?.speed })));
}

interface ReportInput {
  readonly options: LabOptions;
  readonly loaded: LoadedScenario;
  readonly what: string;
  readonly contestants: readonly Contestant[];
  readonly runs: readonly RunResult[];
  /** About the policies. */
  readonly notes: readonly string[];
}

function reportOf({ options: { rival, policies }, loaded, what, contestants, runs, notes }: ReportInput): LabReport {
  const { name, startMs, durationMs, currency } = loaded.scenario;
  const realTime = rival && { speed: rival.speed, minutes: Math.round(durationMs / rival.speed / MINUTE_MS) };
  const names = contestants.map((contestant) => contestant.name);
  const all = [
    ...(rival === undefined ? [] : realTimeNotes(rival, policies[0]?.name ?? '')),
    ...lengthNotes(loaded.scenario),
    ...loaded.notes,
    ...notes,
    ...runs.flatMap((run) => run.notes),
  ];
  return {
    scenario: { name, what, startMs, durationMs, currency },
    ...defined({ realTime }),
    comparison: compareRuns(names, runs),
    runs,
    notes: [...new Set(all)],
  };
}

function contestantsOf({ policies, rival }: LabOptions): readonly Contestant[] {
  const own = policies.map((policy): Contestant => ({ kind: 'policy', ...policy }));
  return rival === undefined ? own : [...own, { kind: 'rival', name: rival.name, path: rival.path, flags: rival.flags }];
}

const MINUTE_MS = 60_000;
/** In real time a whole scenario would last for days. */
const REAL_TIME_WINDOW_MS = 30 * MINUTE_MS;

function windowOf({ rival, fromMs, forMs }: LabOptions): ScenarioWindow | undefined {
  if (rival === undefined && fromMs === undefined && forMs === undefined) return undefined;
  return { fromMs: fromMs ?? 0, durationMs: forMs ?? (rival === undefined ? Number.MAX_SAFE_INTEGER : REAL_TIME_WINDOW_MS) };
}

interface RunsInput {
  readonly orders: readonly RunOrder[];
  readonly options: LabOptions;
  readonly terminal: Terminal;
  readonly start: StartRun;
}

/** undefined: a signal stopped the runs. */
async function runUntilStopped({ orders, options, terminal, start }: RunsInput): Promise<readonly RunResult[] | undefined> {
  const signals = stopSignals(terminal.signals);
  const stop = new AbortController();
  void signals.stopped.then(() => stop.abort());
  let over = 0;
  let shownTenths = 0;
  try {
    const runs = await runAll({
      orders,
      // In real time they are comparable only if they run at once.
      jobs: options.rival === undefined ? (options.jobs ?? availableParallelism()) : orders.length,
      start,
      signal: stop.signal,
      onRun: ({ contestant, seed }, count) => {
        over = count;
        terminal.err(`${contestant.name}, seed ${seed}: done (${count} of ${orders.length} runs)\n`);
      },
      onProgress: (share) => {
        const tenths = Math.floor(share * 10);
        if (tenths > shownTenths && tenths < 10) terminal.err(`${tenths}0 % of all runs\n`);
        shownTenths = Math.max(shownTenths, tenths);
      },
    });
    if (!stop.signal.aborted) return runs;
    terminal.err(`Stopped after ${over} of ${orders.length} runs; no report was written.\n`);
    return undefined;
  } finally {
    signals.release();
  }
}

/** @returns the paths, the HTML file first. @throws AutoscalerError `config` if the folder cannot be written. */
async function writeReport(report: LabReport, out: string): Promise<readonly string[]> {
  const base = join(out, `lab-${report.scenario.name}`);
  const texts = [
    [`${base}.html`, htmlReport(report, await pageAssets())],
    [`${base}.md`, markdownReport(report)],
    [`${base}.json`, jsonReport(report)],
  ] as const;
  try {
    mkdirSync(out, { recursive: true });
    for (const [path, content] of texts) writeFileSync(path, content);
  } catch (cause) {
    throw configError(
      `--out is "${out}": the report cannot be written (${cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown error'}).`,
      {
        cause,
      },
    );
  }
  return texts.map(([path]) => path);
}
