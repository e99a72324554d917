/** Machines of agent pools of type VirtualMachines are removed by name, through AKS. */
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../world/simulator/arm/http/json.ts';
import { PLAIN_DELETE } from '../../src/domain/ports/cloud.ts';
import { answerPool, LARGE, LARGE_GROUP, SMALL, SMALL_GROUP, stage, TWO_SIZES, vmsPool, vmsWorld } from './vms-pools-support.ts';

const ANOTHER_VM = '00000000-0000-0000-0000-00000000000a';

interface VmList extends JsonObject {
  readonly value: readonly (JsonObject & { readonly id: string })[];
}

function vmIdOf(document: unknown): string {
  return /"vmId":"([^"]*)"/.exec(JSON.stringify(document))?.[1] ?? 'none';
}

/** The VM with that id in a list. */
function vmOf({ value }: VmList, id: string): JsonObject {
  return value.find((each) => each.id.toLowerCase() === id.toLowerCase()) ?? {};
}

describe('removing machines of a VMs pool', () => {
  it('by name, the named ones and no others, to the minimum', async () => {
    const s = await stage(vmsWorld([vmsPool({ count: 5, min: 3 })]));
    const names = s.arm.machines.list().map(({ hostName }) => hostName);
    expect(await s.remove(SMALL_GROUP, [1, 3])).toMatchObject({ kind: 'accepted' });
    expect(s.group(SMALL_GROUP).target).toMatchObject({ value: 3 });
    await s.pass(5 * 60_000);
    expect(s.arm.machines.list().map(({ hostName }) => hostName)).toEqual(names.filter((_, place) => place !== 1 && place !== 3));
    expect(s.writes().map(({ route }) => route)).toEqual([expect.stringMatching(/^POST .*deleteMachines$/)]);
    expect(s.group(SMALL_GROUP)).toMatchObject({ target: { value: 3, confirmed: true }, frozen: undefined });
    expect(s.group(SMALL_GROUP).instances).toHaveLength(3);
    expect(s.events).toMatchObject([{ kind: 'delete-succeeded' }]);
    expect(s.violations.list()).toEqual([]);
  });

  it('below the minimum, all in flight counted, is refused without a POST', async () => {
    const s = await stage(vmsWorld([vmsPool({ count: 4, min: 3 })]));
    expect(await s.remove(SMALL_GROUP, [0, 1])).toMatchObject({ kind: 'refused', reason: expect.stringMatching(/2 of 4 .* minimum of 3/) });
    expect(s.writes()).toEqual([]);
    const both = s.drive(Promise.all([s.remove(SMALL_GROUP, [0]), s.remove(SMALL_GROUP, [1])]));
    expect((await both).map(({ kind }) => kind)).toEqual(['accepted', 'refused']);
    expect(s.counts()).toEqual({ [SMALL]: 3 });
    expect(s.violations.list()).toEqual([]);
  });

  it.each([
    ['a healthy one, where failed ones would have to stand in for it', 3, 2, { running: 1 }, /1 of 3 .* not failed .* minimum of 3/],
    ['a healthy and a failed one', 3, 2, { running: 1, failed: 1 }, /1 of 3 .* not failed .* minimum of 3/],
    ['a healthy one that the minimum does not need', 4, 1, { running: 1 }, undefined],
    ['the failed ones', 3, 2, { failed: 2 }, undefined],
    ['a failed one, although too few are healthy already', 2, 3, { failed: 1 }, undefined],
    ['failed ones, below the minimum', 2, 2, { failed: 2 }, /2 of 4 .* minimum of 3/],
  ] as const)('the minimum is of instances that have not failed: removing %s', async (_name, healthy, failing, going, refusal) => {
    const s = await stage(vmsWorld([vmsPool({ count: healthy, min: 3 })], { stock: { [`${SMALL}/0`]: 0 } }));
    await s.increase(SMALL_GROUP, failing);
    await s.pass(6 * 60_000);
    const states = (s.group(SMALL_GROUP).instances ?? []).map(({ state }) => state);
    expect(states.filter((state) => state === 'failed')).toHaveLength(failing);
    const places = Object.entries(going).flatMap(([wanted, count]) =>
      states.flatMap((state, place) => (state === wanted ? [place] : [])).slice(0, count),
    );
    const expected = refusal === undefined ? { kind: 'accepted' } : { kind: 'refused', reason: expect.stringMatching(refusal) };
    expect(await s.remove(SMALL_GROUP, places)).toMatchObject(expected);
    expect(s.violations.list()).toEqual([]);
  });

  it('a removal waits for the operation of ours that runs in the pool, and is made after it', async () => {
    const s = await stage(vmsWorld([vmsPool(TWO_SIZES)]));
    await s.increase(LARGE_GROUP, 1);
    let isTurn = false;
    const turn = s.azure.untilRemovable(s.group(SMALL_GROUP).id, s.signal).then(() => (isTurn = true));
    await s.pass(1_000);
    expect(isTurn).toBe(false);
    const outcome = await s.drive(s.remove(SMALL_GROUP, [0]));
    expect(outcome).toMatchObject({ kind: 'accepted' });
    await turn;
    expect(s.writes().map(({ method, status }) => `${method} ${status}`)).toEqual(['PUT 200', 'POST 202']);
    expect(s.counts()).toEqual({ [SMALL]: 1, [LARGE]: 2 });
    await s.pass(5 * 60_000);
    expect(s.group(SMALL_GROUP)).toMatchObject({ target: { value: 1, confirmed: true } });
    expect(s.violations.list()).toEqual([]);
  });

  it('an instance that another VM has replaced while the pool was busy is not deleted', async () => {
    const s = await stage(vmsWorld([vmsPool(TWO_SIZES)]));
    const { providerId = '' } = s.group(SMALL_GROUP).instances?.[0] ?? {};
    const path = providerId.replace('azure://', '');
    const folder = path.slice(0, path.lastIndexOf('/'));
    const vmId = vmIdOf(await s.call('GET', `${path}?api-version=2024-11-01`));
    const replaced = JSON.parse(
      JSON.stringify(await s.call('GET', `${folder}?api-version=2024-11-01`)).replace(vmId, ANOTHER_VM),
    ) as VmList;
    await s.increase(LARGE_GROUP, 1);
    const removal = s.remove(SMALL_GROUP, [0]);
    await s.pass(1_000);
    const answer = (pathGlob: string, body: JsonObject) =>
      s.arm.control.addFault({ id: pathGlob, match: { method: 'GET', pathGlob }, effect: { kind: 'answer', status: 200, body } });
    answer('**/virtualMachines', replaced);
    answer(`**${path.slice(path.lastIndexOf('/'))}`, vmOf(replaced, path));
    await s.drive(s.azure.refresh(s.group(SMALL_GROUP).id, s.signal));
    expect(await s.drive(removal)).toMatchObject({ kind: 'refused', reason: expect.stringMatching(/now another instance/) });
    expect(s.writes().map(({ method }) => method)).toEqual(['PUT']);
  });

  it('an instance that another VM has replaced since the plan is not deleted, however often it is tried', async () => {
    const s = await stage(vmsWorld([vmsPool()]));
    const { id, instances: [planned] = [] } = s.group(SMALL_GROUP);
    if (planned === undefined) throw new Error('no instance');
    expect(planned.uid).toMatch(/^[0-9a-f-]{36}$/);
    const request = {
      ...PLAIN_DELETE,
      group: id,
      instances: [planned.key],
      allowBelowMin: false,
      uids: new Map([[planned.key, ANOTHER_VM]]),
    };
    for (let attempt = 0; attempt < 2; attempt++)
      expect(await s.drive(s.azure.deleteInstances(request, s.signal))).toMatchObject({
        kind: 'refused',
        reason: expect.stringMatching(/now another/),
      });
    expect(s.writes()).toEqual([]);
  });

  it('the count falls before any read says so, and comes back when AKS refuses', async () => {
    const s = await stage(vmsWorld([vmsPool()]));
    answerPool(s, 'POST', { kind: 'answer', status: 409, body: { code: 'OperationNotAllowed', message: 'm' } });
    expect(await s.remove(SMALL_GROUP, [0])).toMatchObject({ kind: 'failed', error: { kind: 'conflict' } });
    await s.pass(3_000);
    expect(s.group(SMALL_GROUP).target).toMatchObject({ value: 3, confirmed: true });
    expect(await s.remove(SMALL_GROUP, [0])).toMatchObject({ kind: 'accepted' });
    expect(s.group(SMALL_GROUP).target).toMatchObject({ value: 2 });
  });

  it('judges a removal whose operation AKS forgets by the instances that are left', async () => {
    const s = await stage(vmsWorld([vmsPool()]));
    const polls = { method: 'GET', pathGlob: '**/operations/*' };
    s.arm.control.addFault({
      id: 'slow',
      match: { ...polls, times: 20 },
      effect: { kind: 'answer', status: 200, body: { status: 'InProgress' } },
    });
    s.arm.control.addFault({
      id: 'forgotten',
      match: polls,
      effect: { kind: 'answer', status: 404, body: { error: { code: 'NotFound', message: 'The entity was not found.' } } },
    });
    const meant = s.group(SMALL_GROUP).instances?.[0]?.key;
    expect(await s.remove(SMALL_GROUP, [0])).toMatchObject({ kind: 'accepted' });
    await s.pass(30 * 60_000);
    expect(s.group(SMALL_GROUP).instances).toHaveLength(2);
    expect(s.events).toMatchObject([{ kind: 'delete-succeeded', instances: [meant] }]);
    expect(s.writes()).toHaveLength(1);
  });

  it('a lost answer is not sent twice: the machines are seen to go', async () => {
    const s = await stage(vmsWorld([vmsPool()]));
    answerPool(s, 'POST', { kind: 'reset', afterEffect: true });
    expect(await s.remove(SMALL_GROUP, [0])).toMatchObject({ kind: 'failed', error: { kind: 'unavailable' } });
    // A second try finds it on its way, although the pool would refuse any new removal.
    expect(await s.remove(SMALL_GROUP, [0])).toMatchObject({ kind: 'accepted' });
    await s.pass(5 * 60_000);
    expect(s.writes()).toHaveLength(1);
    expect(s.group(SMALL_GROUP)).toMatchObject({ target: { value: 2, confirmed: true }, frozen: undefined });
    expect(s.group(SMALL_GROUP).instances).toHaveLength(2);
  });

  it('a machine that went between the read and the call is left out, and the others go', async () => {
    const s = await stage(vmsWorld([vmsPool({ count: 4 })]));
    const body = { code: 'InvalidParameter', message: 'machineNames names a machine that is not in the agent pool.' };
    answerPool(s, 'POST', { kind: 'answer', status: 400, body });
    const gone = s.group(SMALL_GROUP).instances?.[0]?.providerId.split('/').at(-1);
    // The first read shows it, the later ones and their confirmations do not.
    for (const nth of [2, 3]) {
      s.arm.control.addFault({
        id: `gone-${nth}`,
        match: { method: 'GET', pathGlob: `**/Microsoft.Compute/virtualMachines/${gone}`, nth },
        effect: { kind: 'answer', status: 404, body: { error: { code: 'ResourceNotFound', message: 'm' } } },
      });
    }
    expect(await s.remove(SMALL_GROUP, [0, 1])).toMatchObject({ kind: 'accepted' });
    expect(s.writes().map(({ status }) => status)).toEqual([400, 202]);
    expect(s.counts()).toEqual({ [SMALL]: 3 });
  });
});
