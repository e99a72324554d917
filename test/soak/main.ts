/**
 * Runs random worlds and judges them from outside. Every run prints a hash of its world and, if it failed, the command that repeats it.
 *
 * `npm run soak -- --seeds N --loops M [--first S] [--json]`: many seeds, each in a world of its own.
 * `npm run soak -- --days N [--first S] [--json]`: days of virtual time, with what they cost.
 * `npm run soak -- --deaths [--life NAME] [--first K] [--seeds N]`: short lives, each ended at another call of the daemon.
 * `npm run soak -- --themes [--theme NAME] [--seeds N] [--loops M]`: runs that each attack one guard of the daemon; `--guards`: those
 * that are known to fail without one.
 * `npm run soak -- --idle N`: how long it takes until N idle nodes are gone, under the default settings.
 * `npm run soak -- --fleet N [--first S] [--json]`: N clusters of one subscription, with a shared store and without one.
 * `npm run soak -- --store-chaos N [--first S]`: N clusters that share a real Redis server, which fails in every way.
 * `npm run soak -- --properties N`: N times as many cases as in `npm test`, for the properties that take seconds.
 * `npm run soak -- --weeks DAYS`: so many days of the two weeks in which clocks change, for schedules; `short`: the days around the changes.
 * `--trace FILE`, with any of these: everything that happens in the worlds, a line each. Two runs of a seed write the same.
 * `npm run soak -- --mutations [--quick] [--tested] [--guard TEXT]`: removes each guard of the daemon in turn, and names what notices.
 * `--tested`: all tests have just passed in this checkout, so they do not run once with all guards first.
 */
import { fork } from 'node:child_process';
import { parseArgs } from 'node:util';
import type { DayResult } from './day/day-run.ts';
import { runMutations } from './mutations/mutation-runner.ts';
import { runFleet, type FleetOrder } from './fleet/fleet.ts';
import { runStoreChaos } from './fleet/store-chaos.ts';
import { removeIdleNodes } from './idle.ts';
import { runProperties } from './properties.ts';
import { ordersOf, replayOf, runsOf, type Order } from './orders.ts';
import type { SoakResult } from './soak.ts';
import { runWeeks } from './weeks/week-run.ts';

type Result = SoakResult | DayResult;

const { values } = parseArgs({
  options: {
    seeds: { type: 'string' },
    deaths: { type: 'boolean', default: false },
    life: { type: 'string' },
    themes: { type: 'boolean', default: false },
    theme: { type: 'string' },
    guards: { type: 'boolean', default: false },
    days: { type: 'string' },
    weeks: { type: 'string' },
    mutations: { type: 'boolean', default: false },
    idle: { type: 'string' },
    fleet: { type: 'string' },
    'store-chaos': { type: 'string' },
    properties: { type: 'string' },
    quick: { type: 'boolean', default: false },
    tested: { type: 'boolean', default: false },
    guard: { type: 'string' },
    trace: { type: 'string' },
    loops: { type: 'string', default: '200' },
    first: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
  },
});

function fleetOrder(clusters: string): FleetOrder {
  return { clusters: Number(clusters), seed: Number(values.first), json: values.json };
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

if (process.send === undefined) {
  if (values.properties !== undefined) process.exitCode = runProperties(Number(values.properties));
  else if (values.weeks !== undefined)
    // As below: what killed daemons leave behind would keep this process alive.
    process.exit(await runWeeks(values.weeks === 'short' ? 'short' : Number(values.weeks), print));
  else if (values.idle !== undefined) process.exitCode = await removeIdleNodes(Number(values.idle), print);
  else if (values.fleet !== undefined) process.exitCode = await runFleet(fleetOrder(values.fleet), print);
  else if (values['store-chaos'] !== undefined)
    process.exitCode = await runStoreChaos(Number(values['store-chaos']), Number(values.first), print);
  else process.exitCode = values.mutations ? await runMutations(values, print) : await direct(await ordersOf(values));
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

async function work(order: Order): Promise<void> {
  for await (const result of runsOf(order)) await new Promise<void>((resolve) => process.send?.(result, () => resolve()));
}

async function direct(orders: readonly Order[]): Promise<number> {
  const results: Result[] = [];
  const failed: string[] = [];
  for (const order of orders) {
    await inChild(order, (result) => {
      results.push(result);
      if (isBad(result)) failed.push(replayOf(order, result.seed));
      if (values.json) print(JSON.stringify(lineOf(result)));
      else print(`${nameOf(order)}${describe(result)}`);
      if (isBad(result)) print(`  replay: ${replayOf(order, result.seed)}`);
    });
  }
  const wanted = orders.reduce((total, { count }) => total + count, 0);
  if (results.length < wanted) print(`${wanted - results.length} runs ended without a result`);
  print(JSON.stringify(sumOf(results, failed)));
  return failed.length > 0 || results.length < wanted ? 1 : 0;
}

function sumOf(results: readonly Result[], failed: readonly string[]): object {
  const sum = (of: (result: Result) => number): number => results.reduce((total, result) => total + of(result), 0);
  return {
    seeds: results.length,
    loops: sum(({ loops }) => loops),
    faults: sum(({ faults }) => faults),
    violations: sum(({ violations }) => violations.length),
    unplannedRemovals: sum(({ unplannedRemovals }) => unplannedRemovals.length),
    stuckGroups: sum(({ stuckGroups }) => stuckGroups.length),
    failed,
  };
}

function inChild(order: Order, onResult: (result: Result) => void): Promise<void> {
  return new Promise((resolve) => {
    const child = fork(import.meta.filename, [], { execArgv: ['--disable-warning=ExperimentalWarning', '--expose-gc'] });
    child.on('message', (result: Result) => onResult(result));
    child.once('exit', () => resolve());
    child.send(order);
  });
}

function isBad(result: Result): boolean {
  const { violations, unplannedRemovals, convergedAfterMs, crash } = result;
  return crash !== undefined || violations.length > 0 || unplannedRemovals.length > 0 || convergedAfterMs === undefined;
}

function nameOf(order: Order): string {
  if (order.kind === 'theme') return `${order.theme} `;
  return order.kind === 'death' ? `${order.life} ` : '';
}

/** Without the list of writes. */
function lineOf({ writes, ...result }: Result): object {
  return { ...result, writes: writes.length };
}

function describe(result: Result): string {
  const { seed, loops, faults, deaths, writes, convergedAfterMs, hash } = result;
  const rest = convergedAfterMs === undefined ? 'NEVER AT REST' : `at rest after ${Math.round(convergedAfterMs / 1000)} s`;
  const details = [
    ...('figures' in result && result.figures !== undefined ? [JSON.stringify(result.figures)] : []),
    ...(isBad(result) ? deaths : []),
    ...result.violations,
    ...result.unplannedRemovals.map((id) => `unplanned ${id}`),
    ...result.unrest,
    result.crash ?? '',
  ];
  return [
    `seed ${seed}: ${loops} loops, ${faults} misfortunes, ${deaths.length} deaths, ${writes.length} writes, ${rest}, hash ${hash.slice(0, 16)}`,
    ...details.filter((line) => line !== ''),
  ].join('\n  ');
}
