import { expect, it } from 'vitest';
import { describeBlock } from '../../src/domain/group-blocks.ts';
import { startedWorld } from '../support/virtual-world.ts';
import { aPool, bound, deployment, MINUTE, worldOf } from './support.ts';

const FLAGS = ['--scale-down-unneeded-time=30s', '--scale-down-delay-after-add=10s', '--scan-interval=20s'];

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
  { kind: 'vmss-uniform', initial: 'u', states: STATES },
  { kind: 'vmss-flexible', initial: 'f', states: STATES.slice(0, 1) },
  { kind: 'vms-pool', initial: 'v', states: STATES },
] as const;

/** One pool for each kind and state, in which AKS says that it is. */
const ROWS = KINDS.flatMap(({ kind, initial, states }) =>
  states.map(([what, changed, reason], at) => ({ kind, name: `${initial}${at}`, row: `a ${kind} that is ${what}`, changed, reason })),
);

it('pools that AKS says are not to be touched are frozen in both directions, with the reason shown, until AKS says otherwise', async () => {
  const world = await startedWorld({ spec: worldOf(ROWS.map(({ name, kind }) => aPool({ name, kind, count: 1, max: 6 }))), flags: FLAGS });
  await world.stopDaemon();
  const { control } = world.world.arm;
  const shown = ROWS.map(({ kind, name, changed }) => {
    const vms = { type: 'VirtualMachines', virtualMachinesProfile: { scale: { manual: [{ size: 'Standard_D4s_v5', count: 1 }] } } };
    const type = kind === 'vms-pool' ? vms : { type: 'VirtualMachineScaleSets', count: 1 };
    const usual = { mode: 'User', osType: 'Linux', provisioningState: 'Succeeded', powerState: { code: 'Running' }, eTag: 'x' };
    const tags = { 'cluster-autoscaler-enabled': 'true', min: '0', max: '6' };
    return { name, properties: { ...type, ...usual, tags, ...changed } };
  });
  const says = (id: string, pathGlob: string, body: object): void =>
    control.addFault({
      id,
      match: { method: 'GET', pathGlob },
      effect: { kind: 'answer', status: 200, body: JSON.parse(JSON.stringify(body)) as never },
    });
  says('list', '**/agentPools', { value: shown });
  for (const one of shown) says(one.name, `**/agentPools/${one.name}`, one);
  const before = world.writes().length;
  await world.startDaemon();
  // First none of the nodes is needed, then more than there are.
  await world.advance(2 * MINUTE);
  for (const { name } of ROWS)
    world.world.cluster.apply(deployment({ name, replicas: 5, cpu: '1', spec: { nodeSelector: { agentpool: name } } }));
  await world.advance(1.5 * MINUTE);
  expect(world.writes().slice(before)).toEqual([]);
  const groups = world.reports.at(-1)?.observation?.cloud.groups ?? [];
  const refusals = world.world.cluster.store.events().filter(({ reason }) => reason === 'NotTriggerScaleUp');
  for (const { row, name, reason } of ROWS) {
    const group = groups.find(({ id }) => id.includes(`-${name}-`) || id.startsWith(`${name}/`));
    expect(describeBlock(group?.blocks.change), row).toContain(reason);
    const told = refusals.filter(({ involvedObject }) => involvedObject?.name?.startsWith(`${name}-`)).map(({ message }) => message);
    expect(told.join(), row).toContain(reason);
  }
  for (const id of ['list', ...ROWS.map(({ name }) => name)]) control.removeFault(id);
  await world.until('all bound', () => ROWS.every(({ name }) => bound(world, name) === 5), 12 * MINUTE);
  expect(world.world.violations()).toEqual([]);
});
