/** What themes are made of. */
import type { Random } from '../../../src/lib/random.ts';
import type { Fault, FaultEffect, FaultMatch } from '../../../world/simulator/arm/state/fault-rules.ts';
import type { ArmLatencies } from '../../../world/simulator/arm/state/latencies.ts';
import type { WorldEvent } from '../../../world/simulator/arm/faults/world-event.ts';
import type { PoolSpec } from '../../../world/simulator/base/world-spec.ts';
import { aPool } from '../../scenarios/support.ts';
import { whole } from '../chance.ts';
import type { Scenario } from '../scenario.ts';
import type { TimedStep } from '../step.ts';

export const SECOND = 1_000;

export const WORKLOADS: readonly string[] = ['a', 'b', 'c'];
export const SET = '**/virtualMachineScaleSets/*';
export const DELETE = '**/virtualMachineScaleSets/*/delete';
export const LISTS: readonly FaultMatch[] = [
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

export const BUSY = { error: { code: 'ServerBusy', message: 'The server is busy.' } };
export const NOT_FOUND = { error: { code: 'ResourceNotFound', message: 'The Resource was not found.' } };

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

export const event = (value: WorldEvent): TimedStep['step'] => ({ kind: 'event', event: value });
export const fault = (value: Fault, forMs: number): TimedStep['step'] => ({ kind: 'fault', fault: value, forMs });

export const THREE_KINDS: readonly PoolSpec[] = [
  aPool({ name: 'uni', count: 1, max: 30 }),
  aPool({ name: 'flex', count: 1, max: 30, kind: 'vmss-flexible' }),
  aPool({ name: 'vms', count: 1, max: 30, kind: 'vms-pool' }),
];
export const NAMES = ['uni', 'flex', 'vms'];
