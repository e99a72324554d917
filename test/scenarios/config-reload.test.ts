import { afterEach, describe, expect, it } from 'vitest';
import { VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, events, MINUTE, worldOf } from './support.ts';

let run: VirtualRun | undefined;
afterEach(async () => {
  await run?.stop();
  run = undefined;
});

describe('a configuration that changes while the daemon runs', () => {
  it('is obeyed from the next loop on; timers and back-offs go on', async () => {
    const world = await VirtualRun.start({
      spec: worldOf(
        [aPool({ name: 'general' }), aPool({ name: 'compute', vmSize: 'Standard_F8s_v2', count: 0, labels: { workload: 'batch' } })],
        {
          stock: { 'Standard_F8s_v2/0': 0 },
        },
      ),
      flags: ['--scale-down-unneeded-time=30m', '--scale-down-delay-after-add=0s'],
    });
    run = world;
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
});
