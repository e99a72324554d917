/** Agent pools of type VirtualMachines: one group per size, written through AKS. */
import { afterEach, describe, expect, it } from 'vitest';
import type { PoolSpec } from '../../src/simulator/base/world-spec.ts';
import { aCluster, aNode } from '../support/builders.ts';
import { closeStages, LARGE, SMALL, stage, vmsPool, vmsWorld, type Stage } from './vms-pools-support.ts';

afterEach(closeStages);

const SMALL_GROUP = `mixed/${SMALL}`;
const LARGE_GROUP = `mixed/${LARGE}`;
const TWO_SIZES: Partial<PoolSpec> = { count: 2, sizes: [{ vmSize: LARGE, count: 1 }] };
const SCALE_SET_POOL: PoolSpec = { name: 'sets', vmSize: SMALL, count: 1, min: 1, max: 3 };

function ids(s: Stage): readonly string[] {
  return s.groups().map(({ id }) => id.replace(/^aks-(\w+)-\d+-vmss$/, '$1'));
}

/** The pool's own JSON, read or written by somebody with another token. */
async function rawPool(s: Stage, path: string, body?: unknown): Promise<{ readonly properties: Record<string, unknown> }> {
  const answer = await s.call(body === undefined ? 'GET' : 'PUT', `${path}?api-version=2025-05-01`, body);
  return answer as { readonly properties: Record<string, unknown> };
}

/** Makes the next answers about the pool say something else than AKS would. */
function answerPool(s: Stage, method: string, effect: Parameters<Stage['arm']['control']['addFault']>[0]['effect'], times = 1): void {
  s.arm.control.addFault({
    id: `${method}-${times}`,
    match: { method, pathGlob: method === 'POST' ? '**/deleteMachines' : '**/agentPools/mixed', times },
    effect,
  });
}

