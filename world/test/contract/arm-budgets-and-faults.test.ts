/** Budgets and misfortune, as the real client meets them. */
import { describe, expect, it } from 'vitest';
import { pickText } from '../../simulator/arm/http/json.ts';
import { MINUTE, RG, VERSION, aPool, aWorld, poolPath, scale, setPath, startRig, stateOf, type Rig } from '../simulator/arm/harness.ts';
import type { Fault, FaultEffect } from '../../simulator/arm/state/fault-rules.ts';

describe('budgets', () => {
  it('the 13th PUT on a set within a second is throttled, another set is not, waiting helps', async () => {
    const rig = await startRig(aWorld([aPool('a', { max: 100 }), aPool('b')]));
    const statuses: number[] = [];
    for (let capacity = 3; capacity < 15; capacity++) statuses.push((await scale(rig, 'a', capacity)).status);
    expect(new Set(statuses)).toEqual(new Set([200]));
    const refused = await scale(rig, 'a', 15);
    expect(refused).toMatchObject({
      status: 429,
      json: { error: { code: 'OperationNotAllowed', details: [{ code: 'TooManyRequests', target: 'CreateVMScaleSetResource' }] } },
    });
    expect(refused.headers['x-ms-ratelimit-remaining-resource']).toContain('Microsoft.Compute/CreateVMScaleSetResource;0');
    expect(stateOf(rig, 'a').capacity).toBe(14);
    expect((await scale(rig, 'b', 3)).status).toBe(200);
    rig.clock.advance(Number(refused.headers['retry-after']) * 1000);
    expect((await scale(rig, 'a', 15)).status).toBe(200);
  });

  // The published limits of "Virtual Machine Scale Set Virtual Machines" are per resource, which is the instance (azure-wire 13.1).
  it('counts reads of single instances for each instance, and lists and instance views for the set', async () => {
    const rig = await startRig(aWorld([aPool('a', { count: 2, max: 100 })]));
    const { instances } = stateOf(rig, 'a');
    const read = (path: string) => rig.call('GET', `${setPath(rig, 'a')}${path}?${VERSION}`);
    const [one = '', other = ''] = instances.map(({ id }) => `/virtualMachines/${id}`);
    for (let count = 0; count < 36; count++) expect((await read(one)).status).toBe(200);
    expect(await read(one)).toMatchObject({ status: 429, json: { error: { details: [{ target: 'GetVMScaleSetVMResource' }] } } });
    expect((await read(other)).headers['x-ms-ratelimit-remaining-resource']).toContain('Microsoft.Compute/GetVMScaleSetVMResource;35');
    const left = async (path: string) => (await read(path)).headers['x-ms-ratelimit-remaining-resource'];
    expect(await left('/virtualMachines')).toContain('Microsoft.Compute/HighCostGetVMScaleSetResource;29');
    expect(await left('/instanceView')).toContain('Microsoft.Compute/HighCostGetVMScaleSetResource;28');
    expect(await left('')).toContain('Microsoft.Compute/GetVMScaleSetResource;35');
  });

  it('reports the remaining calls of the gateway, and refuses when they are used up', async () => {
    const rig = await startRig(aWorld([aPool('a')]));
    const path = `/subscriptions/${rig.spec.subscriptionId}/providers/Microsoft.Compute/skus?${VERSION}`;
    const first = await rig.call('GET', path);
    expect(first.headers['x-ms-ratelimit-remaining-subscription-reads']).toBe('1099');
    for (let count = 1; count < 1_100; count++) await rig.call('GET', path);
    const refused = await rig.call('GET', path);
    expect(refused).toMatchObject({ status: 429, json: { error: { code: 'SubscriptionRequestsThrottled' } } });
    rig.clock.advance(Number(refused.headers['retry-after']) * 1000);
    expect((await rig.call('GET', path)).status).toBe(200);
  });

  it.each([
    { what: 'with Retry-After is retried in silence', retryAfterSeconds: 1, attempts: 2 },
    { what: 'without it is an error at once', retryAfterSeconds: undefined, attempts: 1 },
  ])('a 429 $what', async ({ retryAfterSeconds, attempts }) => {
    const rig = await startRig(aWorld([aPool('a')]), { maxRetries: 3 });
    const effect: FaultEffect = {
      kind: 'answer',
      status: 429,
      body: { error: { code: 'TooManyRequests', message: 'slow down' } },
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    };
    rig.arm.control.addFault({ id: 'busy', match: { method: 'GET', pool: 'a', times: 1 }, effect });
    const outcome = await rig.compute.virtualMachineScaleSets.get(RG, rig.set('a')).then(
      () => 200,
      (error: unknown) => (error as { readonly statusCode: number }).statusCode,
    );
    expect(outcome).toBe(attempts === 2 ? 200 : 429);
    expect(rig.arm.control.journal().filter((entry) => entry.route === 'GET virtualMachineScaleSets/{name}')).toHaveLength(attempts);
  });
});

