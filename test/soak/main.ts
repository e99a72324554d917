/**
 * `npm run soak -- --seeds N --loops M [--first S] [--json]`: many seeds, each in a world of its own.
 * `npm run soak -- --deaths [--life NAME] [--first K] [--seeds N] [--json]`: short lives, each ended at another call of the daemon
 * and taken up by a new one, through all its calls.
 * `npm run soak -- --themes [--theme NAME] [--seeds N] [--loops M]`: runs that each assault one guard of the daemon; `--guards`: those
 * that are known to fail without one.
 * Runs share child processes by the dozen, because daemons that were killed on purpose keep their memory until their process ends.
 */
import { fork } from 'node:child_process';
import { parseArgs } from 'node:util';
import { deathsOf, die, LIVES, type Life } from './every-death.ts';
import { immortal } from './deaths.ts';
import { soak, undergo, type SoakResult } from './soak.ts';
import { GUARDS, themed } from './themed.ts';
import { THEMES, type ThemeName } from './themes.ts';

const CHUNK = 10;

interface Order {
  readonly first: number;
  readonly count: number;
  readonly loops: number;
  /** Instead of random scenarios: the deaths of this life, `first` being the number of one of them, from 1. */
  readonly life: Life | undefined;
  /** Instead of scenarios of every kind: of this one. */
  readonly theme?: ThemeName;
}

const { values } = parseArgs({
  options: {
    seeds: { type: 'string' },
    deaths: { type: 'boolean', default: false },
    life: { type: 'string' },
    themes: { type: 'boolean', default: false },
    theme: { type: 'string' },
    guards: { type: 'boolean', default: false },
    loops: { type: 'string', default: '200' },
    first: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
  },
});

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

if (process.send === undefined) {
  process.exitCode = await direct(await ordersOf());
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

async function ordersOf(): Promise<readonly Order[]> {
  if (values.deaths) return deathOrders();
  if (values.guards) return GUARDS.map(({ seed, loops, theme }) => ({ first: seed, count: 1, loops, life: undefined, theme }));
  return values.themes || values.theme !== undefined ? themeOrders() : seedOrders();
}

function inChunks({ first, count, ...order }: Order): readonly Order[] {
  return Array.from({ length: Math.ceil(count / CHUNK) }, (_, index) => ({
    ...order,
    first: first + index * CHUNK,
    count: Math.min(CHUNK, count - index * CHUNK),
  }));
}

function seedOrders(): readonly Order[] {
  const { seeds = '20', loops, first } = values;
  return inChunks({ first: Number(first), count: Number(seeds), loops: Number(loops), life: undefined });
}

function themeOrders(): readonly Order[] {
  const { seeds = '1', loops, first, theme } = values;
  const names = Object.keys(THEMES).filter((name): name is ThemeName => theme === undefined || name === theme);
  return names.flatMap((name) =>
    inChunks({ first: Number(first), count: Number(seeds), loops: Number(loops), life: undefined, theme: name }),
  );
}

async function deathOrders(): Promise<readonly Order[]> {
  const { life, first, seeds } = values;
  const lives = LIVES.filter((name) => life === undefined || name === life);
  const orders: Order[] = [];
  for (const name of lives) {
    const { deaths } = await deathsOf(name);
    const count = Math.min(deaths.length - Number(first) + 1, Number(seeds ?? deaths.length));
    orders.push(...inChunks({ first: Number(first), count, loops: 0, life: name }));
  }
  return orders;
}

async function work({ first, count, loops, life, theme }: Order): Promise<void> {
  const deaths = life === undefined ? [] : (await deathsOf(life)).deaths;
  for (let seed = first; seed < first + count; seed++) {
    const death = deaths[seed - 1];
    const lived =
      theme !== undefined
        ? undergo(themed(theme, seed, loops), immortal())
        : life === undefined || death === undefined
          ? soak(seed, loops)
          : die(life, death).then((result) => ({ ...result, seed }));
    const result = await lived.catch((error: unknown) => crashed(seed, error));
    await new Promise<void>((resolve) => process.send?.(result, () => resolve()));
  }
}

function crashed(seed: number, error: unknown): SoakResult {
  const crash = String(error instanceof Error ? error.stack : error);
  return {
    seed,
    loops: 0,
    faults: 0,
    deaths: [],
    violations: [],
    unplannedRemovals: [],
    stuckGroups: [],
    unrest: [],
    convergedAfterMs: undefined,
    writes: [],
    crash,
  };
}

async function direct(orders: readonly Order[]): Promise<number> {
  const results: SoakResult[] = [];
  for (const order of orders) {
    await inChild(order, (result) => {
      results.push(result);
      if (!values.json || isBad(result)) say(`${order.theme ?? order.life ?? ''} ${describe(result)}`.trimStart());
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
  return bad.length > 0 || results.length < orders.reduce((total, { count }) => total + count, 0) ? 1 : 0;
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

function describe(result: SoakResult): string {
  const { seed, loops, faults, deaths, writes, convergedAfterMs, ...bad } = result;
  const rest = convergedAfterMs === undefined ? 'NEVER AT REST' : `at rest after ${Math.round(convergedAfterMs / 1000)} s`;
  const details = [
    ...(isBad(result) ? deaths : []),
    ...bad.violations,
    ...bad.unplannedRemovals.map((id) => `unplanned ${id}`),
    ...bad.unrest,
    bad.crash ?? '',
  ];
  return [
    `seed ${seed}: ${loops} loops, ${faults} misfortunes, ${deaths.length} deaths, ${writes.length} writes, ${rest}`,
    ...details.filter((line) => line !== ''),
  ].join('\n  ');
}
