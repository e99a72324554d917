/** Groups of VMs pools whose removed machines AKS stops (`azure.deallocate`), against the emulated Azure: whatever AKS counts. */
import { describe, expect, it } from 'vitest';
import type { InstanceKey } from '../../src/domain/ids.ts';
import { stoppedInstances } from '../../src/domain/node-group.ts';
import type { AnsweredIncrease, DeleteOutcome } from '../../src/domain/outcome.ts';
import type { AzureOptions } from '../../src/azure/arm/options.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { meet, SPEC, type Meeting } from '../azure/meeting.ts';
import { SMALL, SMALL_GROUP, stage, vmsPool, vmsWorld } from './vms-pools-support.ts';
import { PLAIN_DELETE } from '../../src/domain/ports/cloud.ts';
import type { MachineStops, PoolSpec } from '../../world/simulator/base/world-spec.ts';

const MINUTE = 60_000;
const SUBSCRIPTION = '11111111-2222-3333-4444-555555555555';
const ON = { deallocate: true };
const SIZE = 'Standard_D4s_v5';
const ID = `general/${SIZE}`;

async function started(
  machineStops: MachineStops,
  rest: Partial<AzureOptions> = {},
  pool: Partial<PoolSpec> = {},
  others: readonly PoolSpec[] = [],
  stock = {},
) {
  const general: PoolSpec = {
    name: 'general',
    kind: 'vms-pool',
    vmSize: SIZE,
    count: 4,
    min: 1,
    max: 5,
    scaleDownMode: 'Deallocate',
    machineStops,
    ...pool,
  };
  const m = await meet({ ...ON, ...rest }, { ...SPEC, pools: [general, ...others], stock });
  await m.pass(10_000);
  return m;
}

