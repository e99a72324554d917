import { describe, expect, it } from 'vitest';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, deployment, events, MINUTE, SECOND, worldOf } from './support.ts';

const TOLERATION = { key: 'kubernetes.azure.com/scalesetpriority', operator: 'Equal', value: 'spot', effect: 'NoSchedule' };
const web = (replicas: number) => deployment({ name: 'web', replicas, cpu: '3', spec: { tolerations: [TOLERATION] } });

type Kind = 'vmss-uniform' | 'vmss-flexible' | 'vms-pool';

/** Machines of the pool that are no capacity any more and have not gone. */
function stopped(world: VirtualRun): number {
  const state = world.world.arm.control.state();
  const set = state.sets.find(({ pool }) => pool === 'spot')?.instances ?? state.agentPools.find(({ name }) => name === 'spot')?.machines;
  return (set ?? []).filter(({ power }) => power === 'deallocated').length;
}

describe.each<Kind>(['vmss-uniform', 'vmss-flexible', 'vms-pool'])('Spot machines of a %s that are taken back', (kind) => {
  it.each(['Delete', 'Deallocate'] as const)(
    'by the policy %s are replaced at once, and what is left of them goes',
    async (evictionPolicy) => {
      const pool = aPool({ name: 'spot', kind, count: 4, max: 12, priority: 'Spot', evictionPolicy });
      const world = await startedWorld({
        spec: worldOf([pool]),
        flags: ['--scale-down-delay-after-add=1m', '--scale-down-unneeded-time=1h'],
      });
      world.world.cluster.apply(web(4));
      await world.until('all bound', () => bound(world, 'web') === 4, 5 * MINUTE);
      await world.advance(MINUTE);
      const before = world.writes().length;
      world.world.arm.control.raise({ evict: { pool: 'spot', count: 2 } });
      await world.until('a write', () => world.writes().length > before, 10 * SECOND);
      expect(events(world, 'NodePreempted')).toHaveLength(2);
      await world.until('all bound again', () => bound(world, 'web') === 4, 10 * MINUTE);
      await world.until('none that is deallocated', () => stopped(world) === 0, 12 * MINUTE);
      await world.advance(5 * MINUTE);
      expect(bound(world, 'web')).toBe(4);
      expect(world.world.violations()).toEqual([]);
    },
  );
});
