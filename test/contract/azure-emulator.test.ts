/** The adapter and the emulated Azure, written apart from each other, meet over HTTPS with real tokens. */
import { describe, expect, it } from 'vitest';
import { nodeGroupId } from '../../src/domain/ids.ts';
import { meet, SPEC } from '../azure/meeting.ts';
import { EXTENSIONS_MS } from '../../world/simulator/arm/compute/instance-document.ts';
import { PLAIN_DELETE } from '../../src/domain/ports/cloud.ts';
import { aCluster, aNode } from '../support/builders.ts';

describe('azure adapter and emulator', () => {
  it('sees the pools with their sizes, limits, machines and templates', async () => {
    const m = await meet();
    expect(
      m
        .groups()
        .map(({ id, minSize, maxSize, target, instances, frozen, kind }) => [
          id.replace(/^aks-(\w+)-.*$/, '$1'),
          minSize,
          maxSize,
          target.known && target.value,
          instances?.length,
          frozen,
          kind,
        ]),
    ).toEqual([
      ['empty', 0, 5, 0, 0, undefined, 'vmss-uniform'],
      ['general', 1, 10, 1, 1, undefined, 'vmss-uniform'],
      ['system', 2, 2, 2, 2, undefined, 'vmss-uniform'],
    ]);
    const { template } = m.group('empty');
    expect(template).toMatchObject({
      source: 'cloud',
      labels: { team: 'a', agentpool: 'empty', 'kubernetes.azure.com/mode': 'user', 'node.kubernetes.io/instance-type': 'Standard_E8s_v5' },
      taints: [{ key: 'team', value: 'a', effect: 'NoSchedule' }],
    });
    expect(m.group('general').zones).toEqual(['westeurope-1', 'westeurope-2', 'westeurope-3']);
  });

  it('says of a machine nothing that its own node would deny', async () => {
    const m = await meet();
    const [machine] = m.arm.machines.list().filter(({ pool }) => pool === 'general');
    if (machine === undefined) throw new Error('no machine');
    const template = m.group('general').template;
    const particular = Object.entries(template?.labels ?? {}).filter(([key, value]) => machine.labels[key] !== value);
    expect(particular).toEqual([]);
    expect(template?.taints).toEqual([]);
    const view = m.azure.observe(aCluster({ nodes: [aNode({ name: machine.hostName, providerId: machine.providerId })] }), m.clock.now());
    expect(view.groupOfNode.get(machine.hostName)).toMatch(/general/);
    expect(view.instanceOfNode.get(machine.hostName)).toBe(m.group('general').instances?.[0]?.key);
  });

  it('grows a group; the machines appear and the operation ends well', async () => {
    const m = await meet();
    const general = m.group('general');
    expect(await m.increase(general, 3)).toEqual({ kind: 'accepted', group: general.id, target: 4 });
    expect(m.group('general').target).toMatchObject({ value: 4 });
    await m.pass(240_000);
    expect(m.events).toEqual([{ kind: 'increase-succeeded', group: general.id, atMs: expect.any(Number) }]);
    expect(m.group('general').instances?.map(({ state }) => state)).toEqual(['running', 'running', 'running', 'running']);
    expect(m.group('general').target).toMatchObject({ value: 4, confirmed: true });
    expect(m.violations.list()).toEqual([]);
  });

  // Recorded by azure-powershell, November 2025: a list of n instances costs n views, a single read one.
  it('counts the views that lists and single reads of instances have left', async () => {
    const m = await meet();
    const shown = m.arm.control.journal().filter(({ route }) => /virtualMachines/.test(route));
    const { values } = await m.metrics.arm.tokensRemaining.get();
    const views = values.find(({ labels }) => labels.policy === 'VMScaleSetVMViewsSubscriptionMaximum');
    // Lists of the instances of three groups, which have two, one and none.
    expect([shown.length, views?.value]).toEqual([3, 29_997]);
  });

  // Recorded by the SDK for Go, February 2023: a create operation ends before the extensions of its instances are installed.
  it('an instance that is Updating after its creation is neither a failure nor missing', async () => {
    const m = await meet({ vmssVmsCacheTtlMs: 5_000, vmssVmsCacheJitterMs: 0 });
    const general = m.group('general');
    await m.increase(general, 2);
    const ends = (): number | undefined => m.arm.control.state().operations.find(({ status }) => status === 'Succeeded')?.endMs;
    for (let second = 0; second < 180; second++) {
      await m.pass(1_000);
      const { target, instances } = m.group('general');
      expect([target, instances?.every(({ state }) => state === 'creating' || state === 'running')]).toMatchObject([{ value: 3 }, true]);
    }
    const endMs = ends() ?? 0;
    const looks = m.arm.control
      .journal()
      .filter(({ route, at }) => /virtualMachines/.test(route) && at >= endMs && at < endMs + EXTENSIONS_MS);
    expect(looks.length).toBeGreaterThan(0);
    expect(m.group('general').instances?.map(({ state }) => state)).toEqual(['running', 'running', 'running']);
    expect(m.events).toEqual([{ kind: 'increase-succeeded', group: general.id, atMs: expect.any(Number) }]);
  });

  it('a foreign writer between plan and write: the next target is theirs plus what is needed', async () => {
    const m = await meet();
    const planned = m.group('general');
    m.arm.control.raise({ foreignScale: { pool: 'general', delta: 2, when: 'before-next-write' } });
    expect(await m.increase(planned, 4)).toEqual({ kind: 'conflict', group: planned.id, observed: 3 });
    const fresh = m.group('general');
    expect(fresh.target).toMatchObject({ value: 3, confirmed: true });
    expect(await m.increase(fresh, 4)).toMatchObject({ kind: 'accepted', target: 7 });
    const state = m.arm.control.state().sets.find(({ pool }) => pool === 'general');
    expect(state?.capacity).toBe(7);
    expect(m.violations.list()).toEqual([]);
  });

  it('two increases in a row need no second read', async () => {
    const m = await meet();
    expect(await m.increase(m.group('general'), 1)).toMatchObject({ kind: 'accepted', target: 2 });
    expect(await m.increase(m.group('general'), 1)).toMatchObject({ kind: 'accepted', target: 3 });
    await m.pass(240_000);
    expect(m.events.filter(({ kind }) => kind === 'increase-failed')).toEqual([]);
    expect(m.group('general').target).toMatchObject({ value: 3, confirmed: true });
  });

  it('reports a pool out of stock with code, size and group', async () => {
    const m = await meet();
    const empty = m.group('empty');
    expect(await m.increase(empty, 2)).toMatchObject({ kind: 'accepted' });
    await m.pass(150_000);
    expect(m.events).toEqual([
      {
        kind: 'increase-failed',
        group: empty.id,
        requested: 2,
        error: {
          detail: { kind: 'out-of-capacity', scope: expect.objectContaining({ vmSize: 'Standard_E8s_v5' }) },
          code: expect.stringMatching(/AllocationFailed/),
          message: expect.any(String),
          correlationId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        },
        atMs: expect.any(Number),
      },
    ]);
    const failed = m.group('empty').instances?.filter(({ state }) => state === 'failed') ?? [];
    expect(failed.map(({ error }) => error?.detail.kind)).toEqual(failed.map(() => 'out-of-capacity'));
  });

  it('removes machines by id; they go, the capacity follows, nothing is broken on the way', async () => {
    const m = await meet();
    await m.increase(m.group('general'), 3);
    await m.pass(240_000);
    const group = m.group('general');
    const victims = (group.instances ?? []).slice(2).map(({ key }) => key);
    expect(
      await m.azure.deleteInstances({ ...PLAIN_DELETE, group: group.id, instances: victims, allowBelowMin: false }, m.signal),
    ).toMatchObject({
      kind: 'accepted',
    });
    expect(m.group('general').target).toMatchObject({ value: 2 });
    await m.pass(300_000);
    expect(m.group('general').instances).toHaveLength(2);
    expect(m.group('general').target).toMatchObject({ value: 2, confirmed: true });
    expect(m.events.at(-1)).toMatchObject({ kind: 'delete-succeeded', instances: victims });
    const below = (m.group('general').instances ?? []).map(({ key }) => key);
    expect(
      await m.azure.deleteInstances({ ...PLAIN_DELETE, group: group.id, instances: below, allowBelowMin: false }, m.signal),
    ).toMatchObject({
      kind: 'refused',
    });
    expect(m.violations.list()).toEqual([]);
  });

  it('a quota refusal carries its numbers', async () => {
    const m = await meet({}, { ...SPEC, quota: { cores: 14 } });
    const outcome = await m.increase(m.group('general'), 3);
    expect(outcome).toMatchObject({ kind: 'failed', error: { detail: { kind: 'quota', limit: 14, usage: 12, required: 12 } } });
    expect(m.group('general').target).toMatchObject({ value: 1 });
  });

  it.each([
    ['throttled reads', { kind: 'answer', status: 429, retryAfterSeconds: 20 }],
    ['server errors', { kind: 'answer', status: 500 }],
    ['broken pages', { kind: 'truncated-body' }],
    ['an empty list', { kind: 'empty-list' }],
    ['an empty body', { kind: 'empty-body' }],
  ] as const)('%s of sets remove no group', async (_name, effect) => {
    const m = await meet();
    m.arm.control.addFault({ id: 'f', match: { method: 'GET', pathGlob: '**/virtualMachineScaleSets', times: 1 }, effect });
    await m.pass(80_000);
    expect(m.groups().map(({ frozen, target }) => [frozen, target.known])).toEqual([
      [undefined, true],
      [undefined, true],
      [undefined, true],
    ]);
  });

  it('an empty list of agent pools is never believed: what AKS scales stays frozen, pools of VMs stay groups', async () => {
    const pools = [
      ...SPEC.pools,
      { name: 'theirs', vmSize: 'Standard_D4s_v5', count: 1, min: 0, max: 5, managedAutoscaler: true },
      { name: 'vms', kind: 'vms-pool' as const, vmSize: 'Standard_D4s_v5', count: 1, min: 0, max: 5 },
    ];
    const m = await meet({}, { ...SPEC, pools });
    const told = () => m.groups().map(({ id, frozen, target }) => [id, frozen, target.known]);
    const before = told();
    expect(before.filter(([, frozen]) => frozen !== undefined)).toHaveLength(1);
    m.arm.control.addFault({ id: 'f', match: { method: 'GET', pathGlob: '**/agentPools' }, effect: { kind: 'empty-list' } });
    await m.pass(400_000);
    expect(told()).toEqual(before);
  });

  it('a wrong secret ends the start with what is wrong', async () => {
    await expect(meet({ credential: { method: 'client-secret', clientId: 'autoscaler', clientSecret: 'guess' } })).rejects.toMatchObject({
      kind: 'auth',
    });
  });

  it('refresh reads one group now', async () => {
    const m = await meet();
    m.arm.control.raise({ foreignScale: { pool: 'general', delta: 2 } });
    expect(m.group('general').target).toMatchObject({ value: 1 });
    await m.azure.refresh(nodeGroupId(m.group('general').id), m.signal);
    expect(m.group('general').target).toMatchObject({ value: 3 });
    expect(m.events.at(-1)).toMatchObject({ kind: 'external-change', from: 1, to: 3 });
  });
});
