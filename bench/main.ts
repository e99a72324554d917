/**
 * Runs the benchmarks and prints a table with median and spread. Speed and memory are shown here and nowhere else; no
 * test is timed. `npm run bench -- cache` runs one of them, `--json` prints the rows as JSON.
 */
import { parseArgs } from 'node:util';
import { AutoscalerError } from '../src/lib/errors.ts';
import type { BenchRow } from './row.ts';

const SUITES: Readonly<Record<string, () => Promise<readonly BenchRow[]>>> = {
  cache: async () => (await import('./cache.bench.ts')).cacheBench(),
  estimate: async () => (await import('./estimate.bench.ts')).estimateBench(),
  peer: async () => (await import('./peer.bench.ts')).peerBench(peerOptions()),
  turns: async () => (await import('./turns.bench.ts')).turnsBench(),
  mixed: async () => (await import('./mixed.bench.ts')).mixedBench(),
  growth: async () => (await import('./mixed.bench.ts')).growthBench(),
  loop: async () => (await import('./loop.bench.ts')).loopBench(),
  'scale-down': async () => (await import('./scale-down.bench.ts')).scaleDownBench(),
  'plan-file': async () => (await import('./plan-file.bench.ts')).planFileBench(),
  idle: async () => (await import('./idle.bench.ts')).idleBench(values.beside),
  big: async () => (await import('./big/big.bench.ts')).bigBench(bigOptions()),
  drain: async () => (await import('./big/drain.bench.ts')).drainBench(bigOptions()),
  cycles: async () => (await import('./big/cycles.bench.ts')).cyclesBench({ cycles: Number(values.cycles), profileDir: values.profile }),
  record: async () => (await import('./record.bench.ts')).recordBench(),
  bundle: async () => (await import('./bundle.bench.ts')).bundleBench(),
  sharing: async () => (await import('./sharing.bench.ts')).sharingBench(),
  sizing: async () => (await import('./sizing.bench.ts')).sizingBench(),
  reflectors: async () => (await import('./reflectors.bench.ts')).reflectorsBench(),
};

/** Take minutes, or gigabytes: they run only by their names. */
const ONLY_BY_NAME = new Set(['big', 'cycles', 'drain', 'idle', 'record']);

const text = { type: 'string' } as const;
const OPTIONS = {
  json: { type: 'boolean' },
  help: { type: 'boolean' },
  'rival-results': text,
  'write-baseline': { type: 'boolean', default: false },
  beside: text,
  nodes: { ...text, default: '5000' },
  pods: { ...text, default: '150000' },
  burst: { ...text, default: '1000' },
  speed: { ...text, default: '10' },
  cycles: { ...text, default: '30' },
  profile: text,
} as const;
const USAGE = `npm run bench -- [NAME ...] [--json]; names: ${Object.keys(SUITES).join(', ')}. CONTRIBUTING.md says what each measures.`;

const { values, positionals: wanted } = readArguments();
const asJson = values.json === true;
if (values.help === true) {
  process.stdout.write(`${USAGE}\n`);
  process.exit(0);
}
const unknown = wanted.filter((name) => !(name in SUITES));
if (unknown.length > 0) refuse(`Unknown benchmark "${unknown.join('", "')}". ${USAGE}`);

const rows: BenchRow[] = [];
for (const [name, run] of Object.entries(SUITES)) {
  if (wanted.length > 0 ? !wanted.includes(name) : ONLY_BY_NAME.has(name)) continue;
  if (!asJson) process.stderr.write(`running ${name} ...\n`);
  rows.push(...(await rowsOf(run)));
}
process.stdout.write(asJson ? `${JSON.stringify(rows.map((row) => row.facts ?? summarize(row)))}\n` : table(rows));

/** What a suite refuses to run with is said in one line. */
async function rowsOf(run: () => Promise<readonly BenchRow[]>): Promise<readonly BenchRow[]> {
  try {
    return await run();
  } catch (thrown) {
    if (!(thrown instanceof AutoscalerError) || thrown.kind !== 'config') throw thrown;
    return refuse(thrown.message);
  }
}

function readArguments() {
  try {
    return parseArgs({ allowPositionals: true, options: OPTIONS });
  } catch (thrown) {
    return refuse(`${thrown instanceof Error ? thrown.message : String(thrown)}. ${USAGE}`);
  }
}

function refuse(sentence: string): never {
  process.stderr.write(`${sentence}\n`);
  process.exit(2);
}

function peerOptions() {
  return { rivalFile: values['rival-results'], writesBaseline: values['write-baseline'] };
}

function bigOptions() {
  const { nodes, pods, burst, speed, profile } = values;
  return { nodes: Number(nodes), pods: Number(pods), burst: Number(burst), speed: Number(speed), profileDir: profile };
}

function summarize(row: BenchRow) {
  const sorted = [...row.samples].sort((left, right) => left - right);
  const at = (fraction: number): number => sorted[Math.min(sorted.length - 1, Math.floor(fraction * sorted.length))] ?? Number.NaN;
  return { name: row.name, unit: row.unit, runs: sorted.length, median: at(0.5), min: at(0), max: at(1), note: row.note ?? '' };
}

function table(all: readonly BenchRow[]): string {
  const lines = all
    .map(summarize)
    .map((row) => [row.name, number(row.median), number(row.min), number(row.max), row.unit, String(row.runs), row.note]);
  const grid = [['benchmark', 'median', 'min', 'max', 'unit', 'runs', 'note'], ...lines];
  const widths = grid[0]?.map((_, column) => Math.max(...grid.map((line) => (line[column] ?? '').length))) ?? [];
  return grid
    .map(
      (line) =>
        `${line
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

function number(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3);
}
