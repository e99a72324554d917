/**
 * A short life that grows a pool and shrinks it again, lived once for each call that the daemon makes in it, with the daemon
 * dying at that call: reads and waits once, writes before and after their effect.
 */
import type { WorldSpec } from '../../world/simulator/base/world-spec.ts';
import { aPool, worldOf } from '../scenarios/support.ts';
import type { Call, CrashMoment } from '../../world/lab/mortal-process.ts';
import { deathAt, immortal } from './deaths.ts';
import type { Scenario } from './scenario.ts';
import type { TimedStep } from './step.ts';
import { undergo, type SoakResult } from './soak.ts';

const MINUTE = 60_000;
const SIZE = 'Standard_D4s_v5';

export const LIVES = [
  'uniform',
  'uniform-scarce',
  'stopping',
  'stopping-scarce',
  'stopping-machines',
  'stopping-counted',
  'flexible',
  'flexible-scarce',
  'vms-pool',
  'vms-pool-scarce',
] as const;
/** A kind of pool, `stopping`: one that deallocates, of a scale set, of machines, or of machines that AKS counts while they are stopped; `scarce`: Azure has only one more machine of its size, and keeps the capacity that it cannot fill. */
export type Life = (typeof LIVES)[number];

const KINDS = {
  uniform: {},
  stopping: { scaleDownMode: 'Deallocate', min: 1 },
  'stopping-machines': { kind: 'vms-pool', scaleDownMode: 'Deallocate', min: 1 },
  'stopping-counted': { kind: 'vms-pool', scaleDownMode: 'Deallocate', machineStops: 'counted', min: 1 },
  flexible: { kind: 'vmss-flexible' },
  'vms-pool': { kind: 'vms-pool' },
} as const;

function worldOfLife(life: Life): WorldSpec {
  const kind = KINDS[life.replace('-scarce', '') as keyof typeof KINDS];
  const stock = life.endsWith('-scarce') ? { [`${SIZE}/0`]: 1 } : {};
  return worldOf([aPool({ name: 'p', min: 0, max: 5, count: 1, ...kind })], { seed: 7, stock });
}

const NAMES = ['a', 'b', 'c'] as const;

/** A stop takes half a minute, and only what is stopped is started. That machines are counted while they are stopped must be seen twice. */
const AGAIN_MS: { readonly [Kind in Life]?: number } = { 'stopping-machines': 8 * MINUTE, 'stopping-counted': 12 * MINUTE };

/**
 * Three machines are wanted, then one: of each workload a pod is left, and they end up on one machine. Just when the others have
 * been drained, or a process died over it, they are of use again: what is marked then must not
 * stay so.
 */
function scenarioOf(life: Life): Scenario {
  const againMs = AGAIN_MS[life] ?? (life.startsWith('stopping') ? 6 * MINUTE : 290_000);
  const scale = (atMs: number, replicas: number): readonly TimedStep[] =>
    NAMES.map((workload) => ({ atMs, step: { kind: 'scale', workload, replicas } }));
  return {
    seed: 7,
    world: worldOfLife(life),
    workloads: NAMES.map((name) => ({
      name,
      cpu: '1100m',
      memory: '1Gi',
      maxUnavailable: 1,
      gracePeriodSeconds: 10,
      spotOnly: false,
      toleratesSpot: false,
    })),
    steps: [...scale(0, 3), ...scale(3.5 * MINUTE, 1), ...scale(againMs, 2)],
    chaosMs: againMs + 220_000,
    flags: [
      '--scan-interval=25s',
      '--scale-down-unneeded-time=40s',
      '--scale-down-delay-after-add=20s',
      '--scale-down-delay-after-failure=20s',
      '--scale-down-unready-time=3m',
      '--unremovable-node-recheck-timeout=20s',
      '--max-node-provision-time=6m',
      '--initial-node-group-backoff-duration=1m',
      '--max-node-group-backoff-duration=2m',
    ],
    stockReturns: true,
    mortal: true,
    ambient: {},
    knobs: {},
    ...(life.startsWith('stopping') ? { env: { AZURE_DEALLOCATE: 'true' } } : {}),
    patience: { provisionMs: 6 * MINUTE, unneededMs: 40_000 },
  };
}

export interface Death {
  readonly call: Call;
  readonly moment: CrashMoment;
}

/** Every death that a life may have, found out by living it once; first those at writes that decide something. */
export async function deathsOf(life: Life): Promise<{ readonly deaths: readonly Death[]; readonly whole: SoakResult }> {
  const watcher = immortal();
  const whole = await undergo(scenarioOf(life), watcher);
  const calls = watcher.calls.toSorted((left, right) => rankOf(left) - rankOf(right) || left.serial - right.serial);
  const deaths = calls.flatMap((call): readonly Death[] =>
    call.kind === 'write'
      ? [
          { call, moment: 'before' },
          { call, moment: 'after' },
        ]
      : [{ call, moment: 'before' }],
  );
  return { deaths, whole };
}

/** Events and the status are for people. */
function rankOf({ kind, what }: Call): number {
  if (kind === 'write') return /\/events|cluster-autoscaler-status/.test(what) ? 1 : 0;
  return kind === 'read' ? 2 : 3;
}

export function die(life: Life, { call, moment }: Death): Promise<SoakResult> {
  return undergo(scenarioOf(life), deathAt(call.serial, moment));
}
