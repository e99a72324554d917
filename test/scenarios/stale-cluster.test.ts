import { describe, expect, it } from 'vitest';
import { startedWorld } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, MINUTE, pending, SECOND, worldOf } from './support.ts';

const FLAGS = ['--scale-down-unneeded-time=4m', '--scale-down-delay-after-add=0s', '--expander=least-nodes', '--scan-interval=30s'];

describe('a watch of the cluster that is silent', () => {
  it('removals end after three minutes, growth after ten, and both say why', async () => {
    const world = await startedWorld({
      spec: worldOf([aPool({ name: 'idle', count: 1 }), aPool({ name: 'web', count: 0 })]),
      flags: FLAGS,
    });
    await world.advance(15 * SECOND);
    // The right to read one kind is taken away: what is held of it grows old, everything else stays new.
    world.world.cluster.control.failNext(1e6, 403, { resource: 'poddisruptionbudgets' });
    world.world.cluster.control.dropWatches();
    const brokenAt = world.clock.now();

    await world.advance(6 * MINUTE);
    const plan = world.reports.at(-1)?.scaleDown;
    expect(plan?.unneeded.size).toBeGreaterThan(0);
    expect(plan).toMatchObject({ removals: [], inhibited: expect.stringContaining('watch of the cluster last received data') });
    expect(capacity(world, 'idle')).toBe(1);
    expect(world.reports.at(-1)?.outcome).toBe('completed');

    world.world.cluster.apply(deployment({ name: 'early', replicas: 4, cpu: '3' }));
    await world.until('all bound', () => bound(world, 'early') === 4, 4 * MINUTE);
    const grown = world.writes().length;
    expect(grown).toBeGreaterThan(0);

    await world.advance(brokenAt + 11 * MINUTE - world.clock.now());
    world.world.cluster.apply(deployment({ name: 'late', replicas: 4, cpu: '3' }));
    await world.advance(3 * MINUTE);
    expect(bound(world, 'late')).toBe(0);
    expect(world.writes()).toHaveLength(grown);
    const last = world.reports.at(-1);
    expect(last?.outcome).toBe('failed');
    const verdicts = [...(last?.rounds.at(-1)?.plan.verdicts.values() ?? [])];
    expect(verdicts).toHaveLength(pending(world));
    expect(verdicts[0]).toMatchObject({ kind: 'waiting', detail: expect.stringContaining('watch of the cluster last received data') });
    expect(world.world.violations()).toEqual([]);
  });

  it('an API server that was away for a quarter of an hour is caught up with, and nothing was done meanwhile', async () => {
    const world = await startedWorld({
      spec: worldOf([aPool({ name: 'idle', count: 1 }), aPool({ name: 'web', count: 0 })]),
      flags: FLAGS,
    });
    await world.advance(2 * MINUTE);
    world.world.cluster.control.pause();
    world.world.cluster.apply(deployment({ name: 'web', replicas: 4, cpu: '3' }));
    await world.advance(15 * MINUTE);
    expect(world.writes()).toEqual([]);
    expect(world.reports.at(-1)?.outcome).toBe('failed');
    world.world.cluster.control.resume();
    await world.until('all bound', () => bound(world, 'web') === 4, 8 * MINUTE);
    expect(world.reports.at(-1)?.outcome).toBe('completed');
    expect(world.world.violations()).toEqual([]);
  });

  it('the time in which nothing was seen does not count: an unneeded node goes four minutes after the API server is back', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'idle', count: 1 })]), flags: FLAGS });
    await world.advance(2 * MINUTE);
    world.world.cluster.control.pause();
    await world.advance(5 * MINUTE);
    world.world.cluster.control.resume();
    await world.advance(4 * MINUTE - SECOND);
    expect(capacity(world, 'idle')).toBe(1);
    await world.until('gone', () => capacity(world, 'idle') === 0, 4 * MINUTE);
  });
});
