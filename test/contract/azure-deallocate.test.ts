/** Groups that deallocate instances instead of deleting them, against the emulated Azure (`azure.deallocate`). */
import { describe, expect, it } from 'vitest';
import type { InstanceKey } from '../../src/domain/ids.ts';
import { stoppedInstances, type Instance } from '../../src/domain/node-group.ts';
import type { DeleteOutcome } from '../../src/domain/outcome.ts';
import type { AzureOptions } from '../../src/azure/arm/options.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { aCluster, aNode, START_MS } from '../support/builders.ts';
import { schedulesOf } from '../support/schedules.ts';
import { meet, SPEC, type Meeting } from '../azure/meeting.ts';
import { PLAIN_DELETE } from '../../src/domain/ports/cloud.ts';
import type { PoolSpec, WorldSpec } from '../../world/simulator/base/world-spec.ts';

const MINUTE = 60_000;
const ON = { deallocate: true };
const SIZE = 'Standard_D4s_v5';
const general: PoolSpec = { name: 'general', vmSize: SIZE, count: 4, min: 1, max: 5, scaleDownMode: 'Deallocate' };
const worldWith = (pool: Partial<PoolSpec> = {}, change: Partial<WorldSpec> = {}): WorldSpec => ({
  ...SPEC,
  pools: [{ ...general, ...pool }],
  ...change,
});

async function started(rest: Partial<AzureOptions> = ON, spec: WorldSpec = worldWith()): Promise<Meeting> {
  const m = await meet(rest, spec);
  await m.pass(10_000);
  return m;
}

