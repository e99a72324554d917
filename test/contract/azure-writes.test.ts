import { describe, expect, it } from 'vitest';
import { instanceKey, nodeGroupId } from '../../src/domain/ids.ts';
import type { AzureOptions } from '../../src/azure/arm/options.ts';
import { NODE_GROUP, refusal, SUBSCRIPTION, type ScriptedSet } from '../azure/scripted-arm.ts';
import { PLAIN_DELETE } from '../../src/domain/ports/cloud.ts';
import { rig, USER_POOL, type Rig } from '../azure/rig.ts';

async function started(
  capacity: number,
  rest: Partial<AzureOptions> = {},
  of: Partial<ScriptedSet> = {},
): Promise<{ r: Rig; set: ScriptedSet }> {
  const r = await rig(rest);
  const set = r.arm.addSet(USER_POOL, capacity, of);
  await r.azure.start(r.signal);
  return { r, set };
}

describe('azure: raising a capacity', () => {
  it('an accepted increase is visible at once', async () => {
    const { r } = await started(3);
    expect(await r.increase(USER_POOL, 5)).toEqual({ kind: 'accepted', group: USER_POOL, target: 5 });
    expect(r.group(USER_POOL).target).toMatchObject({ known: true, value: 5 });
  });

  it('sends a sparse body with If-Match of what was read, and nothing else', async () => {
    const { r } = await started(3);
    await r.increase(USER_POOL, 5);
    const [put] = r.arm.sent('PUT', USER_POOL);
    expect(put?.body).toEqual({ location: 'westeurope', sku: { name: 'Standard_D4s_v5', tier: 'Standard', capacity: 5 } });
    expect(put?.headers['if-match']).toBe('"1"');
  });

  it('with conditional writes off there is no If-Match', async () => {
    const { r } = await started(3, { enableVmssEtag: false });
    await r.increase(USER_POOL, 5);
    expect(r.arm.sent('PUT', USER_POOL)[0]?.headers['if-match']).toBeUndefined();
  });

  it('a change between plan and write is a conflict, and the next plan starts from it', async () => {
    const { r, set } = await started(3);
    const before = r.group(USER_POOL);
    r.arm.setCapacity(set, 5);
    expect(await r.increase(USER_POOL, 7, before)).toEqual({ kind: 'conflict', group: USER_POOL, observed: 5 });
    const fresh = r.group(USER_POOL);
    expect(fresh.target).toMatchObject({ known: true, value: 5, version: '"2"', confirmed: true });
    expect(await r.increase(USER_POOL, 9, fresh)).toMatchObject({ kind: 'accepted', target: 9 });
    expect(set.capacity).toBe(9);
    expect(await r.count('conflicts_total', { node_group: USER_POOL })).toBe(1);
    expect(r.arm.sent('PUT', USER_POOL).map((put) => put.headers['if-match'])).toEqual(['"1"', '"2"']);
  });

  it('a second increase while the first runs uses the tag of its answer', async () => {
    const { r, set } = await started(3);
    await r.increase(USER_POOL, 5);
    await r.quiet();
    expect(await r.increase(USER_POOL, 6)).toMatchObject({ kind: 'accepted', target: 6 });
    expect(r.arm.sent('PUT', USER_POOL).map((put) => put.headers['if-match'])).toEqual(['"1"', '"2"']);
    expect(set.capacity).toBe(6);
  });

  it('a conflict while an own operation runs is planned again in the same loop', async () => {
    const { r, set } = await started(3);
    await r.increase(USER_POOL, 5);
    r.arm.setCapacity(set, 7);
    expect(await r.increase(USER_POOL, 6)).toEqual({ kind: 'conflict', group: USER_POOL, observed: 7 });
    expect(await r.increase(USER_POOL, 8)).toMatchObject({ kind: 'accepted', target: 8 });
    expect(set.capacity).toBe(8);
  });

  it('a plan from an old size is a conflict without a request', async () => {
    const { r } = await started(3);
    const before = r.group(USER_POOL);
    await r.increase(USER_POOL, 5);
    expect(await r.increase(USER_POOL, 6, before)).toEqual({ kind: 'conflict', group: USER_POOL, observed: 5 });
    expect(r.arm.sent('PUT', USER_POOL)).toHaveLength(1);
  });

  it.each([
    ['above the maximum', 11, /^11 is above its maximum of 10/],
    ['no increase at all', 3, /not an increase/],
    ['a decrease', 2, /not an increase/],
  ])('refuses %s without a request', async (_name, to, reason) => {
    const { r } = await started(3);
    expect(await r.increase(USER_POOL, to)).toMatchObject({ kind: 'refused', reason: expect.stringMatching(reason) });
    expect(r.arm.sent('PUT', USER_POOL)).toHaveLength(0);
  });

  it('never writes below what is listed alive, whatever the capacity says', async () => {
    const { r, set } = await started(3);
    set.capacity = 0;
    set.etag += 1;
    await r.azure.refresh(nodeGroupId(USER_POOL), r.signal);
    const group = r.group(USER_POOL);
    const outcome = await r.azure.increase({ group: group.id, from: 0, version: 'any', to: 1 }, r.signal);
    expect(outcome).toMatchObject({ kind: 'refused', reason: expect.stringMatching(/it has 3 listed instances/) });
    expect(r.arm.sent('PUT', USER_POOL)).toHaveLength(0);
  });

  it('a capacity of 0 with a true tag is not raised, although the result would cover what is listed', async () => {
    const { r, set } = await started(1);
    // A write to 2 was lost but took effect, its machine is in no list yet, and the read that should tell says 0.
    set.capacity = 0;
    set.etag += 1;
    await r.azure.refresh(nodeGroupId(USER_POOL), r.signal);
    const group = r.group(USER_POOL);
    const outcome = await r.azure.increase({ group: group.id, from: 0, version: 'any', to: 1 }, r.signal);
    expect(outcome).toMatchObject({ kind: 'refused', reason: expect.stringMatching(/it has 1 listed instances/) });
    expect(r.arm.sent('PUT', USER_POOL)).toHaveLength(0);
  });

  it('a set that does not exist is frozen with a reason and refused', async () => {
    const { r } = await started(1, {
      nodeGroups: [
        { name: USER_POOL, min: 0, max: 5 },
        { name: 'gone', min: 0, max: 5 },
      ],
    });
    expect(r.group('gone')).toMatchObject({ frozen: expect.stringMatching(/no scale set named "gone"/), target: { known: false } });
    const outcome = await r.azure.increase({ group: nodeGroupId('gone'), from: 0, version: '', to: 1 }, r.signal);
    expect(outcome).toMatchObject({ kind: 'refused', reason: expect.stringMatching(/no scale set/) });
  });

  it('an updating set may grow', async () => {
    const { r } = await started(3, {}, { state: 'Updating' });
    expect(await r.increase(USER_POOL, 4)).toMatchObject({ kind: 'accepted' });
  });

  it.each([
    ['CreateVMScaleSetResource', false],
    ['CreateVMScaleSetSubscriptionMaximum', true],
  ])('a 429 of %s holds the other sets, too: %s', async (target, isHeld) => {
    const both = [USER_POOL, 'other'].map((name) => ({ name, min: 0, max: 10 }));
    const { r } = await started(3, { nodeGroups: both });
    r.arm.addSet('other', 1);
    await r.pass(90_000);
    const error = { code: 'OperationNotAllowed', message: 'too many', details: [{ code: 'TooManyRequests', target, message: '' }] };
    r.arm.intercept = ({ method }) => (method === 'PUT' ? { status: 429, headers: { 'retry-after': '36' }, body: { error } } : undefined);
    await r.increase(USER_POOL, 5);
    expect(r.group('other').growthHeld !== undefined).toBe(isHeld);
  });

  it('a refusal carries the correlation id of Azure', async () => {
    const { r } = await started(3);
    const headers = { 'x-ms-correlation-request-id': '0d1e-2f' };
    r.arm.intercept = ({ method }) => (method === 'PUT' ? { ...refusal(400, 'InvalidParameter', 'No.'), headers } : undefined);
    expect(await r.increase(USER_POOL, 5)).toMatchObject({ kind: 'failed', error: { context: { correlationId: '0d1e-2f' } } });
  });

  it.each([
    ['one 404 of a GET does not make a group disappear', 1, true],
    ['two do', 2, false],
  ])('%s', async (_name, times, stays) => {
    const { r } = await started(3);
    let left = times;
    r.arm.intercept = ({ method, path }) =>
      method === 'GET' && path.endsWith(`/${USER_POOL}`) && left-- > 0 ? refusal(404, 'ResourceNotFound', 'gone') : undefined;
    await r.azure.refresh(nodeGroupId(USER_POOL), r.signal);
    expect(r.group(USER_POOL).target.known).toBe(stays);
    // Instances go with their set.
    expect(r.group(USER_POOL).instances ?? []).toHaveLength(stays ? 3 : 0);
  });

  it('two increases of one group at once: the second is a conflict, not a lost update', async () => {
    const { r, set } = await started(3);
    const before = r.group(USER_POOL);
    const outcomes = await Promise.all([r.increase(USER_POOL, 5, before), r.increase(USER_POOL, 4, before)]);
    expect(outcomes.map(({ kind }) => kind)).toEqual(['accepted', 'conflict']);
    expect(set.capacity).toBe(5);
  });

  it('a cancelled write says so and leaves the row to be read', async () => {
    const { r } = await started(3);
    const abort = new AbortController();
    abort.abort();
    const request = { ...PLAIN_DELETE, group: nodeGroupId(USER_POOL), from: 3, version: '"1"', to: 5 };
    await expect(r.azure.increase(request, abort.signal)).rejects.toMatchObject({ kind: 'cancelled' });
    expect(r.arm.sent('PUT', USER_POOL)).toHaveLength(0);
  });
});