async function faulty(fault: Omit<Fault, 'id'>): Promise<Rig> {
  const rig = await startRig(aWorld([aPool('a'), aPool('b')]));
  rig.arm.control.addFault({ id: 'fault', ...fault });
  return rig;
}

const listSets = async (rig: Rig): Promise<readonly (number | undefined)[]> => {
  const capacities: (number | undefined)[] = [];
  for await (const set of rig.compute.virtualMachineScaleSets.list(RG)) capacities.push(set.sku?.capacity);
  return capacities;
};

describe('faults', () => {
  it('a reset after the effect leaves the effect', async () => {
    const rig = await faulty({ match: { method: 'PUT', pool: 'a', nth: 1 }, effect: { kind: 'reset', afterEffect: true } });
    await expect(scale(rig, 'a', 4)).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(stateOf(rig, 'a').capacity).toBe(4);
    expect(rig.arm.control.journal().at(-1)).toMatchObject({ faultId: 'fault', capacityAfter: 4 });
  });

  it('a reset before the effect leaves nothing', async () => {
    const rig = await faulty({ match: { method: 'PUT', pool: 'a' }, effect: { kind: 'reset', afterEffect: false } });
    await expect(scale(rig, 'a', 4)).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(stateOf(rig, 'a').capacity).toBe(2);
  });

  it('an HTML error after the effect', async () => {
    const rig = await faulty({
      match: { method: 'PUT', pool: 'a' },
      effect: { kind: 'effect-then-answer', status: 502, body: '<html>Bad Gateway</html>' },
    });
    const put = rig.compute.virtualMachineScaleSets.createOrUpdate(RG, rig.set('a'), { location: 'westeurope', sku: { capacity: 4 } });
    await expect(put.submitted()).rejects.toMatchObject({ statusCode: 502 });
    expect(stateOf(rig, 'a').capacity).toBe(4);
  });

  it('a racing writer makes a true conflict', async () => {
    const rig = await faulty({ match: { method: 'PUT', pool: 'a', nth: 1 }, effect: { kind: 'racing-writer', delta: 2 } });
    expect((await scale(rig, 'a', 3, { 'if-match': '"1"' })).status).toBe(412);
    expect(stateOf(rig, 'a')).toMatchObject({ capacity: 4, etag: '"2"' });
  });

  it.each(['vms-pool', 'vmss-uniform'] as const)('a racing writer of an agent pool (%s) makes a true conflict, too', async (kind) => {
    const rig = await startRig(aWorld([aPool('a', { kind })]));
    rig.arm.control.addFault({
      id: 'race',
      match: { method: 'PUT', pathGlob: '**/agentPools/*', times: 1 },
      effect: { kind: 'racing-writer', delta: 2 },
    });
    const { json } = await rig.call('GET', poolPath(rig, 'a'));
    const put = await rig.call('PUT', poolPath(rig, 'a'), {
      body: json,
      headers: { 'if-match': pickText(json, 'properties', 'eTag') ?? '' },
    });
    expect(put.status).toBe(412);
    expect(rig.arm.control.state().agentPools[0]?.size).toBe(4);
  });

  it('a page that breaks off', async () => {
    const rig = await faulty({ match: { pathGlob: '**/virtualMachineScaleSets', times: 1 }, effect: { kind: 'truncated-body' } });
    await expect(listSets(rig)).rejects.toThrow();
    expect(await listSets(rig)).toEqual([2, 2]);
  });

  it('a list that says there is nothing', async () => {
    const rig = await faulty({ match: { pathGlob: '**/virtualMachineScaleSets' }, effect: { kind: 'empty-list' } });
    expect(await listSets(rig)).toEqual([]);
    expect(rig.arm.control.removeFault('fault')).toBe(true);
    expect(await listSets(rig)).toEqual([2, 2]);
  });

  it('a capacity read wrong, and a list of the past', async () => {
    const rig = await faulty({
      match: { pathGlob: '**/virtualMachineScaleSets', times: 1 },
      effect: { kind: 'capacity-reads-as', value: 0 },
    });
    expect(await listSets(rig)).toEqual([0, 0]);
    rig.arm.control.addFault({ id: 'old', match: { pathGlob: '**/virtualMachineScaleSets' }, effect: { kind: 'stale-list' } });
    await scale(rig, 'a', 5);
    expect(await listSets(rig)).toEqual([2, 2]);
    rig.arm.control.removeFault('old');
    expect(await listSets(rig)).toEqual([5, 2]);
  });

  it('a late answer waits on the clock and is not counted as pending', async () => {
    const rig = await faulty({ match: { method: 'PUT', pool: 'a' }, effect: { kind: 'delay', ms: 90_000 } });
    let answered = false;
    const put = scale(rig, 'a', 4).then((answer) => {
      answered = true;
      return answer;
    });
    while (stateOf(rig, 'a').capacity !== 4 || rig.arm.pendingRequests() > 0) await new Promise<void>((resolve) => setImmediate(resolve));
    rig.clock.advance(89_000);
    expect(answered).toBe(false);
    rig.clock.advance(1_000);
    expect((await put).status).toBe(200);
  });

  it('an eviction takes the VM and the capacity, and reports no violation', async () => {
    const rig = await startRig(aWorld([aPool('spot', { priority: 'Spot', count: 3, min: 3 })]));
    rig.arm.control.raise({ evict: { pool: 'spot', count: 2 } });
    rig.clock.advance(10 * MINUTE);
    expect(stateOf(rig, 'spot')).toMatchObject({ capacity: 1 });
    expect(stateOf(rig, 'spot').instances.map((vm) => vm.id)).toEqual(['0']);
    expect(rig.violations.list()).toEqual([]);
  });
});

