/** The load of a day: how many replicas each workload wants at a time. Pure: a function of the seed and the time. */
import { seededRandom, stableHash } from '../../../src/lib/random.ts';
import type { WorkloadSpec } from '../scenario.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** How many replicas are wanted; `chance` is a number in [0, 1) for a purpose. */
type Demand = (atMs: number, chance: (purpose: string) => number) => number;

export interface DayWorkload extends WorkloadSpec {
  readonly demand: Demand;
}

/** From `low` at night to `high` at noon, give or take a tenth. */
function daily(low: number, high: number): Demand {
  return (atMs, chance) => {
    const noon = (1 - Math.cos((2 * Math.PI * (atMs % DAY)) / DAY)) / 2;
    const jitter = 1 + (chance(`jitter|${Math.floor(atMs / (10 * MINUTE))}`) - 0.5) / 5;
    return Math.round((low + (high - low) * noon) * jitter);
  };
}

/** Batches of up to `most` pods, one about every `everyMs`, each for `forMs`. */
function batches(most: number, everyMs: number, forMs: number): Demand {
  return (atMs, chance) => {
    const turn = Math.floor(atMs / everyMs);
    const beginMs = turn * everyMs + chance(`begin|${turn}`) * (everyMs - forMs);
    return atMs >= beginMs && atMs < beginMs + forMs ? 1 + Math.floor(chance(`size|${turn}`) * most) : 0;
  };
}

/** Another number each time. */
function erratic(most: number, everyMs: number): Demand {
  return (atMs, chance) => Math.floor(chance(`size|${Math.floor(atMs / everyMs)}`) * (most + 1));
}

const COMMON = { memory: '1Gi', maxUnavailable: 2, gracePeriodSeconds: 20, spotOnly: false, toleratesSpot: false };

export const WORKLOADS: readonly DayWorkload[] = [
  { ...COMMON, name: 'web', cpu: '500m', demand: daily(4, 40) },
  { ...COMMON, name: 'api', cpu: '1100m', memory: '3Gi', maxUnavailable: 1, demand: daily(2, 16) },
  { ...COMMON, name: 'batch', cpu: '900m', toleratesSpot: true, demand: batches(30, 2 * HOUR, 25 * MINUTE) },
  { ...COMMON, name: 'wide', cpu: '2500m', gracePeriodSeconds: 60, demand: erratic(6, 20 * MINUTE) },
  { ...COMMON, name: 'big', cpu: '5200m', demand: batches(4, 3 * HOUR, 50 * MINUTE) },
  { ...COMMON, name: 'cheap', cpu: '700m', spotOnly: true, toleratesSpot: true, demand: erratic(18, 45 * MINUTE) },
];

/** `atMs`: since the start of the run. */
export function replicasAt(seed: number, { name, demand }: DayWorkload, atMs: number): number {
  return Math.max(
    0,
    demand(atMs, (purpose) => seededRandom(stableHash(`${seed}|${name}|${purpose}`))()),
  );
}
