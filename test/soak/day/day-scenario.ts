/**
 * Days in the life of a cluster, made from a seed: load that follows the day, daemons that no template shows, Spot waves, foreign writers,
 * and a misfortune about every half an hour.
 */
import { seededRandom, type Random } from '../../../src/lib/random.ts';
import type { FaultEffect, FaultMatch } from '../../../world/simulator/arm/state/fault-rules.ts';
import { aPool, worldOf } from '../../scenarios/support.ts';
import { oneOf, whole } from '../chance.ts';
import type { Scenario } from '../scenario.ts';
import type { TimedStep } from '../step.ts';
import { replicasAt, WORKLOADS } from './load.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;
/** How often the load is set. */
const LOAD_EVERY_MS = 5 * MINUTE;
/** The day ends in calm: whatever went wrong may be over. */
const CALM_MS = 60 * MINUTE;

const SPOT_TAINT = 'kubernetes.azure.com/scalesetpriority=spot:NoSchedule';
const POOLS = [
  aPool({ name: 'general', min: 1, count: 3, max: 20, zones: ['1', '2', '3'] }),
  aPool({ name: 'flexible', vmSize: 'Standard_D4ads_v5', count: 0, max: 15, kind: 'vmss-flexible' }),
  aPool({ name: 'large', vmSize: 'Standard_D8s_v5', count: 0, max: 8 }),
  aPool({ name: 'machines', vmSize: 'Standard_E4s_v5', count: 0, max: 10, kind: 'vms-pool' }),
  aPool({ name: 'spot', vmSize: 'Standard_F8s_v2', count: 0, max: 12, priority: 'Spot', taints: [SPOT_TAINT] }),
];

const FLAGS = [
  '--scale-down-unneeded-time=10m',
  '--scale-down-delay-after-add=10m',
  '--max-node-provision-time=15m',
  '--balance-similar-node-groups=false',
  '--expander=least-waste',
];

/** CPU of the daemon pod that a controller outside of the simulation puts on each node of these pools. Templates do not show it. */
export const HIDDEN_DAEMON_MILLIS: Readonly<Record<string, number>> = { general: 300, large: 900, flexible: 200 };

/** `days` may be a fraction. */
export function dayScenario(seed: number, days: number): Scenario {
  const random = seededRandom(seed * 32_452_843 + 17);
  const chaosMs = Math.round(days * DAY);
  return {
    seed,
    world: worldOf(POOLS, { seed }),
    workloads: WORKLOADS,
    steps: [...loadSteps(seed, chaosMs), ...misfortunes(random, Math.max(0, chaosMs - CALM_MS))].sort(
      (left, right) => left.atMs - right.atMs,
    ),
    chaosMs,
    flags: FLAGS,
    stockReturns: true,
    mortal: false,
    patience: { provisionMs: 15 * MINUTE, unneededMs: 10 * MINUTE },
    ambient: {
      evictions: { everyMs: 50 * MINUTE, fraction: 0.7 },
      foreignScaling: { everyMs: 70 * MINUTE, upTo: 2, pools: ['general', 'flexible'] },
    },
    knobs: { listStalenessMs: 8 * SECOND, journalLimit: 2_000 },
    reportsKept: 2,
  };
}

/** Only changes are steps. */
function loadSteps(seed: number, chaosMs: number): readonly TimedStep[] {
  return WORKLOADS.flatMap((workload, index) => {
    let before = -1;
    const steps: TimedStep[] = [];
    for (let atMs = index * 7 * SECOND; atMs < chaosMs; atMs += LOAD_EVERY_MS) {
      const replicas = replicasAt(seed, workload, atMs);
      if (replicas !== before) steps.push({ atMs, step: { kind: 'scale', workload: workload.name, replicas } });
      before = replicas;
    }
    return steps;
  });
}

const SETS: FaultMatch = { method: 'PUT', pathGlob: '**/virtualMachineScaleSets/*' };
const READS: FaultMatch = { method: 'GET', pathGlob: '**/providers/Microsoft.Compute/**' };
const AGENT_POOLS: FaultMatch = { method: 'PUT', pathGlob: '**/agentPools/*' };
const BUSY = { error: { code: 'ServerBusy', message: 'The server is busy.' } };
const TOO_MANY = {
  error: { code: 'TooManyRequests', message: 'The server rejected the request because too many requests have been received.' },
};

function refused(status: 429 | 503, retryAfterSeconds: number): FaultEffect {
  return { kind: 'answer', status, body: status === 429 ? TOO_MANY : BUSY, retryAfterSeconds };
}

type Misfortune = (random: Random, id: string) => TimedStep['step'];

function fault(match: FaultMatch, longestMinutes: number, effect: (random: Random) => FaultEffect): Misfortune {
  return (random, id) => ({
    kind: 'fault',
    fault: { id, match: { ...match, prob: oneOf(random, [0.3, 0.7, 1]) }, effect: effect(random) },
    forMs: whole(random, 1, longestMinutes) * MINUTE,
  });
}

const MISFORTUNES: readonly Misfortune[] = [
  fault(SETS, 12, (random) => refused(429, whole(random, 20, 240))),
  fault(SETS, 12, (random) => refused(503, whole(random, 5, 90))),
  fault(AGENT_POOLS, 12, (random) => refused(429, whole(random, 20, 120))),
  fault(READS, 4, (random) => refused(429, whole(random, 5, 60))),
  fault(READS, 4, (random) => refused(503, whole(random, 5, 60))),
  fault(READS, 3, () => ({ kind: 'truncated-body' })),
  fault({ pool: 'general' }, 15, () => ({ kind: 'birth', how: 'refused' })),
  fault({ pool: 'flexible' }, 15, () => ({ kind: 'birth', how: 'no-node' })),
  fault({ pool: 'large' }, 15, () => ({ kind: 'birth', how: 'cse' })),
  (random) => ({
    kind: 'event',
    event: { foreignScale: { pool: oneOf(random, ['general', 'machines']), delta: oneOf(random, [-1, 1, 2]) } },
  }),
  // AKS brings its pool back to its own count, undrained, if the count is behind.
  (random) => ({ kind: 'event', event: { rpReconcile: { pool: oneOf(random, ['general', 'flexible', 'large']) } } }),
  () => ({ kind: 'kube-watches' }),
  (random) => ({ kind: 'kube-away', forMs: whole(random, 5, 60) * SECOND }),
  (random) => ({ kind: 'restart', kill: random() < 0.5, awayMs: whole(random, 5, 40) * SECOND }),
];

function misfortunes(random: Random, untilMs: number): readonly TimedStep[] {
  const steps: TimedStep[] = [];
  for (let atMs = 20 * MINUTE; atMs < untilMs; atMs += whole(random, 10, 50) * MINUTE) {
    if (random() < 0.25) steps.push(...stockout(random, atMs));
    else steps.push({ atMs, step: oneOf(random, MISFORTUNES)(random, `${steps.length} misfortune`) });
  }
  return steps;
}

/** A size is sold out in every zone of its pool, and comes back. */
function stockout(random: Random, atMs: number): readonly TimedStep[] {
  const { vmSize, zones = ['0'] } = oneOf(random, POOLS);
  const endMs = atMs + whole(random, 15, 60) * MINUTE;
  return zones.flatMap((zone): readonly TimedStep[] => [
    { atMs, step: { kind: 'stock', vmSize, zone, count: 0 } },
    { atMs: endMs, step: { kind: 'stock', vmSize, zone, count: 1_000 } },
  ]);
}
