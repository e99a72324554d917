/** Scale sets that are written through the agent pools of AKS. */
import { describe, expect, it } from 'vitest';
import { meet, SPEC, type Meeting } from '../azure/meeting.ts';
import { PLAIN_DELETE } from '../../src/domain/ports/cloud.ts';
import { stage } from './vms-pools-support.ts';

const through = { writePath: 'agentPool' as const };

const writes = (m: Meeting) =>
  m.arm.control
    .journal()
    .filter(({ method, path }) => ['PUT', 'POST'].includes(method) && !path.includes('oauth2'))
    .map(
      ({ method, route, status, etagIn }) => `${method} ${route.replace(/.*\//, '')} ${status}${etagIn === undefined ? '' : ' if-match'}`,
    );

const counts = (m: Meeting) => {
  const { sets, agentPools } = m.arm.control.state();
  return [agentPools.find(({ name }) => name === 'general')?.size, sets.find(({ pool }) => pool === 'general')?.capacity];
};

/** Lets time pass until the call has ended. */
async function pass(m: Meeting, work: Promise<unknown>): Promise<void> {
  const ends = { seen: false };
  void work.then(() => Object.assign(ends, { seen: true }));
  for (let turn = 0; turn < 300; turn++) {
    if (ends.seen) return;
    await m.pass(2_000);
  }
}

