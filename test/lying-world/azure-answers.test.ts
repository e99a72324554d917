/**
 * Azure's wrong answers, on the wire and through the real SDK. Whatever is answered: the adapter lives, the other pool keeps its
 * size and grows, nothing is deleted, no capacity is lowered, and where a pool is frozen its reason is told.
 */
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { NODE_GROUP, refusal, SUBSCRIPTION, type ArmReply, type ArmRequest } from '../azure/scripted-arm.ts';
import { rig, USER_POOL, type Rig } from '../azure/rig.ts';

const GOOD_POOL = 'aks-good-vmss';
const SIZE = 3;

type Json = Record<string, unknown>;
type Lie = (request: ArmRequest, truth: () => ArmReply, r: Rig) => ArmReply | undefined;

/** `told`: in the reason of the frozen pool, or in the log. `whole`: the lie is about everything, so it begins after a true start. */
interface Row {
  readonly lie: Lie;
  readonly told?: RegExp;
  readonly frozen?: true;
  readonly whole?: true;
}

const isSetList = ({ method, path }: ArmRequest): boolean => method === 'GET' && path.endsWith('/virtualmachinescalesets');
const isSet = ({ method, path }: ArmRequest): boolean => method === 'GET' && path.endsWith(`/${USER_POOL}`);
const isConflict = ({ method, path }: ArmRequest): boolean => method === 'PUT' && path.endsWith(`/${USER_POOL}`);
const isInstanceList = ({ method, path }: ArmRequest): boolean => method === 'GET' && path.endsWith(`/${USER_POOL}/virtualmachines`);
const isSkuList = ({ path }: ArmRequest): boolean => path.endsWith('/skus');

const itemsOf = (reply: ArmReply): Json[] => (reply.body as { value: Json[] }).value;

/** The list as it is, with another document for the pool that is lied about. */
function listing(change: (document: Json) => unknown): Lie {
  return (request, truth) => {
    if (isSet(request)) return { body: change(truth().body as Json) };
    if (!isSetList(request)) return undefined;
    const value = itemsOf(truth()).map((item) => (item['name'] === USER_POOL ? change(item) : item));
    return { body: { value } };
  };
}

const sku = (change: Json): Lie =>
  listing((set) => ({ ...set, sku: { name: 'Standard_D4s_v5', tier: 'Standard', capacity: SIZE, ...change } }));
const profile = (change: Json): Lie => listing((set) => ({ ...set, properties: { ...(set['properties'] as Json), ...change } }));

/** The list of scale sets is answered with this. */
function sets(reply: (r: Rig, truth: () => ArmReply) => ArmReply): Lie {
  return (request, truth, r) => (isSetList(request) ? reply(r, truth) : undefined);
}

/** The list of the pool's instances is answered with other documents. */
function instances(change: (documents: Json[]) => readonly unknown[]): Lie {
  return (request, truth) => (isInstanceList(request) ? { body: { value: change(itemsOf(truth())) } } : undefined);
}

/** The answer once, and then the truth. */
function once(lie: Lie): Lie {
  let done = false;
  return (request, ...rest) => {
    const reply = done ? undefined : lie(request, ...rest);
    done ||= reply !== undefined;
    return reply;
  };
}

/** JSON nested a hundred thousand deep, in the place of the text "@deep". */
function nested(reply: ArmReply): ArmReply {
  const levels = 100_000;
  return { raw: JSON.stringify(reply.body).replaceAll('"@deep"', `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`) };
}

const idIn = (group: string, set: string, id: number): string =>
  `/subscriptions/${SUBSCRIPTION}/resourceGroups/${group}/providers/Microsoft.Compute/virtualMachineScaleSets/${set}/virtualMachines/${id}`;
const instance = (id: string, properties: Json = { provisioningState: 'Succeeded', vmId: 'x' }): Json => ({ id, properties });

