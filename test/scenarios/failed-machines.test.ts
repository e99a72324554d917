/** Machines that come to nothing, again and again: replaced, but not in a storm. */
import { describe, expect, it } from 'vitest';
import { startedWorld } from '../support/virtual-world.ts';
import { aPool, capacity, MINUTE, worldOf } from './support.ts';

const SIZE = 'Standard_E4s_v5';

describe('a pool below its minimum whose machines all fail', () => {
  it('is tried with less haste each time, what failed goes with its capacity, and it recovers', async () => {
    const world = await startedWorld({
      spec: worldOf([aPool({ name: 'bad', vmSize: SIZE, count: 1, min: 3, max: 6 })], { stock: { [`${SIZE}/0`]: 0 } }),
    });
    const puts = () => world.writes().filter(({ method }) => method === 'PUT');
    const machines = () => world.world.arm.control.state().sets.find(({ pool }) => pool === 'bad')?.instances ?? [];
    await world.advance(30 * MINUTE);
    const minutes = puts().map(({ at }) => Math.round((at - (puts()[0]?.at ?? 0)) / MINUTE));
    expect(minutes).toHaveLength(3);
    expect((minutes[2] ?? 0) - (minutes[1] ?? 0)).toBeGreaterThan((minutes[1] ?? 0) * 1.5);
    expect(puts().every(({ status }) => status === 200)).toBe(true);
    // What could not be allocated is gone by id, and the capacity with it.
    expect([capacity(world, 'bad'), machines().length]).toEqual([1, 1]);
    world.world.arm.control.setStock(SIZE, '0', 10);
    await world.until('the minimum', () => capacity(world, 'bad') === 3 && machines().length === 3, 20 * MINUTE);
    expect(world.world.violations()).toEqual([]);
  });
});
