/** More than one daemon: who leads, and what happens to what a leader leaves behind. */
import { describe, expect, it } from 'vitest';
import { aPool } from '../scenarios/support.ts';
import { STOP_SECONDS_ANNOTATION } from './kubelets.ts';
import { scenarios } from './scenario.ts';
import { Patience } from '../../src/lab/patience.ts';
import { until } from './until.ts';
import { deployment } from './workloads.ts';
import type { E2eWorld } from './world.ts';
import type { Node } from './seen-objects.ts';

const TO_BE_DELETED = 'ToBeDeletedByClusterAutoscaler';
const LEASE = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/aks-autoscaler';
const TAKEOVER_MS = 60_000;
/** From the death of a leader to the next one's name in the lease; measured on a machine that does much else. */
const HAND_OVER_MS = 15_000;
/** A leader that stops gives its lease up at once. */
const CLEAN_HAND_OVER_MS = 5_000;

const { begin, plane } = scenarios();
let world: E2eWorld;

function isMarked({ spec }: Node): boolean {
  return (spec.taints ?? []).some(({ key }) => key === TO_BE_DELETED);
}

async function leader(): Promise<string | undefined> {
  const lease = await plane().admin.get(LEASE);
  return (lease?.['spec'] as { readonly holderIdentity?: string } | undefined)?.holderIdentity;
}

/** Principals in order of their writes, without repeats. */
function reigns(): readonly string[] {
  return world.writers().filter((principal, index, all) => principal !== all[index - 1]);
}

describe('leadership on a real control plane', () => {
  it('a leader killed in the middle of a drain is followed by one that brings it to an end', async () => {
    world = await begin({ pools: [aPool({ name: 'general', count: 2, min: 1 })] });
    await world.apply(
      deployment({
        name: 'slow',
        replicas: 4,
        cpu: '400m',
        annotations: { [STOP_SECONDS_ANNOTATION]: '15' },
        spec: {
          terminationGracePeriodSeconds: 30,
          topologySpreadConstraints: [
            {
              maxSkew: 1,
              topologyKey: 'kubernetes.io/hostname',
              whenUnsatisfiable: 'ScheduleAnyway',
              labelSelector: { matchLabels: { app: 'slow' } },
            },
          ],
        },
      }),
    );
    const before = await world.untilRunning('slow', 4);
    expect(new Set(before.map(({ spec }) => spec.nodeName)).size).toBe(2);
    const first = await world.daemon([], 'first');
    await first.ready();
    const second = await world.daemon([], 'second');
    const marked = await until('a drain is under way', async () => {
      const node = (await world.nodes()).find(isMarked);
      const ending = (await world.pods('slow')).some(({ metadata }) => metadata.deletionTimestamp !== undefined);
      return ending ? node : undefined;
    });
    expect(await leader()).toBe('first');
    const handOver = new Patience(HAND_OVER_MS);
    await first.program.kill();
    expect(world.writers().filter((principal) => principal === second.principal)).toEqual([]);
    await until(
      'the second leads',
      async () => (await leader()) === 'second',
      TAKEOVER_MS,
      () => world.picture(),
    );
    expect(handOver.isOver()).toBe(false);
    // Finished, or undone and done again: in the end one node carries all, and no mark is left.
    await until(
      `${marked.metadata.name} is gone or whole again, and one node is left`,
      async () => (await world.nodes('general')).length === 1 && !(await world.nodes()).some(isMarked),
      120_000,
      () => world.picture(),
    );
    await world.untilRunning('slow', 4);
    expect(world.capacity('general')).toBe(1);
    expect(reigns().length).toBeLessThanOrEqual(2);
    expect(world.violations).toEqual([]);
  });

  it('two replicas never both write, not even when a frozen leader wakes up', async () => {
    world = await begin({ pools: [aPool({ name: 'general', count: 1, min: 1 })] });
    const first = await world.daemon(['--scale-down-enabled=false'], 'first');
    await first.ready();
    const second = await world.daemon(['--scale-down-enabled=false'], 'second');
    await world.apply(deployment({ name: 'one', replicas: 4, cpu: '1500m' }));
    await world.untilRunning('one', 4);
    expect(reigns()).toEqual([first.principal]);
    first.program.signal('SIGSTOP');
    await until('the second leads', async () => (await leader()) === 'second', TAKEOVER_MS);
    await second.ready();
    await world.apply(deployment({ name: 'two', replicas: 2, cpu: '1500m' }));
    // It wakes up to a pod that waits, and must not help it.
    first.program.signal('SIGCONT');
    await world.untilRunning('two', 2);
    expect(await until('the first gives up', () => first.program.end, TAKEOVER_MS)).toBe(1);
    expect(reigns()).toEqual([first.principal, second.principal]);
    // A clean stop hands over at once, without waiting for the lease to run out.
    const third = await world.daemon(['--scale-down-enabled=false'], 'third');
    const cleanHandOver = new Patience(CLEAN_HAND_OVER_MS);
    await second.program.stop(30_000);
    await until('the third leads', async () => (await leader()) === 'third', TAKEOVER_MS);
    // The stop itself, undoing what was begun, is part of it.
    expect(cleanHandOver.isOver()).toBe(false);
    await third.ready();
    await world.scale('two', 6);
    await world.untilRunning('two', 6);
    expect(reigns()).toEqual([first.principal, second.principal, third.principal]);
    expect(world.capacity('general')).toBe(5);
    expect(world.violations).toEqual([]);
  });
});