const ROWS: Readonly<Record<string, Row>> = {
  'a capacity of 1e9': { lie: sku({ capacity: 1e9 }), frozen: true, told: /the capacity 1000000000 .*not a whole number from 0 to 5000/ },
  'a capacity of 1e308': { lie: sku({ capacity: 1e308 }), frozen: true, told: /the capacity 1e\+308/ },
  'a negative capacity': { lie: sku({ capacity: -3 }), frozen: true, told: /the capacity -3/ },
  'a capacity as text': { lie: sku({ capacity: '3' }), frozen: true, told: /the capacity "3"/ },
  'a capacity that is a fraction': { lie: sku({ capacity: 2.5 }), frozen: true, told: /the capacity 2.5/ },
  'a capacity of null': { lie: sku({ capacity: null }), frozen: true, told: /no capacity/ },
  'a capacity that is a list': { lie: sku({ capacity: [3] }), frozen: true, told: /no capacity/ },
  'a size that is a number': { lie: sku({ name: 4 }), frozen: true, told: /sku.name of this scale set as 4, which is not a text/ },
  'no sku': { lie: listing(({ sku: _sku, ...set }) => set), frozen: true, told: /no capacity/ },
  'a sku as text': { lie: listing((set) => ({ ...set, sku: 'Standard_D4s_v5' })), frozen: true, told: /no capacity/ },
  'zones as text': { lie: listing((set) => ({ ...set, zones: '1' })) },
  'zones as a number': { lie: listing((set) => ({ ...set, zones: 1 })), frozen: true, told: /zones of this scale set as \[1\]/ },
  'a thousand zones': {
    lie: listing((set) => ({ ...set, zones: Array.from({ length: 1_000 }, (_none, at) => String(at)) })),
    frozen: true,
    told: /1000 zones/,
  },
  'tags that are a list': { lie: listing((set) => ({ ...set, tags: ['min', 'max'] })) },
  'tags nested a hundred thousand deep': {
    lie: (...args) => {
      const reply = listing((set) => ({ ...set, tags: { min: '@deep', max: null } }))(...args);
      return reply === undefined ? undefined : nested(reply);
    },
  },
  'a location that is a number': {
    lie: listing((set) => ({ ...set, location: 7 })),
    frozen: true,
    told: /location of this scale set as 7/,
  },
  'no location': { lie: listing(({ location: _location, ...set }) => set), frozen: true, told: /no location/ },
  'properties of null': { lie: listing((set) => ({ ...set, properties: null })) },
  'a profile as text': { lie: profile({ virtualMachineProfile: 'none' }) },
  'disks and network cards of other types': {
    lie: profile({
      virtualMachineProfile: {
        priority: 'Regular',
        storageProfile: { osDisk: { osType: 5, diskSizeGB: 1e308, managedDisk: 'x' } },
        networkProfile: { networkInterfaceConfigurations: 'eth0' },
      },
    }),
    frozen: true,
    told: /undocumented form/,
  },
  'a provisioning state that is a number': {
    lie: profile({ provisioningState: 9 }),
    frozen: true,
    told: /provisioningState of this scale set as 9/,
  },
  'an orchestration mode of a later Azure': { lie: profile({ orchestrationMode: 'Fluid' }), frozen: true, told: /"Fluid"/ },
  'a set without its name': { lie: listing(({ name: _name, ...set }) => set), frozen: true, told: /no scale set named/ },
  'a set that is null': { lie: listing(() => null), frozen: true, told: /no scale set named/ },
  'a read of one set that returns another': {
    lie: (request, truth) => {
      // The set is read after a conflict.
      if (isConflict(request)) return refusal(412, 'PreconditionFailed', 'm');
      const other = { name: GOOD_POOL, etag: '"9"', sku: { name: 'Standard_D4s_v5', tier: 'Standard', capacity: 1 } };
      return isSet(request) ? { body: { ...(truth().body as Json), ...other } } : undefined;
    },
  },
  'the same set twice, with other capacities': {
    lie: sets((_r, truth) => {
      const value = itemsOf(truth());
      return { body: { value: [...value.map((set) => ({ ...set, sku: { ...(set['sku'] as Json), capacity: 1 } })), ...value] } };
    }),
  },
  'a list in another order each time': {
    lie: sets((r, truth) => ({ body: { value: itemsOf(truth()).toSorted(() => (r.arm.requests.length % 2 === 0 ? 1 : -1)) } })),
  },

  'HTML with status 200': { lie: sets(() => ({ raw: '<html>Sign in</html>', headers: { 'content-type': 'text/html' } })), whole: true },
  'half of a JSON document': { lie: sets((_r, truth) => ({ raw: JSON.stringify(truth().body).slice(0, 200) })), whole: true },
  'JSON with NaN': {
    lie: sets((_r, truth) => ({ raw: JSON.stringify(truth().body).replace('"capacity":3', '"capacity":NaN') })),
    whole: true,
  },
  'no body': { lie: sets(() => ({ raw: '' })), whole: true },
  'the word null': { lie: sets(() => ({ raw: 'null' })), whole: true },
  'a list that is an object': { lie: sets(() => ({ body: { value: { a: 1 } } })), whole: true },
  'an empty list, once': { lie: once(sets(() => ({ body: { value: [] } }))), whole: true },
  'a link that is a number': { lie: sets((_r, truth) => ({ body: { value: itemsOf(truth()), nextLink: 5 } })), whole: true },
  'a link to another host': {
    lie: sets((_r, truth) => ({ body: { value: itemsOf(truth()), nextLink: 'https://203.0.113.7/next' } })),
    whole: true,
    told: /203\.0\.113\.7/,
  },
  'pages that lead in a circle': {
    lie: sets((r, truth) => ({ body: { value: itemsOf(truth()), nextLink: `${r.arm.url}${r.arm.requests.at(-1)?.path ?? ''}?page=1` } })),
    whole: true,
  },
  'more items than any list has': {
    lie: sets((_r, truth) => ({
      body: { value: [...itemsOf(truth()), ...Array.from({ length: 20_001 }, (_none, at) => ({ name: `s${at}` }))] },
    })),
    whole: true,
    told: /more than 20000 items/,
  },
  'a body of 33 MiB': { lie: sets(() => ({ raw: Buffer.alloc(33 * 2 ** 20, ' ') })), whole: true, told: /more than 32 MiB/ },
  'a compressed body that grows to 40 MiB': {
    lie: sets(() => ({ raw: gzipSync(Buffer.alloc(40 * 2 ** 20, ' ')), headers: { 'content-encoding': 'gzip' } })),
    whole: true,
    told: /more than 32 MiB/,
  },
  'bytes that are no gzip': { lie: sets(() => ({ raw: 'plain', headers: { 'content-encoding': 'gzip' } })), whole: true },
  'Retry-After of thirty years': {
    lie: sets(() => ({ status: 429, headers: { 'retry-after': '999999999' }, body: { error: { code: 'TooManyRequests', message: 'm' } } })),
    whole: true,
  },
  'Retry-After on every answer': { lie: (_request, truth) => ({ ...truth(), headers: { ...truth().headers, 'retry-after': '86400' } }) },
  'a Date of another century': {
    lie: (_request, truth) => ({ ...truth(), headers: { ...truth().headers, date: 'Fri, 01 Jan 1999 00:00:00 GMT' } }),
  },
  'remaining calls that are no numbers': {
    lie: (_request, truth) => ({
      ...truth(),
      headers: {
        ...truth().headers,
        'x-ms-ratelimit-remaining-resource': 'Microsoft.Compute/PutVMScaleSet;lots,;;,Microsoft.Compute/x;-5',
      },
    }),
  },

  'instances of another set': {
    lie: instances((all) => [...all, instance(idIn(NODE_GROUP, GOOD_POOL, 0)), instance(idIn(NODE_GROUP, GOOD_POOL, 7))]),
  },
  'instances of another resource group': { lie: instances((all) => [...all, instance(idIn('other', USER_POOL, 7))]) },
  'every instance twice': { lie: instances((all) => [...all, ...all.toReversed()]) },
  'instances without an id': { lie: instances((all) => all.map(({ id: _id, ...rest }) => rest)) },
  'instances that are null and text': { lie: instances((all) => [null, 'vm', ...all, 5]) },
  'an instance whose states are numbers': {
    lie: instances((all) =>
      all.map((one) => ({ ...one, properties: { provisioningState: 3, vmId: 4, instanceView: { statuses: [{ code: 5 }, null] } } })),
    ),
  },
  'an instance whose statuses are text': {
    lie: instances((all) =>
      all.map((one) => ({ ...one, zones: '1', properties: { provisioningState: 'Failed', instanceView: { statuses: 'bad' } } })),
    ),
  },
  'instances that are created in the year 2999': {
    lie: instances((all) =>
      all.map((one) => ({ ...one, properties: { ...(one['properties'] as Json), timeCreated: '2999-01-01T00:00:00Z' } })),
    ),
  },

  'sizes whose capabilities are text': {
    lie: (request) =>
      isSkuList(request)
        ? { body: { value: [{ resourceType: 'virtualMachines', name: 'Standard_D4s_v5', capabilities: 'many' }, null, 5] } }
        : undefined,
  },
  'a size with 1e308 vCPUs': {
    lie: (request) =>
      isSkuList(request)
        ? {
            body: {
              value: [
                {
                  resourceType: 'virtualMachines',
                  name: 'Standard_D4s_v5',
                  capabilities: [
                    { name: 'vCPUs', value: '1e308' },
                    { name: 'MemoryGB', value: '1e300' },
                  ],
                },
              ],
            },
          }
        : undefined,
  },
  'usages without names': {
    lie: (request) =>
      request.path.endsWith('/usages')
        ? { body: { value: [{ currentValue: 1, limit: 2 }, { name: 'cores', limit: -1 }, null] } }
        : undefined,
  },
};