describe('simulateEviction', () => {
  it.each([
    { priority: 'Spot' as const, status: 204, left: ['1'] },
    { priority: 'Regular' as const, status: 409, left: ['0', '1'] },
  ])('answers $status on a $priority machine', async ({ priority, status, left }) => {
    const rig = await startRig(aWorld([aPool('a', { priority })]));
    expect((await rig.call('POST', `${setPath(rig, 'a', '/virtualMachines/0/simulateEviction')}?${VERSION}`)).status).toBe(status);
    rig.clock.advance(10 * MINUTE);
    expect(stateOf(rig, 'a').instances.map((vm) => vm.id)).toEqual(left);
  });
});

describe('control surface over HTTP', () => {
  it('shows the state, takes faults and events, and says what is wrong with a bad one', async () => {
    const rig = await startRig(aWorld([aPool('a')]));
    const control = (method: string, path: string, body?: unknown) =>
      rig.call(method, path, { token: false, ...(body === undefined ? {} : { body }) });
    expect((await control('GET', '/_emu/state')).json).toMatchObject({ sets: [{ pool: 'a', capacity: 2, etag: '"1"' }], violations: [] });
    expect((await control('POST', '/_emu/faults', { match: {}, effect: { kind: 'sunshine' } })).status).toBe(400);
    for (const match of [{ path: '**' }, { times: '1' }, { pool: null }])
      expect((await control('POST', '/_emu/faults', { match, effect: { kind: 'empty-body' } })).status).toBe(400);
    const fault = await control('POST', '/_emu/faults', { match: { pool: 'a' }, effect: { kind: 'empty-body' } });
    expect(fault.status).toBe(201);
    expect((await control('DELETE', `/_emu/faults/${String(fault.json['id'])}`)).status).toBe(204);
    expect((await control('POST', '/_emu/events', { foreignScale: { pool: 'nobody', to: 3 } })).status).toBe(400);
    expect((await control('POST', '/_emu/events', { foreignScale: { pool: 'a', to: 3 } })).status).toBe(200);
    expect((await control('POST', '/_emu/clock', { advanceMs: 1_000 })).status).toBe(200);
    expect((await control('PUT', '/_emu/capacity/Standard_D4s_v5/0', { count: 1 })).status).toBe(200);
    expect((await control('PUT', '/_emu/quota/cores', { limit: 8 })).status).toBe(200);
    const journal = await control('GET', '/_emu/journal?since=0');
    expect(journal.json).toMatchObject({
      entries: [{ method: 'EVENT', route: 'EVENT foreignScale', capacityBefore: 2, capacityAfter: 3 }],
    });
    expect(await scale(rig, 'a', 5)).toMatchObject({ status: 409 });
  });
});
