/** The daemon among actors that act by themselves: AKS that operates, waves of evictions, another writer, lists that are behind. */
import { describe, expect, it } from 'vitest';
import { startedWorld } from '../support/virtual-world.ts';
import { MINUTE, aPool, bound, capacity, deployment, worldOf } from './support.ts';

describe('a world that does not stand still', () => {
  it('the daemon breaks no rule in it, and all pods run soon after it is quiet', async () => {
    const pools = [
      aPool({ name: 'general', max: 6 }),
      aPool({ name: 'spot', max: 6, priority: 'Spot', evictionPolicy: 'Delete' }),
      aPool({ name: 'keep', max: 6, priority: 'Spot', evictionPolicy: 'Deallocate' }),
    ];
    const flags = ['--scale-down-unneeded-time=2m', '--scale-down-delay-after-add=1m', '--expander=least-waste', '--scan-interval=30s'];
    const world = await startedWorld({ spec: worldOf(pools), flags, knobs: { listStalenessMs: 10_000 } });
    const { arm, cluster } = world.world;
    const tolerations = [{ key: 'kubernetes.azure.com/scalesetpriority', operator: 'Exists' }];
    cluster.apply(deployment({ name: 'web', replicas: 8, cpu: '1500m' }));
    cluster.apply(deployment({ name: 'batch', replicas: 8, cpu: '1500m', spec: { tolerations } }));
    arm.control.setAmbient({
      reconcile: { everyMs: 8 * MINUTE },
      evictions: { everyMs: 6 * MINUTE, fraction: 0.7 },
      foreignScaling: { everyMs: 5 * MINUTE },
    });
    await world.advance(40 * MINUTE);
    const deeds = new Set(arm.control.journal().flatMap(({ method, route }) => (method === 'EVENT' ? [route] : [])));
    expect([...deeds].sort()).toEqual(['EVENT evict', 'EVENT foreignScale', 'EVENT rpReconcile']);
    arm.control.setAmbient({});
    await world.until('all bound', () => bound(world, 'web') === 8 && bound(world, 'batch') === 8, 20 * MINUTE);
    expect(world.world.violations()).toEqual([]);
    for (const { name, max } of pools) expect(capacity(world, name)).toBeLessThanOrEqual(max);
  });
});
