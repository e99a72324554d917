/** Pools of type VirtualMachines of mode Deallocate: what AKS leaves undocumented is a setting of the pool, and each value of it is imitated. */
import { describe, expect, it } from 'vitest';
import type { MachineStops } from '../../simulator/base/world-spec.ts';
import { MINUTE, aPool, aWorld, poolPath, startRig, type Rig } from '../simulator/arm/harness.ts';

const SIZE = 'Standard_D4s_v5';

async function rigWith(machineStops: MachineStops): Promise<Rig> {
  const pool = aPool('a', { kind: 'vms-pool', count: 4, min: 1, max: 6, scaleDownMode: 'Deallocate', machineStops });
  return startRig(aWorld([pool]), { knobs: { throttling: false } });
}

const shown = (rig: Rig) => {
  const machines = rig.arm.machines.list();
  const of = (power: string): number => machines.filter((vm) => vm.power === power).length;
  const count = rig.arm.control.state().agentPools.find(({ name }) => name === 'a')?.sizes?.[SIZE];
  return { count, running: of('running'), stopped: of('deallocated') };
};

async function removeLast(rig: Rig, count: number): Promise<void> {
  const machineNames = rig.arm.machines
    .list()
    .slice(-count)
    .map(({ hostName }) => hostName);
  expect((await rig.call('POST', poolPath(rig, 'a', '/deleteMachines'), { body: { machineNames } })).status).toBe(202);
  rig.clock.advance(10 * MINUTE);
}

async function scale(rig: Rig, count: number): Promise<void> {
  const properties = { virtualMachinesProfile: { scale: { manual: [{ size: SIZE, count }] } } };
  expect((await rig.call('PUT', poolPath(rig, 'a'), { body: { properties } })).status).toBe(200);
  rig.clock.advance(10 * MINUTE);
}

describe('machines of a pool that deallocates', () => {
  it.each<[MachineStops, ReturnType<typeof shown>]>([
    ['left-out', { count: 2, running: 2, stopped: 2 }],
    ['counted', { count: 4, running: 2, stopped: 2 }],
    ['deleted', { count: 2, running: 2, stopped: 0 }],
  ])('that are deleted by name, where they are %s', async (machineStops, expected) => {
    const rig = await rigWith(machineStops);
    await removeLast(rig, 2);
    expect(shown(rig)).toEqual(expected);
    expect(rig.violations.list()).toEqual([]);
  });

  it.each<[MachineStops, number, ReturnType<typeof shown>]>([
    ['left-out', 5, { count: 5, running: 5, stopped: 0 }],
    ['counted', 5, { count: 5, running: 3, stopped: 2 }],
  ])('of a count that rises, where stopped ones are %s', async (machineStops, to, expected) => {
    const rig = await rigWith(machineStops);
    await removeLast(rig, 2);
    await scale(rig, to);
    expect(shown(rig)).toEqual(expected);
  });

  it('are all deleted when the mode becomes Delete', async () => {
    const rig = await rigWith('counted');
    await removeLast(rig, 2);
    await rig.call('PUT', poolPath(rig, 'a'), { body: { properties: { scaleDownMode: 'Delete' } } });
    rig.clock.advance(10 * MINUTE);
    expect(shown(rig)).toEqual({ count: 2, running: 2, stopped: 0 });
  });
});
