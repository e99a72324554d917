/** Beside an upgrade of Kubernetes by AKS, the daemon stands aside: it neither grows the pool for drained pods nor removes what came for the upgrade. */
import { describe, expect, it } from 'vitest';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, budget, capacity, deployment, MINUTE, worldOf } from './support.ts';

const FLAGS = ['--scale-down-unneeded-time=1m', '--scale-down-delay-after-add=0s'];

/** Three nodes, each more than half in use. */
async function busy(kind: 'vmss-uniform' | 'vms-pool'): Promise<VirtualRun> {
  const pool = aPool({ name: 'general', kind, count: 3, min: 0, max: 6 });
  const run = await startedWorld({ spec: worldOf([pool], { kubernetesVersion: '1.34.1' }), flags: FLAGS });
  run.world.cluster.apply(deployment({ name: 'web', replicas: 3, cpu: '2' }));
  await run.until('the pods run', () => bound(run, 'web') === 3, 5 * MINUTE);
  await run.advance(MINUTE);
  return run;
}

const pool = (world: VirtualRun) => world.world.arm.control.state().agentPools.find(({ name }) => name === 'general');
const ofPool = (world: VirtualRun) =>
  world.world.cluster.store.nodes().filter(({ metadata }) => metadata.labels?.['agentpool'] === 'general');
const nodes = (world: VirtualRun): readonly string[] => ofPool(world).map(({ metadata }) => metadata.name);
const kubelets = (world: VirtualRun): readonly unknown[] =>
  ofPool(world).map(({ status }) => (status as { readonly nodeInfo?: { readonly kubeletVersion?: string } }).nodeInfo?.kubeletVersion);

describe('an upgrade of Kubernetes by AKS', () => {
  it.each(['vmss-uniform', 'vms-pool'] as const)(
    'in a pool of kind %s is not disturbed: no write before, during or after it',
    async (kind) => {
      const world = await busy(kind);
      const before = nodes(world);
      const writes = world.writes().length;
      // A budget keeps the first node from being drained, so the surge node is idle for longer than idle nodes may be.
      world.world.cluster.apply(budget('web', 0));
      expect(world.world.arm.control.raise({ upgradeVersion: { pool: 'general', version: '1.34.1' } })).toBeUndefined();
      await world.until('the surge node', () => nodes(world).length === 4, 10 * MINUTE);
      await world.advance(4 * MINUTE);
      expect([nodes(world).length, world.writes().slice(writes)]).toEqual([4, []]);
      world.world.cluster.remove(budget('web', 0));
      await world.until('the upgrade ends', () => pool(world)?.provisioningState === 'Succeeded', 60 * MINUTE);
      await world.until('the surge node is gone', () => nodes(world).length === 3, 10 * MINUTE);
      await world.advance(2 * MINUTE);
      expect(world.writes().slice(writes)).toEqual([]);
      expect([nodes(world), kubelets(world)]).toEqual([before, ['v1.34.1', 'v1.34.1', 'v1.34.1']]);
      expect(bound(world, 'web')).toBe(3);
      expect(world.world.violations()).toEqual([]);
    },
  );

  it('that is aborted leaves a surge node, which goes by the ordinary rules: idle for its time, then by name', async () => {
    const world = await busy('vmss-uniform');
    world.world.arm.control.raise({ upgradeVersion: { pool: 'general', version: '1.34.1' } });
    await world.until('the surge node', () => nodes(world).length === 4, 10 * MINUTE);
    const writes = world.writes().length;
    expect(world.world.arm.control.raise({ abort: { pool: 'general' } })).toBeUndefined();
    await world.until('the node is gone', () => capacity(world, 'general') === 3 && nodes(world).length === 3, 30 * MINUTE);
    await world.advance(3 * MINUTE);
    expect(world.writes().slice(writes)).toHaveLength(1);
    expect(bound(world, 'web')).toBe(3);
    expect(world.world.violations()).toEqual([]);
  });

  it('that is aborted leaves two images: of two idle nodes, the one with the old image goes, although the other is idle for longer', async () => {
    const general = aPool({ name: 'general', count: 3, min: 3, max: 6 });
    const spec = worldOf([general, aPool({ name: 'other', count: 0, max: 1 })], { kubernetesVersion: '1.34.1' });
    const world = await startedWorld({ spec, flags: ['--scale-down-unneeded-time=1m', '--scale-down-delay-after-add=8m'] });
    world.world.cluster.apply(deployment({ name: 'web', replicas: 3, cpu: '2' }));
    await world.until('the pods run', () => bound(world, 'web') === 3, 5 * MINUTE);
    const before = nodes(world);
    world.world.cluster.apply(budget('web', 0));
    world.world.arm.control.raise({ upgradeVersion: { pool: 'general', version: '1.34.1' } });
    await world.until('the surge node', () => nodes(world).length === 4, 10 * MINUTE);
    world.world.arm.control.raise({ abort: { pool: 'general' } });
    // Growth elsewhere lets both be due in one loop.
    world.world.cluster.apply(deployment({ name: 'late', replicas: 1, cpu: '2', spec: { nodeSelector: { agentpool: 'other' } } }));
    await world.until('the other pool grows', () => capacity(world, 'other') === 1, 5 * MINUTE);
    await world.advance(2 * MINUTE);
    world.world.cluster.remove(budget('web', 0));
    world.world.cluster.apply(deployment({ name: 'web', replicas: 2, cpu: '2' }));
    await world.until('a node is gone', () => nodes(world).length === 3, 30 * MINUTE);
    const surge = nodes(world).filter((name) => !before.includes(name));
    expect([surge.length, bound(world, 'web'), world.world.violations()]).toEqual([1, 2, []]);
    const groups = world.reports.at(-1)?.observation?.cloud.groups ?? [];
    expect(groups.find(({ id }) => id.includes('general'))?.agentPool?.nodeImage).toMatch(/^AKSUbuntu-/);
  });
});
