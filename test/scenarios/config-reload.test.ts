import { describe, expect, it } from 'vitest';
import { startedWorld } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, events, MINUTE, worldOf } from './support.ts';

describe('a configuration that changes while the daemon runs', () => {
  it('is obeyed from the next loop on; timers and back-offs go on', async () => {
    const world = await startedWorld({
      spec: worldOf(
        [aPool({ name: 'general' }), aPool({ name: 'compute', vmSize: 'Standard_F8s_v2', count: 0, labels: { workload: 'batch' } })],
        {
          stock: { 'Standard_F8s_v2/0': 0 },
        },
      ),
      flags: ['--scale-down-unneeded-time=30m', '--scale-down-delay-after-add=0s'],
    });
    world.world.cluster.apply(deployment({ name: 'web', replicas: 10, cpu: '700m' }));
    await world.until('all pods bound', () => bound(world, 'web') === 10, 5 * MINUTE);
    world.world.cluster.apply(deployment({ name: 'batch', replicas: 1, cpu: '1500m', spec: { nodeSelector: { workload: 'batch' } } }));
    await world.until('a group rests', () => (world.reports.at(-1)?.state.backoffs.size ?? 0) > 0, 5 * MINUTE);
    world.world.cluster.apply(deployment({ name: 'web', replicas: 1, cpu: '700m' }));
    await world.advance(6 * MINUTE);
    const before = world.reports.at(-1)?.state;
    expect(capacity(world, 'general')).toBeGreaterThan(1);
    expect(before?.unneededSince.size).toBeGreaterThan(0);

    const changed = world.configWith(['--scale-down-unneeded-time=5m', '--scale-down-delay-after-add=0s']);
    world.daemon.reconfigure(changed);
    world.daemon.announce({ kind: 'applied', message: 'Generation 2 is live: scaleDown.unneededTime changed.' });
    // Unneeded for six minutes already: the timer counts, and the nodes go at once rather than in five minutes.
    await world.until('nodes removed', () => capacity(world, 'general') === 1, 3 * MINUTE);
    const after = world.reports.at(-1)?.state;
    for (const [group, { durationMs }] of before?.backoffs ?? []) expect(after?.backoffs.get(group)?.durationMs).toBe(durationMs);
    expect(events(world, 'ConfigReloaded')).toEqual(['Generation 2 is live: scaleDown.unneededTime changed.']);
  });

  it('may redefine the node groups and their limits', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general', max: 10 }), aPool({ name: 'spare', count: 0 })]) });
    const groups = (): Readonly<Record<string, readonly [min: number, max: number]>> =>
      Object.fromEntries(
        (world.reports.at(-1)?.observation?.cloud.groups ?? []).map(({ id, minSize, maxSize }) => [
          id.split('-')[1] ?? id,
          [minSize, maxSize],
        ]),
      );
    await world.until('both are groups', () => Object.keys(groups()).length >= 2, MINUTE);
    const before = groups();
    const id = world.reports.at(-1)?.observation?.cloud.groups.find((group) => group.id.includes('general'))?.id ?? '';
    // Only one of them, named, and with another maximum.
    const { azure, ...rest } = world.configWith([]);
    const nodeGroupOptions = [{ name: id, options: { unneededForMs: 2 * MINUTE } }];
    world.daemon.reconfigure({ ...rest, azure: { ...azure, discovery: [], nodeGroups: [{ name: id, min: 1, max: 3 }], nodeGroupOptions } });
    world.world.cluster.apply(deployment({ name: 'web', replicas: 40, cpu: '700m' }));
    await world.until('the maximum is reached', () => capacity(world, 'general') === 3, 3 * MINUTE);
    await world.advance(3 * MINUTE);
    expect(groups()).toEqual({ general: [1, 3] });
    expect([capacity(world, 'general'), capacity(world, 'spare')]).toEqual([3, 0]);
    expect(world.reports.at(-1)?.observation?.cloud.groups[0]?.options).toEqual({ unneededForMs: 2 * MINUTE });
    world.daemon.reconfigure(world.configWith([]));
    await world.until('all pods bound', () => bound(world, 'web') === 40, 10 * MINUTE);
    expect(groups()).toEqual(before);
    expect(world.world.violations()).toEqual([]);
  });
});
