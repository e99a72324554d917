/** Short runs that each assault one guard of the daemon without pause, where the random ones come to every guard now and then. */
import type { Random } from '../../src/lib/random.ts';
import type { Fault, FaultEffect, FaultMatch } from '../../src/simulator/arm/state/fault-rules.ts';
import type { ArmLatencies } from '../../src/simulator/arm/state/latencies.ts';
import type { WorldEvent } from '../../src/simulator/arm/faults/world-event.ts';
import type { PoolSpec } from '../../src/simulator/base/world-spec.ts';
import { aPool } from '../scenarios/support.ts';
import { oneOf, whole } from './chance.ts';
import type { Scenario } from './scenario.ts';
import type { TimedStep } from './step.ts';

const SECOND = 1_000;

export const WORKLOADS: readonly string[] = ['a', 'b', 'c'];
const SET = '**/virtualMachineScaleSets/*';
const DELETE = '**/virtualMachineScaleSets/*/delete';
const LISTS: readonly FaultMatch[] = [
  { method: 'GET', pathGlob: '**/virtualMachineScaleSets/*/virtualMachines' },
  { method: 'GET', pathGlob: '**/virtualMachineScaleSets' },
  { method: 'GET', pathGlob: '**/Microsoft.Compute/virtualMachines' },
  { method: 'GET', pathGlob: '**/agentPools' },
];

