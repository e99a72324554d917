/** A state that never ends is reported with its age after ten minutes: once as an event, in the status and as a metric. */
import { describe, expect, it } from 'vitest';
import type { WorldSpec } from '../../world/simulator/base/world-spec.ts';
import { startedWorld, type VirtualRun, type VirtualRunOptions } from '../support/virtual-world.ts';
import { aPool, capacity, deployment, events, MINUTE, worldOf } from './support.ts';

const spec: WorldSpec = worldOf([aPool({ name: 'general', count: 2, min: 0, max: 6 })]);
const EAGER = ['--scale-down-unneeded-time=1m', '--scale-down-delay-after-add=0s'];
function start({ flags = EAGER, ...options }: Partial<VirtualRunOptions> = {}): Promise<VirtualRun> {
  return startedWorld({ spec, ...options, flags: ['--scan-interval=1m', ...flags] });
}

const statusOf = (world: VirtualRun): string =>
  JSON.stringify(world.world.cluster.store.list('configmaps').find(({ metadata }) => metadata.name === 'cluster-autoscaler-status'));
const secondsHeld = async (world: VirtualRun): Promise<number> => {
  const { values } = await world.metrics.cluster.groupHeld.get();
  return values[0]?.value ?? Number.NaN;
};

describe('a pool that is held for ten minutes', () => {
  it('is reported once, by AKS upgrading it for hours, and again when that is over', async () => {
    const world = await start({ flags: ['--scale-down-enabled=false'] });
    const tags = { 'cluster-autoscaler-enabled': 'true', min: '0', max: '6' };
    const pool = { type: 'VirtualMachineScaleSets', count: 2, mode: 'User', osType: 'Linux', provisioningState: 'Upgrading', tags };
    const body = { value: [{ name: 'general', properties: pool }] };
    world.world.arm.control.addFault({
      id: 'upgrade',
      match: { method: 'GET', pathGlob: '**/agentPools' },
      effect: { kind: 'answer', status: 200, body },
    });
    await world.advance(15 * MINUTE);
    expect(events(world, 'NodeGroupHeld')).toEqual([
      expect.stringMatching(/^Node group \S*general\S* has been frozen for 10 min: its agent pool is in state Upgrading/),
    ]);
    expect(statusOf(world)).toMatch(/held: .{0,3}frozen for 1\d min: its agent pool is in state Upgrading/);
    expect(await secondsHeld(world)).toBeGreaterThan(600);
    await world.advance(20 * MINUTE);
    expect(events(world, 'NodeGroupHeld')).toHaveLength(1);
    world.world.arm.control.removeFault('upgrade');
    await world.advance(3 * MINUTE);
    expect([await secondsHeld(world), statusOf(world).includes('held:')]).toEqual([0, false]);
  });

  it('is reported if the instances of an increase never leave their creation', async () => {
    const world = await start({ flags: ['--scale-down-enabled=false', '--max-node-provision-time=40m'] });
    world.world.arm.control.addFault({ id: 'stuck', match: { pool: 'general' }, effect: { kind: 'birth', how: 'stuck' } });
    world.world.cluster.apply(deployment({ name: 'web', replicas: 4, cpu: '3' }));
    await world.until('the increase', () => capacity(world, 'general') > 2, MINUTE);
    expect(await secondsHeld(world)).toBe(0);
    await world.advance(12 * MINUTE);
    expect(events(world, 'NodeGroupHeld')).toEqual([
      expect.stringMatching(/waiting for an instance to be created for 10 min: instance \d+ is not ready$/),
    ]);
  });

  it('is reported if a deletion has no effect', async () => {
    const hours = { p50: 300 * MINUTE, p95: 300 * MINUTE };
    const world = await start({ knobs: { deleteGraceful: hours, deleteForced: hours } });
    await world.until('a deletion', () => world.writes().some(({ route }) => route.startsWith('POST')), 8 * MINUTE);
    await world.advance(12 * MINUTE);
    expect(events(world, 'NodeGroupHeld')).toHaveLength(1);
    expect(await secondsHeld(world)).toBeGreaterThan(600);
  });
});
