/** Growth while Azure still counts instances whose deletion it has accepted (azure-wire 4.5, fault 33). */
import { describe, expect, it } from 'vitest';
import type { AzureOptions } from '../../src/azure/arm/options.ts';
import { PLAIN_DELETE } from '../../src/domain/ports/cloud.ts';
import { meet, SPEC, type Meeting } from '../azure/meeting.ts';

const MINUTE = 60_000;
const KNOBS = { knobs: { capacityLagAfterDeleteMs: 3 * MINUTE, deleteGraceful: { p50: 4 * MINUTE, p95: 4 * MINUTE } } };

function spec(max: number) {
  const pool = { name: 'general', vmSize: 'Standard_D4s_v5', count: 6, min: 1, max };
  return { ...SPEC, pools: [SPEC.pools[0] ?? pool, pool] };
}

const set = (m: Meeting) => m.arm.control.state().sets.find(({ pool }) => pool === 'general');
const staying = (m: Meeting): number => set(m)?.instances.filter(({ provisioningState }) => provisioningState !== 'Deleting').length ?? 0;
const puts = (m: Meeting) =>
  m.arm.control
    .journal()
    .filter(({ method, pool }) => method === 'PUT' && pool === 'general')
    .map(({ status, etagIn, capacityBefore, capacityAfter }) => [status, etagIn, capacityBefore, capacityAfter]);

/** Six instances, of which two are being deleted: Azure shows six, and four stay. */
async function deleting(rest: Partial<AzureOptions> = {}, max = 10): Promise<Meeting> {
  const m = await meet(rest, spec(max), KNOBS);
  const group = m.group('general');
  const keys = (group.instances ?? []).slice(0, 2).map(({ key }) => key);
  expect(
    await m.azure.deleteInstances({ ...PLAIN_DELETE, group: group.id, instances: keys, allowBelowMin: false }, m.signal),
  ).toMatchObject({
    kind: 'accepted',
  });
  await m.pass(5_000);
  expect([set(m)?.capacity, staying(m), m.group('general').target]).toEqual([6, 4, expect.objectContaining({ value: 4 })]);
  return m;
}

describe('growth while an accepted deletion does not show yet', () => {
  it.each([
    [true, '"1"'],
    [false, undefined],
  ])('writes the capacity just read plus the new nodes (entity tags %s)', async (enableVmssEtag, tag) => {
    const m = await deleting({ enableVmssEtag });
    expect(await m.increase(m.group('general'), 1)).toMatchObject({ kind: 'accepted', target: 5 });
    expect([puts(m), set(m)?.capacity]).toEqual([[[200, tag, 4, 5]], 7]);
    expect(m.group('general').target).toMatchObject({ value: 5 });
    await m.pass(10 * MINUTE);
    expect([set(m)?.capacity, staying(m), m.group('general').target]).toEqual([
      5,
      5,
      expect.objectContaining({ value: 5, confirmed: true }),
    ]);
    expect(m.violations.list()).toEqual([]);
  });

  it('adds to it again and again, and does not count what it added twice', async () => {
    const m = await deleting();
    await m.increase(m.group('general'), 1);
    await m.pass(5_000);
    expect(await m.increase(m.group('general'), 2)).toMatchObject({ kind: 'accepted', target: 7 });
    expect([puts(m).map(([, , , after]) => after), set(m)?.capacity]).toEqual([[5, 7], 9]);
    await m.pass(10 * MINUTE);
    expect([set(m)?.capacity, staying(m)]).toEqual([7, 7]);
    expect(m.violations.list()).toEqual([]);
  });

  it('is planned again if another writer comes between the read and the write, and nothing is lowered', async () => {
    const m = await deleting();
    m.arm.control.raise({ foreignScale: { pool: 'general', to: 8, when: 'before-next-write' } });
    expect(await m.increase(m.group('general'), 1)).toMatchObject({ kind: 'conflict' });
    expect([puts(m).map(([status]) => status), set(m)?.capacity]).toEqual([[412], 8]);
    expect(m.violations.list()).toEqual([]);
  });

  it('that took effect although its answer was lost counts as accepted', async () => {
    const m = await deleting();
    m.arm.control.addFault({ id: 'lost', match: { method: 'PUT', pool: 'general' }, effect: { kind: 'reset', afterEffect: true } });
    expect(await m.increase(m.group('general'), 1)).toMatchObject({ kind: 'accepted', target: 5 });
    m.arm.control.removeFault('lost');
    await m.pass(10 * MINUTE);
    expect([set(m)?.capacity, m.group('general').target]).toEqual([5, expect.objectContaining({ value: 5, confirmed: true })]);
    expect(m.violations.list()).toEqual([]);
  });

  it('waits where the old number leaves no room below the maximum, and says so', async () => {
    const m = await deleting({}, 6);
    const reason = 'Azure still counts 2 instances that are being deleted, and 7 with the new ones is above its maximum of 6';
    expect(await m.increase(m.group('general'), 1)).toMatchObject({ kind: 'refused', reason });
    expect(puts(m)).toEqual([]);
    await m.pass(10 * MINUTE);
    expect(await m.increase(m.group('general'), 1)).toMatchObject({ kind: 'accepted', target: 5 });
    expect(m.violations.list()).toEqual([]);
  });

  it('waits where Azure shows fewer than our deletions explain', async () => {
    const m = await deleting();
    m.arm.control.raise({ foreignScale: { pool: 'general', to: 3 } });
    const reason = 'Azure shows 3 instances where 4 are expected; another writer changed it';
    expect(await m.increase(m.group('general'), 1)).toMatchObject({ kind: 'refused', reason });
    expect(puts(m)).toEqual([]);
  });
});
