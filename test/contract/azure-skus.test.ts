/** What the list of VM sizes does to groups: whole or not at all, without rebuilding what it did not change. */
import { describe, expect, it } from 'vitest';
import { NOTHING_SHARED, type SharedText } from '../../src/domain/ports/shared-text.ts';
import { buildCatalog } from '../../src/azure/sizes/sku-catalog.ts';
import { writeCatalog } from '../../src/azure/sizes/sku-text.ts';
import { nodeGroupId } from '../../src/domain/ids.ts';
import { CPU } from '../../src/domain/resources.ts';
import { START_MS } from '../support/builders.ts';
import { refusal, SUBSCRIPTION, type ArmReply, type ArmRequest } from '../azure/scripted-arm.ts';
import { rig, USER_POOL, type Rig } from '../azure/rig.ts';

async function prepared(...args: Parameters<typeof rig>): Promise<Rig> {
  const r = await rig(...args);
  return r;
}

function size(name: string, vcpus: string, rest: object = {}): object {
  const capabilities = [
    { name: 'vCPUs', value: vcpus },
    { name: 'MemoryGB', value: '16' },
  ];
  return { resourceType: 'virtualMachines', name, locations: ['westeurope'], capabilities, restrictions: [], ...rest };
}

/** Answers to the list of sizes, page by page; everything else as usual. */
function listSizes(r: Rig, page: (request: ArmRequest) => ArmReply): void {
  r.arm.intercept = (request) => (request.path.endsWith('/skus') ? page(request) : undefined);
}

function cpuOf(r: Rig): number | undefined {
  return r.group(USER_POOL).template?.capacity[CPU];
}

const SKU_TTL = 600_000;

