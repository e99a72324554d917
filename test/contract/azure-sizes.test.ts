/** What a group's size is taken from, and how it outlives lists that are late, wrong, or in another's hands. */
import { describe, expect, it } from 'vitest';
import type { AzureOptions } from '../../src/azure/arm/options.ts';
import { instanceKey, nodeGroupId } from '../../src/domain/ids.ts';
import { NODE_GROUP, refusal, SUBSCRIPTION, type ArmReply, type ArmRequest, type ScriptedSet } from '../azure/scripted-arm.ts';
import { PLAIN_DELETE } from '../../src/domain/ports/cloud.ts';
import { rig, USER_POOL, type Rig } from '../azure/rig.ts';

interface Started {
  readonly r: Rig;
  readonly set: ScriptedSet;
}

async function prepared(capacity: number, of: Partial<ScriptedSet> = {}, rest: Partial<AzureOptions> = {}): Promise<Started> {
  const r = await rig(rest);
  return { r, set: r.arm.addSet(USER_POOL, capacity, of) };
}

async function started(...args: Parameters<typeof prepared>): Promise<Started> {
  const { r, set } = await prepared(...args);
  await r.azure.start(r.signal);
  return { r, set };
}

function keyOf(id: number) {
  return instanceKey(`${SUBSCRIPTION}|${NODE_GROUP}|vmss|${USER_POOL}|${id}`.toLowerCase());
}

/** The list of sets as usual, but for the capacity. */
function listSays(r: Rig, capacity: number): void {
  r.arm.intercept = (request: ArmRequest): ArmReply | undefined => {
    if (request.method !== 'GET' || !request.path.endsWith('/virtualmachinescalesets')) return undefined;
    const reply = r.arm.route(request) as { body: { value: { sku: { capacity: number } }[] } };
    for (const each of reply.body.value) each.sku.capacity = capacity;
    return reply;
  };
}

describe('azure: the size of a Spot set', () => {
  it('is what one GET says, not the list', async () => {
    const { r } = await prepared(1, { priority: 'Spot' });
    listSays(r, 5);
    await r.azure.start(r.signal);
    expect(r.group(USER_POOL).target).toMatchObject({ known: true, value: 1 });
    expect(r.group(USER_POOL).target).toMatchObject({ known: true, value: 1 });
    expect(r.arm.sent('GET', USER_POOL)).toHaveLength(1);
    await r.pass(65_000);
    expect(r.group(USER_POOL).target).toMatchObject({ known: true, value: 1 });
    expect(r.arm.sent('GET', USER_POOL)).toHaveLength(2);
  });

  it.each([
    { what: 'no longer than the lists: with every list', spotSizeTtlMs: 60_000, reads: 5 },
    { what: 'longer: spared while nobody touched the set', spotSizeTtlMs: 180_000, reads: 2 },
    { what: 'shorter: between the lists, too', spotSizeTtlMs: 10_000, reads: 28 },
  ])('is read at its own period, $what', async ({ spotSizeTtlMs, reads }) => {
    const { r } = await prepared(1, { priority: 'Spot' }, { spotSizeTtlMs });
    await r.azure.start(r.signal);
    await r.pass(250_000);
    const seen = r.arm.sent('GET', USER_POOL).filter(({ path }) => path.endsWith(USER_POOL.toLowerCase())).length;
    expect(Math.abs(seen - reads)).toBeLessThanOrEqual(spotSizeTtlMs < 60_000 ? 4 : 0);
  });

  it('is read at once, whatever its period, when a list shows another tag than the last read', async () => {
    const { r, set } = await prepared(3, { priority: 'Spot' }, { spotSizeTtlMs: 600_000 });
    await r.azure.start(r.signal);
    set.capacity = 1;
    set.etag += 1;
    await r.pass(70_000);
    expect(r.group(USER_POOL).target).toMatchObject({ known: true, value: 1 });
    expect(r.arm.sent('GET', USER_POOL).length).toBeGreaterThanOrEqual(2);
  });

  it('costs no GET in a set that is not Spot', async () => {
    const { r } = await started(1);
    expect(r.arm.sent('GET', USER_POOL)).toHaveLength(0);
  });

  it('is the listed one when the GET fails; the set stays', async () => {
    const { r } = await prepared(2, { priority: 'Spot' });
    r.arm.intercept = ({ method, path }) => (method === 'GET' && path.endsWith(USER_POOL) ? { status: 500, raw: '' } : undefined);
    await r.azure.start(r.signal);
    expect(r.group(USER_POOL)).toMatchObject({ priority: 'Spot', target: { known: true, value: 2 } });
  });

  it('is not known when the set went between the list and the GET', async () => {
    const { r } = await prepared(2, { priority: 'Spot' });
    r.arm.intercept = ({ method, path }) =>
      method === 'GET' && path.endsWith(USER_POOL) ? refusal(404, 'ResourceNotFound', 'gone') : undefined;
    await r.azure.start(r.signal);
    expect(r.group(USER_POOL)).toMatchObject({ frozen: expect.stringContaining('no scale set'), target: { known: false } });
  });
});