const inAzure = (m: Meeting) => {
  const machines = m.arm.machines.list().filter(({ pool }) => pool === 'general');
  const of = (power: string): number => machines.filter((vm) => vm.power === power).length;
  const count = m.arm.control.state().agentPools.find(({ name }) => name === 'general')?.sizes?.[SIZE];
  return { count, running: of('running'), stopped: of('deallocated') };
};
const group = (m: Meeting) => m.group(ID);
const seen = (m: Meeting) => {
  const { target, instances = [], ...rest } = group(m);
  const running = instances.filter(({ state }) => state === 'running').length;
  return { size: target.known ? target.value : target.reason, running, stopped: stoppedInstances(rest).length };
};
const writes = (m: Meeting): readonly string[] =>
  m.arm.control
    .journal()
    .filter(({ method, path }) => ['PUT', 'POST'].includes(method) && !path.includes('oauth2'))
    .map(({ method, path }) => (method === 'PUT' ? 'count' : path.replace(/^.*\//, '')));
const counts = (m: Meeting) => {
  const { stopped } = group(m);
  return stopped?.kind === 'stops' ? stopped.counts?.how : undefined;
};

const running = (m: Meeting, count: number): readonly InstanceKey[] =>
  (group(m).instances ?? [])
    .filter(({ state }) => state === 'running')
    .slice(0, count)
    .map(({ key }) => key);

function remove(m: Meeting, count: number): Promise<DeleteOutcome> {
  const instances = running(m, count);
  return m.drive(
    m.azure.deleteInstances(
      { ...PLAIN_DELETE, group: group(m).id, instances, mayStop: new Set(instances), allowBelowMin: false },
      m.signal,
    ),
  );
}

const increase = (m: Meeting, by: number): Promise<AnsweredIncrease> => m.drive(m.increase(group(m), by));

/** Two machines are stopped, and the pool has shown how it counts them. */
async function withTwoStopped(
  machineStops: MachineStops,
  ...rest: readonly [Partial<AzureOptions>?, Partial<PoolSpec>?, PoolSpec[]?, object?]
) {
  const m = await started(machineStops, ...rest);
  expect(await remove(m, 2)).toMatchObject({ kind: 'accepted', instances: { length: 2 } });
  await m.pass(8 * MINUTE);
  return m;
}

describe('machines that are removed from a pool that deallocates', () => {
  it.each<[MachineStops, object, object, string | undefined]>([
    ['left-out', { count: 2, running: 2, stopped: 2 }, { size: 2, running: 2, stopped: 2 }, 'left-out'],
    ['counted', { count: 4, running: 2, stopped: 2 }, { size: 2, running: 2, stopped: 2 }, 'included'],
    ['deleted', { count: 2, running: 2, stopped: 0 }, { size: 2, running: 2, stopped: 0 }, undefined],
  ])('through AKS, where they are %s, are what was read of them afterwards', async (machineStops, azure, view, how) => {
    const m = await withTwoStopped(machineStops);
    expect([inAzure(m), seen(m), counts(m), writes(m)]).toEqual([azure, view, how, ['deleteMachines']]);
    expect(group(m)).toMatchObject({ target: { confirmed: true }, frozen: undefined });
    expect([m.violations.list(), m.events.filter(({ kind }) => kind === 'external-change')]).toEqual([[], []]);
  });

  it('keep a disk whose SKU the machines name, at the price of that', async () => {
    const m = await withTwoStopped('left-out');
    expect(group(m).stopped).toMatchObject({ diskSku: 'P10 LRS' });
  });

  it.each<MachineStops>(['left-out', 'counted'])(
    'and are %s keep their size from being written until that is known',
    async (machineStops) => {
      const m = await started(machineStops);
      await remove(m, 1);
      await m.pass(20_000);
      expect(seen(m).size).toContain("whether AKS's count of it includes stopped machines is not known");
      await m.pass(8 * MINUTE);
      expect(seen(m)).toEqual({ size: 3, running: 3, stopped: 1 });
    },
  );

  it('are read before anything else is written, also once the operation that stopped one is over', async () => {
    const m = await started('counted');
    await remove(m, 1);
    for (let step = 0; step < 20 && (group(m).blocks.increase !== undefined || group(m).blocks.change !== undefined); step++)
      await m.pass(10_000);
    const { id, target } = group(m);
    expect(target).toMatchObject({
      known: false,
      reason:
        "whether AKS's count of it includes stopped machines is not known: AKS counts 4 where 3 run and 1 is stopped, which has not lasted yet",
    });
    const instances = running(m, 1);
    const refused = { kind: 'refused', reason: expect.stringContaining('includes stopped machines is not known') };
    expect(await m.drive(m.azure.increase({ group: id, from: 4, version: '', to: 5 }, m.signal))).toMatchObject(refused);
    expect(await m.drive(m.azure.deleteInstances({ ...PLAIN_DELETE, group: id, instances, allowBelowMin: true }, m.signal))).toMatchObject(
      refused,
    );
    expect(writes(m)).toEqual(['deleteMachines']);
  });

  it.each<MachineStops>(['left-out', 'counted'])('and are %s do not stand in for the minimum', async (machineStops) => {
    const m = await withTwoStopped(machineStops, {}, { min: 2 });
    expect(await remove(m, 1)).toMatchObject({ kind: 'refused', reason: expect.stringContaining('below its minimum of 2') });
  });

  it.each<MachineStops>(['left-out', 'counted'])(
    'and are %s are no more than the maximum, and it is said why nodes stay',
    async (machineStops) => {
      const m = await started(machineStops, { maxStoppedInstances: 1 });
      expect(await remove(m, 2)).toMatchObject({ kind: 'accepted', instances: { length: 1 } });
      await m.pass(8 * MINUTE);
      expect(inAzure(m)).toMatchObject({ running: 3, stopped: 1 });
      expect(group(m).blocks.removal).toEqual({ code: 'stopped-full', max: 1 });
      expect(await remove(m, 1)).toMatchObject({ kind: 'refused', reason: 'as many instances are stopped as the group may have' });
    },
  );
});

describe('an increase of a size with stopped machines', () => {
  it.each<[MachineStops, number, object, readonly string[]]>([
    ['left-out', 1, { count: 3, running: 3, stopped: 1 }, ['count']],
    ['left-out', 3, { count: 5, running: 5, stopped: 0 }, ['count']],
    ['counted', 1, { count: 4, running: 3, stopped: 1 }, ['start']],
    ['counted', 3, { count: 5, running: 5, stopped: 0 }, ['start', 'start', 'count']],
  ])('that are %s by %i starts them first', async (machineStops, by, azure, sent) => {
    const m = await withTwoStopped(machineStops);
    const nodes = 2 + by;
    expect(await increase(m, by)).toMatchObject({ kind: 'accepted', target: nodes, started: Math.min(2, by) });
    await m.pass(8 * MINUTE);
    expect([inAzure(m), writes(m)]).toEqual([azure, ['deleteMachines', ...sent]]);
    expect([seen(m).size, seen(m).running, m.violations.list()]).toEqual([nodes, nodes, []]);
  });

  it('that are counted says how the creation of the rest ended, although AKS takes long to answer', async () => {
    const m = await withTwoStopped('counted');
    m.arm.control.addFault({ id: 'slow', match: { method: 'PUT' }, effect: { kind: 'delay', ms: 10_000 } });
    const { id, target } = group(m);
    const version = target.known ? target.version : '';
    const sent = await m.drive(m.azure.increase({ group: id, from: 2, version, to: 5 }, m.signal));
    expect(sent).toMatchObject({ kind: 'sent', target: 5 });
    if (sent.kind !== 'sent') return;
    expect(await m.drive(sent.answer)).toMatchObject({ kind: 'accepted', target: 5, started: 2 });
  });

  it.each<MachineStops>(['left-out', 'counted'])('that are %s stays within its maximum', async (machineStops) => {
    const m = await withTwoStopped(machineStops, {}, { max: 4 });
    expect(await increase(m, 3)).toMatchObject({ kind: 'refused', reason: expect.stringContaining('above its maximum of 4') });
    expect(writes(m)).toEqual(['deleteMachines']);
  });

  it('that are counted creates others where a start is refused, and starts none for a while', async () => {
    const m = await withTwoStopped('counted');
    const error = { code: 'AllocationFailed', message: 'Allocation failed.' };
    const effect = { kind: 'answer', status: 409, body: { error } } as const;
    m.arm.control.addFault({ id: 'none', match: { method: 'POST', pathGlob: '**/start' }, effect });
    expect(await increase(m, 1)).toMatchObject({ kind: 'accepted', target: 3 });
    await m.pass(3 * MINUTE);
    expect(group(m).stopped).toMatchObject({ startsClosed: { message: expect.stringContaining('Allocation failed.') } });
    await increase(m, 1);
    await m.pass(8 * MINUTE);
    expect([inAzure(m), writes(m)]).toEqual([{ count: 6, running: 4, stopped: 2 }, ['deleteMachines', 'start', 'count', 'count']]);
    expect([seen(m), m.violations.list()]).toEqual([{ size: 4, running: 4, stopped: 2 }, []]);
  });

  it('that are counted keeps what was started although another start got no answer of use, and creates the rest', async () => {
    const m = await withTwoStopped('counted');
    const [, second] = m.arm.machines
      .list()
      .filter(({ power }) => power === 'deallocated')
      .map(({ hostName }) => hostName)
      .toSorted();
    const effect = { kind: 'answer', status: 503, body: { error: { code: 'ServiceUnavailable', message: 'Later.' } } } as const;
    m.arm.control.addFault({ id: 'one', match: { method: 'POST', pathGlob: `**/${second}/start` }, effect });
    expect(await increase(m, 2)).toMatchObject({ kind: 'accepted', target: 4, started: 1 });
    await m.pass(8 * MINUTE);
    expect([inAzure(m), m.violations.list()]).toEqual([{ count: 5, running: 4, stopped: 1 }, []]);
  });

  it('that are counted gives the size back if a start fails late, and says why', async () => {
    const greedy: PoolSpec = { name: 'greedy', vmSize: SIZE, count: 0, min: 0, max: 5 };
    const m = await withTwoStopped('counted', {}, {}, [greedy], { [`${SIZE}/0`]: 0 });
    await m.increase(m.group('greedy'), 2);
    await m.pass(3 * MINUTE);
    expect(await increase(m, 1)).toMatchObject({ kind: 'accepted', target: 3, started: 1 });
    await m.pass(5 * MINUTE);
    expect(m.events.filter(({ kind }) => kind === 'start-failed')).toMatchObject([
      { message: expect.stringContaining('AllocationFailed') },
    ]);
    expect(seen(m)).toEqual({ size: 2, running: 2, stopped: 2 });
  });

  it('that AKS could not start fails like one that it could not create, and removes nothing', async () => {
    const greedy: PoolSpec = { name: 'greedy', vmSize: SIZE, count: 0, min: 0, max: 5 };
    const m = await withTwoStopped('left-out', {}, {}, [greedy], { [`${SIZE}/0`]: 0 });
    await m.increase(m.group('greedy'), 2);
    await m.pass(3 * MINUTE);
    expect(await increase(m, 1)).toMatchObject({ kind: 'accepted', target: 3, started: 1 });
    await m.pass(8 * MINUTE);
    expect(m.events.filter(({ kind }) => kind === 'increase-failed')).toMatchObject([{ error: { code: 'AllocationFailed' } }]);
    expect([inAzure(m).running, m.violations.list()]).toEqual([2, []]);
  });

  it('whose start got no answer is read back', async () => {
    const m = await withTwoStopped('counted');
    const match = { method: 'POST', pathGlob: '**/start', times: 1 };
    m.arm.control.addFault({ id: 'lost', match, effect: { kind: 'reset', afterEffect: true } });
    expect(await increase(m, 1)).toMatchObject({ kind: 'accepted', target: 3, started: 1 });
    await m.pass(5 * MINUTE);
    expect([inAzure(m).running, writes(m)]).toEqual([3, ['deleteMachines', 'start']]);
  });

  it.each<MachineStops>(['left-out', 'counted'])('that are %s is not written once another writer moved the count', async (machineStops) => {
    const pool = vmsPool({ count: 4, scaleDownMode: 'Deallocate', machineStops });
    const s = await stage(vmsWorld([pool]), ON);
    await s.drive(s.remove(SMALL_GROUP, [2, 3]));
    await s.pass(8 * MINUTE);
    const { target } = s.group(SMALL_GROUP);
    expect(target).toMatchObject({ known: true, value: 2 });
    const properties = { virtualMachinesProfile: { scale: { manual: [{ size: SMALL, count: 5 }] } } };
    const path = `/subscriptions/${SUBSCRIPTION}/resourceGroups/rg/providers/Microsoft.ContainerService/managedClusters/aks/agentPools/mixed`;
    await s.call('PUT', `${path}?api-version=2025-05-01`, { properties });
    expect((await s.drive(s.increase(SMALL_GROUP, 1))).kind).not.toBe('accepted');
    await s.pass(8 * MINUTE);
    expect([s.counts()[SMALL], s.violations.list()]).toEqual([5, []]);
  });
});

describe('any order of increases and removals', () => {
  it.each<MachineStops>(['left-out', 'counted', 'deleted'])('of machines that are %s keeps all limits', async (machineStops) => {
    const m = await started(machineStops, { maxStoppedInstances: 2 }, { min: 2, max: 5 });
    const random = seededRandom(2);
    for (let step = 0; step < 12; step++) {
      const count = 1 + Math.floor(random() * 3);
      const isUp = random() < 0.5;
      if (group(m).target.known && isUp) await increase(m, count);
      else if (running(m, count).length > 0) await remove(m, count);
      await m.pass(random() < 0.4 ? 30_000 : 8 * MINUTE);
      const machines = m.arm.machines.list().filter(({ pool }) => pool === 'general');
      const stopped = machines.filter(({ power }) => power.startsWith('deallocat')).length;
      const up = machines.filter(({ power }) => power === 'running' || power === 'starting').length;
      expect({ step, isRight: up <= 5 && up >= 2 && stopped <= 2 }).toEqual({ step, isRight: true });
    }
    await m.pass(10 * MINUTE);
    expect([seen(m).size, inAzure(m).running, m.violations.list()]).toEqual([seen(m).running, seen(m).running, []]);
  });
});
