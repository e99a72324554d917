import { describe, expect, it } from 'vitest';
import { startedWorld } from '../support/virtual-world.ts';
import { aPool, bound, deployment, MINUTE, SECOND, worldOf } from './support.ts';

describe('Azure answers nothing for most of an hour', () => {
  it('asks little meanwhile, and works again within two minutes of the end', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'a' }), aPool({ name: 'b' })]) });
    await world.advance(15 * SECOND);
    world.world.arm.control.addFault({ id: 'down', match: { pathGlob: '/subscriptions/**' }, effect: { kind: 'answer', status: 503 } });
    world.world.cluster.apply(deployment({ name: 'web', replicas: 12, cpu: '900m' }));
    await world.advance(47 * MINUTE);
    expect(world.reports.at(-1)?.outcome).toBe('completed');
    expect(world.reports.at(-1)?.observation?.cloud.scaleUpBlocked).toContain('scaleSets');

    world.world.arm.control.removeFault('down');
    const since = world.clock.now();
    await world.until('all bound', () => bound(world, 'web') === 12, 20 * MINUTE);

    const decided = world.reports.find(
      (report) => report.startedAtMs > since && report.rounds.some(({ increases }) => increases.length > 0),
    );
    expect((decided?.startedAtMs ?? Infinity) - since).toBeLessThanOrEqual(2 * MINUTE);
    expect(world.world.violations()).toEqual([]);
  });
});
