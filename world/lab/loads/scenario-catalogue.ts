/** Generated scenarios by name. Names and numbers are invented; the shapes of the loads are those of common clusters. */
import { nearestName } from '../../../src/lib/nearest-name.ts';
import {
  arrivingRuns,
  DAY,
  followDemand,
  HOUR,
  noSpot,
  officeHours,
  soldOut,
  spotWaves,
  zoneOutage,
  type GeneratorInput,
} from './generators.ts';
import type { LoadEvent, LoadPod, LoadPool, Scenario, Workload } from './load.ts';

/** A Monday, 00:00 UTC. */
const START_MS = Date.UTC(2026, 0, 5);

const SPOT_TAINT = 'kubernetes.azure.com/scalesetpriority=spot:NoSchedule';
const TOLERATES_SPOT = [{ key: 'kubernetes.azure.com/scalesetpriority', operator: 'Equal', value: 'spot', effect: 'NoSchedule' }];
const ZONES = ['1', '2', '3'];

/** Prices are those of the simulated price list, US dollars. */
const SYSTEM: LoadPool = {
  name: 'system',
  vmSize: 'Standard_D4s_v5',
  count: 2,
  min: 2,
  max: 3,
  mode: 'System',
  taints: ['CriticalAddonsOnly=true:NoSchedule'],
  pricePerHour: 0.256,
};
const GENERAL: LoadPool = { name: 'general', vmSize: 'Standard_D4s_v5', count: 3, min: 1, max: 25, zones: ZONES, pricePerHour: 0.256 };
const LARGE: LoadPool = { name: 'large', vmSize: 'Standard_D16s_v5', count: 0, min: 0, max: 8, zones: ZONES, pricePerHour: 1.024 };
const MEMORY: LoadPool = { name: 'memory', vmSize: 'Standard_E4s_v5', count: 0, min: 0, max: 10, pricePerHour: 0.32 };
const SPOT: LoadPool = {
  name: 'spot',
  vmSize: 'Standard_D8ads_v5',
  count: 0,
  min: 0,
  max: 12,
  priority: 'Spot',
  taints: [SPOT_TAINT],
  pricePerHour: 0.128,
};

interface WorkloadShape extends Partial<Omit<Workload, 'id' | 'name' | 'pod'>> {
  readonly cpu: string;
  readonly memory: string;
  readonly pod?: Partial<LoadPod>;
}

function workload(name: string, { cpu, memory, pod = {}, ...rest }: WorkloadShape): Workload {
  return {
    id: name,
    name,
    namespace: 'default',
    kind: 'Deployment',
    pod: { labels: { app: name }, containers: [{ requests: { cpu, memory } }], terminationGracePeriodSeconds: 20, ...pod },
    ...rest,
  };
}

const TOLERANT = { pod: { tolerations: TOLERATES_SPOT } };

const WEB = workload('web', { cpu: '500m', memory: '1Gi', budget: { maxUnavailable: '25%' } });
const API = workload('api', { cpu: '1100m', memory: '3Gi', budget: { maxUnavailable: 1 } });
const SESSIONS = workload('sessions', { kind: 'StatefulSet', cpu: '800m', memory: '5Gi', budget: { maxUnavailable: 1 } });
const REPORTS = workload('reports', { kind: 'Job', cpu: '1500m', memory: '3Gi', ...TOLERANT });
const BUILDS = workload('builds', { kind: 'Job', cpu: '1800m', memory: '3Gi' });
const SUITES = workload('suites', { kind: 'Job', cpu: '900m', memory: '2Gi', ...TOLERANT });
const WORKERS = workload('workers', { cpu: '1800m', memory: '4Gi', budget: { maxUnavailable: '50%' }, ...TOLERANT });
/** The same workload by id, so that both have the same demand. */
const SHARED_WORKERS: Workload = { ...WORKERS, pod: { ...WORKERS.pod, annotations: { 'aks-autoscaler/min-on-demand': '30%' } } };
const RENDER = workload('render', { kind: 'Job', cpu: '3500m', memory: '10Gi' });

const night = (atMs: number): number => ((atMs % DAY) / HOUR < 5 ? 1 : 0.02);
const always = (): number => 1;

interface GeneratedScenario {
  /** One line for `--help` and the report. */
  readonly what: string;
  readonly days: number;
  readonly pools: readonly LoadPool[];
  readonly workloads: readonly Workload[];
  readonly events: (input: GeneratorInput) => readonly LoadEvent[];
}

function steady({ id }: Workload, count: number): LoadEvent {
  return { kind: 'replicas', atMs: 0, workload: id, count };
}

function wavesOfSpot(input: GeneratorInput): readonly LoadEvent[] {
  return [
    ...followDemand(WEB, { low: 4, high: 16, share: officeHours }, input),
    ...followDemand(WORKERS, { low: 8, high: 32, share: officeHours }, input),
    ...arrivingRuns(REPORTS, { perHour: 3, share: always, together: [1, 6], runMinutes: [8, 40] }, input),
    ...spotWaves('spot', { everyMs: 90 * 60_000, most: 8 }, input),
  ];
}

