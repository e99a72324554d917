/**
 * Lies that last, against the whole daemon in virtual time. What must hold: loops go on and health answers, pods of another pool get
 * their nodes, no running pod is moved, no instance is deleted and no capacity is lowered. When the lie ends, the pool grows again for
 * its pods.
 */
import { afterEach, describe, expect, it } from 'vitest';
import type { FaultEffect } from '../../src/simulator/arm/state/fault-rules.ts';
import { aPool, bound, capacity, deployment, MINUTE, worldOf } from '../scenarios/support.ts';
import { VirtualRun } from '../support/virtual-world.ts';

let run: VirtualRun | undefined;
afterEach(async () => {
  await run?.stop();
  run = undefined;
});

/** The list of scale sets, and each alone. */
const SETS = '**/virtualMachineScaleSets**';
const LIED = '**/virtualMachineScaleSets/aks-lied-*';
const answer = (body: object, status = 200, headers: Readonly<Record<string, string>> = {}): FaultEffect => ({
  kind: 'answer',
  status,
  body: JSON.parse(JSON.stringify(body)) as never,
  headers,
});

interface Row {
  readonly pathGlob: string;
  readonly effect: FaultEffect;
  /** How long it lasts, minutes. */
  readonly minutes: number;
  /** How long it may take afterwards until the pool grows, minutes. Default: 10. */
  readonly recovery?: number;
}

const ROWS: Readonly<Record<string, Row>> = {
  'every capacity reads as 1e9': { pathGlob: SETS, effect: { kind: 'capacity-reads-as', value: 1e9, of: 'aks-lied-' }, minutes: 4 },
  'every capacity reads as -0.5': { pathGlob: SETS, effect: { kind: 'capacity-reads-as', value: -0.5, of: 'aks-lied-' }, minutes: 4 },
  "the pool's instances are none": { pathGlob: `${LIED}/virtualMachines`, effect: { kind: 'empty-list' }, minutes: 25 },
  "the pool's instances lead in a circle": { pathGlob: `${LIED}/virtualMachines`, effect: { kind: 'endless-pages' }, minutes: 25 },
  "the pool's instances lack ids and views": { pathGlob: `${LIED}/virtualMachines`, effect: { kind: 'bare-items' }, minutes: 25 },
  'agent pools are HTML': { pathGlob: '**/agentPools', effect: { kind: 'answer', status: 200, body: '<html>' }, minutes: 4 },
  'agent pools are null, numbers and nested wrongly': {
    pathGlob: '**/agentPools',
    effect: answer({
      value: [
        null,
        5,
        'x',
        { name: 7 },
        { name: 'lied', properties: { count: '1e9', nodeTaints: 5, nodeLabels: 'x', availabilityZones: 3 } },
      ],
    }),
    minutes: 4,
  },
  'usages are negative': {
    pathGlob: '**/usages',
    effect: answer({ value: [{ name: { value: 'cores' }, currentValue: -5, limit: 1e308 }] }),
    minutes: 6,
  },
  'every read says Retry-After of a year': {
    pathGlob: `${LIED}/virtualMachines`,
    effect: answer({ error: { code: 'TooManyRequests', message: 'm' } }, 429, { 'retry-after': '31536000' }),
    minutes: 4,
  },
  'every Date is ten years old': { pathGlob: '**', effect: { kind: 'date-skew', ms: -315_360_000_000 }, minutes: 4 },
};

const onPool = (name: string, pool: string, replicas: number, cpu: string) =>
  deployment({ name, replicas, cpu, spec: { nodeSelector: { 'kubernetes.azure.com/agentpool': pool } } });

describe('the whole daemon', () => {
  it.each(Object.entries(ROWS))('while %s', async (_name, { pathGlob, effect, minutes, recovery = 10 }) => {
    const pools = ['good', 'lied'].map((name) => aPool({ name, count: 2, min: 0, max: 5 }));
    run = await VirtualRun.start({ spec: worldOf(pools), flags: ['--scale-down-unneeded-time=2m', '--scale-down-delay-after-add=30s'] });
    const world = run;
    const { cluster, arm } = world.world;
    cluster.apply(onPool('kept', 'lied', 2, '2500m'));
    await world.until('the pods of the pool run', () => bound(world, 'kept') === 2, 2 * MINUTE);
    const uids = (): readonly unknown[] =>
      cluster.store
        .boundPods()
        .filter(({ metadata }) => metadata.labels?.['app'] === 'kept')
        .map(({ metadata }) => metadata.uid)
        .sort();
    const before = uids();
    arm.control.addFault({ id: 'lie', match: { method: 'GET', pathGlob }, effect });
    cluster.apply(onPool('more', 'good', 4, '2500m'));
    await world.until('the other pool grew', () => bound(world, 'more') === 4, 10 * MINUTE);
    await world.advance(minutes * MINUTE);
    expect((await fetch(`${world.daemon.url ?? ''}/healthz`)).status).toBe(200);
    expect(world.reports.slice(-3).map(({ outcome }) => outcome)).not.toContain('failed');
    expect(uids()).toEqual(before);
    expect(capacity(world, 'lied')).toBe(2);
    arm.control.removeFault('lie');
    cluster.apply(onPool('later', 'lied', 1, '2500m'));
    await world.until('the pool grew after the lie', () => bound(world, 'later') === 1, recovery * MINUTE);
    expect(uids()).toEqual(before);
    expect(world.writes().filter(({ route }) => /delete/i.test(route))).toEqual([]);
    expect(world.world.violations()).toEqual([]);
  });
});