describe('sizes of VMs pools as node groups', () => {
  it('azure provider 134: of a scale-set pool, a VMs pool and an empty one, each size of the VMs pools is a group', async () => {
    const pools = [SCALE_SET_POOL, vmsPool(TWO_SIZES), vmsPool({ name: 'idle', count: 0, min: 0 })];
    const s = await stage(vmsWorld(pools));
    expect(ids(s)).toEqual(['sets', `idle/${SMALL}`, SMALL_GROUP, LARGE_GROUP]);
    const shown = [SMALL_GROUP, LARGE_GROUP, `idle/${SMALL}`].map((id) => s.group(id));
    expect(shown).toMatchObject([
      { kind: 'vms-pool', minSize: 1, maxSize: 10, vmSize: SMALL, target: { known: true, value: 2, confirmed: true } },
      { kind: 'vms-pool', vmSize: LARGE, target: { value: 1 } },
      { kind: 'vms-pool', minSize: 0, target: { value: 0 } },
    ]);
    expect(shown.map(({ frozen }) => frozen)).toEqual([undefined, undefined, undefined]);
    expect(shown.map(({ instances }) => instances?.length)).toEqual([2, 1, 0]);
  });

  it('share what AKS allows their pool: 1,000 nodes', async () => {
    const nodeGroups = [
      { name: SMALL_GROUP, min: 0, max: 2_000 },
      { name: LARGE_GROUP, min: 0, max: 999 },
    ];
    const s = await stage(vmsWorld([vmsPool(TWO_SIZES)]), { nodeGroups, discovery: [] });
    expect(s.group(SMALL_GROUP)).toMatchObject({ target: { value: 2 }, maxSize: 999, poolLimit: 1_000, configuredMax: 2_000 });
    expect(s.group(LARGE_GROUP).configuredMax).toBeUndefined();
    expect(s.group(LARGE_GROUP)).toMatchObject({
      target: { value: 1 },
      maxSize: 998,
      poolLimit: 1_000,
      sharedPool: { limit: 1_000, room: 997 },
    });
  });

  it('is named by hand in any letter case, also while the pool lacks the size or does not exist', async () => {
    const nodeGroups = [
      { name: 'MIXED/standard_d4S_v5', min: 0, max: 4 },
      { name: `mixed/${LARGE.toUpperCase()}`, min: 0, max: 2 },
      { name: `later/${SMALL}`, min: 0, max: 2 },
    ];
    const s = await stage(vmsWorld([vmsPool()]), { nodeGroups, discovery: [] });
    expect(s.group('MIXED/standard_d4S_v5')).toMatchObject({ maxSize: 4, vmSize: SMALL, target: { value: 3 }, frozen: undefined });
    const large = s.group(`mixed/${LARGE.toUpperCase()}`);
    // Its nodes will have the spelling of Azure, and so has what is written.
    expect(large.template?.labels['node.kubernetes.io/instance-type']).toBe(LARGE);
    expect(large).toMatchObject({ maxSize: 2, vmSize: LARGE, target: { value: 0 }, frozen: undefined });
    expect(s.group(`later/${SMALL}`)).toMatchObject({ target: { known: false }, frozen: expect.stringContaining('no agent pool') });
    s.arm.control.raise({ addPool: vmsPool({ name: 'later', count: 1 }) });
    await s.pass(6 * 60_000);
    expect(s.group(`later/${SMALL}`)).toMatchObject({ target: { value: 1 }, frozen: undefined });
    expect(await s.increase(large.id, 1)).toMatchObject({ kind: 'accepted', target: 1 });
    expect(s.counts()).toEqual({ [SMALL]: 3, [LARGE]: 1 });
  });

  it('azure provider 132: a machine on its way out is shown as such, the others as running', async () => {
    const s = await stage(vmsWorld([vmsPool()]));
    expect(await s.remove(SMALL_GROUP, [1])).toMatchObject({ kind: 'accepted' });
    expect(s.group(SMALL_GROUP).instances?.map(({ state }) => state)).toEqual(['running', 'deleting', 'running']);
    await s.azure.refresh(s.group(SMALL_GROUP).id, s.signal);
    expect(s.group(SMALL_GROUP).instances?.map(({ state }) => state)).toEqual(['running', 'deleting', 'running']);
  });

  it('the template says nothing of a machine that its own node would deny, and knows maximum pods, labels and taints', async () => {
    const s = await stage(vmsWorld([vmsPool({ labels: { team: 'a' }, taints: ['team=a:NoSchedule'], zones: ['2'] })]));
    const [machine] = s.arm.machines.list();
    const { template } = s.group(SMALL_GROUP);
    // The disk driver adds its own label once it has registered.
    const labels: Readonly<Record<string, string>> = { ...machine?.labels, 'topology.disk.csi.azure.com/zone': 'westeurope-2' };
    const wrong = Object.entries(template?.labels ?? {}).filter(([key, value]) => labels[key] !== value);
    expect(wrong).toEqual([]);
    expect(template).toMatchObject({
      source: 'cloud',
      zones: ['westeurope-2'],
      labels: { team: 'a', agentpool: 'mixed', 'node.kubernetes.io/instance-type': SMALL, 'topology.kubernetes.io/zone': 'westeurope-2' },
      taints: [{ key: 'team', value: 'a', effect: 'NoSchedule' }],
    });
    expect(template?.allocatable[3]).toBe(110);
  });

  it('a node of a pool belongs to the group of its size, whatever the case of its provider id', async () => {
    const s = await stage(vmsWorld([vmsPool(TWO_SIZES)]));
    const large = s.arm.machines.list().find(({ vmSize }) => vmSize === LARGE);
    const node = aNode({ name: 'n', providerId: (large?.providerId ?? '').replace('resourceGroups/mc_', 'resourcegroups/MC_') });
    const view = s.azure.observe(aCluster({ nodes: [node] }), s.clock.now());
    expect(view.groupOfNode.get('n')).toBe(LARGE_GROUP);
  });
});

