/**
 * Growth that goes wrong where nobody can see it: machines that fail, or never become nodes, while the lists that would show it
 * are old, empty, short of an item, or not to be had.
 */
import type { Random } from '../../src/lib/random.ts';
import type { FaultEffect, FaultMatch } from '../../world/simulator/arm/state/fault-rules.ts';
import type { PoolSpec } from '../../world/simulator/base/world-spec.ts';
import { happens, oneOf, whole } from './chance.ts';
import type { TimedStep } from './step.ts';

const SECOND = 1_000;

const FAILURES: readonly FaultEffect[] = [
  { kind: 'birth', how: 'refused' },
  { kind: 'birth', how: 'cse' },
  { kind: 'birth', how: 'os-timeout' },
  { kind: 'birth', how: 'no-node' },
  { kind: 'birth', how: 'stuck' },
  { kind: 'birth', how: 'unlisted' },
];

const BLINDNESS: readonly FaultEffect[] = [
  { kind: 'stale-list' },
  { kind: 'empty-list' },
  { kind: 'page-shift', by: 1 },
  { kind: 'truncated-body' },
  { kind: 'bare-items' },
  { kind: 'answer', status: 503, body: { error: { code: 'ServerBusy', message: 'The server is busy.' } } },
];

const LISTS: readonly FaultMatch[] = [
  { method: 'GET', pathGlob: '**/virtualMachineScaleSets/*/virtualMachines' },
  { method: 'GET', pathGlob: '**/virtualMachineScaleSets' },
  { method: 'GET', pathGlob: '**/Microsoft.Compute/virtualMachines' },
  { method: 'GET', pathGlob: '**/agentPools' },
];

function endsNever(effect: FaultEffect): boolean {
  return effect.kind === 'birth' && effect.how === 'stuck';
}

/**
 * While a machine of such a pool is being made, AKS refuses every other operation on the pool: one that is never finished is for
 * the cluster's operator to abort, and no run with it comes to rest.
 */
export function isHeldByAks({ kind }: Pick<PoolSpec, 'kind'>): boolean {
  return kind === 'vms-pool';
}

export interface Growth {
  readonly pools: readonly Pick<PoolSpec, 'name' | 'kind'>[];
  readonly workloads: readonly string[];
  readonly chaosMs: number;
}

/** Up to three times: more pods are wanted, what is born for them in a pool goes wrong, and lists hide it. */
export function hiddenFailures(random: Random, { pools, workloads, chaosMs }: Growth): readonly TimedStep[] {
  return Array.from({ length: whole(random, 0, 3) }, (_, index) => index).flatMap((index): readonly TimedStep[] => {
    const atMs = whole(random, 60 * SECOND, Math.max(60 * SECOND, chaosMs - 60 * SECOND));
    const pool = oneOf(random, pools);
    const failures = FAILURES.filter((effect) => !endsNever(effect) || !isHeldByAks(pool));
    const born = {
      id: `hidden ${index} birth`,
      match: { pool: pool.name, ...(happens(random, 0.5) ? { prob: 0.5 } : {}) },
      effect: oneOf(random, failures),
    };
    const forMs = whole(random, 60, 900) * SECOND;
    return [
      { atMs, step: { kind: 'fault', fault: born, forMs: whole(random, 60, 400) * SECOND } },
      { atMs: atMs + SECOND, step: { kind: 'scale', workload: oneOf(random, workloads), replicas: whole(random, 6, 25) } },
      ...LISTS.filter(() => happens(random, 0.6)).map((match, list): TimedStep => ({
        atMs: atMs + whole(random, 2, 90) * SECOND,
        step: { kind: 'fault', fault: { id: `hidden ${index} list ${list}`, match, effect: oneOf(random, BLINDNESS) }, forMs },
      })),
    ];
  });
}
