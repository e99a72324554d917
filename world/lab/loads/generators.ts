/** Building blocks of generated loads. Pure: the same seed gives the same events. Times are milliseconds from the start of a scenario. */
import { seededRandom, stableHash, type Random } from '../../../src/lib/random.ts';
import type { LoadEvent, Workload } from './load.ts';

const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
/** How often replicas follow the demand, as a HorizontalPodAutoscaler with its stabilisation would. */
const FOLLOW_EVERY_MS = 5 * MINUTE;

export interface GeneratorInput {
  readonly seed: number;
  readonly durationMs: number;
}

/** A source of chance of its own for each purpose: a change of one workload does not change the others. */
function chanceOf(seed: number, purpose: string): Random {
  return seededRandom(stableHash(`${seed}|${purpose}`));
}

/** From 0 at night to 1 in office hours, Monday to Friday; the start of a scenario is a Monday, 00:00. */
export function officeHours(atMs: number): number {
  const day = Math.floor(atMs / DAY) % 7;
  const hour = (atMs % DAY) / HOUR;
  if (day >= 5) return 0.1 * bump(hour, 9, 22);
  return bump(hour, 6.5, 19.5);
}

/** Rises from 0 at `from` to 1 within two hours, and falls to 0 at `until` in the same way. */
function bump(hour: number, from: number, until: number): number {
  const rise = Math.min(1, Math.max(0, (hour - from) / 2));
  const fall = Math.min(1, Math.max(0, (until - hour) / 2));
  return (1 - Math.cos(Math.PI * Math.min(rise, fall))) / 2;
}

interface Demand {
  readonly low: number;
  readonly high: number;
  /** Share of `high` that is wanted, from 0 to 1. */
  readonly share: (atMs: number) => number;
}

/** Replicas that follow a demand, give or take a twelfth. Only changes are events. */
export function followDemand({ id }: Workload, { low, high, share }: Demand, { seed, durationMs }: GeneratorInput): readonly LoadEvent[] {
  const random = chanceOf(seed, `demand|${id}`);
  const shiftMs = Math.round(random() * FOLLOW_EVERY_MS);
  const events: LoadEvent[] = [];
  let before = -1;
  for (let step = 0; step * FOLLOW_EVERY_MS < durationMs; step++) {
    const atMs = step === 0 ? 0 : step * FOLLOW_EVERY_MS - shiftMs;
    const count = Math.max(low, Math.round((low + (high - low) * share(atMs)) * (1 + (random() - 0.5) / 6)));
    if (count !== before) events.push({ kind: 'replicas', atMs, workload: id, count });
    before = count;
  }
  return events;
}

interface Arrivals {
  /** Largest number of arrivals in an hour. */
  readonly perHour: number;
  /** Share of it at a time, from 0 to 1. */
  readonly share: (atMs: number) => number;
  /** Runs that begin together. Default: 1. */
  readonly together?: readonly [least: number, most: number];
  readonly runMinutes: readonly [least: number, most: number];
}

/** Jobs that arrive at random, as a Poisson process whose rate follows the time. Short runs are more frequent than long ones. */
export function arrivingRuns({ id }: Workload, arrivals: Arrivals, { seed, durationMs }: GeneratorInput): readonly LoadEvent[] {
  const random = chanceOf(seed, `runs|${id}`);
  const events: LoadEvent[] = [];
  for (let atMs = gap(random, arrivals.perHour); atMs < durationMs; atMs += gap(random, arrivals.perHour)) {
    const [accepted, size, length] = [random(), random(), random()];
    if (accepted >= arrivals.share(atMs)) continue;
    const [least, most] = arrivals.together ?? [1, 1];
    const runMs = Math.round(between(arrivals.runMinutes, length * length) * MINUTE);
    events.push({ kind: 'run', atMs, workload: id, runMs, count: Math.round(between([least, most], size)) });
  }
  return events;
}

/** Exponentially distributed milliseconds between two arrivals. */
function gap(random: Random, perHour: number): number {
  return Math.max(1, Math.round((-Math.log(1 - random()) * HOUR) / perHour));
}

function between([least, most]: readonly [number, number], share: number): number {
  return least + (most - least) * share;
}

/** Azure takes back Spot VMs in waves, one about every `everyMs`. */
export function spotWaves(
  pool: string,
  { everyMs, most }: { readonly everyMs: number; readonly most: number },
  input: GeneratorInput,
): readonly LoadEvent[] {
  const random = chanceOf(input.seed, `waves|${pool}`);
  const events: LoadEvent[] = [];
  for (let atMs = gap(random, HOUR / everyMs); atMs < input.durationMs; atMs += gap(random, HOUR / everyMs))
    events.push({ kind: 'spot-eviction', atMs, pool, count: Math.ceil(random() * most) });
  return events;
}

/** A size is sold out in some zones, about every `everyMs` for half an hour to three hours. */
export function soldOut(
  vmSize: string,
  { everyMs, zones }: { readonly everyMs: number; readonly zones: readonly string[] },
  input: GeneratorInput,
): readonly LoadEvent[] {
  const random = chanceOf(input.seed, `stock|${vmSize}`);
  const events: LoadEvent[] = [];
  for (let atMs = gap(random, HOUR / everyMs); atMs < input.durationMs; atMs += gap(random, HOUR / everyMs)) {
    const endMs = atMs + Math.round(between([30, 180], random()) * MINUTE);
    const affected = zones.filter(() => random() < 0.6);
    for (const zone of affected) events.push({ kind: 'stock', atMs, vmSize, zone, count: 0 });
    if (endMs < input.durationMs) for (const zone of affected) events.push({ kind: 'stock', atMs: endMs, vmSize, zone, count: null });
    atMs = endMs;
  }
  return events;
}

/** One zone of these is lost, in the first half of an afternoon, for one to three hours. */
export function zoneOutage(zones: readonly string[], { seed, durationMs }: GeneratorInput): readonly LoadEvent[] {
  const random = chanceOf(seed, 'outage');
  const zone = zones[Math.floor(random() * zones.length)];
  const atMs = Math.round(between([12, 15], random()) * HOUR);
  const forMs = Math.round(between([60, 180], random()) * MINUTE);
  return zone === undefined || atMs >= durationMs ? [] : [{ kind: 'zone-outage', atMs, zone, forMs }];
}

/** A size has no Spot VMs, about every `everyMs` for one to four hours. */
export function noSpot(vmSize: string, { everyMs }: { readonly everyMs: number }, input: GeneratorInput): readonly LoadEvent[] {
  const random = chanceOf(input.seed, `spot|${vmSize}`);
  const events: LoadEvent[] = [];
  for (let atMs = gap(random, HOUR / everyMs); atMs < input.durationMs; atMs += gap(random, HOUR / everyMs)) {
    const endMs = atMs + Math.round(between([60, 240], random()) * MINUTE);
    events.push({ kind: 'stock', atMs, vmSize, priority: 'Spot', count: 0 });
    if (endMs < input.durationMs) events.push({ kind: 'stock', atMs: endMs, vmSize, priority: 'Spot', count: null });
    atMs = endMs;
  }
  return events;
}