async function lyingRig({ lie, whole }: Row): Promise<Rig> {
  const nodeGroups = [USER_POOL, GOOD_POOL].map((name) => ({ name, min: 1, max: 10 }));
  const r = await rig({ nodeGroups });
  for (const { name } of nodeGroups) r.arm.addSet(name, SIZE);
  const begin = (): void => {
    r.arm.intercept = (request) => lie(request, () => r.arm.route(request), r);
  };
  if (whole !== true) begin();
  await r.azure.start(r.signal);
  begin();
  await r.pass(70_000);
  return r;
}

describe('azure lies', () => {
  it.each(Object.entries(ROWS))('%s', async (_name, row) => {
    const r = await lyingRig(row);
    const lied = r.group(USER_POOL);
    const good = r.group(GOOD_POOL);
    expect(good).toMatchObject({ target: { known: true, value: SIZE }, frozen: undefined });
    expect(good.instances?.map(({ instanceId }) => instanceId)).toEqual(['0', '1', '2']);
    // The other pool is served.
    expect(await r.increase(GOOD_POOL, SIZE + 1)).toMatchObject({ kind: 'accepted', target: SIZE + 1 });
    // A pool that can be written is written upwards from the truth, and one that cannot says why.
    expect(lied.frozen === undefined).toBe(row.frozen !== true);
    if (lied.target.known) await r.increase(USER_POOL, lied.target.value + 1);
    for (const { target } of [USER_POOL, GOOD_POOL].map((id) => r.group(id)))
      expect(target.known ? target.value : SIZE).not.toBeLessThan(SIZE);
    await r.pass(30_000);
    for (const { path, body } of r.arm.requests.filter(({ method }) => method === 'PUT')) {
      const { capacity } = body['sku'] as { capacity: number };
      expect([path.includes(GOOD_POOL) ? 'good' : 'lied', capacity]).toEqual([path.includes(GOOD_POOL) ? 'good' : 'lied', SIZE + 1]);
    }
    expect(r.arm.requests.filter(({ path }) => path.endsWith('/delete'))).toEqual([]);
    for (const { target } of [USER_POOL, GOOD_POOL].map((id) => r.group(id)))
      expect(target.known ? target.value : SIZE).not.toBeLessThan(SIZE);
    // Foreign instances are never taken for the pool's own.
    for (const { key } of lied.instances ?? []) expect(key).toContain(`|vmss|${USER_POOL}|`);
    for (const { key } of lied.instances ?? []) expect(key).toContain(NODE_GROUP.toLowerCase());
    const told = [lied.frozen, lied.target.known ? '' : lied.target.reason, ...r.logLines].join('\n');
    expect(told).toMatch(row.told ?? /^/);
  });
});

describe('instances of other sets and resource groups in a list', () => {
  it('are counted, and logged once until a list has none', async () => {
    const foreign = [idIn('other', USER_POOL, 7), idIn(NODE_GROUP, GOOD_POOL, 7)].map((id) => instance(id));
    const r = await lyingRig({ lie: instances((all) => [...all, ...foreign]) });
    const logged = (): number => r.logLines.filter((line) => line.includes('items of other sets')).length;
    const count = (): Promise<number> => r.count('cache_rows_rejected_total', { table: 'instances', reason: 'foreign-id' });
    const first = await count();
    expect([first, logged()]).toEqual([2, 1]);
    await r.pass(330_000);
    expect([await count(), logged()]).toEqual([4, 1]);
    const foreignIntercept = r.arm.intercept;
    r.arm.intercept = () => undefined;
    await r.pass(330_000);
    expect([await count(), logged()]).toEqual([4, 1]);
    r.arm.intercept = foreignIntercept;
    await r.pass(330_000);
    expect([await count(), logged()]).toEqual([6, 2]);
  });
});