export interface Theme {
  readonly pools: readonly PoolSpec[];
  readonly knobs?: Partial<ArmLatencies>;
  /** Draws what happens, besides the pods. */
  readonly assault: (random: Random, chaosMs: number) => readonly TimedStep[];
  /** `growing`: more pods at every step; `changing`: more or fewer. */
  readonly pods: 'growing' | 'changing';
  /** Seconds between two changes of the pods, more or less. Default: 60 where they grow, 35 where they change. */
  readonly podsEveryS?: number;
  readonly rules: NonNullable<Scenario['rules']>;
  readonly gracePeriodSeconds?: number;
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

const BUSY = { error: { code: 'ServerBusy', message: 'The server is busy.' } };
const NOT_FOUND = { error: { code: 'ResourceNotFound', message: 'The Resource was not found.' } };

/** From the start to the end. */
export function always(id: string, match: FaultMatch, effect: FaultEffect) {
  return (chaosMs: number): TimedStep => ({ atMs: 0, step: { kind: 'fault', fault: { id, match, effect }, forMs: chaosMs } });
}

/** Again and again, `everyS` seconds apart, more or less. */
export function often(random: Random, chaosMs: number, everyS: number, make: (at: number) => TimedStep['step']): readonly TimedStep[] {
  const steps: TimedStep[] = [];
  for (let atMs = 30 * SECOND; atMs < chaosMs; atMs += whole(random, everyS / 2, everyS * 1.5) * SECOND)
    steps.push({ atMs, step: make(steps.length) });
  return steps;
}

const event = (value: WorldEvent): TimedStep['step'] => ({ kind: 'event', event: value });
const fault = (value: Fault, forMs: number): TimedStep['step'] => ({ kind: 'fault', fault: value, forMs });

const THREE_KINDS: readonly PoolSpec[] = [
  aPool({ name: 'uni', count: 1, max: 30 }),
  aPool({ name: 'flex', count: 1, max: 30, kind: 'vmss-flexible' }),
  aPool({ name: 'vms', count: 1, max: 30, kind: 'vms-pool' }),
];
const NAMES = ['uni', 'flex', 'vms'];

/** Each list is now and then as it was some time ago. */
function oldLists(random: Random, chaosMs: number): readonly TimedStep[] {
  return LISTS.flatMap((match, index) =>
    often(random, chaosMs, 60, (at) => fault({ id: `old ${index} ${at}`, match, effect: { kind: 'stale-list' } }, 50 * SECOND)),
  );
}

export const THEMES = {
  /** Others write a capacity between our read and our write. */
  racers: {
    pools: THREE_KINDS,
    pods: 'changing',
    rules: {},
    assault: (random, chaosMs) => [
      ...[-1, 1, 2, 3].map((delta) =>
        always(`race ${delta}`, { method: 'PUT', pathGlob: SET, prob: 0.25 }, { kind: 'racing-writer', delta })(chaosMs),
      ),
      ...often(random, chaosMs, 60, () =>
        event({ foreignScale: { pool: oneOf(random, NAMES), delta: oneOf(random, [1, 2, 3]), when: 'before-next-write' } }),
      ),
    ],
  },
  /** Others take machines while ours are being drained, near the minimum. */
  takers: {
    pools: [
      aPool({ name: 'uni', count: 6, min: 2, max: 12 }),
      aPool({ name: 'flex', count: 6, min: 2, max: 12, kind: 'vmss-flexible' }),
      aPool({ name: 'vms', count: 6, min: 2, max: 12, kind: 'vms-pool' }),
    ],
    pods: 'changing',
    rules: {},
    gracePeriodSeconds: 40,
    flags: ['--max-drain-parallelism=3', '--max-scale-down-parallelism=6'],
    assault: (random, chaosMs) => [
      always('race', { method: 'POST', pathGlob: DELETE, prob: 0.4 }, { kind: 'racing-writer', delta: -1 })(chaosMs),
      ...often(random, chaosMs, 25, () => event({ foreignScale: { pool: oneOf(random, NAMES), delta: oneOf(random, [-1, -1, -2, 2]) } })),
    ],
  },
  /** Lists break off, at their first page or at a later one. Nothing that is said is untrue. */
  'broken lists': {
    pools: THREE_KINDS.map((pool) => ({ ...pool, count: 6, min: 1 })),
    knobs: { pageSize: 2 },
    pods: 'changing',
    rules: { remembers: 'all' },
    assault: (_random, chaosMs) =>
      LISTS.flatMap((match, index) => [
        always(`busy ${index}`, { ...match, prob: 0.2 }, { kind: 'answer', status: 503, body: BUSY })(chaosMs),
        always(`cut ${index}`, { ...match, prob: 0.1 }, { kind: 'truncated-body' })(chaosMs),
        always(`reset ${index}`, { ...match, prob: 0.1 }, { kind: 'reset', afterEffect: false })(chaosMs),
      ]),
  },
  /** A list answers that its subject is not there, which single reads deny. */
  'lists of nothing found': {
    pools: THREE_KINDS.map((pool) => ({ ...pool, count: 3, min: 1 })),
    pods: 'changing',
    rules: { remembers: 'all' },
    assault: (_random, chaosMs) =>
      LISTS.map((match, index) =>
        always(`gone ${index}`, { ...match, prob: 0.3 }, { kind: 'answer', status: 404, body: NOT_FOUND })(chaosMs),
      ),
  },
  /** Now and then a list of many has nothing in it, once. */
  'empty lists': {
    pools: THREE_KINDS.map((pool) => ({ ...pool, count: 8, min: 1 })),
    pods: 'growing',
    rules: { remembers: 'many' },
    flags: ['--scale-down-enabled=false'],
    assault: (random, chaosMs) =>
      LISTS.flatMap((match, index) =>
        often(random, chaosMs, 240, (at) =>
          fault({ id: `empty ${index} ${at}`, match: { ...match, times: 1 }, effect: { kind: 'empty-list' } }, 200 * SECOND),
        ),
      ),
  },
  /** Writes are carried out, and nobody hears of it. */
  'lost answers': {
    pools: THREE_KINDS,
    pods: 'growing',
    rules: { exact: true },
    flags: ['--scale-down-enabled=false'],
    assault: (_random, chaosMs) =>
      [
        { method: 'PUT', pathGlob: SET },
        { method: 'PUT', pathGlob: '**/agentPools/*' },
      ].flatMap((match, index) => [
        always(`error ${index}`, { ...match, prob: 0.3 }, { kind: 'effect-then-answer', status: 500, body: BUSY })(chaosMs),
        always(`reset ${index}`, { ...match, prob: 0.3 }, { kind: 'reset', afterEffect: true })(chaosMs),
        always(`late ${index}`, { ...match, prob: 0.3 }, { kind: 'delay', ms: 80 * SECOND })(chaosMs),
      ]),
  },
  /** Lists are old, and capacities lag behind removals. */
  'old lists': {
    pools: THREE_KINDS.map((pool) => ({ ...pool, count: 6, min: 3 })),
    knobs: { listStalenessMs: 40 * SECOND, capacityLagAfterDeleteMs: 40 * SECOND },
    pods: 'changing',
    rules: {},
    flags: ['--max-scale-down-parallelism=2', '--max-drain-parallelism=2'],
    assault: (random, chaosMs) => [
      always('no node', { prob: 0.3 }, { kind: 'birth', how: 'no-node' })(chaosMs),
      ...oldLists(random, chaosMs),
    ],
  },
  /** The same, and only growth: nothing may be ordered twice. */
  'old lists of growth': {
    pools: THREE_KINDS,
    knobs: { listStalenessMs: 40 * SECOND },
    pods: 'growing',
    rules: { exact: true },
    flags: ['--scale-down-enabled=false'],
    assault: oldLists,
  },
  /** The same where conditional writes are turned off: only what is remembered of our own writes stands against old lists. */
  'old lists without tags': {
    pools: THREE_KINDS,
    knobs: { listStalenessMs: 40 * SECOND },
    pods: 'growing',
    podsEveryS: 15,
    rules: { exact: true },
    flags: ['--scale-down-enabled=false'],
    env: { AZURE_ENABLE_VMSS_ETAG: 'false' },
    assault: oldLists,
  },
  /** Half of what is ordered cannot be had, others raise too, and lists hide machines. */
  'failed growth': {
    pools: THREE_KINDS,
    knobs: { listFailedInstances: false },
    pods: 'changing',
    rules: { unfilled: true },
    assault: (random, chaosMs) => [
      always('refused', { prob: 0.5 }, { kind: 'birth', how: 'refused' })(chaosMs),
      always('unlisted', { prob: 0.3 }, { kind: 'birth', how: 'unlisted' })(chaosMs),
      ...often(random, chaosMs, 60, () => event({ foreignScale: { pool: oneOf(random, NAMES), delta: oneOf(random, [1, 2]) } })),
    ],
  },
  /** Numbers of instances are given again, to machines that others make in the place of ours. */
  reborn: {
    pools: [aPool({ name: 'uni', count: 6, max: 12 }), aPool({ name: 'two', count: 6, max: 12 })],
    knobs: { reuseInstanceIds: true },
    pods: 'changing',
    rules: {},
    gracePeriodSeconds: 180,
    flags: ['--max-drain-parallelism=6', '--max-scale-down-parallelism=12'],
    assault: (random, chaosMs) => [
      ...often(random, chaosMs, 20, () =>
        event({ repair: { pool: oneOf(random, ['uni', 'two']), instanceId: String(whole(random, 0, 6)) } }),
      ),
      ...often(random, chaosMs, 45, () => event({ foreignScale: { pool: oneOf(random, ['uni', 'two']), delta: 1 } })),
    ],
  },
  /** Pods come and go faster than nodes are drained, and the API server is away in between. */
  'late pods': {
    pools: [aPool({ name: 'uni', count: 4, max: 12 }), aPool({ name: 'flex', count: 4, max: 12, kind: 'vmss-flexible' })],
    pods: 'changing',
    rules: {},
    gracePeriodSeconds: 40,
    flags: ['--max-drain-parallelism=3', '--max-scale-down-parallelism=6'],
    assault: (random, chaosMs) => [
      ...often(random, chaosMs, 12, () => ({ kind: 'scale', workload: oneOf(random, WORKLOADS), replicas: whole(random, 0, 5) })),
      ...often(random, chaosMs, 40, () => ({ kind: 'kube-away', forMs: whole(random, 1, 8) * SECOND })),
    ],
  },
} as const satisfies Readonly<Record<string, Theme>>;

export type ThemeName = keyof typeof THEMES;
