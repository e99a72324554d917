import { describe, expect, it } from 'vitest';
import { startedWorld } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, MINUTE, SECOND, worldOf } from './support.ts';

const LIST_FAULTS = [
  {
    name: 'a 500',
    effect: { kind: 'answer', status: 500, body: { error: { code: 'InternalServerError', message: 'The server encountered an error.' } } },
  },
  { name: 'an HTML 502', effect: { kind: 'answer', status: 502, body: '<html>Bad gateway</html>' } },
  { name: 'a broken page', effect: { kind: 'truncated-body' } },
] as const;

describe('reads that fail', () => {
  it.each(LIST_FAULTS)('$name instead of the list of scale sets removes nothing and does not stop the daemon', async ({ effect }) => {
    const pools = ['a', 'b', 'c', 'd', 'e'].map((name) => aPool({ name, count: 1 }));
    const world = await startedWorld({ spec: worldOf(pools) });
    const groups = (): number => world.reports.at(-1)?.observation?.cloud.groups.filter((group) => group.target.known).length ?? 0;
    await world.advance(15 * SECOND);
    expect(groups()).toBe(6);
    world.world.arm.control.addFault({
      id: 'lists',
      match: { method: 'GET', pathGlob: '**/virtualMachineScaleSets', toMs: world.clock.now() + 65_000 },
      effect,
    });
    await world.advance(70 * SECOND);
    expect(groups()).toBe(6);
    world.world.arm.control.removeFault('lists');
    world.world.cluster.apply(deployment({ name: 'web', replicas: 30, cpu: '700m' }));
    await world.until('all bound', () => bound(world, 'web') === 30, 8 * MINUTE);
    expect(world.world.violations()).toEqual([]);
  });

  it('one empty list of scale sets is read again before it is believed', async () => {
    const world = await startedWorld({ spec: worldOf(['a', 'b', 'c', 'd', 'e'].map((name) => aPool({ name }))) });
    await world.advance(15 * SECOND);
    world.world.arm.control.addFault({
      id: 'empty',
      match: { method: 'GET', pathGlob: '**/virtualMachineScaleSets', times: 1 },
      effect: { kind: 'empty-list' },
    });
    await world.advance(2 * MINUTE);
    const sizes = world.reports.map((report) => report.observation?.cloud.groups.filter((group) => group.target.known).length);
    expect(new Set(sizes)).toEqual(new Set([6]));
    expect(world.writes()).toEqual([]);
  });

  it('429 on the instance list serves the cache, and waits for the requested time', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general' }), aPool({ name: 'other', count: 0 })]) });
    await world.advance(15 * SECOND);
    world.world.arm.control.addFault({
      id: 'busy',
      match: { method: 'GET', pathGlob: '**/virtualMachineScaleSets/*/virtualMachines' },
      effect: { kind: 'answer', status: 429, retryAfterSeconds: 120, body: { error: { code: 'TooManyRequests', message: 'slow down' } } },
    });
    world.world.cluster.apply(deployment({ name: 'web', replicas: 12, cpu: '700m' }));
    await world.until('a write', () => world.writes().length > 0, MINUTE);
    expect(world.reports.filter((report) => report.outcome === 'failed')).toEqual([]);
  });

  it('a dropped watch, a compacted history and an API server that is away are got over', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general' })]) });
    world.world.cluster.control.dropWatches();
    world.world.cluster.control.compact();
    world.world.cluster.control.failNext(3, 500);
    await world.advance(30 * SECOND);
    world.world.cluster.apply(deployment({ name: 'web', replicas: 12, cpu: '700m' }));
    await world.until('all bound', () => bound(world, 'web') === 12, 6 * MINUTE);
    expect(world.world.violations()).toEqual([]);
  });
});

describe('pools that are not well', () => {
  it('a scale set that does not exist is skipped with a reason, the others are served', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general' })]), flags: ['--nodes=0:5:aks-nowhere-12345678-vmss'] });
    world.world.cluster.apply(deployment({ name: 'web', replicas: 12, cpu: '700m' }));
    await world.until('all bound', () => bound(world, 'web') === 12, 6 * MINUTE);
    const missing = world.reports.at(-1)?.observation?.cloud.groups.find((group) => group.id.includes('nowhere'));
    expect(missing?.blocks.change).toMatchObject({ code: 'no-scale-set' });
  });

  it('a write that took effect and answered 500 is read again, not repeated', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general' })]) });
    world.world.arm.control.addFault({
      id: 'late',
      match: { method: 'PUT', pathGlob: '**/virtualMachineScaleSets/*', nth: 1 },
      effect: {
        kind: 'effect-then-answer',
        status: 500,
        body: { error: { code: 'InternalServerError', message: 'The server encountered an error.' } },
      },
    });
    world.world.cluster.apply(deployment({ name: 'web', replicas: 20, cpu: '700m' }));
    await world.until('all bound', () => bound(world, 'web') === 20, 8 * MINUTE);
    expect(capacity(world, 'general')).toBe(4);
    expect(world.world.violations()).toEqual([]);
  });
});
