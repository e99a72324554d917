import { describe, expect, it } from 'vitest';
import { startedWorld } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, events, MINUTE, SECOND, worldOf } from './support.ts';

describe('a Flexible scale set', () => {
  it('grows for pods and shrinks when they go, like any other', async () => {
    const pool = aPool({ name: 'flex', kind: 'vmss-flexible', count: 0, zones: ['1', '2'], labels: { team: 'data' } });
    const flags = ['--scale-down-unneeded-time=1m', '--scale-down-delay-after-add=30s'];
    const world = await startedWorld({ spec: worldOf([pool]), flags });
    const etl = (replicas: number) => deployment({ name: 'etl', replicas, cpu: '700m', spec: { nodeSelector: { team: 'data' } } });
    world.world.cluster.apply(etl(10));
    await world.until('all bound', () => bound(world, 'etl') === 10, 5 * MINUTE);
    expect(capacity(world, 'flex')).toBe(2);
    world.world.cluster.apply(etl(0));
    await world.until('an empty pool', () => capacity(world, 'flex') === 0, 10 * MINUTE);
    const removed = world.writes().filter(({ route }) => route.startsWith('POST'));
    expect(removed.map(({ route }) => route)).toEqual(removed.map(() => 'POST virtualMachineScaleSets/{name}/delete'));
    expect(world.world.violations()).toEqual([]);
  });
});

describe('a role that is missing for a while', () => {
  it('stops nothing for good: the daemon says so, does not hammer, and goes on when it is back', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general' })]) });
    await world.advance(15 * SECOND);
    const body = { error: { code: 'AuthorizationFailed', message: "The client 'a' does not have authorization to perform action 'x'." } };
    world.world.arm.control.addFault({
      id: 'role',
      match: { pathGlob: '**/Microsoft.Compute/**' },
      effect: { kind: 'answer', status: 403, body },
    });
    world.world.cluster.apply(deployment({ name: 'web', replicas: 12, cpu: '700m' }));
    const since = world.clock.now();
    await world.advance(4 * MINUTE);
    const asked = world.world.arm.control.journal().filter(({ at, status }) => at >= since && status === 403);
    expect(asked.length).toBeGreaterThan(0);
    expect(asked.length).toBeLessThanOrEqual(4 * 6);
    expect(events(world, 'NotTriggerScaleUp').join()).toContain('Azure refused the last write');
    world.world.arm.control.removeFault('role');
    await world.until('all bound', () => bound(world, 'web') === 12, 10 * MINUTE);
    expect(world.world.violations()).toEqual([]);
  });
});

describe('a pool that is added while the daemon runs', () => {
  it('is served within two minutes of its birth', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general', max: 1 })]) });
    await world.advance(MINUTE);
    world.world.arm.control.raise({ addPool: aPool({ name: 'late', count: 0, labels: { team: 'new' } }) });
    world.world.cluster.apply(deployment({ name: 'web', replicas: 3, cpu: '1', spec: { nodeSelector: { team: 'new' } } }));
    await world.until('a write', () => world.writes().some(({ pool }) => pool === 'late'), 2 * MINUTE);
    await world.until('all bound', () => bound(world, 'web') === 3, 5 * MINUTE);
    expect(world.world.violations()).toEqual([]);
  });
});

describe('scale sets that are written through AKS', () => {
  it('grow and shrink like any other, and AKS counts the same at every rest', async () => {
    const flags = ['--scale-down-unneeded-time=1m', '--scale-down-delay-after-add=30s'];
    const env = { AZURE_WRITE_PATH: 'agentPool' };
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general', min: 1 })]), flags, env });
    const counted = (): number | undefined => world.world.arm.control.state().agentPools.find(({ name }) => name === 'general')?.size;
    world.world.cluster.apply(deployment({ name: 'web', replicas: 8, cpu: '1500m' }));
    await world.until('all bound', () => bound(world, 'web') === 8, 15 * MINUTE);
    expect([counted(), capacity(world, 'general')]).toEqual([4, 4]);
    world.world.cluster.apply(deployment({ name: 'web', replicas: 1, cpu: '1500m' }));
    await world.until('one machine left', () => capacity(world, 'general') === 1, 40 * MINUTE);
    await world.advance(10 * MINUTE);
    expect([counted(), bound(world, 'web')]).toEqual([1, 1]);
    const routes = new Set(world.writes().map(({ route }) => route.replace(/.*\//, '')));
    expect([...routes].sort()).toEqual(['deleteMachines', '{pool}']);
    expect(world.world.violations()).toEqual([]);
  });
});
