import { describe, expect, it } from 'vitest';
import type { AzureOptions } from '../../src/azure/arm/options.ts';
import { instanceKey, nodeGroupId, type InstanceKey } from '../../src/domain/ids.ts';
import { NODE_GROUP, refusal, SUBSCRIPTION, type ScriptedSet } from '../azure/scripted-arm.ts';
import { PLAIN_DELETE } from '../../src/domain/ports/cloud.ts';
import { rig, USER_POOL, type Rig } from '../azure/rig.ts';

async function started(capacity: number, rest: Partial<AzureOptions> = {}): Promise<{ r: Rig; set: ScriptedSet }> {
  const r = await rig(rest);
  const set = r.arm.addSet(USER_POOL, capacity);
  await r.azure.start(r.signal);
  return { r, set };
}

function key(id: string | number): InstanceKey {
  return instanceKey(`${SUBSCRIPTION}|${NODE_GROUP}|vmss|${USER_POOL}|${id}`.toLowerCase());
}

function remove(r: Rig, ids: readonly (string | number)[], allowBelowMin = false) {
  return r.azure.deleteInstances({ ...PLAIN_DELETE, group: nodeGroupId(USER_POOL), instances: ids.map(key), allowBelowMin }, r.signal);
}

function posts(r: Rig) {
  return r.arm.sent('POST', '/delete');
}