const inAzure = (m: Meeting) => {
  const set = m.arm.control.state().sets.find(({ pool }) => pool === 'general');
  const instances = set?.instances ?? [];
  return {
    capacity: set?.capacity,
    running: instances.filter(({ power }) => power === 'running').length,
    stopped: instances.filter(({ power }) => power === 'deallocated').length,
  };
};
const seen = (m: Meeting) => {
  const group = m.group('general');
  const { target, instances = [] } = group;
  const running = instances.filter(({ state }) => state === 'running').length;
  return { size: target.known ? target.value : undefined, running, stopped: stoppedInstances(group).length };
};
const writes = (m: Meeting): readonly string[] =>
  m.arm.control
    .journal()
    .filter(({ method, path, pool }) => pool === 'general' && ['PUT', 'POST'].includes(method) && !path.includes('oauth2'))
    .map(({ path }) => path.replace(/^.*\//, '').replace(/^aks-.*$/, 'capacity'));

const runningKeys = (m: Meeting, count: number): readonly InstanceKey[] =>
  (m.group('general').instances ?? [])
    .filter(({ state }: Instance) => state === 'running')
    .slice(0, count)
    .map(({ key }) => key);

function stop(m: Meeting, count: number): Promise<DeleteOutcome> {
  const group = m.group('general');
  const instances = runningKeys(m, count);
  return m.drive(
    m.azure.deleteInstances({ ...PLAIN_DELETE, group: group.id, instances, mayStop: new Set(instances), allowBelowMin: false }, m.signal),
  );
}

describe('instances of a pool that deallocates', () => {
  it('are stopped by name, leave the size at once, and remain in the capacity', async () => {
    const m = await started();
    const outcome = await stop(m, 2);
    expect(outcome).toMatchObject({ kind: 'accepted', instances: { length: 2 } });
    expect(seen(m)).toMatchObject({ size: 2, running: 2 });
    await m.pass(3 * MINUTE);
    expect([seen(m), inAzure(m), writes(m)]).toEqual([
      { size: 2, running: 2, stopped: 2 },
      { capacity: 4, running: 2, stopped: 2 },
      ['deallocate'],
    ]);
    expect(m.group('general')).toMatchObject({ target: { confirmed: true }, frozen: undefined, stopped: { diskGib: 128, max: 10 } });
    expect(m.events.filter(({ kind }) => kind.startsWith('delete'))).toMatchObject([{ kind: 'delete-succeeded', remain: true }]);
  });

  it('are started before others are created, in one increase', async () => {
    const m = await started();
    await stop(m, 2);
    await m.pass(3 * MINUTE);
    const outcome = await m.increase(m.group('general'), 3);
    expect(outcome).toMatchObject({ kind: 'accepted', target: 5, started: 2 });
    expect(seen(m)).toMatchObject({ size: 5, stopped: 0 });
    await m.pass(5 * MINUTE);
    expect([seen(m), inAzure(m), writes(m)]).toEqual([
      { size: 5, running: 5, stopped: 0 },
      { capacity: 5, running: 5, stopped: 0 },
      ['deallocate', 'start', 'capacity'],
    ]);
    expect(m.violations.list()).toEqual([]);
  });

  it('are started by name alone if they are enough, and none is started above the maximum', async () => {
    const m = await started(ON, worldWith({ max: 3 }));
    await stop(m, 2);
    await m.pass(3 * MINUTE);
    expect(await m.increase(m.group('general'), 2)).toMatchObject({ kind: 'refused', reason: '4 is above its maximum of 3' });
    expect(await m.increase(m.group('general'), 1)).toMatchObject({ kind: 'accepted', target: 3, started: 1 });
    await m.pass(3 * MINUTE);
    expect([seen(m), inAzure(m), writes(m)]).toEqual([
      { size: 3, running: 3, stopped: 1 },
      { capacity: 4, running: 3, stopped: 1 },
      ['deallocate', 'start'],
    ]);
  });

  it('are deleted beyond the maximum of stopped instances', async () => {
    const m = await started({ ...ON, maxStoppedInstances: 1 });
    expect(await stop(m, 2)).toMatchObject({ kind: 'accepted', instances: { length: 2 } });
    await m.pass(5 * MINUTE);
    expect([seen(m), inAzure(m), writes(m)]).toEqual([
      { size: 2, running: 2, stopped: 1 },
      { capacity: 3, running: 2, stopped: 1 },
      ['deallocate', 'delete'],
    ]);
  });

  it('do not stand in for the minimum', async () => {
    const m = await started(ON, worldWith({ min: 2 }));
    await stop(m, 2);
    await m.pass(3 * MINUTE);
    expect(await stop(m, 1)).toMatchObject({ kind: 'refused', reason: expect.stringContaining('below its minimum of 2') });
  });

  it('that others stopped since the last list do not either: which instances run is read first', async () => {
    const m = await started();
    await m.pass(MINUTE);
    const before = m.arm.control.journal().length;
    await stop(m, 1);
    const lists = m.arm.control
      .journal()
      .slice(before)
      .filter(({ method, path, at }) => method === 'GET' && path.endsWith('/virtualMachines') && at < m.clock.now());
    expect(lists.length).toBeGreaterThan(0);
  });

  it('that do not work are deleted', async () => {
    const m = await started();
    const group = m.group('general');
    await m.drive(
      m.azure.deleteInstances({ ...PLAIN_DELETE, group: group.id, instances: runningKeys(m, 1), allowBelowMin: false }, m.signal),
    );
    await m.pass(3 * MINUTE);
    expect([inAzure(m), writes(m)]).toEqual([{ capacity: 3, running: 3, stopped: 0 }, ['delete']]);
  });

  it('whose answer was lost are counted as stopping, and a read decides', async () => {
    const m = await started();
    const match = { method: 'POST', pathGlob: '**/deallocate', times: 1 };
    m.arm.control.addFault({ id: 'lost', match, effect: { kind: 'reset', afterEffect: true } });
    expect(await stop(m, 1)).toMatchObject({ kind: 'failed' });
    await m.pass(3 * MINUTE);
    expect([seen(m), m.group('general').target]).toMatchObject([{ size: 3, running: 3, stopped: 1 }, { confirmed: true }]);
  });
});

describe('nodes of stopped instances', () => {
  it('are no nodes to plans, until a start made them ready', async () => {
    const m = await started();
    const { instances = [] } = m.group('general');
    const nodes = instances.map(({ providerId }, index) => aNode({ name: `node-${index}`, providerId }));
    const cluster = aCluster({ nodes });
    const names = () => [...m.azure.withoutStopped(cluster).nodes.keys()];
    expect(m.azure.withoutStopped(cluster)).toBe(cluster);
    await stop(m, 2);
    expect(names()).toEqual(['node-0', 'node-1', 'node-2', 'node-3']);
    await m.pass(3 * MINUTE);
    expect(names()).toEqual(['node-2', 'node-3']);
    await m.increase(m.group('general'), 1);
    await m.pass(MINUTE);
    // These nodes have been ready all the time: what they showed before they were stopped does not count at first.
    expect(names()).toEqual(['node-2', 'node-3']);
    expect(m.group('general', m.azure.withoutStopped(cluster)).instances?.map(({ createdAtMs }) => createdAtMs)).toContain(
      m.clock.now() - MINUTE,
    );
    await m.pass(2 * MINUTE);
    expect(names()).toEqual(['node-0', 'node-2', 'node-3']);
  });
});

describe('an increase of a group with stopped instances', () => {
  it('counts what was started although the rest could not be created', async () => {
    const m = await started();
    await stop(m, 1);
    await m.pass(3 * MINUTE);
    const effect = { kind: 'answer', status: 400, body: { error: { code: 'InvalidParameter', message: 'no' } } } as const;
    m.arm.control.addFault({ id: 'no', match: { method: 'PUT' }, effect });
    expect(await m.increase(m.group('general'), 2)).toMatchObject({ kind: 'accepted', target: 4, started: 1 });
    await m.pass(4 * MINUTE);
    expect(seen(m)).toEqual({ size: 4, running: 4, stopped: 0 });
  });
});

describe('a start of stopped instances', () => {
  it('that a pause overtakes while Azure is read is not sent', async () => {
    const schedules = schedulesOf('rules: [{from: "00:06", to: "01:00", pause: true}]');
    const m = await started({ ...ON, schedules });
    await stop(m, 1);
    await m.pass(START_MS + 6 * MINUTE - 5_000 - m.clock.now());
    const match = { method: 'GET', pathGlob: '**/virtualMachines/*' };
    m.arm.control.addFault({ id: 'slow', match, effect: { kind: 'delay', ms: 10_000 } });
    const outcome = await m.drive(m.increase(m.group('general'), 1));
    expect(outcome).toMatchObject({ kind: 'refused', busy: true, reason: expect.stringContaining('by schedule rule 1') });
    expect(writes(m)).toEqual(['deallocate']);
  });
});

describe('a removal of more than may be stopped', () => {
  it('names what was stopped alone, if the other part could not be deleted', async () => {
    const m = await started({ ...ON, maxStoppedInstances: 1 });
    const effect = { kind: 'answer', status: 409, body: { error: { code: 'OperationNotAllowed', message: 'no' } } } as const;
    m.arm.control.addFault({ id: 'no', match: { method: 'POST', pathGlob: '**/delete' }, effect });
    expect(await stop(m, 2)).toMatchObject({ kind: 'accepted', instances: { length: 1 } });
  });

  it('stops no more than the maximum, though another removal came first', async () => {
    const m = await started({ ...ON, maxStoppedInstances: 1 });
    const [one, two] = runningKeys(m, 2);
    const remove = (key: InstanceKey | undefined) => {
      const instances = key === undefined ? [] : [key];
      return m.azure.deleteInstances(
        { ...PLAIN_DELETE, group: m.group('general').id, instances, mayStop: new Set(instances), allowBelowMin: false },
        m.signal,
      );
    };
    const outcomes = await m.drive(Promise.all([remove(one), remove(two)]));
    expect(outcomes.map(({ kind }) => kind).sort()).toEqual(['accepted', 'refused']);
    await m.pass(3 * MINUTE);
    expect(inAzure(m)).toEqual({ capacity: 4, running: 3, stopped: 1 });
  });
});

describe('any order of increases and removals', () => {
  it('keeps the minimum and the maximum of what runs, and the maximum of what is stopped', async () => {
    const limits = { min: 2, max: 5 };
    const m = await started({ ...ON, maxStoppedInstances: 2 }, worldWith(limits));
    const random = seededRandom(1);
    const isUp = (power: string): boolean => power === 'running' || power === 'starting';
    for (let step = 0; step < 14; step++) {
      const count = 1 + Math.floor(random() * 3);
      const size = seen(m).size ?? 0;
      if (random() < 0.5) await m.drive(m.increase(m.group('general'), count));
      else if (runningKeys(m, count).length > 0) await stop(m, count);
      await m.pass(random() < 0.5 ? 20_000 : 4 * MINUTE);
      const now = seen(m).size ?? size;
      const instances = m.arm.control.state().sets.find(({ pool }) => pool === 'general')?.instances ?? [];
      const stopped = instances.filter(({ power }) => power === 'deallocated' || power === 'deallocating').length;
      expect({ step, now, isRight: now >= limits.min && now <= limits.max && stopped <= 2 }).toEqual({ step, now, isRight: true });
      expect(instances.filter(({ power }) => isUp(power)).length).toBeLessThanOrEqual(limits.max);
    }
    await m.pass(6 * MINUTE);
    expect([seen(m).running, m.violations.list()]).toEqual([seen(m).size, []]);
  });
});

describe('a start that fails', () => {
  it('at once leads to new instances in the same increase, and for a while to no other start', async () => {
    const m = await started();
    await stop(m, 1);
    await m.pass(3 * MINUTE);
    const error = { code: 'AllocationFailed', message: 'Allocation failed.' };
    m.arm.control.addFault({
      id: 'none',
      match: { method: 'POST', pathGlob: '**/start' },
      effect: { kind: 'answer', status: 409, body: { error } },
    });
    expect(await m.increase(m.group('general'), 1)).toMatchObject({ kind: 'accepted', target: 4 });
    expect(m.group('general').stopped).toMatchObject({ startsClosed: { message: expect.stringContaining('Allocation failed.') } });
    expect(await m.increase(m.group('general'), 1)).toMatchObject({ kind: 'accepted', target: 5 });
    await m.pass(4 * MINUTE);
    expect([seen(m), inAzure(m), writes(m)]).toEqual([
      { size: 5, running: 5, stopped: 1 },
      { capacity: 6, running: 5, stopped: 1 },
      ['deallocate', 'start', 'capacity', 'capacity'],
    ]);
    await m.pass(2 * MINUTE);
    expect(m.group('general').stopped).toMatchObject({ startsClosed: undefined });
  });

  it('late gives the size back, is an event that names why, and leaves the instances stopped', async () => {
    const spec = worldWith({}, { stock: { [`${SIZE}/0`]: 0 } });
    const m = await started(ON, { ...spec, pools: [...spec.pools, { name: 'greedy', vmSize: SIZE, count: 0, min: 0, max: 5 }] });
    await stop(m, 2);
    await m.pass(3 * MINUTE);
    await m.increase(m.group('greedy'), 2);
    await m.pass(3 * MINUTE);
    expect(await m.increase(m.group('general'), 1)).toMatchObject({ kind: 'accepted', target: 3, started: 1 });
    await m.pass(3 * MINUTE);
    expect(m.events.filter(({ kind }) => kind === 'start-failed')).toMatchObject([
      { message: expect.stringContaining('AllocationFailed') },
    ]);
    expect(seen(m)).toEqual({ size: 2, running: 2, stopped: 2 });
  });

  it('without an answer is read back', async () => {
    const m = await started();
    await stop(m, 1);
    await m.pass(3 * MINUTE);
    const match = { method: 'POST', pathGlob: '**/start', times: 1 };
    m.arm.control.addFault({ id: 'lost', match, effect: { kind: 'reset', afterEffect: true } });
    expect(await m.drive(m.increase(m.group('general'), 1))).toMatchObject({ kind: 'accepted', target: 4, started: 1 });
    await m.pass(2 * MINUTE);
    expect([seen(m), writes(m)]).toEqual([{ size: 4, running: 4, stopped: 0 }, ['deallocate', 'start']]);
  });
});

describe('what is not stopped', () => {
  it.each([
    ['of a pool that AKS deletes from', {}, worldWith({ scaleDownMode: 'Delete' }), 'its agent pool has scaleDownMode Delete'],
    ['of a Spot pool', {}, worldWith({ priority: 'Spot' }), 'Azure may refuse to start a stopped Spot instance at any time'],
    ['of a pool that is written through AKS', { writePath: 'agentPool' as const }, worldWith(), 'its size is written through AKS'],
    ['of a VMs pool that AKS deletes from', {}, worldWith({ kind: 'vms-pool', scaleDownMode: 'Delete' }), 'has scaleDownMode Delete'],
    ['of a Spot VMs pool', {}, worldWith({ kind: 'vms-pool', priority: 'Spot' }), 'Azure may refuse to start a stopped Spot instance'],
  ])('%s says why', async (_what, rest, spec, why) => {
    const m = await started({ ...ON, ...rest }, spec);
    const group = m.groups().find(({ id }) => id.includes('general'));
    expect(group?.stopped).toEqual({ kind: 'deletes', why: expect.stringContaining(why) });
  });

  it('by default: the pool deletes, and nothing is said of stopped instances', async () => {
    const m = await started({});
    await stop(m, 2);
    await m.pass(3 * MINUTE);
    expect([inAzure(m), writes(m), m.group('general').stopped]).toEqual([{ capacity: 2, running: 2, stopped: 0 }, ['delete'], undefined]);
  });

  it('by its own option, whatever holds for all groups', async () => {
    const m = await started({ ...ON, nodeGroupOptions: [{ name: 'general', options: { deallocate: false } }] });
    expect(m.group('general').stopped).toBeUndefined();
  });
});
