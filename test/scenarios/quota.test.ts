/** A subscription's quota through the whole loop: not asked for what cannot be had, and told why. */
import { describe, expect, it } from 'vitest';
import { startedWorld } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, events, MINUTE, pending, worldOf } from './support.ts';

const D4 = 'Standard_D4s_v5';
const E4 = 'Standard_E4s_v5';

describe('quotas', () => {
  it('a pool grows to the quota of its family and another family takes the rest, without one refused write', async () => {
    const run = await startedWorld({
      spec: worldOf([aPool({ name: 'd', vmSize: D4 }), aPool({ name: 'e', vmSize: E4, count: 0 })], { quota: { standardDSv5Family: 16 } }),
    });
    run.world.cluster.apply(deployment({ name: 'wide', replicas: 5, cpu: '3' }));
    await run.until('all bound', () => bound(run, 'wide') === 5, 15 * MINUTE);
    expect([capacity(run, 'd'), capacity(run, 'e')]).toEqual([3, 2]);
    expect(run.writes().map(({ status }) => status)).toEqual([200, 200]);
    expect(run.world.violations()).toEqual([]);
  });

  it('a quota that was lowered since it was read: what still fits is requested in the same loop, and the other pods get a reason', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'd', vmSize: D4 })], { quota: { standardDSv5Family: 100 } }) });
    world.world.arm.control.setQuota('standardDSv5Family', 16);
    world.world.cluster.apply(deployment({ name: 'wide', replicas: 5, cpu: '3' }));
    await world.until('an order', () => capacity(world, 'd') > 1, 2 * MINUTE);
    expect(world.writes().map(({ status, capacityAfter }) => [status, capacityAfter])).toEqual([
      [409, 1],
      [200, 3],
    ]);
    expect(new Set(world.writes().map(({ at }) => Math.floor(at / 1_000))).size).toBe(1);
    await world.until('what fits bound', () => bound(world, 'wide') === 3, 10 * MINUTE);
    expect(world.writes()).toHaveLength(2);
    expect(events(world, 'NotTriggerScaleUp').join('\n')).toContain(
      'family standardDSv5Family has 16 of 16 cores in use, a new node needs 4',
    );
    world.world.arm.control.setQuota('standardDSv5Family', 100);
    await world.until('all bound', () => bound(world, 'wide') === 5, 15 * MINUTE);
    expect(world.writes().map(({ status }) => status)).toEqual([409, 200, 200]);
    expect(world.world.violations()).toEqual([]);
  });

  it('a full quota is no limit for what is reserved: three nodes come, and the fourth is refused with both numbers', async () => {
    const reservations = [{ name: 'd4-1', vmSize: D4, zone: '1', capacity: 3 }];
    const world = await startedWorld({
      spec: worldOf([aPool({ name: 'd', vmSize: D4, count: 0, zones: ['1'], capacityReservationGroup: 'crg' })], {
        quota: { standardDSv5Family: 16 },
        capacityReservationGroups: [{ name: 'crg', reservations }],
      }),
    });
    world.world.cluster.apply(deployment({ name: 'wide', replicas: 4, cpu: '3' }));
    await world.until('what is reserved', () => bound(world, 'wide') === 3, 15 * MINUTE);
    await world.advance(20 * MINUTE);
    expect(capacity(world, 'd')).toBe(3);
    expect(world.writes().map(({ status }) => status)).toEqual([200]);
    expect(events(world, 'NotTriggerScaleUp').join('\n')).toContain(
      'family standardDSv5Family has 16 of 16 cores in use, a new node needs 4, of capacity reservation group crg, 3 of 3 reserved VMs are in use',
    );
    world.world.cluster.remove(deployment({ name: 'wide', replicas: 4, cpu: '3' }));
    await world.advance(25 * MINUTE);
    expect(capacity(world, 'd')).toBe(3);
    const kept = world.reports.at(-1)?.scaleDown?.kept.filter(({ reason }) => reason === 'CapacityReserved') ?? [];
    expect(kept.map(({ detail }) => detail)).toContain(
      'it is in capacity reservation group crg, where 3 of 3 reserved VMs are in use: they are paid for anyway',
    );
    expect(world.world.violations()).toEqual([]);
  });

  it('without another group the pod gets the numbers, and is served when the quota was raised', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'd', vmSize: D4 })], { quota: { standardDSv5Family: 10 } }) });
    world.world.cluster.apply(deployment({ name: 'wide', replicas: 2, cpu: '3' }));
    await world.advance(3 * MINUTE);
    expect(pending(world)).toBe(1);
    expect(world.writes()).toEqual([]);
    expect(events(world, 'NotTriggerScaleUp').join('\n')).toContain(
      'family standardDSv5Family has 8 of 10 cores in use, a new node needs 4',
    );
    world.world.arm.control.setQuota('standardDSv5Family', 12);
    await world.until('served', () => bound(world, 'wide') === 2, 15 * MINUTE);
    expect(world.writes().map(({ status }) => status)).toEqual([200]);
    expect(world.world.violations()).toEqual([]);
  });

  it('a region whose quota is used up and cannot be read is tried once, and rests for every size, Spot goes on', async () => {
    const pools = [
      aPool({ name: 'd', vmSize: D4 }),
      aPool({ name: 'e', vmSize: E4, count: 0 }),
      aPool({ name: 'f', vmSize: 'Standard_D8s_v5', count: 0 }),
      aPool({ name: 'spot', vmSize: D4, count: 0, priority: 'Spot' }),
    ];
    const roleActions = ['Microsoft.Compute/virtualMachineScaleSets/*', 'Microsoft.Compute/skus/read', 'Microsoft.ContainerService/*'];
    const world = await startedWorld({ spec: worldOf(pools, { roleActions, quota: { cores: 4 } }) });
    world.world.cluster.apply(deployment({ name: 'plain', replicas: 2, cpu: '3' }));
    await world.advance(4 * MINUTE);
    expect(world.writes().map(({ status }) => status)).toEqual([409]);
    world.world.cluster.apply(deployment({ name: 'cheap', replicas: 2, cpu: '3', spec: { tolerations: [{ operator: 'Exists' }] } }));
    await world.until('served', () => bound(world, 'cheap') === 2, 10 * MINUTE);
    expect(world.writes().map(({ status }) => status)).toEqual([409, 200]);
    expect([capacity(world, 'd'), capacity(world, 'e'), capacity(world, 'f'), pending(world)]).toEqual([1, 0, 0, 1]);
    expect(world.world.violations()).toEqual([]);
  });
});
