import { describe, expect, it } from 'vitest';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, events, MINUTE, SECOND, worldOf } from './support.ts';

const D4 = 'Standard_D4s_v5';

function groups(world: VirtualRun): readonly string[] {
  const found = world.reports.at(-1)?.observation?.cloud.groups ?? [];
  return found.map(({ id, minSize, maxSize }) => `${id.replace(/^aks-(\w+)-.*$/, '$1')} ${minSize}:${maxSize}`).sort();
}

/** AKS takes one operation on a pool at a time: who comes too early waits. */
async function retag(world: VirtualRun, pool: string, tags: Readonly<Record<string, string | null>>): Promise<void> {
  const stateOf = () => world.world.arm.control.state().agentPools.find(({ name }) => name === pool)?.provisioningState;
  await world.until('AKS has time for the pool', () => stateOf() === 'Succeeded', 10 * MINUTE);
  const wrong = world.world.arm.control.raise({ retag: { pool, tags } });
  if (wrong !== undefined) throw new Error(wrong);
}

describe('without rules, names and flags', () => {
  const other = { 'cluster-autoscaler-name': 'another' };

  it("the pools that are tagged for the cluster are managed; those of AKS's own autoscaler are listed, and never written", async () => {
    const pools = [
      aPool({ name: 'aaa', count: 1, max: 3 }),
      aPool({ name: 'bbb', count: 1, max: 3, tags: other }),
      aPool({ name: 'ccc', count: 1, max: 4, tags: other, managedAutoscaler: true }),
    ];
    const world = await startedWorld({ spec: worldOf(pools), discovery: [] });
    world.world.cluster.apply(deployment({ name: 'web', replicas: 30, cpu: '1' }));
    await world.advance(5 * MINUTE);
    expect(groups(world)).toEqual(['aaa 0:3', 'ccc 0:4', 'system 1:3']);
    expect(['aaa', 'bbb', 'ccc'].map((pool) => capacity(world, pool))).toEqual([3, 1, 1]);
  });

  it('nothing is managed if the name of the cluster is not known', async () => {
    const env = { CLUSTER_NAME: '', ARM_CLUSTER_RESOURCE_GROUP: '' };
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'aaa', count: 1, max: 3 })]), discovery: [], env });
    await world.advance(30 * SECOND);
    expect(groups(world)).toEqual([]);
  });
});

describe('discovery by tags', () => {
  it('a pool is managed if any selector matches with all of its tags; of several, all limits apply; other pools are not touched', async () => {
    const pools = [
      aPool({ name: 'aaa', count: 0, tags: { team: 'data', env: 'prod' } }),
      aPool({ name: 'bbb', count: 0, tags: { owner: 'web' } }),
      aPool({ name: 'ccc', count: 0, tags: { team: 'data', env: 'test' } }),
      aPool({ name: 'ddd', kind: 'vms-pool', count: 0, tags: { owner: 'web' } }),
    ];
    const flags = ['label:team=data,env=prod', 'label:owner=web'].map((rule) => `--node-group-auto-discovery=${rule}`);
    const world = await startedWorld({ spec: worldOf(pools, { discoveryTags: {} }), flags });
    await world.advance(15 * SECOND);
    expect(groups(world)).toEqual(['aaa 0:10', 'bbb 0:10', `ddd/${D4} 0:10`]);
    world.world.cluster.apply(deployment({ name: 'web', replicas: 8, cpu: '1500m' }));
    await world.until('all bound', () => bound(world, 'web') === 8, 10 * MINUTE);
    expect(capacity(world, 'ccc')).toBe(0);
    expect(world.world.violations()).toEqual([]);
  });

  it.each(['vmss-uniform', 'vms-pool'] as const)(
    'tags of a %s that change are obeyed in the loop after the list that shows them',
    async (kind) => {
      const pool = aPool({ name: 'general', kind, count: 1, min: 1, max: 2 });
      const world = await startedWorld({
        spec: worldOf([pool]),
        flags: ['--scan-interval=1m', '--scale-down-unneeded-time=1m', '--scale-down-delay-after-add=30s'],
      });
      const size = (): number => world.world.arm.control.state().agentPools.find(({ name }) => name === 'general')?.size ?? Number.NaN;
      const grown = (): number => (kind === 'vms-pool' ? size() : capacity(world, 'general'));
      world.world.cluster.apply(deployment({ name: 'web', replicas: 12, cpu: '1500m' }));
      await world.until('the maximum', () => grown() === 2, 5 * MINUTE);
      await world.advance(5 * MINUTE);
      expect(events(world, 'NotTriggerScaleUp').join()).toContain('max');
      // For a scale set AKS takes back what it did not count meanwhile, and the pool is left alone until that is over.
      await retag(world, 'general', { max: '4' });
      await world.until('growth to the new maximum', () => grown() === 4, 10 * MINUTE);
      await world.advance(5 * MINUTE);
      expect(grown()).toBe(4);
      await retag(world, 'general', { min: '3' });
      world.world.cluster.apply(deployment({ name: 'web', replicas: 0, cpu: '1500m' }));
      await world.until('the new minimum', () => grown() === 3, 10 * MINUTE);
      await world.advance(10 * MINUTE);
      expect(grown()).toBe(3);
      // A raised minimum makes the pool grow, a tag that is no number takes it out and a good one puts it back.
      await retag(world, 'general', { min: '4' });
      await world.until('the raised minimum', () => grown() === 4, 10 * MINUTE);
      await world.advance(MINUTE);
      await retag(world, 'general', { min: 'four' });
      await world.until('no group', () => !groups(world).some((group) => group.startsWith('general')), 5 * MINUTE);
      await retag(world, 'general', { min: '1' });
      await world.until('a group again', () => groups(world).some((group) => group.startsWith('general')), 5 * MINUTE);
      expect(events(world, 'NodeGroupVanished')).toHaveLength(1);
      expect(events(world, 'NodeGroupAppeared')[0]).toContain('(min: 1, max: 4)');
      expect(world.world.violations()).toEqual([]);
    },
  );

  it("a pool that comes and one that goes while the daemon runs are events and no errors, its nodes and pods are others' matter", async () => {
    const lines: string[] = [];
    const pools = [aPool({ name: 'general', min: 1 }), aPool({ name: 'doomed', count: 2, min: 1 })];
    const world = await startedWorld({ spec: worldOf(pools), onLog: (line) => void lines.push(line) });
    await world.advance(MINUTE);
    world.world.arm.control.raise({ addPool: aPool({ name: 'fresh', count: 0, kind: 'vmss-flexible' }) });
    world.world.arm.control.raise({ removePool: { pool: 'doomed' } });
    await world.until(
      'both are reported',
      () => events(world, 'NodeGroupAppeared').length + events(world, 'NodeGroupVanished').length === 2,
      4 * MINUTE,
    );
    expect(groups(world)).toEqual(['fresh 0:10', 'general 1:10', 'system 1:3']);
    expect(new Set(world.reports.map(({ outcome }) => outcome))).toEqual(new Set(['completed']));
    expect(lines.filter((line) => /"level":"(error|fatal)"|"level":[56]0/.test(line))).toEqual([]);
    expect(world.world.violations()).toEqual([]);
  });
});

