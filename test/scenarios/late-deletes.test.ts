import { describe, expect, it } from 'vitest';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, events, MINUTE, worldOf } from './support.ts';

const FLAGS = [
  '--scale-down-unneeded-time=1m',
  '--scale-down-delay-after-add=30s',
  '--scale-down-delay-after-failure=1m',
  '--scan-interval=30s',
];

function machines(world: VirtualRun): readonly { readonly hostName: string; readonly provisioningState: string }[] {
  const state = world.world.arm.control.state();
  const own = state.sets.find(({ pool }) => pool === 'general')?.instances;
  return own ?? state.agentPools.find(({ name }) => name === 'general')?.machines ?? [];
}

/** Nodes of the pool that nothing may be put on, or that are marked as leaving. */
function held(world: VirtualRun): readonly string[] {
  const nodes = world.world.cluster.store.nodes().filter(({ metadata }) => metadata.name.includes('general'));
  return nodes
    .filter(({ spec }) => spec.unschedulable === true || (spec.taints ?? []).some(({ key }) => key.startsWith('ToBeDeleted')))
    .map(({ metadata }) => metadata.name);
}

describe.each(['vmss-uniform', 'vmss-flexible', 'vms-pool'] as const)('a deletion in a %s that fails after it was accepted', (kind) => {
  it('is reported, its node serves again, and it is done when Azure is well', async () => {
    const pool = aPool({ name: 'general', kind, count: 3, min: 1, max: 5 });
    const world = await startedWorld({ spec: worldOf([pool]), flags: FLAGS });
    world.world.cluster.apply(deployment({ name: 'web', replicas: 2, cpu: '1' }));
    world.world.arm.control.addCatalogued({ number: 35, id: 'deletes', match: { pool: 'general' } });
    await world.until('a deletion', () => world.writes().some(({ route }) => route.startsWith('POST')), 5 * MINUTE);
    await world.until(
      'reported',
      () => events(world, 'ScaleDownFailed').some((words) => /^Deletion of \d+ instances of \S+ failed/.test(words)),
      10 * MINUTE,
    );
    world.world.arm.control.removeFault('deletes');
    await world.until('nodes that serve', () => held(world).length === 0, 3 * MINUTE);
    expect(machines(world)).toHaveLength(3);
    expect(bound(world, 'web')).toBe(2);
    await world.until('done', () => machines(world).length === 1, 30 * MINUTE);
    await world.advance(5 * MINUTE);
    expect([machines(world).length, bound(world, 'web'), held(world).length]).toEqual([1, 2, 0]);
    expect(world.world.violations()).toEqual([]);
  });
});

describe('pods that come while Azure still counts deleted instances', () => {
  it('get a node at once, although the old capacity is larger than the new size', async () => {
    const pool = aPool({ name: 'general', count: 6, min: 1, max: 8 });
    const knobs = { capacityLagAfterDeleteMs: 3 * MINUTE, deleteGraceful: { p50: 4 * MINUTE, p95: 4 * MINUTE } };
    const world = await startedWorld({ spec: worldOf([pool]), flags: FLAGS, knobs });
    world.world.cluster.apply(deployment({ name: 'web', replicas: 3, cpu: '3' }));
    await world.until('a deletion', () => world.writes().some(({ route }) => route.startsWith('POST')), 5 * MINUTE);
    const staying = machines(world).filter(({ provisioningState }) => provisioningState !== 'Deleting').length;
    expect([capacity(world, 'general'), staying]).toEqual([6, 3]);
    world.world.cluster.apply(deployment({ name: 'late', replicas: 1, cpu: '3' }));
    await world.until('a write', () => world.writes().some(({ route }) => route.startsWith('PUT')), MINUTE);
    expect(world.writes().find(({ route }) => route.startsWith('PUT'))).toMatchObject({ status: 200, capacityBefore: 3, capacityAfter: 4 });
    expect(capacity(world, 'general')).toBe(7);
    await world.until('bound', () => bound(world, 'late') === 1, 5 * MINUTE);
    await world.advance(4 * MINUTE);
    expect([capacity(world, 'general'), machines(world).length, bound(world, 'web')]).toEqual([4, 4, 3]);
    expect(world.world.violations()).toEqual([]);
  });
});