describe('azure: a size that cannot be true', () => {
  it('a negative capacity is unknown, with a reason, and nothing is written over it', async () => {
    const { r } = await prepared(3);
    listSays(r, -1);
    await r.azure.start(r.signal);
    expect(r.group(USER_POOL)).toMatchObject({
      target: { known: false },
      frozen: expect.stringContaining('Azure returned the capacity -1'),
    });
    const outcome = await r.azure.increase({ group: nodeGroupId(USER_POOL), from: -1, version: 'any', to: 1 }, r.signal);
    expect(outcome).toMatchObject({ kind: 'refused', reason: expect.stringContaining('capacity') });
    expect(r.arm.sent('PUT', USER_POOL)).toHaveLength(0);
  });

  it('a stale 1 and two removals: never a size below zero, and the next read is what Azure says', async () => {
    const { r } = await prepared(3, {}, { nodeGroups: [{ name: USER_POOL, min: 0, max: 10 }] });
    listSays(r, 1);
    await r.azure.start(r.signal);
    const sizes: unknown[] = [];
    for (const id of [0, 1]) {
      await r.azure.deleteInstances(
        { ...PLAIN_DELETE, group: nodeGroupId(USER_POOL), instances: [keyOf(id)], allowBelowMin: true },
        r.signal,
      );
      const { target } = r.group(USER_POOL);
      sizes.push(target.known && target.value);
    }
    expect(sizes).toEqual([0, 0]);
    r.arm.intercept = () => undefined;
    for (const id of ['0', '1']) r.arm.sets.get(USER_POOL)?.machines.delete(id);
    for (const id of ['op-1', 'op-2']) r.arm.operations.set(id, { status: 'Succeeded' });
    await r.pass(15_000);
    expect(r.group(USER_POOL).target).toMatchObject({ value: 1, confirmed: true });
  });

  it('removing a machine that never registered marks it at once; the size afterwards is read, not counted down', async () => {
    const { r, set } = await started(3, {}, { nodeGroups: [{ name: USER_POOL, min: 0, max: 10 }] });
    r.arm.intercept = (request) => {
      if (request.method !== 'POST') return undefined;
      const reply = r.arm.route(request);
      // The failed allocation had left the capacity before its machine was removed.
      r.arm.setCapacity(set, 3);
      return reply;
    };
    await r.azure.deleteInstances({ ...PLAIN_DELETE, group: nodeGroupId(USER_POOL), instances: [keyOf(2)], allowBelowMin: true }, r.signal);
    const marked = r.group(USER_POOL).instances?.find(({ key }) => key === keyOf(2));
    expect(marked?.state).toBe('deleting');
    set.machines.delete('2');
    r.arm.operations.set('op-1', { status: 'Succeeded' });
    await r.pass(15_000);
    expect(r.group(USER_POOL).target).toMatchObject({ value: 3, confirmed: true });
  });
});