describe('azure: the end of an operation', () => {
  it('a late AllocationFailed becomes an event with its scope, and wakes the loop', async () => {
    const { r } = await started(3, {}, { zones: ['1', '2'] });
    await r.increase(USER_POOL, 5);
    r.arm.operations.set('op-1', { status: 'Failed', error: { code: 'AllocationFailed', message: 'Allocation failed.' } });
    await r.pass(13_000);
    expect(r.wakes()).toBe(1);
    expect(r.view().events).toEqual([
      {
        kind: 'increase-failed',
        group: USER_POOL,
        requested: 2,
        error: {
          detail: { kind: 'out-of-capacity', scope: { vmSize: 'Standard_D4s_v5', priority: 'Regular' } },
          code: 'AllocationFailed',
          message: 'Allocation failed.',
        },
        atMs: expect.any(Number),
      },
    ]);
    expect(r.view().events).toEqual([]);
    expect(await r.count('scale_up_late_failures_total', { node_group: USER_POOL, kind: 'out-of-capacity' })).toBe(1);
    expect(r.group(USER_POOL).target).toMatchObject({ value: 5, confirmed: true });
  });

  it('reports success, reads the set back, and has a fresh etag', async () => {
    const { r, set } = await started(3);
    await r.increase(USER_POOL, 5);
    r.arm.addMachine(set, '3');
    r.arm.addMachine(set, '4');
    set.etag += 1;
    set.state = 'Succeeded';
    r.arm.operations.set('op-1', { status: 'Succeeded' });
    await r.pass(13_000);
    const view = r.view();
    expect(view.events).toMatchObject([{ kind: 'increase-succeeded', group: USER_POOL }]);
    expect(view.groups[0]?.target).toMatchObject({ value: 5, version: '"3"', confirmed: true });
    expect(view.groups[0]?.instances).toHaveLength(5);
  });

  it.each([
    ['Canceled', { code: 'OperationPreempted', message: 'preempted' }],
    ['Failed', { code: 'EtagMismatch', message: 'Operation is not allowed: Another operation is in progress' }],
    [
      'Failed',
      {
        code: 'ResourceOperationFailure',
        message: 'm',
        details: [{ code: 'OriginalEtagNotExpect', message: 'The operation has been preempted by Deleting operation.' }],
      },
    ],
  ])('an operation pushed aside by a newer write is not a failed scale-up: %s, %j', async (status, error) => {
    const { r } = await started(3);
    await r.increase(USER_POOL, 5);
    r.arm.operations.set('op-1', { status, error });
    await r.pass(13_000);
    expect(r.view().events).toEqual([]);
    expect(r.group(USER_POOL).target).toMatchObject({ value: 5, confirmed: true });
  });

  it('a forgotten operation is unknown: the set is read and nothing is claimed', async () => {
    const { r } = await started(3);
    await r.increase(USER_POOL, 5);
    r.arm.operations.clear();
    await r.pass(13_000);
    expect(r.view().events).toEqual([]);
    expect(r.group(USER_POOL).target).toMatchObject({ value: 5, confirmed: true });
  });

  it('reads of the operation that fail are tried again until it ends', async () => {
    const { r } = await started(3);
    await r.increase(USER_POOL, 5);
    r.arm.intercept = ({ path }) => (path.includes('/operations/') ? { status: 503, raw: 'busy' } : undefined);
    await r.pass(40_000);
    expect(r.view().events).toEqual([]);
    r.arm.intercept = () => undefined;
    r.arm.operations.set('op-1', { status: 'Succeeded' });
    await r.pass(15_000);
    expect(r.view().events).toMatchObject([{ kind: 'increase-succeeded' }]);
  });

  it.each([
    ['PUT', [], 5],
    ['POST', ['delete-succeeded'], 2],
  ] as const)(
    'an operation of a %s on another host is never followed with our token: the set is read, and a warning says so',
    async (method, ends, size) => {
      const { r, set } = await started(3);
      r.arm.intercept = (request) => {
        if (request.method !== method || request.path.includes('oauth2')) return undefined;
        const reply = r.arm.route(request);
        return { ...reply, headers: { ...reply.headers, 'azure-asyncoperation': 'https://example.invalid/operations/op-1' } };
      };
      const victim = instanceKey(`${SUBSCRIPTION}|${NODE_GROUP}|vmss|${USER_POOL}|0`.toLowerCase());
      const request = { ...PLAIN_DELETE, group: nodeGroupId(USER_POOL), instances: [victim], allowBelowMin: false };
      set.state = 'Updating';
      const written = method === 'PUT' ? r.increase(USER_POOL, 5) : r.azure.deleteInstances(request, r.signal);
      expect(await written).toMatchObject({ kind: 'accepted' });
      set.state = 'Updating';
      const reads = r.arm.sent('GET', USER_POOL).length;
      await r.pass(26_000);
      expect(r.arm.requests.filter(({ path }) => path.includes('/operations/'))).toEqual([]);
      expect(r.arm.sent('GET', USER_POOL).length).toBeGreaterThan(reads);
      const lines = r.logLines.map((line) => JSON.parse(line) as { readonly level: unknown; readonly msg: string });
      const warned = lines.filter(({ msg }) => msg === 'An Azure operation cannot be followed; its resource is read instead');
      expect(warned.map(({ level }) => level)).toEqual(['warn']);
      // While the set says that it works, the operation runs.
      expect(r.view().events).toEqual([]);
      set.state = 'Succeeded';
      set.machines.delete('0');
      await r.pass(20_000);
      const { events, groups } = r.view();
      expect(events.map(({ kind }) => kind)).toEqual(ends);
      expect(groups[0]?.target).toMatchObject({ value: size, confirmed: true });
    },
  );
});