describe('azure: deleting machines', () => {
  it('sends one POST for the batch, without force, and counts it at once', async () => {
    const { r } = await started(5);
    expect(await remove(r, [1, 3])).toEqual({ kind: 'accepted', group: USER_POOL, instances: [key(1), key(3)] });
    expect(posts(r).map(({ body, query }) => [body, query.get('forceDeletion')])).toEqual([[{ instanceIds: ['1', '3'] }, 'false']]);
    const group = r.group(USER_POOL);
    expect(group.target).toMatchObject({ value: 3 });
    expect(group.instances?.filter(({ state }) => state === 'deleting').map(({ instanceId }) => instanceId)).toEqual(['1', '3']);
  });

  it('the minimum counts the whole batch', async () => {
    const { r } = await started(5, { nodeGroups: [{ name: USER_POOL, min: 3, max: 10 }] });
    expect(await remove(r, [0, 1, 2, 3])).toMatchObject({ kind: 'refused', reason: expect.stringMatching(/4 of 5 .* minimum of 3/) });
    expect(posts(r)).toHaveLength(0);
  });

  it('the minimum counts what is in flight', async () => {
    const { r } = await started(5, { nodeGroups: [{ name: USER_POOL, min: 3, max: 10 }] });
    expect(await remove(r, [0, 1])).toMatchObject({ kind: 'accepted' });
    expect(await remove(r, [2])).toMatchObject({ kind: 'refused', reason: expect.stringMatching(/1 of 3/) });
  });

  it.each([
    ['a healthy one, where failed ones would have to stand in for it', 5, [0, 1], [2], /1 of 3 .* not failed .* minimum of 3/],
    ['a healthy and a failed one', 5, [0, 1], [0, 2], /1 of 3 .* not failed .* minimum of 3/],
    ['a healthy one that the minimum does not need', 5, [0], [1], undefined],
    ['the failed ones', 5, [0, 1], [0, 1], undefined],
    ['a failed one, although too few are healthy already', 5, [0, 1, 2], [0], undefined],
    ['failed ones, below the minimum', 4, [0, 1], [0, 1], /2 of 4 .* minimum of 3/],
  ] as const)('the minimum is of instances that have not failed: removing %s', async (_name, capacity, failed, ids, refusal) => {
    const r = await rig({ nodeGroups: [{ name: USER_POOL, min: 3, max: 10 }] });
    const set = r.arm.addSet(USER_POOL, capacity);
    for (const id of failed.map(String)) set.machines.set(id, { ...set.machines.get(id)!, state: 'Failed', power: 'stopped' });
    await r.azure.start(r.signal);
    const expected = refusal === undefined ? { kind: 'accepted' } : { kind: 'refused', reason: expect.stringMatching(refusal) };
    expect(await remove(r, ids)).toMatchObject(expected);
    expect(posts(r)).toHaveLength(refusal === undefined ? 1 : 0);
  });

  it('failed machines may go below the minimum', async () => {
    const { r } = await started(3, { nodeGroups: [{ name: USER_POOL, min: 3, max: 10 }] });
    expect(await remove(r, [0], true)).toMatchObject({ kind: 'accepted' });
  });

  it.each([
    ['actions', { protectFromScaleSetActions: true }, 'Succeeded', 'refused'],
    ['scale-in', { protectFromScaleIn: true }, 'Succeeded', 'refused'],
    ['scale-in', { protectFromScaleIn: true }, 'Failed', 'accepted'],
    [undefined, { protectFromScaleIn: false, protectFromScaleSetActions: null }, 'Succeeded', 'accepted'],
  ])('a machine that was protected from %s since the plan (%j, %s): %s', async (from, protection, state, kind) => {
    const { r, set } = await started(3);
    set.machines.set('1', { ...set.machines.get('1')!, state, power: 'stopped', protection });
    expect(await remove(r, [0, 1])).toMatchObject({ kind });
    expect(posts(r)).toHaveLength(kind === 'refused' ? 0 : 1);
    expect(r.group(USER_POOL).instances?.[1]?.protectedFrom).toBe(from);
  });

  it('one that is already being deleted is left out, and alone needs no call', async () => {
    const { r, set } = await started(3);
    set.machines.set('1', { state: 'Deleting', power: 'running', vmId: `vm-${USER_POOL}-1`, zone: undefined });
    expect(await remove(r, [1])).toMatchObject({ kind: 'accepted' });
    expect(posts(r)).toHaveLength(0);
    expect(await remove(r, [1, 2])).toMatchObject({ kind: 'accepted' });
    expect(posts(r).map(({ body }) => body)).toEqual([{ instanceIds: ['2'] }]);
  });

  it('deletes of many instances that follow each other list the set at most twice in a minute', async () => {
    const { r } = await started(80, { nodeGroups: [{ name: USER_POOL, min: 0, max: 100 }] });
    await r.pass(120_000);
    const listedAt: number[] = [];
    r.arm.intercept = ({ method, path }) => {
      if (method === 'GET' && path.endsWith('/virtualmachines')) listedAt.push(r.clock.now());
      return undefined;
    };
    const batches = [0, 13, 26, 39].map((from) =>
      remove(
        r,
        Array.from({ length: 13 }, (_, index) => from + index),
      ),
    );
    await r.pass(130_000);
    expect((await Promise.all(batches)).map(({ kind }) => kind)).toEqual(['accepted', 'accepted', 'accepted', 'accepted']);
    expect(posts(r)).toHaveLength(4);
    expect(listedAt.length).toBeGreaterThanOrEqual(4);
    expect(listedAt.filter((at, index) => at - (listedAt[index - 2] ?? -Infinity) < 60_000)).toEqual([]);
  });

  /** Deletes failed instances, whose state becomes `state` before the fresh read, or after it and right before the request. */
  async function removeFailed(ids: readonly number[], state: string, when: 'before the read' | 'before the request') {
    const r = await rig({ nodeGroups: [{ name: USER_POOL, min: 0, max: 10 }] });
    const set = r.arm.addSet(USER_POOL, 4);
    for (const id of ids) set.machines.set(String(id), { ...set.machines.get(String(id))!, state: 'Failed', power: 'stopped' });
    await r.azure.start(r.signal);
    expect(r.group(USER_POOL).instances?.filter((instance) => instance.state === 'failed')).toHaveLength(ids.length);
    const change = (): void => void set.machines.set('0', { ...set.machines.get('0')!, state, power: 'running' });
    let looks = 0;
    const objections = async () => {
      looks += 1;
      if (when === 'before the request' && looks === 1) {
        change();
        await r.azure.refresh(nodeGroupId(USER_POOL), r.signal);
      }
      return new Map<InstanceKey, string>();
    };
    if (when === 'before the read') change();
    const request = {
      ...PLAIN_DELETE,
      group: nodeGroupId(USER_POOL),
      instances: ids.map(key),
      allowBelowMin: true,
      failed: new Set(ids.map(key)),
      objections,
    };
    return { r, outcome: await r.azure.deleteInstances(request, r.signal) };
  }

  it.each(['before the read', 'before the request'] as const)(
    'a failed instance that runs again %s stays, and the others go',
    async (when) => {
      const { r, outcome } = await removeFailed([0, 1], 'Succeeded', when);
      expect(outcome).toMatchObject({ kind: 'accepted' });
      expect(posts(r).map(({ body }) => body)).toEqual([{ instanceIds: ['1'] }]);
    },
  );

  it.each(['before the read', 'before the request'] as const)('a failed instance alone that runs again %s is refused', async (when) => {
    const { r, outcome } = await removeFailed([0], 'Succeeded', when);
    expect(outcome).toMatchObject({ kind: 'refused', reason: expect.stringContaining('has not failed any more: its state is running') });
    expect(posts(r)).toHaveLength(0);
  });

  it('a machine that is gone is success', async () => {
    const { r, set } = await started(3);
    set.machines.delete('1');
    expect(await remove(r, [1])).toMatchObject({ kind: 'accepted' });
    expect(posts(r)).toHaveLength(0);
  });

  it('a number that another machine has now is refused', async () => {
    const { r, set } = await started(3);
    set.machines.set('1', { state: 'Succeeded', power: 'running', vmId: 'somebody-else', zone: undefined });
    expect(await remove(r, [1])).toMatchObject({ kind: 'refused', reason: expect.stringMatching(/now another instance/) });
    expect(posts(r)).toHaveLength(0);
  });

  /** The next `times` reads of instance 1 find nothing. */
  const hide = (r: Rig, times: number): void => {
    let left = times;
    r.arm.intercept = ({ method, path }) =>
      method === 'GET' && path.endsWith('/virtualmachines/1') && left-- > 0 ? refusal(404, 'NotFound', 'not found') : undefined;
  };

  it('one false 404 on an instance is not success: a second read finds it, and it is deleted', async () => {
    const { r } = await started(3);
    hide(r, 1);
    expect(await remove(r, [1])).toMatchObject({ kind: 'accepted' });
    expect(posts(r).map(({ body }) => body)).toEqual([{ instanceIds: ['1'] }]);
  });

  it('two reads that find nothing agree that the instance is gone', async () => {
    const { r } = await started(3);
    hide(r, 2);
    expect(await remove(r, [1])).toMatchObject({ kind: 'accepted' });
    expect(posts(r)).toHaveLength(0);
  });

  it('one false 404 on the delete is no success: it is sent again, and a second one fails while the instance is still shown', async () => {
    for (const [refusals, outcome] of [
      [1, { kind: 'accepted' }],
      [2, { kind: 'failed', error: { detail: { kind: 'unavailable', effect: 'none' } } }],
    ] as const) {
      const { r } = await started(3);
      let left = refusals as number;
      r.arm.intercept = ({ method, path }) =>
        method === 'POST' && path.endsWith('/delete') && left-- > 0 ? refusal(404, 'ResourceNotFound', 'not found') : undefined;
      expect(await remove(r, [1])).toMatchObject(outcome);
      expect(posts(r)).toHaveLength(2);
    }
  });

  it.each([
    { name: 'another resource group', id: `${SUBSCRIPTION}|other-group|vmss|${USER_POOL}|1` },
    { name: 'another subscription', id: `11111111-0000-0000-0000-000000000000|${NODE_GROUP}|vmss|${USER_POOL}|1` },
    { name: 'another resource group, with an id of its own', id: `${SUBSCRIPTION}|other-group|vm||${USER_POOL}-vm1` },
  ])('an id of $name is refused without a call, although the names are ours', async ({ id }) => {
    const { r } = await started(3);
    const request = { ...PLAIN_DELETE, group: nodeGroupId(USER_POOL), instances: [instanceKey(id.toLowerCase())], allowBelowMin: false };
    r.arm.requests.length = 0;
    expect(await r.azure.deleteInstances(request, r.signal)).toMatchObject({
      kind: 'refused',
      reason: expect.stringMatching(/does not belong/),
    });
    expect(r.arm.requests).toEqual([]);
  });

  it('machines of another group are refused without a call', async () => {
    const r = await rig({
      nodeGroups: [
        { name: USER_POOL, min: 0, max: 5 },
        { name: 'other', min: 0, max: 5 },
      ],
    });
    r.arm.addSet(USER_POOL, 2);
    r.arm.addSet('other', 2);
    await r.azure.start(r.signal);
    const request = { ...PLAIN_DELETE, group: nodeGroupId('other'), instances: [key(0)], allowBelowMin: false };
    expect(await r.azure.deleteInstances(request, r.signal)).toMatchObject({
      kind: 'refused',
      reason: expect.stringMatching(/does not belong/),
    });
    expect(posts(r)).toHaveLength(0);
  });

  it("the caller's last look comes after every read and wait, and what it spares is not in the request", async () => {
    const { r } = await started(5);
    r.arm.requests.length = 0;
    const seen: string[] = [];
    const objections = async (instances: readonly InstanceKey[]) => {
      seen.push(`${instances.length} after ${r.arm.requests.length} requests`);
      return new Map([[key(1), 'a pod came']]);
    };
    const request = { ...PLAIN_DELETE, group: nodeGroupId(USER_POOL), instances: [key(1), key(3)], allowBelowMin: false, objections };
    expect(await r.azure.deleteInstances(request, r.signal)).toEqual({ kind: 'accepted', group: USER_POOL, instances: [key(3)] });
    expect(posts(r).map(({ body }) => body)).toEqual([{ instanceIds: ['3'] }]);
    const before = r.arm.requests.findIndex(({ method }) => method === 'POST');
    expect(seen).toEqual([`2 after ${before} requests`, `1 after ${before} requests`]);
    expect(r.group(USER_POOL).target).toMatchObject({ value: 4 });
  });

  it('nothing is sent if the last look spares everything, and the size is as before', async () => {
    const { r } = await started(5);
    const objections = async () => new Map([[key(1), 'a pod came']]);
    const request = { ...PLAIN_DELETE, group: nodeGroupId(USER_POOL), instances: [key(1)], allowBelowMin: false, objections };
    expect(await r.azure.deleteInstances(request, r.signal)).toEqual({ kind: 'refused', group: USER_POOL, reason: 'a pod came' });
    expect(posts(r)).toHaveLength(0);
    expect(r.group(USER_POOL).target).toMatchObject({ value: 5, confirmed: true });
  });

  it('reads again before it deletes: twelve by GET in a set of sixty, where a list costs as much', async () => {
    const { r } = await started(60);
    r.arm.requests.length = 0;
    await remove(r, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    const singles = r.arm.requests.filter(({ method, path }) => method === 'GET' && /\/virtualmachines\/\d+$/.test(path));
    expect(singles).toHaveLength(12);
    expect(r.arm.requests.filter(({ path }) => path.endsWith('/virtualmachines'))).toEqual([]);
  });

  it('reads again before it deletes: five by GET in a small set, more by one list', async () => {
    const { r } = await started(9);
    r.arm.requests.length = 0;
    await remove(r, [0, 1]);
    expect(
      r.arm.requests
        .slice(0, 4)
        .map(({ method, path }) => `${method} ${path.slice(path.lastIndexOf('/') + 1)}`)
        .sort(),
    ).toEqual(['GET 0', 'GET 1', `GET ${USER_POOL}`, 'POST delete']);
    await r.quiet();
    r.arm.requests.length = 0;
    await remove(r, [2, 3, 4, 5, 6, 7]);
    expect(r.arm.requests.slice(0, 3).map(({ method, path }) => `${method} ${path.slice(path.lastIndexOf('/') + 1)}`)).toEqual([
      'GET virtualmachines',
      `GET ${USER_POOL}`,
      'POST delete',
    ]);
  });

  it('a list serves instead while Azure refuses reads of single instances, which are not sent again in that time', async () => {
    const { r } = await started(9);
    const isSingle = ({ path }: { readonly path: string }): boolean => /\/virtualmachines\/\d+$/.test(path);
    const error = { code: 'OperationNotAllowed', message: 'm', details: [{ code: 'TooManyRequests', target: 'GetVMScaleSetVMResource' }] };
    r.arm.intercept = (request) => (isSingle(request) ? { status: 429, headers: { 'retry-after': '300' }, body: { error } } : undefined);
    r.arm.requests.length = 0;
    expect(await remove(r, [0, 1])).toMatchObject({ kind: 'accepted' });
    const refused = r.arm.requests.filter(isSingle).length;
    expect(refused).toBeGreaterThan(0);
    const second = remove(r, [2, 3]);
    // The minute has had its two lists.
    await r.pass(61_000);
    expect(await second).toMatchObject({ kind: 'accepted' });
    expect(r.arm.requests.filter(isSingle)).toHaveLength(refused);
    expect(posts(r).map(({ body }) => body['instanceIds'])).toEqual([
      ['0', '1'],
      ['2', '3'],
    ]);
  });

  it('what another writer took since the last list counts towards the minimum', async () => {
    const { r, set } = await started(3, { nodeGroups: [{ name: USER_POOL, min: 2, max: 10 }] });
    r.arm.setCapacity(set, 2);
    expect(await remove(r, [0])).toMatchObject({ kind: 'refused', reason: expect.stringMatching(/1 of 2 .* minimum of 2/) });
    expect(posts(r)).toHaveLength(0);
  });

  it('what another writer takes while a removal of ours runs counts towards the minimum', async () => {
    const { r, set } = await started(6, { nodeGroups: [{ name: USER_POOL, min: 3, max: 10 }] });
    expect(await remove(r, [0])).toMatchObject({ kind: 'accepted' });
    r.arm.setCapacity(set, 3);
    expect(await remove(r, [1])).toMatchObject({ kind: 'refused', reason: expect.stringMatching(/1 of 3 .* minimum of 3/) });
    expect(posts(r)).toHaveLength(1);
    // Growth is planned from what was asked for: one reading of less is no reason to order more.
    expect(r.group(USER_POOL).target).toMatchObject({ value: 5 });
  });

  it('a read that fails deletes nothing', async () => {
    const { r } = await started(3);
    r.arm.intercept = ({ path }) => (path.includes('/virtualmachines/') ? { status: 500, raw: '' } : undefined);
    expect(await remove(r, [1])).toMatchObject({ kind: 'failed', error: { kind: 'unavailable' } });
    expect(posts(r)).toHaveLength(0);
  });

  it('a refused force is sent once more without it', async () => {
    const { r } = await started(3, { enableForceDelete: true });
    r.arm.intercept = ({ query }) =>
      query.get('forceDeletion') === 'true' ? refusal(409, 'OperationNotAllowed', 'Force delete is not supported.') : undefined;
    expect(await remove(r, [1])).toMatchObject({ kind: 'accepted' });
    expect(posts(r).map(({ query }) => query.get('forceDeletion'))).toEqual(['true', 'false']);
  });

  it.each([
    ['on a dedicated host', { hostGroup: '/subscriptions/s/resourceGroups/r/providers/Microsoft.Compute/hostGroups/h' }],
    ['an isolated size, by its name', { sku: 'Standard_E104ids_v5' }],
    ['an isolated size whose name hides it', { sku: 'standard_f72S_v2' }],
  ])('%s no force is tried, although it is asked for', async (_name, of) => {
    const { r, set } = await started(3, { enableForceDelete: true });
    Object.assign(set, of);
    await r.azure.refresh(nodeGroupId(USER_POOL), r.signal);
    expect(await remove(r, [1])).toMatchObject({ kind: 'accepted' });
    expect(posts(r).map(({ query }) => query.get('forceDeletion'))).toEqual(['false']);
  });

  it('an unknown instance is named in no call; one of an unmanaged set is refused', async () => {
    const { r } = await started(3);
    expect(await remove(r, [77])).toMatchObject({ kind: 'accepted' });
    const stranger = instanceKey(`${SUBSCRIPTION}|${NODE_GROUP}|vmss|other|0`.toLowerCase());
    const outcome = await r.azure.deleteInstances(
      { ...PLAIN_DELETE, group: nodeGroupId(USER_POOL), instances: [key(1), stranger], allowBelowMin: false },
      r.signal,
    );
    expect(outcome).toMatchObject({ kind: 'refused', reason: expect.stringContaining('does not belong') });
    expect(posts(r)).toHaveLength(0);
  });

  it.each([
    [409, 'Conflict', 'conflict'],
    [409, 'OperationPreempted', 'conflict'],
    [429, 'TooManyRequests', 'throttled'],
    [403, 'AuthorizationFailed', 'auth'],
    [503, 'ServiceUnavailable', 'unavailable'],
  ])(
    'a delete that is answered %d %s is a failure of its kind: nothing is claimed, and the next try deletes',
    async (status, code, kind) => {
      const { r } = await started(4);
      r.arm.intercept = ({ method }) => (method === 'POST' ? refusal(status, code, 'not now') : undefined);
      expect(await remove(r, [1])).toMatchObject({ kind: 'failed', error: { kind } });
      expect(posts(r)).toHaveLength(1);
      r.arm.intercept = () => undefined;
      await r.pass(5_000);
      expect(r.group(USER_POOL).target).toMatchObject({ value: 4 });
      expect(r.group(USER_POOL).instances?.map(({ state }) => state)).not.toContain('deleting');
      await r.pass(60_000);
      expect(await remove(r, [1])).toMatchObject({ kind: 'accepted' });
    },
  );

  it('an id that went away in between is left out and the rest sent once more', async () => {
    const { r, set } = await started(4);
    r.arm.intercept = (request) => {
      if (request.method === 'POST') set.machines.delete('1');
      return undefined;
    };
    expect(await remove(r, [1, 2])).toMatchObject({ kind: 'accepted' });
    expect(posts(r).map(({ body }) => body['instanceIds'])).toEqual([['1', '2'], ['2']]);
  });

  it('a preempted delete is sent exactly once more', async () => {
    const { r, set } = await started(4);
    await remove(r, [1]);
    r.arm.operations.set('op-1', { status: 'Canceled', error: { code: 'OperationPreempted', message: 'm' } });
    await r.pass(13_000);
    expect(posts(r)).toHaveLength(2);
    set.machines.delete('1');
    r.arm.operations.set('op-2', { status: 'Succeeded' });
    await r.pass(13_000);
    expect(r.view().events).toMatchObject([{ kind: 'delete-succeeded', instances: [key(1)] }]);
    expect(posts(r)).toHaveLength(2);
  });

  it('reports a preempted delete whose second try is refused, and lists the instances again', async () => {
    const { r, set } = await started(4);
    await remove(r, [1]);
    r.arm.intercept = ({ method }) => (method === 'POST' ? refusal(409, 'OperationNotAllowed', 'not now') : undefined);
    set.machines.set('1', { state: 'Succeeded', power: 'running', vmId: `vm-${USER_POOL}-1`, zone: undefined });
    r.arm.setCapacity(set, 4);
    const lists = r.arm.sent('GET', '/virtualmachines').length;
    r.arm.operations.set('op-1', { status: 'Canceled', error: { code: 'OperationPreempted', message: 'm' } });
    await r.pass(13_000);
    expect(posts(r)).toHaveLength(2);
    expect(r.arm.sent('GET', '/virtualmachines').length).toBe(lists + 1);
    const view = r.view();
    expect(view.events).toMatchObject([{ kind: 'delete-failed', instances: [key(1)] }]);
    expect(view.groups[0]?.target).toMatchObject({ value: 4, confirmed: true });
    expect(view.groups[0]?.instances?.map(({ state }) => state)).toEqual(['running', 'running', 'running', 'running']);
  });

  it('a preempted delete is not sent again by a process that has given its work up', async () => {
    const { r } = await started(4);
    const work = new AbortController();
    await r.azure.deleteInstances(
      { ...PLAIN_DELETE, group: nodeGroupId(USER_POOL), instances: [key(1)], allowBelowMin: false },
      work.signal,
    );
    work.abort();
    r.arm.operations.set('op-1', { status: 'Canceled', error: { code: 'OperationPreempted', message: 'm' } });
    await r.pass(13_000);
    expect(posts(r)).toHaveLength(1);
    expect(r.view().events).toMatchObject([{ kind: 'delete-failed', instances: [key(1)] }]);
  });

  it('judges a forgotten delete by the instances that are left and those that are gone', async () => {
    const { r, set } = await started(4);
    await remove(r, [1, 2]);
    set.machines.set('1', { state: 'Succeeded', power: 'running', vmId: `vm-${USER_POOL}-1`, zone: undefined });
    set.machines.delete('2');
    r.arm.setCapacity(set, 3);
    r.arm.operations.delete('op-1');
    await r.pass(13_000);
    await r.pass(60_000);
    const { events } = r.view();
    expect(events).toMatchObject([
      { kind: 'delete-failed', instances: [key(1)], message: 'Azure no longer knows the operation, and the instances still exist' },
      { kind: 'delete-succeeded', instances: [key(2)] },
    ]);
    expect(posts(r)).toHaveLength(1);
  });

  it('reports a delete that fails late, and counts the instance again', async () => {
    const { r, set } = await started(4);
    await remove(r, [1]);
    set.machines.set('1', { state: 'Succeeded', power: 'running', vmId: `vm-${USER_POOL}-1`, zone: undefined });
    r.arm.setCapacity(set, 4);
    r.arm.operations.set('op-1', { status: 'Failed', error: { code: 'InternalExecutionError', message: 'm' } });
    await r.pass(13_000);
    const view = r.view();
    expect(view.events).toMatchObject([
      { kind: 'delete-failed', instances: [key(1)], message: expect.stringContaining('InternalExecutionError') },
    ]);
    expect(view.groups[0]?.target).toMatchObject({ value: 4, confirmed: true });
    expect(view.groups[0]?.instances?.map(({ state }) => state)).toEqual(['running', 'running', 'running', 'running']);
    expect(posts(r)).toHaveLength(1);
  });

  it('success empties the rows and keeps the size', async () => {
    const { r, set } = await started(4);
    await remove(r, [1, 2]);
    set.machines.delete('1');
    set.machines.delete('2');
    r.arm.operations.set('op-1', { status: 'Succeeded' });
    await r.pass(13_000);
    const group = r.group(USER_POOL);
    expect(group.target).toMatchObject({ value: 2, confirmed: true });
    expect(group.instances?.map(({ instanceId }) => instanceId)).toEqual(['0', '3']);
  });

  it('after a delete an increase goes on from the smaller size, with a fresh tag', async () => {
    const { r, set } = await started(5);
    await remove(r, [1, 2]);
    expect(await r.increase(USER_POOL, 4)).toMatchObject({ kind: 'accepted', target: 4 });
    expect(set.capacity).toBe(4);
  });
});
