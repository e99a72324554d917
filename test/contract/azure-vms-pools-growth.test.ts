/** Agent pools of type VirtualMachines grow through AKS, under the tag that was just read. */
import { describe, expect, it } from 'vitest';
import {
  answerPool,
  LARGE,
  LARGE_GROUP,
  SMALL,
  SMALL_GROUP,
  stage,
  TWO_SIZES,
  vmsPool,
  vmsWorld,
  type Stage,
} from './vms-pools-support.ts';

/** The pool's own JSON, read or written by somebody with another token. */
async function rawPool(s: Stage, path: string, body?: unknown): Promise<{ readonly properties: Record<string, unknown> }> {
  const answer = await s.call(body === undefined ? 'GET' : 'PUT', `${path}?api-version=2025-05-01`, body);
  return answer as { readonly properties: Record<string, unknown> };
}

describe('growing a VMs pool', () => {
  it('by a PUT under the tag that was just read; its end is followed and the machines appear', async () => {
    const s = await stage(vmsWorld([vmsPool({ ...TWO_SIZES, zones: ['1'] })]));
    expect(await s.increase(SMALL_GROUP, 2)).toEqual({ kind: 'accepted', group: SMALL_GROUP, target: 4 });
    expect(s.group(SMALL_GROUP)).toMatchObject({ target: { value: 4 }, growthHeld: expect.any(String) });
    const [put] = s.writes();
    expect(s.writes()).toHaveLength(1);
    const read = s.arm.control.journal().filter(({ seq, route }) => seq < (put?.seq ?? 0) && route.endsWith('agentPools/{pool}'));
    expect(put).toMatchObject({ method: 'PUT', status: 200, etagIn: read.at(-1)?.etagOut, pool: 'mixed' });
    await s.pass(5 * 60_000);
    expect(s.events).toEqual([{ kind: 'increase-succeeded', group: SMALL_GROUP, atMs: expect.any(Number) }]);
    expect(s.group(SMALL_GROUP)).toMatchObject({ target: { value: 4, confirmed: true }, frozen: undefined });
    expect(s.group(SMALL_GROUP).growthHeld).toBeUndefined();
    expect(s.group(SMALL_GROUP).instances?.map(({ state }) => state)).toEqual(['running', 'running', 'running', 'running']);
    expect(s.counts()).toEqual({ [SMALL]: 4, [LARGE]: 1 });
    expect(s.violations.list()).toEqual([]);
  });

  it.each([
    ['an increase of -1', -1, /from 3 to 2/],
    ['an increase above the maximum', 8, /11 is above its maximum of 10/],
  ] as const)('%s is refused without a write', async (_name, by, reason) => {
    const s = await stage(vmsWorld([vmsPool()]));
    expect(await s.increase(SMALL_GROUP, by)).toMatchObject({ kind: 'refused', reason: expect.stringMatching(reason) });
    expect(s.writes()).toEqual([]);
    expect(s.counts()).toEqual({ [SMALL]: 3 });
  });

  it('unknown fields of a pool survive our write', async () => {
    const s = await stage(vmsWorld([vmsPool({ ...TWO_SIZES, labels: { team: 'a' }, taints: ['team=a:NoSchedule'] })]));
    const path =
      '/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/rg/providers/Microsoft.ContainerService/managedClusters/aks';
    const strange = { newField: { deep: [1, null, 'two'] }, kubeletConfig: { podMaxPids: 100 } };
    const before = await rawPool(s, `${path}/agentPools/mixed`);
    await rawPool(s, `${path}/agentPools/mixed`, { properties: { ...before.properties, ...strange } });
    await s.pass(60_000);
    await s.azure.refresh(s.group(SMALL_GROUP).id, s.signal);
    expect(await s.increase(SMALL_GROUP, 2)).toMatchObject({ kind: 'accepted' });
    const after = await rawPool(s, `${path}/agentPools/mixed`);
    expect(after.properties).toMatchObject(strange);
    const settled = ({ eTag: _tag, provisioningState: _state, virtualMachineNodesStatus: _status, ...rest }: Record<string, unknown>) =>
      rest;
    expect(settled(after.properties)).toEqual({
      ...settled(before.properties),
      ...strange,
      virtualMachinesProfile: {
        scale: {
          manual: [
            { size: SMALL, count: 4 },
            { size: LARGE, count: 1 },
          ],
        },
      },
    });
  });

  it('a failed PUT for one size is not in the body of the next one for another', async () => {
    const s = await stage(vmsWorld([vmsPool(TWO_SIZES)]));
    answerPool(s, 'PUT', { kind: 'answer', status: 500, body: { code: 'InternalOperationError', message: 'm' } });
    expect(await s.increase(SMALL_GROUP, 5)).toMatchObject({ kind: 'failed', error: { kind: 'unavailable' } });
    expect(await s.increase(LARGE_GROUP, 1)).toMatchObject({ kind: 'accepted', target: 2 });
    expect(s.counts()).toEqual({ [SMALL]: 2, [LARGE]: 2 });
    expect(s.group(SMALL_GROUP).target).toMatchObject({ value: 2 });
    expect(s.violations.list()).toEqual([]);
  });

  it.each([
    ['of this size', SMALL, { [SMALL]: 5, [LARGE]: 1 }, 5],
    ['of the other size', LARGE, { [SMALL]: 2, [LARGE]: 4 }, 2],
  ] as const)('another writer %s between read and write meets 412: a conflict, read again', async (_name, vmSize, counts, observed) => {
    const s = await stage(vmsWorld([vmsPool(TWO_SIZES)]));
    s.arm.control.raise({ foreignScale: { pool: 'mixed', vmSize, delta: 3, when: 'before-next-write' } });
    expect(await s.increase(SMALL_GROUP, 1)).toEqual({ kind: 'conflict', group: SMALL_GROUP, observed });
    expect(s.writes().map(({ status }) => status)).toEqual([412]);
    expect(s.counts()).toEqual(counts);
    expect(s.group(SMALL_GROUP)).toMatchObject({ target: { value: observed }, frozen: 'its agent pool is in state Updating' });
    await s.pass(5 * 60_000);
    expect(s.group(SMALL_GROUP)).toMatchObject({ target: { value: observed, confirmed: true }, frozen: undefined });
    expect(await s.increase(SMALL_GROUP, 1)).toMatchObject({ kind: 'accepted', target: observed + 1 });
    expect(s.counts()).toEqual({ ...counts, [SMALL]: observed + 1 });
    expect(s.violations.list()).toEqual([]);
  });

  it('an unknown change is found by the read before the write: nothing is sent', async () => {
    const s = await stage(vmsWorld([vmsPool()]));
    const planned = s.group(SMALL_GROUP);
    s.arm.control.raise({ foreignScale: { pool: 'mixed', to: 5 } });
    s.clock.advance(10 * 60_000);
    const request = { group: planned.id, from: 3, version: planned.target.known ? planned.target.version : '', to: 4 };
    expect(await s.azure.increase(request, s.signal)).toEqual({ kind: 'conflict', group: planned.id, observed: 5 });
    expect(s.writes()).toEqual([]);
    expect(s.counts()).toEqual({ [SMALL]: 5 });
    s.groups();
    expect(s.events).toContainEqual({ kind: 'external-change', group: SMALL_GROUP, from: 3, to: 5, atMs: expect.any(Number) });
  });

  it('while an operation of ours runs in the pool, no size of it is written', async () => {
    const s = await stage(vmsWorld([vmsPool(TWO_SIZES)]));
    await s.increase(SMALL_GROUP, 1);
    expect(s.group(LARGE_GROUP)).toMatchObject({ frozen: undefined, growthHeld: expect.stringContaining('earlier operation') });
    const reason: unknown = expect.stringContaining('an earlier operation of ours');
    expect(await s.increase(LARGE_GROUP, 1)).toEqual({ kind: 'refused', group: LARGE_GROUP, reason, busy: true });
    expect(s.writes()).toHaveLength(1);
  });

  it('a size out of stock fails late with its code and size; what AKS aims at is not lowered, and read again', async () => {
    const s = await stage(vmsWorld([vmsPool(TWO_SIZES)], { stock: { [`${LARGE}/0`]: 1 } }));
    await s.increase(LARGE_GROUP, 3);
    await s.pass(6 * 60_000);
    expect(s.events).toEqual([
      {
        kind: 'increase-failed',
        group: LARGE_GROUP,
        requested: 3,
        error: {
          code: 'AllocationFailed',
          message: expect.any(String),
          correlationId: expect.any(String),
          detail: { kind: 'out-of-capacity', scope: expect.objectContaining({ vmSize: LARGE }) },
        },
        atMs: expect.any(Number),
      },
    ]);
    // A failed pool takes the next write, which is what mends it.
    expect(s.group(LARGE_GROUP)).toMatchObject({ frozen: undefined, target: { value: 4, confirmed: true } });
    expect([s.writes().length, s.counts()[LARGE]]).toEqual([1, 4]);
    const failedAtMs = s.events[0]?.atMs ?? Infinity;
    const reads = s.arm.control.journal().filter(({ method, route }) => method === 'GET' && /agentPools(\/\{pool\})?$/.test(route));
    expect(reads.some(({ at }) => at >= failedAtMs && at < failedAtMs + 10_000)).toBe(true);
    expect(await s.increase(SMALL_GROUP, 1)).toMatchObject({ kind: 'accepted', target: 3 });
    expect(s.violations.list()).toEqual([]);
  });

  it('reports a quota of cores as a quota', async () => {
    const s = await stage(vmsWorld([vmsPool()], { quota: { cores: 14 } }));
    expect(await s.increase(SMALL_GROUP, 2)).toMatchObject({
      kind: 'failed',
      error: { kind: 'quota', code: 'ErrCode_InsufficientVCPUQuota' },
    });
    expect(s.group(SMALL_GROUP).target).toMatchObject({ value: 3 });
  });

  it('an operation that succeeded with an error beside it has succeeded', async () => {
    const s = await stage(vmsWorld([vmsPool()]));
    const body = { status: 'Succeeded', name: 'op', error: { code: 'NotLatestOperation', message: 'Not the latest operation' } };
    s.arm.control.addFault({
      id: 'o',
      match: { pathGlob: '**/Microsoft.ContainerService/locations/*/operations/*' },
      effect: { kind: 'answer', status: 200, body },
    });
    await s.increase(SMALL_GROUP, 1);
    await s.pass(60_000);
    expect(s.events).toMatchObject([{ kind: 'increase-succeeded' }]);
  });
});