describe('writing through AKS', () => {
  it('increases the count under its etag; capacity and count stay equal; unknown fields survive', async () => {
    const m = await meet(through);
    expect(await m.increase(m.group('general'), 3)).toMatchObject({ kind: 'accepted', target: 4 });
    expect(m.group('general').target).toMatchObject({ value: 4 });
    expect(writes(m)).toEqual(['PUT {pool} 200 if-match']);
    await m.pass(300_000);
    expect(counts(m)).toEqual([4, 4]);
    expect(m.events).toEqual([expect.objectContaining({ kind: 'increase-succeeded' })]);
    expect(m.group('general')).toMatchObject({ target: { value: 4, confirmed: true }, frozen: undefined });
    expect(m.violations.list()).toEqual([]);
  });

  it('an operation on another host is not followed: its pool is read until that has ended it, and a warning says so', async () => {
    const m = await meet(through);
    const headers = { 'azure-asyncoperation': 'https://elsewhere.example/operations/1' };
    const pool = { properties: { provisioningState: 'Scaling' } };
    const match = { method: 'PUT' as const, pathGlob: '**/agentPools/*' };
    m.arm.control.addFault({ id: 'elsewhere', match, effect: { kind: 'answer', status: 200, body: pool, headers } });
    expect(await m.increase(m.group('general'), 1)).toMatchObject({ kind: 'accepted' });
    const running = { kind: 'answer', status: 200, body: { name: 'general', ...pool } } as const;
    m.arm.control.addFault({ id: 'runs', match: { method: 'GET', pathGlob: '**/agentPools/general' }, effect: running });
    await m.pass(60_000);
    expect(m.group('general').growthHeld).toContain('earlier operation of ours');
    const lines = m.logLines.map((line) => JSON.parse(line) as { readonly level: unknown; readonly msg: string });
    const warned = lines.filter(({ msg }) => msg === 'An Azure operation cannot be followed; its resource is read instead');
    expect(warned.map(({ level }) => level)).toEqual(['warn']);
    for (const id of ['elsewhere', 'runs']) m.arm.control.removeFault(id);
    await m.pass(60_000);
    expect(m.group('general').growthHeld).toBeUndefined();
  });

  it('while its own operation runs the group is not frozen, and growth waits for the next turn', async () => {
    const m = await meet(through);
    await m.increase(m.group('general'), 1);
    await m.pass(10_000);
    expect(m.group('general')).toMatchObject({ frozen: undefined, growthHeld: expect.stringContaining('earlier operation of ours') });
    expect(await m.increase(m.group('general'), 1)).toMatchObject({ kind: 'refused', busy: true });
    await m.pass(300_000);
    expect(m.group('general').growthHeld).toBeUndefined();
    expect(await m.increase(m.group('general'), 1)).toMatchObject({ kind: 'accepted', target: 3 });
  });

  it('a pool whose machines AKS deallocates grows only while none is: its count is not the capacity then', async () => {
    const s = await stage({ ...SPEC, pools: [{ name: 'general', vmSize: 'Standard_D4s_v5', count: 3, min: 0, max: 10 }] }, through);
    const pool = '/subscriptions/x/resourceGroups/rg/providers/Microsoft.ContainerService/managedClusters/aks/agentPools/general'.replace(
      'x',
      SPEC.subscriptionId,
    );
    const tags = { 'cluster-autoscaler-enabled': 'true', min: '0', max: '10' };
    await s.call('PUT', `${pool}?api-version=2025-05-01`, { properties: { scaleDownMode: 'Deallocate', count: 1, tags } });
    await s.pass(600_000);
    const [set] = s.arm.control.state().sets;
    expect([set?.capacity, set?.instances.filter(({ power }) => power === 'deallocated').length]).toEqual([3, 2]);
    const [group] = s.groups();
    expect(await s.increase(group?.id ?? '', 1)).toMatchObject({ kind: 'refused', reason: expect.stringContaining('AKS counts 1 of 3') });
    await s.call('PUT', `${pool}?api-version=2025-05-01`, { properties: { count: 3, tags } });
    await s.pass(600_000);
    expect(await s.increase(group?.id ?? '', 1)).toMatchObject({ kind: 'accepted', target: 4 });
  });

  it('removes machines by name through AKS, which lowers its count with them', async () => {
    const m = await meet(through);
    await m.increase(m.group('general'), 3);
    await m.pass(300_000);
    const group = m.group('general');
    const [, second, third] = (group.instances ?? []).map(({ key }) => key);
    if (second === undefined || third === undefined) throw new Error('no machines');
    const removal = m.azure.deleteInstances(
      { ...PLAIN_DELETE, group: group.id, instances: [second, third], allowBelowMin: false },
      m.signal,
    );
    await pass(m, removal);
    expect(await removal).toMatchObject({ kind: 'accepted' });
    await m.pass(400_000);
    expect(writes(m).at(-1)).toBe('POST deleteMachines 202');
    expect(counts(m)).toEqual([2, 2]);
    const left = m.group('general').instances?.map(({ key }) => key) ?? [];
    expect([left.length, left.includes(second), left.includes(third)]).toEqual([2, false, false]);
    expect(m.group('general').target).toMatchObject({ value: 2, confirmed: true });
    expect(m.events.at(-1)).toMatchObject({ kind: 'delete-succeeded' });
    expect(m.violations.list()).toEqual([]);
  });

  it('a removal that follows a growth waits for its end instead of failing', async () => {
    const m = await meet(through);
    await m.increase(m.group('general'), 2);
    await m.pass(20_000);
    const [first] = m.group('general').instances ?? [];
    if (first === undefined) throw new Error('no machine');
    const removal = m.azure.deleteInstances(
      { ...PLAIN_DELETE, group: m.group('general').id, instances: [first.key], allowBelowMin: false },
      m.signal,
    );
    await pass(m, removal);
    expect(await removal).toMatchObject({ kind: 'accepted' });
    expect(writes(m)).toEqual(['PUT {pool} 200 if-match', 'POST deleteMachines 202']);
  });

  it('a change of the set by another writer is seen before the write, and kept by the next', async () => {
    const m = await meet(through);
    const planned = m.group('general');
    m.arm.control.raise({ foreignScale: { pool: 'general', to: 5 } });
    expect(await m.increase(planned, 2)).toEqual({ kind: 'conflict', group: planned.id, observed: 5 });
    expect(writes(m)).toEqual([]);
    expect(await m.increase(m.group('general'), 1)).toMatchObject({ kind: 'accepted', target: 6 });
    await m.pass(300_000);
    expect(counts(m)).toEqual([6, 6]);
    expect(m.violations.list()).toEqual([]);
  });

  it('where AKS counts more already, its count is not lowered', async () => {
    const m = await meet(through);
    await m.increase(m.group('general'), 3);
    await m.pass(300_000);
    m.arm.control.raise({ foreignScale: { pool: 'general', to: 2 } });
    const group = m.group('general').id;
    await m.azure.refresh(group, m.signal);
    expect(await m.increase(m.group('general'), 1)).toMatchObject({
      kind: 'refused',
      reason: expect.stringContaining('the count in AKS is already 4'),
    });
  });

  it('a tag says it for one set alone, and wins over the configuration', async () => {
    const tagged = (pool: string, path: string) => ({
      ...SPEC,
      pools: SPEC.pools.map((each) => (each.name === pool ? { ...each, tags: { 'k8s.io_cluster-autoscaler_write-path': path } } : each)),
    });
    const one = await meet({}, tagged('general', 'agentPool'));
    await one.increase(one.group('general'), 1);
    expect(writes(one)).toEqual(['PUT {pool} 200 if-match']);
    const other = await meet(through, tagged('general', 'vmss'));
    await other.increase(other.group('general'), 1);
    expect(writes(other)[0]).toMatch(/^PUT \{name\} 200/);
  });

  it('without knowledge of the pool nothing is written, and the reason is shown', async () => {
    const m = await meet({ ...through, clusterName: undefined, clusterResourceGroup: undefined });
    expect(m.group('general').growthHeld).toContain('AKS lists no agent pool');
    expect(await m.increase(m.group('general'), 1)).toMatchObject({ kind: 'refused' });
    expect(writes(m)).toEqual([]);
  });
});
