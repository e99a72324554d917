import { describeBlock } from '../../src/domain/group-blocks.ts';
import { describe, expect, it } from 'vitest';
import { startedWorld } from '../support/virtual-world.ts';
import { aPool, bound, deployment, events, MINUTE, worldOf } from './support.ts';

const FLAGS = ['--scale-down-unneeded-time=30s', '--scale-down-delay-after-add=10s'];

const STATES = [
  ['upgrading', { provisioningState: 'Upgrading' }, 'is in state Upgrading'],
  ['being deleted', { provisioningState: 'deleting' }, 'is in state deleting'],
  ['in a state that nobody knows', { provisioningState: 'Pondering' }, 'is in state Pondering'],
  ['starting', { provisioningState: 'Starting' }, 'is in state Starting'],
  ['stopped', { powerState: { code: 'Stopped' } }, 'is stopped'],
  ['stopped, in other letter case', { powerState: { code: 'STOPPED' } }, 'is stopped'],
  ["of AKS's own autoscaler", { enableAutoScaling: true }, 'AKS runs its own autoscaler over its agent pool'],
  ['hosted', { mode: 'HostedSystem' }, 'its agent pool is hosted and scaled by AKS'],
] as const;

const KINDS = [
  { kind: 'vmss-uniform', states: STATES },
  { kind: 'vmss-flexible', states: STATES.slice(0, 1) },
  { kind: 'vms-pool', states: STATES },
] as const;

describe.each(KINDS)('a $kind that AKS says is', ({ kind, states }) => {
  it.each(states)('%s is frozen in both directions, with the reason shown, until AKS says otherwise', async (_what, changed, reason) => {
    const pool = aPool({ name: 'general', kind, count: 3, min: 0, max: 6 });
    const world = await startedWorld({ spec: worldOf([pool]), flags: FLAGS });
    await world.stopDaemon();
    const vms = { type: 'VirtualMachines', virtualMachinesProfile: { scale: { manual: [{ size: 'Standard_D4s_v5', count: 3 }] } } };
    const type = kind === 'vms-pool' ? vms : { type: 'VirtualMachineScaleSets', count: 3 };
    const tags = { 'cluster-autoscaler-enabled': 'true', min: '0', max: '6' };
    const properties = {
      ...type,
      mode: 'User',
      osType: 'Linux',
      provisioningState: 'Succeeded',
      powerState: { code: 'Running' },
      eTag: 'x',
      tags,
      ...changed,
    };
    const shown = { name: 'general', properties };
    const says = (id: string, pathGlob: string, body: object): void =>
      world.world.arm.control.addFault({
        id,
        match: { method: 'GET', pathGlob },
        effect: { kind: 'answer', status: 200, body: JSON.parse(JSON.stringify(body)) as never },
      });
    says('list', '**/agentPools', { value: [shown] });
    says('one', '**/agentPools/general', shown);
    const before = world.writes().length;
    await world.startDaemon();
    // First none of its nodes is needed, then more than it has.
    await world.advance(4 * MINUTE);
    world.world.cluster.apply(deployment({ name: 'web', replicas: 15, cpu: '1' }));
    await world.advance(3 * MINUTE);
    expect(world.writes().length).toBe(before);
    const group = world.reports.at(-1)?.observation?.cloud.groups.find(({ id }) => id.includes('general'));
    expect(describeBlock(group?.blocks.change)).toContain(reason);
    expect(events(world, 'NotTriggerScaleUp').join()).toContain(reason);
    for (const id of ['list', 'one']) world.world.arm.control.removeFault(id);
    await world.until('all bound', () => bound(world, 'web') === 15, 12 * MINUTE);
    expect(world.world.violations()).toEqual([]);
  });
});
