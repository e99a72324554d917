/** More than one daemon: who leads, and what happens to what a leader leaves behind. */
import { describe, expect, it } from 'vitest';
import { aPool } from '../scenarios/support.ts';
import { STOP_SECONDS_ANNOTATION } from '../../world/simulator/cluster/controllers/kubelet-pods.ts';
import { scenarios } from './scenario.ts';
import { until } from './until.ts';
import { deployment } from './workloads.ts';
import type { E2eWorld } from './world.ts';
import type { Node } from './seen-objects.ts';

const TO_BE_DELETED = 'ToBeDeletedByClusterAutoscaler';
const LEASE_PATH = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/aks-autoscaler';
const TAKEOVER_MS = 90_000;
/** Twice the usual times, so that a busy machine does not cost a leader its lease: a scenario says who leads and who stops. */
const LEASE = ['--leader-elect-lease-duration=30s', '--leader-elect-renew-deadline=20s'];

const { begin, plane } = scenarios();
let world: E2eWorld;

function isMarked({ spec }: Node): boolean {
  return (spec.taints ?? []).some(({ key }) => key === TO_BE_DELETED);
}

async function leader(): Promise<string | undefined> {
  const lease = await plane().admin.get(LEASE_PATH);
  return (lease?.['spec'] as { readonly holderIdentity?: string } | undefined)?.holderIdentity;
}

/** Principals in order of their writes, without repeats. */
function reigns(): readonly string[] {
  return world.writers().filter((principal, index, all) => principal !== all[index - 1]);
}

describe('leadership on a real control plane', () => {
  it('a leader killed in the middle of a drain is followed by one that brings it to an end', async () => {
    world = await begin({ pools: [aPool({ name: 'general', count: 2, min: 1 })] });
    // Keeps both nodes needed until both daemons run, however long their start takes.
    await world.apply(deployment({ name: 'keeps', replicas: 2, cpu: '2000m' }));
    await world.untilRunning('keeps', 2);
    await world.apply(
      deployment({
        name: 'slow',
        replicas: 4,
        cpu: '400m',
        annotations: { [STOP_SECONDS_ANNOTATION]: '25' },
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
    const first = await world.daemon(LEASE, 'first');
    await first.ready();
    const second = await world.daemon(LEASE, 'second');
    await world.scale('keeps', 0);
    const marked = await until(
      'a drain is under way',
      async () => {
        const node = (await world.nodes()).find(isMarked);
        const ending = (await world.pods('slow')).some(({ metadata }) => metadata.deletionTimestamp !== undefined);
        return ending ? node : undefined;
      },
      TAKEOVER_MS,
      () => world.picture(),
    );
    expect(await leader()).toBe('first');
    await first.program.kill();
    expect(world.writers().filter((principal) => principal === second.principal)).toEqual([]);
    await until(
      'the second leads',
      async () => (await leader()) === 'second',
      TAKEOVER_MS,
      () => world.picture(),
    );
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
    const first = await world.daemon([...LEASE, '--scale-down-enabled=false'], 'first');
    await first.ready();
    const second = await world.daemon([...LEASE, '--scale-down-enabled=false'], 'second');
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
    const third = await world.daemon([...LEASE, '--scale-down-enabled=false'], 'third');
    // Frozen meanwhile, so that the lease shows what the second left there, however long that takes.
    third.program.signal('SIGSTOP');
    await second.program.stop(30_000);
    expect(await leader()).toBe('');
    third.program.signal('SIGCONT');
    await until('the third leads', async () => (await leader()) === 'third', TAKEOVER_MS);
    await third.ready();
    await world.scale('two', 6);
    await world.untilRunning('two', 6);
    expect(reigns()).toEqual([first.principal, second.principal, third.principal]);
    expect(world.capacity('general')).toBe(5);
    expect(world.violations).toEqual([]);
  });
});
