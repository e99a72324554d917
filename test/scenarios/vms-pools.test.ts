/** A pool of type VirtualMachines through the whole loop: grown and shrunk through AKS alone. */
import { describe, expect, it } from 'vitest';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, deployment, MINUTE, pending, worldOf } from './support.ts';

const SMALL = 'Standard_D4s_v5';
const LARGE = 'Standard_D16s_v5';
const FLAGS = ['--scale-down-unneeded-time=1m', '--scale-down-delay-after-add=30s', '--scan-interval=30s'];
const TWO_SIZES = aPool({ name: 'mixed', kind: 'vms-pool', vmSize: SMALL, count: 1, min: 0, max: 6, sizes: [{ vmSize: LARGE, count: 0 }] });

function counts(world: VirtualRun, pool = 'mixed'): Readonly<Record<string, number>> {
  return world.world.arm.control.state().agentPools.find(({ name }) => name === pool)?.sizes ?? {};
}

function machines(world: VirtualRun): number {
  return world.world.arm.control.state().agentPools.find(({ name }) => name === 'mixed')?.machines.length ?? Number.NaN;
}

describe('pools of virtual machines', () => {
  it('a burst grows the pool through AKS, the pods run, and when they go the machines go', async () => {
    const world = await startedWorld({ spec: worldOf([TWO_SIZES]), flags: FLAGS });
    world.world.cluster.apply(deployment({ name: 'burst', replicas: 8, cpu: '1500m' }));
    await world.until('all bound', () => bound(world, 'burst') === 8, 10 * MINUTE);
    const grown = machines(world);
    expect(grown).toBeGreaterThan(1);
    world.world.cluster.apply(deployment({ name: 'burst', replicas: 1, cpu: '1500m' }));
    await world.until('one machine left', () => machines(world) === 1 && bound(world, 'burst') === 1, 40 * MINUTE);
    await world.advance(10 * MINUTE);
    expect(Object.values(counts(world)).reduce((sum, count) => sum + count, 0)).toBe(1);
    expect(pending(world)).toBe(0);
    const routes = new Set(world.writes().map(({ route }) => route.replace(/.*\//, '')));
    expect([...routes].sort()).toEqual(['deleteMachines', '{pool}']);
    expect(world.writes().every(({ method, etagIn }) => method === 'POST' || etagIn !== undefined)).toBe(true);
    expect(world.world.violations()).toEqual([]);
  });

  it('a pod that only the empty size can hold makes it grow from nothing', async () => {
    const world = await startedWorld({ spec: worldOf([TWO_SIZES]), flags: FLAGS });
    world.world.cluster.apply(deployment({ name: 'wide', replicas: 1, cpu: '10' }));
    await world.until('bound', () => bound(world, 'wide') === 1, 10 * MINUTE);
    expect(counts(world)[LARGE]).toBe(1);
    expect(world.world.violations()).toEqual([]);
  });

  it('another writer between read and write meets 412, and counts in the plan that follows', async () => {
    const world = await startedWorld({ spec: worldOf([TWO_SIZES]), flags: FLAGS });
    world.world.arm.control.raise({ foreignScale: { pool: 'mixed', vmSize: SMALL, delta: 1, when: 'before-next-write' } });
    world.world.cluster.apply(deployment({ name: 'burst', replicas: 6, cpu: '1500m' }));
    await world.until('all bound', () => bound(world, 'burst') === 6, 15 * MINUTE);
    expect(world.writes()[0]).toMatchObject({ method: 'PUT', status: 412 });
    expect(world.writes().filter(({ method, status }) => method === 'PUT' && status === 200).length).toBeGreaterThan(0);
    expect(world.world.violations()).toEqual([]);
  });

  it('a size out of stock: the smaller size of the pool takes the pods', async () => {
    const spec = worldOf([{ ...TWO_SIZES, count: 0 }], { stock: { [`${LARGE}/0`]: 0 } });
    const world = await startedWorld({ spec, flags: FLAGS });
    world.world.cluster.apply(deployment({ name: 'burst', replicas: 10, cpu: '1500m' }));
    await world.until('the large size asked for', () => (counts(world)[LARGE] ?? 0) > 0, 2 * MINUTE);
    await world.until('all bound', () => bound(world, 'burst') === 10, 20 * MINUTE);
    expect(counts(world)[SMALL]).toBe(5);
    await world.until('failed machines gone', () => counts(world)[LARGE] === 0, 20 * MINUTE);
    expect(world.world.violations()).toEqual([]);
  });

  it('a size out of stock closes the larger one of the same hardware until it is tried out again', async () => {
    const spec = worldOf([{ ...TWO_SIZES, count: 0 }], { stock: { [`${SMALL}/0`]: 0 } });
    const world = await startedWorld({ spec, flags: FLAGS });
    world.world.cluster.apply(deployment({ name: 'burst', replicas: 2, cpu: '1500m' }));
    await world.until('the small size asked for', () => (counts(world)[SMALL] ?? 0) > 0, 2 * MINUTE);
    await world.advance(4 * MINUTE);
    expect(counts(world)[LARGE] ?? 0).toBe(0);
    await world.until('all bound', () => bound(world, 'burst') === 2, 20 * MINUTE);
    expect(counts(world)[LARGE]).toBe(1);
    expect(world.world.violations()).toEqual([]);
  });

  it('a daemon that starts while the pool is in motion waits for its rest and grows it no further than needed', async () => {
    const world = await startedWorld({ spec: worldOf([TWO_SIZES]), flags: FLAGS });
    world.world.cluster.apply(deployment({ name: 'burst', replicas: 6, cpu: '1500m' }));
    await world.until('a write', () => world.writes().length === 1, 2 * MINUTE);
    const asked = counts(world);
    await world.stopDaemon();
    await world.startDaemon();
    await world.until('all bound', () => bound(world, 'burst') === 6, 15 * MINUTE);
    expect(counts(world)).toEqual(asked);
    expect(world.world.violations()).toEqual([]);
  });

  it('two sizes wanted at once: AKS takes one write at a time, and both get their machines', async () => {
    const world = await startedWorld({ spec: worldOf([{ ...TWO_SIZES, count: 0 }]), flags: FLAGS });
    const only = (size: string) => ({ nodeSelector: { 'node.kubernetes.io/instance-type': size } });
    world.world.cluster.apply(deployment({ name: 'small', replicas: 3, cpu: '3', spec: only(SMALL) }));
    world.world.cluster.apply(deployment({ name: 'large', replicas: 2, cpu: '10', spec: only(LARGE) }));
    await world.until('all bound', () => bound(world, 'small') === 3 && bound(world, 'large') === 2, 20 * MINUTE);
    expect(counts(world)).toEqual({ [SMALL]: 3, [LARGE]: 2 });
    expect(world.writes().map(({ method, status }) => `${method} ${status}`)).toEqual(['PUT 200', 'PUT 200']);
    expect(world.world.violations()).toEqual([]);
  });

  it('named by a flag in its own spelling, with limits that win over the tags', async () => {
    const world = await startedWorld({ spec: worldOf([TWO_SIZES]), flags: [...FLAGS, '--nodes=1:2:MIXED/standard_d4S_v5'] });
    world.world.cluster.apply(deployment({ name: 'burst', replicas: 12, cpu: '1500m' }));
    await world.until('all bound', () => bound(world, 'burst') === 12, 20 * MINUTE);
    expect(counts(world)[SMALL]).toBeLessThanOrEqual(2);
    expect(counts(world)[LARGE]).toBeGreaterThanOrEqual(1);
    world.world.cluster.apply(deployment({ name: 'burst', replicas: 0, cpu: '1500m' }));
    await world.until('the minimum', () => counts(world)[SMALL] === 1 && counts(world)[LARGE] === 0, 40 * MINUTE);
    await world.advance(10 * MINUTE);
    expect(counts(world)).toEqual({ [SMALL]: 1, [LARGE]: 0 });
    expect(world.world.violations()).toEqual([]);
  });
});
