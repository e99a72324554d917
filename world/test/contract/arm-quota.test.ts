/** Quota, offers and limits, on scale sets that are there and on those that are to be. */
import { describe, expect, it } from 'vitest';
import { RG, VERSION, aPool, aWorld, scale, setPath, startRig, stateOf, type Answer, type Rig } from '../simulator/arm/harness.ts';

const numbers = /Current Limit: (\d+), Current Usage: (\d+), Additional Required: (\d+), \(Minimum\) New Limit Required: (\d+)/;

function found(rig: Rig, sku: object, rest: object = {}): Promise<Answer> {
  const path = `${setPath(rig, 'a')}new?${VERSION}`;
  return rig.call('PUT', path, { body: { location: 'westeurope', sku, ...rest } });
}

describe('quota', () => {
  it.each([
    { quota: 'standardDSv5Family', priority: 'Regular' as const, words: 'exceeding approved standardDSv5Family Cores quota' },
    { quota: 'cores', priority: 'Regular' as const, words: 'exceeding approved Total Regional Cores quota' },
    { quota: 'lowPriorityCores', priority: 'Spot' as const, words: 'exceeding approved LowPriorityCores quota' },
  ])(
    'of $quota refuses a $priority set with 409, its words and its true numbers and without Retry-After, until it is raised',
    async ({ quota, priority, words }) => {
      const rig = await startRig(aWorld([aPool('a', { priority })], { quota: { [quota]: 10 } }));
      const refused = await scale(rig, 'a', 4);
      expect(refused).toMatchObject({ status: 409, json: { error: { code: 'OperationNotAllowed' } } });
      expect(refused.text).toContain(words);
      expect(refused.text).toContain('Submit a request for Quota increase');
      expect(numbers.exec(refused.text)?.slice(1)).toEqual(['10', '8', '8', '16']);
      expect(refused.headers['retry-after']).toBeUndefined();
      expect(stateOf(rig, 'a')).toMatchObject({ capacity: 2, etag: '"1"' });
      rig.arm.control.setQuota(quota, 16);
      expect((await scale(rig, 'a', 4)).status).toBe(200);
    },
  );

  it('Spot draws on nothing but its own; what is deallocated still counts', async () => {
    const rig = await startRig(
      aWorld([aPool('a', { priority: 'Spot' })], { quota: { cores: 0, standardDSv5Family: 0, lowPriorityCores: 12 } }),
    );
    expect((await scale(rig, 'a', 3)).status).toBe(200);
    rig.clock.advance(600_000);
    await rig.call('POST', `${setPath(rig, 'a', '/deallocate')}?${VERSION}`, { body: { instanceIds: ['0'] } });
    rig.clock.advance(600_000);
    expect((await scale(rig, 'a', 4)).status).toBe(409);
  });

  it('holds for other writers and for AKS as for anyone', async () => {
    const rig = await startRig(aWorld([aPool('a')], { quota: { cores: 12 } }));
    expect(rig.arm.control.raise({ foreignScale: { pool: 'a', to: 4 } })).toContain('quota');
    expect(rig.arm.control.raise({ upgrade: { pool: 'a', surge: 2 } })).toContain('quota');
    expect(rig.arm.control.raise({ addPool: aPool('b') })).toContain('quota');
    expect(stateOf(rig, 'a')).toMatchObject({ capacity: 2, etag: '"1"' });
    expect(rig.arm.control.raise({ foreignScale: { pool: 'a', to: 3 } })).toBeUndefined();
  });
});

describe('a scale set that is to be', () => {
  it.each([
    { sku: { name: 'Standard_D4s_v5', capacity: -1 }, code: 'InvalidParameter' },
    { sku: { name: 'Standard_D4s_v5', capacity: 1.5 }, code: 'InvalidParameter' },
    { sku: { name: 'Standard_D4s_v5', capacity: 1_001 }, code: 'BadRequest' },
    { sku: { name: 'Standard_Nothing', capacity: 1 }, code: 'InvalidParameter' },
    { sku: { capacity: 1 }, code: 'InvalidRequestContent' },
    { sku: { name: 'Standard_D4s_v5', capacity: '1' }, code: 'InvalidRequestContent' },
  ])('$sku is refused with $code', async ({ sku, code }) => {
    const rig = await startRig(aWorld([aPool('a')]));
    expect(await found(rig, sku)).toMatchObject({ status: 400, json: { error: { code } } });
    expect(rig.arm.control.state().sets).toHaveLength(1);
  });

  it('may not be of a size that the subscription is not offered, nor over the quota', async () => {
    const rig = await startRig(aWorld([aPool('a')], { quota: { cores: 20 } }));
    rig.arm.control.restrict('Standard_E4s_v5', ['1']);
    expect(await found(rig, { name: 'Standard_E4s_v5', capacity: 1 }, { zones: ['1'] })).toMatchObject({
      status: 409,
      json: { error: { code: 'SkuNotAvailable' } },
    });
    expect((await found(rig, { name: 'Standard_E4s_v5', capacity: 4 })).text).toContain('Total Regional Cores quota');
    expect((await found(rig, { name: 'Standard_E4s_v5', capacity: 2 })).status).toBe(201);
  });

  it('of Spot machines deallocates what is evicted unless it says otherwise, as Compute does and AKS does not', async () => {
    const rig = await startRig(aWorld([aPool('a')]));
    const profile = { properties: { virtualMachineProfile: { priority: 'Spot' } }, tags: { poolName: 'mine' } };
    expect((await found(rig, { name: 'Standard_D4s_v5', capacity: 1 }, profile)).status).toBe(201);
    rig.clock.advance(600_000);
    const set = rig.compute.virtualMachineScaleSets.get(RG, `${rig.set('a')}new`);
    expect((await set).orchestrationMode).toBe('Uniform');
    expect(rig.arm.control.state().sets.find(({ pool }) => pool === 'mine')?.instances).toMatchObject([{ power: 'running' }]);
    const evicted = await rig.call('POST', `${setPath(rig, 'a')}new/virtualMachines/0/simulateEviction?${VERSION}`);
    expect(evicted.status).toBe(204);
    rig.clock.advance(600_000);
    expect(rig.arm.control.state().sets.find(({ pool }) => pool === 'mine')).toMatchObject({
      capacity: 1,
      instances: [{ power: 'deallocated' }],
    });
  });
});
