/** One instance of a scale set is reimaged, against the emulated Azure: `POST .../virtualMachines/{id}/reimage` of its REST reference. */
import { describe, expect, it } from 'vitest';
import type { InstanceKey } from '../../src/domain/ids.ts';
import type { DeleteOutcome } from '../../src/domain/outcome.ts';
import { PLAIN_DELETE, type DeleteRequest } from '../../src/domain/ports/cloud.ts';
import { meet, SPEC, type Meeting } from '../azure/meeting.ts';
import type { PoolSpec } from '../../world/simulator/base/world-spec.ts';

const MINUTE = 60_000;
const general: PoolSpec = { name: 'general', vmSize: 'Standard_D4s_v5', count: 3, min: 1, max: 5 };

async function started(pool: Partial<PoolSpec> = {}): Promise<Meeting> {
  const m = await meet({}, { ...SPEC, pools: [{ ...general, ...pool }] });
  await m.pass(10_000);
  return m;
}

const keysOf = (m: Meeting): readonly InstanceKey[] => (m.group('general').instances ?? []).map(({ key }) => key);
const seen = (m: Meeting) => {
  const { target, instances = [] } = m.group('general');
  return { size: target.known ? target.value : undefined, confirmed: target.known && target.confirmed, keys: instances.length };
};
const posts = (m: Meeting): readonly string[] =>
  m.arm.control
    .journal()
    .filter(({ method, pool }) => pool === 'general' && method === 'POST')
    .map(({ path }) => path.replace(/^.*virtualMachineScaleSets\/[^/]*\//, ''));

function reimage(m: Meeting, count = 1, more: Partial<DeleteRequest> = {}): Promise<DeleteOutcome> {
  const request = {
    ...PLAIN_DELETE,
    group: m.group('general').id,
    instances: keysOf(m).slice(0, count),
    allowBelowMin: false,
    reimages: true as const,
  };
  return m.drive(m.azure.deleteInstances({ ...request, ...more }, m.signal));
}

const refusing = (status: number, code: string) =>
  ({
    id: 'no',
    match: { method: 'POST', pathGlob: '**/reimage' },
    effect: { kind: 'answer', status, body: { error: { code, message: 'no' } } },
  }) as const;

describe('a reimage', () => {
  it('is sent for one instance, and neither the size nor the instances change', async () => {
    const m = await started();
    expect(await reimage(m)).toMatchObject({ kind: 'accepted', instances: { length: 1 } });
    expect(seen(m)).toEqual({ size: 3, confirmed: true, keys: 3 });
    await m.pass(5 * MINUTE);
    expect([seen(m), posts(m)]).toEqual([{ size: 3, confirmed: true, keys: 3 }, ['virtualMachines/0/reimage']]);
    expect(m.events.filter(({ kind }) => kind.startsWith('delete'))).toMatchObject([{ kind: 'delete-succeeded', remain: true }]);
    expect(m.violations.list()).toEqual([]);
  });

  it.each<{ readonly name: string; readonly pool?: Partial<PoolSpec>; readonly count?: number; readonly reason: RegExp }>([
    { name: 'of two instances at once', count: 2, reason: /2 instances of it cannot be reimaged in one call/ },
    { name: 'in a Flexible set', pool: { kind: 'vmss-flexible' }, reason: /cannot be reimaged/ },
    { name: 'that leaves fewer working nodes than the minimum', pool: { min: 3 }, reason: /below its minimum of 3/ },
  ])('is refused $name, and nothing is sent', async ({ pool = {}, count = 1, reason }) => {
    const m = await started(pool);
    expect(await reimage(m, count)).toMatchObject({ kind: 'refused', reason: expect.stringMatching(reason) as string });
    expect(posts(m)).toEqual([]);
  });

  it('is not sent if the last look objects', async () => {
    const m = await started();
    const objections: DeleteRequest['objections'] = (keys) => Promise.resolve(new Map(keys.map((key) => [key, 'it is well again'])));
    expect(await reimage(m, 1, { objections })).toMatchObject({ kind: 'refused', reason: 'it is well again' });
    expect(posts(m)).toEqual([]);
  });

  it.each([
    { status: 403, code: 'AuthorizationFailed', outcome: { kind: 'refused' } },
    { status: 404, code: 'InstanceIdsListContainsInvalidInstanceIds', outcome: { kind: 'failed', error: { kind: 'unavailable' } } },
    { status: 409, code: 'OperationNotAllowed', outcome: { kind: 'failed' } },
    { status: 429, code: 'TooManyRequests', outcome: { kind: 'failed', error: { kind: 'throttled' } } },
  ])('that Azure answers with $status is sent once, and the group may grow', async ({ status, code, outcome }) => {
    const m = await started();
    m.arm.control.addFault(refusing(status, code));
    expect(await reimage(m)).toMatchObject(outcome);
    await m.pass(3 * MINUTE);
    expect([posts(m).length, seen(m)]).toEqual([1, { size: 3, confirmed: true, keys: 3 }]);
    expect(await m.increase(m.group('general'), 1)).toMatchObject({ kind: 'accepted' });
  });

  it('whose answer was lost may be under way, and is not sent again', async () => {
    const m = await started();
    m.arm.control.addFault({
      id: 'lost',
      match: { method: 'POST', pathGlob: '**/reimage', times: 1 },
      effect: { kind: 'reset', afterEffect: true },
    });
    expect(await reimage(m)).toMatchObject({ kind: 'failed', error: { detail: { kind: 'unavailable', effect: 'unknown' } } });
    await m.pass(3 * MINUTE);
    expect(posts(m)).toEqual(['virtualMachines/0/reimage']);
  });

  it('that a newer operation preempted is not sent again', async () => {
    const m = await started();
    await reimage(m);
    m.arm.control.raise({ preempt: { pool: 'general' } });
    await m.pass(5 * MINUTE);
    expect([posts(m).length, seen(m)]).toEqual([1, { size: 3, confirmed: true, keys: 3 }]);
  });
});
