/**
 * `npm run soak -- --seeds N --loops M [--first S] [--json]`: many seeds, each in a world of its own. Seeds run in child
 * processes by the dozen, because daemons that were killed on purpose keep their memory until their process ends.
 */
import { fork } from 'node:child_process';
import { parseArgs } from 'node:util';
import { soak, type SoakResult } from './soak.ts';

const CHUNK = 10;

interface Order {
  readonly first: number;
  readonly count: number;
  readonly loops: number;
}

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '20' },
    loops: { type: 'string', default: '200' },
    first: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
  },
});

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

if (process.send === undefined) {
  process.exitCode = await direct({ first: Number(values.first), count: Number(values.seeds), loops: Number(values.loops) });
} else {
  process.once('message', (order: Order) => {
    work(order).then(
      () => process.exit(0),
      (error: unknown) => {
        process.stderr.write(`${String(error instanceof Error ? error.stack : error)}\n`);
        process.exit(1);
      },
    );
  });
}

async function work({ first, count, loops }: Order): Promise<void> {
  for (let seed = first; seed < first + count; seed++) {
    const result = await soak(seed, loops).catch((error: unknown) => crashed(seed, error));
    await new Promise<void>((resolve) => process.send?.(result, () => resolve()));
  }
}

function crashed(seed: number, error: unknown): SoakResult {
  const crash = String(error instanceof Error ? error.stack : error);
  return {
    seed,
    loops: 0,
    faults: 0,
    violations: [],
    unplannedRemovals: [],
    stuckGroups: [],
    unrest: [],
    convergedAfterMs: undefined,
    writes: [],
    crash,
  };
}

async function direct(order: Order): Promise<number> {
  const results: SoakResult[] = [];
  for (let first = order.first; first < order.first + order.count; first += CHUNK) {
    await inChild({ ...order, first, count: Math.min(CHUNK, order.first + order.count - first) }, (result) => {
      results.push(result);
      if (!values.json || isBad(result)) say(describe(result));
    });
  }
  const sum = (of: (result: SoakResult) => number): number => results.reduce((total, result) => total + of(result), 0);
  const bad = results.filter(isBad);
  if (bad.length > 0) say(`seeds that failed: ${bad.map(({ seed }) => seed).join(' ')}`);
  say(
    JSON.stringify({
      seeds: results.length,
      loops: sum(({ loops }) => loops),
      faults: sum(({ faults }) => faults),
      violations: sum(({ violations }) => violations.length),
      unplannedRemovals: sum(({ unplannedRemovals }) => unplannedRemovals.length),
      stuckGroups: sum(({ stuckGroups }) => stuckGroups.length),
    }),
  );
  return bad.length > 0 || results.length < order.count ? 1 : 0;
}

function inChild(order: Order, onResult: (result: SoakResult) => void): Promise<void> {
  return new Promise((resolve) => {
    const child = fork(import.meta.filename, [], { execArgv: ['--disable-warning=ExperimentalWarning'] });
    child.on('message', (result: SoakResult) => onResult(result));
    child.once('exit', () => resolve());
    child.send(order);
  });
}

function isBad(result: SoakResult): boolean {
  const { violations, unplannedRemovals, convergedAfterMs, crash } = result;
  return crash !== undefined || violations.length > 0 || unplannedRemovals.length > 0 || convergedAfterMs === undefined;
}

function describe({ seed, loops, faults, writes, convergedAfterMs, ...bad }: SoakResult): string {
  const rest = convergedAfterMs === undefined ? 'NEVER AT REST' : `at rest after ${Math.round(convergedAfterMs / 1000)} s`;
  const details = [...bad.violations, ...bad.unplannedRemovals.map((id) => `unplanned ${id}`), ...bad.unrest, bad.crash ?? ''];
  return [
    `seed ${seed}: ${loops} loops, ${faults} misfortunes, ${writes.length} writes, ${rest}`,
    ...details.filter((line) => line !== ''),
  ].join('\n  ');
}