describe('azure: capacity writes', () => {
  it.each([
    [3, 5],
    [0, 2],
  ])('the body for a set in an edge zone carries its extended location (%i to %i)', async (from, to) => {
    const extendedLocation = { name: 'microsoftlosangeles1', type: 'EdgeZone' };
    const { r, set } = await started(from, { extendedLocation });
    expect(await r.increase(USER_POOL, to)).toMatchObject({ kind: 'accepted', target: to });
    expect(r.arm.sent('PUT', USER_POOL).map(({ body }) => body)).toEqual([
      { location: 'westeurope', sku: { name: 'Standard_D4s_v5', tier: 'Standard', capacity: to }, extendedLocation },
    ]);
    expect(set.capacity).toBe(to);
  });

  it('the tag of the finished operation is found although the row was replaced meanwhile', async () => {
    const { r, set } = await started(3);
    const before = r.group(USER_POOL);
    r.arm.setCapacity(set, 4);
    expect(await r.increase(USER_POOL, 5, before)).toMatchObject({ kind: 'conflict', observed: 4 });
    expect(await r.increase(USER_POOL, 5)).toMatchObject({ kind: 'accepted' });
    await r.pass(65_000);
    set.etag += 1;
    r.arm.operations.set('op-1', { status: 'Succeeded' });
    await r.pass(65_000);
    expect(r.group(USER_POOL).target).toMatchObject({ value: 5, version: `"${set.etag}"`, confirmed: true });
    expect(await r.increase(USER_POOL, 6)).toMatchObject({ kind: 'accepted' });
    expect(r.arm.sent('PUT', USER_POOL).at(-1)?.headers['if-match']).toBe(`"${set.etag - 1}"`);
  });

  it('of fifty writers and readers at once one writes, and all see its tag and size', async () => {
    const { r, set } = await started(3);
    const before = r.group(USER_POOL);
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, async (_, index) => {
        if (index % 2 === 0) return (await r.increase(USER_POOL, 4 + (index % 5), before)).kind;
        await r.azure.refresh(nodeGroupId(USER_POOL), r.signal);
        return 'read';
      }),
    );
    expect(outcomes.filter((kind) => kind === 'accepted')).toHaveLength(1);
    expect(outcomes.filter((kind) => kind === 'conflict')).toHaveLength(24);
    expect(r.arm.sent('PUT', USER_POOL)).toHaveLength(1);
    await r.quiet();
    expect(r.group(USER_POOL).target).toMatchObject({ value: set.capacity, version: `"${set.etag}"` });
  });

  it('an increase that Azure completes at once is sent as it is asked for, and is the size', async () => {
    const { r, set } = await started(3);
    r.arm.intercept = (request) => (request.method === 'PUT' ? { body: r.arm.route(request).body } : undefined);
    expect(await r.increase(USER_POOL, 5)).toMatchObject({ kind: 'accepted', target: 5 });
    expect(r.arm.sent('PUT', USER_POOL)[0]?.body['sku']).toMatchObject({ capacity: 5 });
    r.arm.intercept = () => undefined;
    set.state = 'Succeeded';
    await r.pass(3_000);
    const view = r.view();
    expect(view.events).toMatchObject([{ kind: 'increase-succeeded' }]);
    expect(view.groups[0]?.target).toMatchObject({ value: 5, confirmed: true });
  });

  it('reports an accepted increase that fails and is undone by Azure with its code, and reads size and instances again', async () => {
    const { r, set } = await started(3);
    await r.increase(USER_POOL, 5);
    const [gets, lists] = [r.arm.sent('GET', USER_POOL).length, r.arm.sent('GET', '/virtualmachines').length];
    r.arm.setCapacity(set, 3);
    r.arm.operations.set('op-1', { status: 'Failed', error: { code: 'AllocationFailed', message: 'no room' } });
    await r.pass(13_000);
    const view = r.view();
    expect(view.events).toMatchObject([{ kind: 'increase-failed', requested: 2, error: { code: 'AllocationFailed' } }]);
    expect(view.groups[0]?.target).toMatchObject({ value: 3, confirmed: true });
    expect(r.arm.sent('GET', USER_POOL).length).toBeGreaterThan(gets);
    expect(r.arm.sent('GET', '/virtualmachines').length).toBeGreaterThan(lists);
  });
});
