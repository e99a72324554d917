import { describeBlock } from '../../src/domain/group-blocks.ts';
import { describe, expect, it } from 'vitest';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, events, MINUTE, SECOND, worldOf } from './support.ts';

const FLAGS = ['--scale-down-unneeded-time=1m', '--scale-down-delay-after-add=30s', '--scale-down-delay-after-failure=1m'];

/** As somebody puts a read-only lock of the resource manager on a scale set: every write to it is refused, reads are not. */
function lock(world: VirtualRun, pool: string): void {
  const scope = `/subscriptions/s/resourceGroups/MC/providers/Microsoft.Compute/virtualMachineScaleSets/aks-${pool}`;
  const message = `The scope '${scope}' cannot perform write operation because following scope(s) are locked: '${scope}'. Please remove the lock and try again.`;
  for (const method of ['PUT', 'POST']) {
    world.world.arm.control.addFault({
      id: `lock-${method}`,
      match: { method, pool, pathGlob: '**/virtualMachineScaleSets/**' },
      effect: { kind: 'answer', status: 409, body: { error: { code: 'ScopeLocked', message } } },
    });
  }
}

function unlock(world: VirtualRun): void {
  for (const method of ['PUT', 'POST']) world.world.arm.control.removeFault(`lock-${method}`);
}

describe('a pool under a lock of the resource manager', () => {
  it('is neither grown nor shrunk after the first refusal, says why, and its sibling of the same size grows at once', async () => {
    const pools = [aPool({ name: 'general', count: 3, min: 1, max: 5 }), aPool({ name: 'other', count: 1, min: 1, max: 5 })];
    const world = await startedWorld({ spec: worldOf(pools), flags: FLAGS });
    lock(world, 'general');
    // Two nodes of it are not needed: the first removal is drained for and refused, and no other is begun.
    await world.advance(10 * MINUTE);
    const refused = () => world.writes().filter(({ pool, status }) => pool === 'general' && status === 409);
    expect(refused().length).toBe(1);
    expect(capacity(world, 'general')).toBe(3);
    const group = world.reports.at(-1)?.observation?.cloud.groups.find(({ id }) => id.includes('general'));
    expect(describeBlock(group?.blocks.change)).toContain('locked');
    const marked = world.world.cluster.store.nodes().filter(({ spec }) => spec?.unschedulable === true || (spec?.taints?.length ?? 0) > 0);
    expect(marked.filter(({ metadata }) => metadata.name.includes('general'))).toEqual([]);
    world.world.cluster.apply(deployment({ name: 'web', replicas: 30, cpu: '700m' }));
    await world.until('growth of the sibling', () => capacity(world, 'other') > 1, 30 * SECOND);
    unlock(world);
    await world.until('all bound', () => bound(world, 'web') === 30, 30 * MINUTE);
    expect(world.world.violations()).toEqual([]);
  });

  it('a refused increase is reported and goes to the sibling in the same loop; the size does not count as out of stock', async () => {
    const pools = [aPool({ name: 'aaa', min: 1 }), aPool({ name: 'bbb', count: 1, min: 1 })];
    const world = await startedWorld({ spec: worldOf(pools), flags: ['--expander=least-nodes'] });
    lock(world, 'aaa');
    world.world.cluster.apply(deployment({ name: 'web', replicas: 20, cpu: '700m' }));
    await world.until('both were asked', () => new Set(world.writes().map(({ pool }) => pool)).size === 2, 20 * SECOND);
    const [first, second] = world.writes();
    expect([first?.pool, first?.status, second?.pool, second?.status]).toEqual(['aaa', 409, 'bbb', 200]);
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeLessThan(5 * SECOND);
    await world.until('all bound', () => bound(world, 'web') === 20, 5 * MINUTE);
    expect(world.reports.at(-1)?.state.stockouts).toEqual([]);
    expect(events(world, 'FailedToScaleUpGroup').join()).toContain('locked');
    expect(world.writes().filter(({ pool }) => pool === 'aaa')).toHaveLength(1);
  });
});
