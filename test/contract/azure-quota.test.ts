/** Usages of the region over the wire: what they hold back, and what happens when there are none. */
import { describe, expect, it } from 'vitest';
import { aCluster } from '../support/builders.ts';
import { meet, SPEC } from '../azure/meeting.ts';
import { rig, USER_POOL, type Rig } from '../azure/rig.ts';

const emptyCluster = aCluster();

async function prepared(): Promise<Rig> {
  const r = await rig();
  r.arm.addSet(USER_POOL, 3);
  return r;
}

describe('quotas, reported by the emulator', () => {
  it('are known at the first look, for what the groups draw on, and a template says what a node takes', async () => {
    const m = await meet({}, { ...SPEC, quota: { standardDSv5Family: 20, cores: 40 } });
    const { quotas } = m.azure.observe(emptyCluster, m.clock.now());
    expect(quotas).toEqual([
      { name: 'cores', title: 'region', limit: 40, used: 12 },
      { name: 'standarddsv5family', title: 'family standardDSv5Family', limit: 20, used: 12 },
      { name: 'standardesv5family', title: 'family standardESv5Family', limit: 100_000, used: 0 },
    ]);
    expect(m.group('general').template?.draws).toEqual([
      { quota: 'standarddsv5family', cores: 4 },
      { quota: 'cores', cores: 4 },
    ]);
  });

  it('an order counts at once, and Azure counting it changes nothing', async () => {
    const m = await meet({}, { ...SPEC, quota: { standardDSv5Family: 24 } });
    const used = () => m.azure.observe(emptyCluster, m.clock.now()).quotas?.find(({ name }) => name === 'standarddsv5family')?.used;
    await m.increase(m.group('general'), 2);
    expect(used()).toBe(20);
    await m.pass(400_000);
    expect(used()).toBe(20);
  });

  it('reads the usages again at once after a refusal: another client took the rest', async () => {
    const m = await meet({}, { ...SPEC, quota: { standardDSv5Family: 100 } });
    const before = m.group('general');
    m.arm.control.setQuota('standardDSv5Family', 12);
    expect(await m.increase(before, 1)).toMatchObject({ kind: 'failed', error: { kind: 'quota', detail: { counted: true } } });
    const told = m.azure.observe(emptyCluster, m.clock.now()).quotas;
    expect(told?.find(({ name }) => name === 'standarddsv5family')).toMatchObject({ limit: 12, used: 12 });
    await m.pass(2_000);
    const { quotas } = m.azure.observe(emptyCluster, m.clock.now());
    expect(quotas?.find(({ name }) => name === 'standarddsv5family')).toMatchObject({ limit: 12, used: 12 });
  });
});

describe('quotas that cannot be read', () => {
  it.each([
    ['403', { status: 403, body: { error: { code: 'AuthorizationFailed', message: 'no' } } }],
    ['500', { status: 500, body: {} }],
    ['no list', { raw: 'oops' }],
  ])('%s: nothing is held back, and decisions are made all the same', async (_, reply) => {
    const rg = await prepared();
    rg.arm.intercept = (request) => (request.path.endsWith('/usages') ? reply : undefined);
    await rg.azure.start(rg.signal);
    await rg.pass(20 * 60_000);
    const view = rg.view();
    expect(view.quotas).toEqual([]);
    expect([view.scaleUpBlocked, view.scaleDownBlocked]).toEqual([undefined, undefined]);
    expect(await rg.increase(USER_POOL, 4)).toMatchObject({ kind: 'accepted' });
    // A role that may not read them is asked about rarely.
    expect(rg.arm.sent('GET', '/usages').length).toBeLessThan(10);
  });

  it('what was read half an hour ago is forgotten', async () => {
    const rg = await prepared();
    rg.arm.usages = [['standardDSv5Family', 100, 100]];
    await rg.azure.start(rg.signal);
    expect(rg.view().quotas).toMatchObject([{ used: 100, limit: 100 }]);
    expect(await rg.count('quota_limit_cores', { quota: 'standarddsv5family' })).toBe(100);
    rg.arm.intercept = (request) => (request.path.endsWith('/usages') ? { status: 500 } : undefined);
    await rg.pass(31 * 60_000);
    expect(rg.view().quotas).toEqual([]);
  });
});