describe('azure: the sizes of the region', () => {
  it('a list whose second page fails leaves the sizes of before as they were, all of them', async () => {
    const r = await prepared({ skuCacheTtlMs: SKU_TTL });
    r.arm.addSet(USER_POOL, 0);
    await r.azure.start(r.signal);
    expect(cpuOf(r)).toBe(4_000);
    const before = r.group(USER_POOL);
    listSizes(r, ({ query }) =>
      query.get('$skiptoken') === 'two'
        ? { status: 500, raw: '' }
        : { body: { value: [size('Standard_D4s_v5', '99')], nextLink: `${r.arm.url}/subscriptions/${SUBSCRIPTION}/skus?$skiptoken=two` } },
    );
    await r.pass(SKU_TTL * 1.2);
    expect(r.arm.requests.some(({ query }) => query.get('$skiptoken') === 'two')).toBe(true);
    expect(cpuOf(r)).toBe(4_000);
    expect(r.group(USER_POOL).template).toBe(before.template);
  });

  it.each([
    ['the family that its quota is of', { family: 'standardDSv5Family' }, 'standarddsv5family'],
    ['the sizes of its make, where Azure tells no family', {}, 'ds_v5'],
  ])('a group shares its hardware with %s', async (_what, rest, name) => {
    const r = await prepared();
    r.arm.addSet(USER_POOL, 0);
    listSizes(r, () => ({ body: { value: [size('Standard_D4s_v5', '4', rest)] } }));
    await r.azure.start(r.signal);
    expect(r.group(USER_POOL).sizeFamily).toEqual({ name, vcpus: 4 });
  });

  it('the same sizes read again rebuild no template; a changed one rebuilds its own', async () => {
    const r = await prepared({ skuCacheTtlMs: SKU_TTL });
    r.arm.addSet(USER_POOL, 0);
    await r.azure.start(r.signal);
    const { template } = r.group(USER_POOL);
    await r.pass(SKU_TTL * 1.2);
    expect(r.arm.sent('GET', '/skus').length).toBe(2);
    expect(r.group(USER_POOL).template).toBe(template);
    listSizes(r, () => ({ body: { value: [size('Standard_D4s_v5', '8')] } }));
    await r.pass(SKU_TTL * 1.2);
    expect(cpuOf(r)).toBe(8_000);
  });

  it('a size that is closed in all zones of a group is not offered, with the code; what runs goes on', async () => {
    const r = await prepared();
    r.arm.addSet(USER_POOL, 2, { zones: ['1', '2'] });
    const restrictions = [{ type: 'Zone', restrictionInfo: { zones: ['1', '2', '3'] }, reasonCode: 'NotAvailableForSubscription' }];
    listSizes(r, () => ({ body: { value: [size('Standard_D4s_v5', '4', { restrictions })] } }));
    await r.azure.start(r.signal);
    expect(r.group(USER_POOL)).toMatchObject({
      growthHeld: 'Azure restricts Standard_D4s_v5 for this subscription in zone 1, 2 (NotAvailableForSubscription)',
      frozen: undefined,
      target: { known: true, value: 2 },
    });
  });

  it('a new node cannot land in a zone that is closed for the subscription', async () => {
    const r = await prepared();
    r.arm.addSet(USER_POOL, 0, { zones: ['1', '2', '3'] });
    const restrictions = [{ type: 'Zone', restrictionInfo: { zones: ['1', '3'] }, reasonCode: 'NotAvailableForSubscription' }];
    listSizes(r, () => ({ body: { value: [size('Standard_D4s_v5', '4', { restrictions })] } }));
    await r.azure.start(r.signal);
    expect(r.group(USER_POOL)).toMatchObject({ zones: ['westeurope-1', 'westeurope-2', 'westeurope-3'] });
    expect([r.group(USER_POOL).growthHeld, r.group(USER_POOL).template?.zones]).toEqual([undefined, ['westeurope-2']]);
  });

  it('a restriction that holds a group is asked about again within the hour, all else once a day', async () => {
    const r = await prepared();
    r.arm.addSet(USER_POOL, 1);
    const restrictions = [{ type: 'Location', values: ['westeurope'], reasonCode: 'NotAvailableForSubscription' }];
    listSizes(r, () => ({ body: { value: [size('Standard_D4s_v5', '4', { restrictions })] } }));
    await r.azure.start(r.signal);
    expect(r.group(USER_POOL).growthHeld).toContain('in the whole region');
    listSizes(r, () => ({ body: { value: [size('Standard_D4s_v5', '4')] } }));
    await r.pass(45 * 60_000);
    expect(r.group(USER_POOL).growthHeld).toBeUndefined();
    const asked = r.arm.sent('GET', '/skus').length;
    await r.pass(3 * 3_600_000);
    expect(r.arm.sent('GET', '/skus').length).toBe(asked);
  });

  it('without a size that AKS knows there is a template as soon as the list has it', async () => {
    const r = await prepared({ skuCacheTtlMs: SKU_TTL });
    r.arm.addSet(USER_POOL, 0, { sku: 'Standard_D6new_v9' });
    await r.azure.start(r.signal);
    expect(r.group(USER_POOL).template).toBeUndefined();
    listSizes(r, () => ({ body: { value: [size('Standard_D6new_v9', '6')] } }));
    await r.pass(SKU_TTL * 1.2);
    expect(cpuOf(r)).toBe(6_000);
  });

  it.each<[string, ArmReply]>([
    ['cannot be read, for want of a right', refusal(403, 'AuthorizationFailed', 'no')],
    ['lists nothing', { body: { value: [] } }],
    ['lists other sizes', { body: { value: [size('Standard_E8s_v5', '8')] } }],
  ])('when Azure %s, a size has the numbers of its name, until Azure returns them', async (_what, answer) => {
    const odd = 'aks-odd-1-vmss';
    const r = await prepared({ skuCacheTtlMs: SKU_TTL, nodeGroups: [USER_POOL, odd].map((name) => ({ name, min: 0, max: 9 })) });
    r.arm.addSet(USER_POOL, 0);
    r.arm.addSet(odd, 0, { sku: 'Standard_Odd9' });
    listSizes(r, () => answer);
    await r.azure.start(r.signal);
    const { template, growthHeld } = r.group(USER_POOL);
    expect([cpuOf(r), growthHeld]).toEqual([4_000, undefined]);
    expect(template?.origins.capacity).toMatchObject({ cpu: 'size-name', memory: 'size-name' });
    expect(r.group(odd).template).toBeUndefined();
    listSizes(r, () => ({ body: { value: [size('Standard_D4s_v5', '5')] } }));
    await r.pass(SKU_TTL * 1.2);
    expect(cpuOf(r)).toBe(5_000);
    expect(r.group(USER_POOL).template?.origins.capacity).toMatchObject({ cpu: 'sku' });
  });

  it('sizes kept from before serve a start without Azure; nothing else of them is believed', async () => {
    const scope = { subscriptionId: SUBSCRIPTION, location: 'westeurope' };
    const catalog = buildCatalog([size('Standard_D4s_v5', '4')], 'westeurope', START_MS - 86_400_000);
    const text = writeCatalog(catalog, scope).replace('{', `{"scaleSets":[{"name":"${USER_POOL}","capacity":9}],`);
    const skus: SharedText = {
      latest: () => Promise.resolve({ epoch: 1, text, by: undefined }),
      claim: () => Promise.resolve(true),
      release: () => Promise.resolve(),
      publish: () => Promise.resolve(true),
    };
    const r = await prepared(
      {
        nodeGroups: [
          { name: USER_POOL, min: 0, max: 9 },
          { name: 'away', min: 0, max: 9 },
        ],
      },
      { sharedTexts: { ...NOTHING_SHARED, skus } },
    );
    r.arm.addSet(USER_POOL, 1);
    listSizes(r, () => refusal(503, 'ServiceUnavailable', 'later'));
    await r.azure.start(r.signal);
    expect(cpuOf(r)).toBe(4_000);
    expect(r.group(USER_POOL).target).toMatchObject({ known: true, value: 1 });
    expect(r.group('away').target).toMatchObject({ known: false });
    const outcome = await r.azure.increase({ group: nodeGroupId(USER_POOL), from: 9, version: '"1"', to: 10 }, r.signal);
    expect(outcome).toMatchObject({ kind: 'conflict', observed: 1 });
  });

  it('another process has read them already: no list of sizes at the start', async () => {
    const scope = { subscriptionId: SUBSCRIPTION, location: 'westeurope' };
    const text = writeCatalog(buildCatalog([size('Standard_D4s_v5', '4')], 'westeurope', START_MS - 1_000), scope);
    const never = (): Promise<never> => Promise.reject(new Error('not needed'));
    const skus: SharedText = {
      latest: () => Promise.resolve({ epoch: 1, text, by: undefined }),
      claim: never,
      release: never,
      publish: never,
    };
    const r = await prepared({}, { sharedTexts: { ...NOTHING_SHARED, skus } });
    r.arm.addSet(USER_POOL, 0);
    await r.azure.start(r.signal);
    expect(r.arm.sent('GET', '/skus')).toEqual([]);
    expect(cpuOf(r)).toBe(4_000);
  });
});