describe('groups that are named', () => {
  it('by their agent pool, in any letter case, and a size of a pool that is born later', async () => {
    const pool = aPool({ name: 'general', min: 0, max: 9 });
    const flags = ['--nodes=1:2:GENERAL', `--nodes=0:3:late/${D4.toLowerCase()}`];
    const world = await startedWorld({ spec: worldOf([pool], { discoveryTags: {} }), flags });
    world.world.cluster.apply(deployment({ name: 'web', replicas: 12, cpu: '1500m' }));
    await world.until('its maximum', () => capacity(world, 'general') === 2, 5 * MINUTE);
    const late = () => world.reports.at(-1)?.observation?.cloud.groups.find(({ id }) => id.startsWith('late'));
    expect(late()).toMatchObject({ kind: 'vms-pool', blocks: { change: { code: 'no-such-size' } } });
    expect(capacity(world, 'general')).toBe(2);
    world.world.arm.control.raise({ addPool: aPool({ name: 'late', kind: 'vms-pool', count: 0 }) });
    await world.until(
      'machines of the late pool',
      () => (world.world.arm.control.state().agentPools.find(({ name }) => name === 'late')?.size ?? 0) === 3,
      10 * MINUTE,
    );
    expect(groups(world)).toEqual(['GENERAL 1:2', `late/${D4.toLowerCase()} 0:3`]);
    expect(world.world.violations()).toEqual([]);
  });

  it('and limits that are stated are obeyed from the next loop on when the configuration changes, as are groups that come and go', async () => {
    const pools = [
      aPool({ name: 'general', min: 0, max: 9 }),
      aPool({ name: 'other', count: 0 }),
      aPool({ name: 'sizes', kind: 'vms-pool', count: 0 }),
    ];
    const eager = ['--scale-down-unneeded-time=1m', '--scale-down-delay-after-add=30s'];
    const world = await startedWorld({ spec: worldOf(pools, { discoveryTags: {} }), flags: [...eager, '--nodes=0:2:general'] });
    const change = (...flags: readonly string[]): void => world.daemon.reconfigure(world.configWith([...eager, ...flags]));
    world.world.cluster.apply(deployment({ name: 'web', replicas: 12, cpu: '1500m' }));
    await world.until('the first maximum', () => capacity(world, 'general') === 2, 5 * MINUTE);
    await world.advance(3 * MINUTE);
    change('--nodes=0:3:general');
    await world.until('a write', () => capacity(world, 'general') === 3, 15 * SECOND);
    change('--nodes=0:3:general', '--nodes=0:2:other', `--nodes=0:9:sizes/${D4}`);
    await world.until('all bound', () => bound(world, 'web') === 12, 10 * MINUTE);
    expect([capacity(world, 'general'), capacity(world, 'other')].every((nodes) => nodes <= 3)).toBe(true);
    expect(groups(world)).toEqual(['general 0:3', 'other 0:2', `sizes/${D4} 0:9`]);
    expect(events(world, 'NodeGroupAppeared')).toHaveLength(2);
    change('--nodes=3:4:general');
    await world.advance(15 * SECOND);
    expect(groups(world)).toEqual(['general 3:4']);
    expect(events(world, 'NodeGroupVanished')).toHaveLength(2);
    const [other, writes] = [capacity(world, 'other'), world.writes().length];
    world.world.cluster.apply(deployment({ name: 'web', replicas: 0, cpu: '1500m' }));
    await world.until('its new minimum', () => capacity(world, 'general') === 3, 10 * MINUTE);
    await world.advance(10 * MINUTE);
    expect([capacity(world, 'general'), capacity(world, 'other')]).toEqual([3, other]);
    expect(
      world
        .writes()
        .slice(writes)
        .filter(({ pool }) => pool !== 'general'),
    ).toEqual([]);
    expect(world.world.violations()).toEqual([]);
  });
});
