/** What a soak is asked for: which runs, in which chunks, and the command that repeats one of them. */
import { appendFileSync } from 'node:fs';
import { liveDays, type DayResult } from './day/day-run.ts';
import { immortal } from './deaths.ts';
import { deathsOf, die, LIVES, type Life } from './every-death.ts';
import { soak, undergo, type RunWatch, type SoakResult } from './soak.ts';
import { GUARD_RUNS } from './mutations/guards.ts';
import { themed } from './themed.ts';
import { THEMES, type ThemeName } from './themes.ts';

/** Runs of a chunk share a process: daemons that were killed on purpose keep their memory until their process ends. */
const CHUNK = 10;

/** Seeds from `first` on. */
interface Span {
  readonly first: number;
  readonly count: number;
  /** A file that receives everything that happens in the worlds. */
  readonly trace?: string | undefined;
}

/** `death`: the deaths of this life, `first` being the number of one of them, from 1. */
export type Order = Span &
  (
    | { readonly kind: 'seeds'; readonly loops: number }
    | { readonly kind: 'theme'; readonly theme: ThemeName; readonly loops: number }
    | { readonly kind: 'death'; readonly life: Life }
    | { readonly kind: 'days'; readonly days: number }
  );

/** The options of the command line. */
export interface SoakOptions {
  readonly seeds?: string | undefined;
  readonly first: string;
  readonly loops: string;
  readonly deaths: boolean;
  readonly life?: string | undefined;
  readonly themes: boolean;
  readonly theme?: string | undefined;
  readonly guards: boolean;
  readonly days?: string | undefined;
  readonly trace?: string | undefined;
}

export async function ordersOf(options: SoakOptions): Promise<readonly Order[]> {
  const { seeds, first, loops, days, trace } = options;
  const span = (usual: number): Span => ({ first: Number(first), count: Number(seeds ?? usual), trace });
  if (days !== undefined) return inChunks({ ...span(1), kind: 'days', days: Number(days) }, 1);
  if (options.deaths) return deathOrders(options);
  if (options.guards) return GUARD_RUNS.map(({ seed, theme, loops }) => ({ kind: 'theme', first: seed, count: 1, theme, loops }));
  if (!options.themes && options.theme === undefined) return inChunks({ ...span(20), kind: 'seeds', loops: Number(loops) });
  const names = Object.keys(THEMES).filter((name): name is ThemeName => options.theme === undefined || name === options.theme);
  return names.flatMap((theme) => inChunks({ ...span(1), kind: 'theme', theme, loops: Number(loops) }));
}

async function deathOrders({ life, first, seeds }: SoakOptions): Promise<readonly Order[]> {
  const orders: Order[] = [];
  for (const name of LIVES.filter((candidate) => life === undefined || candidate === life)) {
    const { deaths } = await deathsOf(name);
    const count = Math.min(deaths.length - Number(first) + 1, Number(seeds ?? deaths.length));
    orders.push(...inChunks({ kind: 'death', life: name, first: Number(first), count }));
  }
  return orders;
}

function inChunks(order: Order, size = CHUNK): readonly Order[] {
  return Array.from({ length: Math.ceil(order.count / size) }, (_, index) => ({
    ...order,
    first: order.first + index * size,
    count: Math.min(size, order.count - index * size),
  }));
}

/** The runs of an order, one after the other. A harness that fails is a result, too. */
export async function* runsOf(order: Order): AsyncGenerator<SoakResult | DayResult> {
  const deaths = order.kind === 'death' ? (await deathsOf(order.life)).deaths : [];
  for (let seed = order.first; seed < order.first + order.count; seed++) {
    yield await runOf(order, seed, deaths).catch((error: unknown) => crashed(seed, error));
  }
}

function runOf(order: Order, seed: number, deaths: Awaited<ReturnType<typeof deathsOf>>['deaths']): Promise<SoakResult | DayResult> {
  const watch = watchOf(order);
  if (order.kind === 'seeds') return soak(seed, order.loops, true, watch);
  if (order.kind === 'days') return liveDays(seed, order.days, watch);
  if (order.kind === 'theme') return undergo(themed(order.theme, seed, order.loops), immortal(), watch);
  const death = deaths[seed - 1];
  if (death === undefined) return Promise.reject(new Error(`the life ${order.life} has ${deaths.length} deaths`));
  return die(order.life, death).then((result) => ({ ...result, seed }));
}

function watchOf({ trace }: Span): RunWatch {
  if (trace === undefined) return {};
  return { onInstant: (atMs, lines) => appendFileSync(trace, `${lines.map((line) => `${atMs} ${line}`).join('\n')}\n`) };
}

function crashed(seed: number, error: unknown): SoakResult {
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
    crash: String(error instanceof Error ? error.stack : error),
    hash: '',
  };
}

/** The command that makes this run again. */
export function replayOf(order: Order, seed: number): string {
  return `npm run soak -- ${argumentsOf(order)} --first ${seed} --seeds 1`;
}

function argumentsOf(order: Order): string {
  if (order.kind === 'seeds') return `--loops ${order.loops}`;
  if (order.kind === 'days') return `--days ${order.days}`;
  if (order.kind === 'death') return `--deaths --life ${order.life}`;
  return `--theme '${order.theme}' --loops ${order.loops}`;
}
