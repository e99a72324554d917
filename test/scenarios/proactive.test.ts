/** Room for pods that controllers are about to make. */
import { describe, expect, it } from 'vitest';
import { startedWorld } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, events, MINUTE, worldOf } from './support.ts';

describe('proactive scale-up', () => {
  it('what controllers want is seen on the wire; pods that are there in time are ordered for once', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general' })]), flags: ['--enable-proactive-scaleup'] });
    world.world.cluster.apply(deployment({ name: 'web', replicas: 20, cpu: '700m' }));
    await world.until('all pods bound', () => bound(world, 'web') === 20, 5 * MINUTE);
    await world.advance(MINUTE);
    expect(capacity(world, 'general')).toBe(4);
    const wanted = world.reports.at(-1)?.observation?.cluster.workloads?.filter(({ name }) => name.startsWith('web-'));
    expect(wanted).toMatchObject([{ kind: 'ReplicaSet', namespace: 'default', desired: 20 }]);
    expect(events(world, 'TriggeredScaleUp').length).toBeGreaterThan(0);
    expect(world.world.cluster.store.events().filter(({ involvedObject }) => involvedObject?.name?.includes('-copy-') === true)).toEqual(
      [],
    );
    expect(world.world.violations()).toEqual([]);
  });
});