describe('growing a VMs pool', () => {
  it('azure provider 128: by a PUT under the tag that was just read; its end is followed and the machines appear', async () => {
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
  ] as const)('azure provider 128: %s is refused without a write', async (_name, by, reason) => {
    const s = await stage(vmsWorld([vmsPool()]));
    expect(await s.increase(SMALL_GROUP, by)).toMatchObject({ kind: 'refused', reason: expect.stringMatching(reason) });
    expect(s.writes()).toEqual([]);
    expect(s.counts()).toEqual({ [SMALL]: 3 });
  });

  it('azure provider 128: unknown fields of a pool survive our write', async () => {
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

  it('azure provider 136: a failed PUT for one size is not in the body of the next one for another', async () => {
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
    expect(s.group(SMALL_GROUP)).toMatchObject({ target: { value: observed }, frozen: 'its agent pool is in state Scaling' });
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

  it('a 409 of an operation in progress is a refusal, since no number moved', async () => {
    const s = await stage(vmsWorld([vmsPool()]));
    const body = { code: 'OperationNotAllowed', message: 'Operation is not allowed: Another agentpool operation is in progress' };
    answerPool(s, 'PUT', { kind: 'answer', status: 409, body });
    expect(await s.increase(SMALL_GROUP, 1)).toMatchObject({ kind: 'failed', error: { kind: 'conflict', code: 'OperationNotAllowed' } });
    expect(await s.increase(SMALL_GROUP, 1)).toMatchObject({ kind: 'accepted' });
  });

  it('while an operation of ours runs in the pool, no size of it is written', async () => {
    const s = await stage(vmsWorld([vmsPool(TWO_SIZES)]));
    await s.increase(SMALL_GROUP, 1);
    expect(s.group(LARGE_GROUP)).toMatchObject({ frozen: undefined, growthHeld: expect.stringContaining('earlier operation') });
    const reason: unknown = expect.stringContaining('an earlier operation of ours');
    expect(await s.increase(LARGE_GROUP, 1)).toEqual({ kind: 'refused', group: LARGE_GROUP, reason, busy: true });
    expect(s.writes()).toHaveLength(1);
  });

  it.each([
    ['an error after the effect', { kind: 'effect-then-answer', status: 502 }, 'accepted', 4],
    ['a reset after the effect', { kind: 'reset', afterEffect: true }, 'accepted', 4],
    ['a reset before it', { kind: 'reset', afterEffect: false }, 'failed', 3],
    ['half an answer', { kind: 'truncated-body' }, 'accepted', 4],
  ] as const)('%s: the pool itself says whether the write took effect', async (_name, effect, kind, count) => {
    const s = await stage(vmsWorld([vmsPool()]));
    answerPool(s, 'PUT', effect);
    expect(await s.increase(SMALL_GROUP, 1)).toMatchObject({ kind });
    expect(s.counts()).toEqual({ [SMALL]: count });
    await s.pass(5 * 60_000);
    expect(s.group(SMALL_GROUP)).toMatchObject({ target: { value: count, confirmed: true }, frozen: undefined });
  });

  it('azure provider 135: a size out of stock fails late with its code and size; what AKS aims at is not lowered, and read again', async () => {
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

describe('pools that are not managed', () => {
  const FIELDS: readonly (readonly [string, Readonly<Record<string, unknown>>, RegExp])[] = [
    ['AKS scales it', { enableAutoScaling: true }, /runs its own autoscaler/],
    [
      'AKS scales its sizes',
      { virtualMachinesProfile: { scale: { autoscale: [{ size: SMALL, minCount: 1, maxCount: 3 }] } } },
      /runs its own autoscaler/,
    ],
    ['it is being upgraded', { provisioningState: 'UpgradingNodeImageVersion' }, /state UpgradingNodeImageVersion/],
    ['it is stopped', { powerState: { code: 'Stopped' } }, /stopped/],
    ['AKS hosts it', { mode: 'HostedSystem' }, /hosted/],
  ];

  it.each(FIELDS)('because %s, with the reason, in both directions', async (_name, fields, reason) => {
    const nodeGroups = [{ name: SMALL_GROUP, min: 0, max: 10 }];
    const s = await stage(vmsWorld([vmsPool()]), { nodeGroups, discovery: [] });
    const pool = { name: 'mixed', properties: { ...POOL_PROPERTIES, ...fields } };
    s.arm.control.addFault({
      id: 'one',
      match: { method: 'GET', pathGlob: '**/agentPools/mixed' },
      effect: { kind: 'answer', status: 200, body: pool },
    });
    s.arm.control.addFault({
      id: 'all',
      match: { method: 'GET', pathGlob: '**/agentPools' },
      effect: { kind: 'answer', status: 200, body: { value: [pool] } },
    });
    const before = await s.increase(SMALL_GROUP, 1);
    expect(before.kind === 'refused' || before.kind === 'conflict').toBe(true);
    expect(s.group(SMALL_GROUP).frozen).toMatch(reason);
    expect(await s.remove(SMALL_GROUP, [0])).toMatchObject({ kind: 'refused', reason: expect.stringMatching(reason) });
    expect(s.writes()).toEqual([]);
  });
});

const POOL_PROPERTIES = {
  type: 'VirtualMachines',
  eTag: 'some',
  mode: 'User',
  provisioningState: 'Succeeded',
  powerState: { code: 'Running' },
  virtualMachinesProfile: { scale: { manual: [{ size: SMALL, count: 3 }] } },
};

describe('removing machines of a VMs pool', () => {
  it('azure provider 131: by name, the named ones and no others, to the minimum', async () => {
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

  it('azure provider 130: below the minimum, all in flight counted, is refused without a POST', async () => {
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

  it('azure provider 133: the count falls before any read says so, and comes back when AKS refuses', async () => {
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