describe('an operation of AKS that cannot be followed to its end', () => {
  it('is over when the pool itself says Succeeded, whatever the document says', async () => {
    const s = await stage(vmsWorld([vmsPool(TWO_SIZES)]));
    const effect = { kind: 'answer', status: 200, body: { status: 'InProgress' } } as const;
    s.arm.control.addFault({ id: 'endless', match: { method: 'GET', pathGlob: '**/operations/*' }, effect });
    await s.increase(SMALL_GROUP, 1);
    await s.pass(90_000);
    expect(s.group(LARGE_GROUP).growthHeld).toContain('earlier operation of ours');
    await s.pass(3 * 60_000);
    expect([s.group(LARGE_GROUP).growthHeld, s.group(LARGE_GROUP).frozen]).toEqual([undefined, undefined]);
    expect(s.group(SMALL_GROUP).target).toMatchObject({ value: 3, confirmed: true });
    expect(await s.increase(LARGE_GROUP, 1)).toMatchObject({ kind: 'accepted' });
  });

  it('holds the pool until the pool itself has ended it, if its address is on another host', async () => {
    const s = await stage(vmsWorld([vmsPool(TWO_SIZES)]));
    const headers = { 'azure-asyncoperation': 'https://elsewhere.example/operations/1' };
    const pool = { properties: { provisioningState: 'Scaling' } };
    s.arm.control.addFault({
      id: 'elsewhere',
      match: { method: 'PUT', pathGlob: '**/agentPools/*' },
      effect: { kind: 'answer', status: 200, body: pool, headers },
    });
    const running = { kind: 'answer', status: 200, body: { name: 'mixed', ...pool } } as const;
    expect(await s.increase(SMALL_GROUP, 1)).toMatchObject({ kind: 'accepted' });
    s.arm.control.addFault({ id: 'runs', match: { method: 'GET', pathGlob: '**/agentPools/mixed' }, effect: running });
    await s.pass(60_000);
    expect(s.group(LARGE_GROUP).growthHeld).toContain('earlier operation of ours');
    for (const id of ['elsewhere', 'runs']) s.arm.control.removeFault(id);
    await s.pass(60_000);
    expect([s.group(LARGE_GROUP).growthHeld, s.group(LARGE_GROUP).frozen]).toEqual([undefined, undefined]);
  });
});