const GENERATED: Readonly<Record<string, GeneratedScenario>> = {
  'office-week': {
    what: 'services that follow office hours, builds by day, reports by night',
    days: 7,
    pools: [SYSTEM, GENERAL, LARGE, SPOT],
    workloads: [WEB, API, SESSIONS, BUILDS, REPORTS],
    events: (input) => [
      ...followDemand(WEB, { low: 6, high: 50, share: officeHours }, input),
      ...followDemand(API, { low: 3, high: 18, share: officeHours }, input),
      steady(SESSIONS, 2),
      ...arrivingRuns(BUILDS, { perHour: 12, share: officeHours, runMinutes: [3, 20] }, input),
      ...arrivingRuns(REPORTS, { perHour: 4, share: night, together: [3, 12], runMinutes: [8, 45] }, input),
      ...spotWaves('spot', { everyMs: 9 * HOUR, most: 3 }, input),
    ],
  },
  'batch-nights': {
    what: 'a small service by day, large batches of jobs by night',
    days: 2,
    pools: [SYSTEM, GENERAL, LARGE, SPOT],
    workloads: [WEB, REPORTS, RENDER],
    events: (input) => [
      ...followDemand(WEB, { low: 4, high: 14, share: officeHours }, input),
      ...arrivingRuns(REPORTS, { perHour: 6, share: night, together: [5, 30], runMinutes: [10, 60] }, input),
      ...arrivingRuns(RENDER, { perHour: 3, share: night, together: [1, 6], runMinutes: [15, 90] }, input),
    ],
  },
  'ci-bursts': {
    what: 'short builds and test suites that arrive in bursts all day',
    days: 1,
    pools: [SYSTEM, GENERAL, LARGE, SPOT],
    workloads: [SESSIONS, BUILDS, SUITES],
    events: (input) => [
      steady(SESSIONS, 3),
      ...arrivingRuns(BUILDS, { perHour: 6, share: (atMs) => 0.15 + 0.85 * officeHours(atMs), runMinutes: [3, 15] }, input),
      ...arrivingRuns(
        SUITES,
        { perHour: 4, share: (atMs) => 0.1 + 0.9 * officeHours(atMs), together: [8, 40], runMinutes: [4, 18] },
        input,
      ),
    ],
  },
  'spot-waves': {
    what: 'workers on Spot nodes, which Azure takes back in waves',
    days: 1,
    pools: [SYSTEM, GENERAL, SPOT],
    workloads: [WEB, WORKERS, REPORTS],
    events: wavesOfSpot,
  },
  'spot-shares': {
    what: 'spot-waves, and 30 % of the workers stay on regular nodes',
    days: 1,
    pools: [SYSTEM, GENERAL, SPOT],
    workloads: [WEB, SHARED_WORKERS, REPORTS],
    events: wavesOfSpot,
  },
  'spot-gone': {
    what: 'workers on Spot nodes; for hours, Azure takes them back and has none',
    days: 1,
    pools: [SYSTEM, GENERAL, SPOT],
    workloads: [WEB, WORKERS, REPORTS],
    events: (input) => [...wavesOfSpot(input), ...noSpot(SPOT.vmSize, { everyMs: 4 * HOUR }, input)],
  },
  'zone-outage': {
    what: 'office hours on one pool for each zone; in the afternoon a zone is lost',
    days: 1,
    pools: [SYSTEM, ...ZONES.map((zone) => ({ ...GENERAL, name: `general${zone}`, zones: [zone], count: 1, min: 0, max: 12 }))],
    workloads: [WEB, API],
    events: (input) => [
      ...followDemand(WEB, { low: 6, high: 50, share: officeHours }, input),
      ...followDemand(API, { low: 3, high: 18, share: officeHours }, input),
      ...zoneOutage(ZONES, input),
    ],
  },
  'sold-out': {
    what: 'office hours in a region where sizes are sold out in some zones, now and then',
    days: 1,
    pools: [SYSTEM, GENERAL, MEMORY, LARGE],
    workloads: [WEB, API, BUILDS],
    events: (input) => [
      ...followDemand(WEB, { low: 6, high: 50, share: officeHours }, input),
      ...followDemand(API, { low: 3, high: 18, share: officeHours }, input),
      ...arrivingRuns(BUILDS, { perHour: 12, share: officeHours, runMinutes: [3, 20] }, input),
      ...soldOut(GENERAL.vmSize, { everyMs: 3 * HOUR, zones: ZONES }, input),
      ...soldOut(LARGE.vmSize, { everyMs: 5 * HOUR, zones: ZONES }, input),
    ],
  },
};

/** Name, what happens, and the days of each generated scenario. */
export const SCENARIO_NAMES: readonly { readonly name: string; readonly what: string; readonly days: number }[] = Object.entries(
  GENERATED,
).map(([name, { what, days }]) => ({ name, what, days }));

/** The name that is meant by a misspelt one. */
export function nearestScenario(name: string): string | undefined {
  return nearestName(name, Object.keys(GENERATED));
}

/**
 * The generated scenario of that name and seed. `days`: may be a fraction; if absent, the scenario's own. undefined: there is no such
 * scenario.
 */
export function generateScenario(name: string, seed: number, days?: number): Scenario | undefined {
  const found = Object.hasOwn(GENERATED, name) ? GENERATED[name] : undefined;
  if (found === undefined) return undefined;
  const durationMs = Math.round((days ?? found.days) * DAY);
  const events = found.events({ seed, durationMs }).toSorted((left, right) => left.atMs - right.atMs);
  return { name, startMs: START_MS, durationMs, currency: 'USD', pools: found.pools, workloads: found.workloads, events };
}
