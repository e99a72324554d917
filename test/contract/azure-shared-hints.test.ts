/** What one cluster learns of Azure's limits reaches the groups and agents of another of its subscription. */
import { describe, expect, it } from 'vitest';
import { rig, USER_POOL, type Rig } from '../azure/rig.ts';
import { aCluster, aPod, START_MS } from '../support/builders.ts';
import { MemoryHintServer } from '../support/memory-hints.ts';

async function aCloud(server: MemoryHintServer, name: string): Promise<Rig> {
  const one = await rig({}, { sharedHints: server.of(name) });
  one.arm.addSet(USER_POOL, 3);
  await one.azure.start(one.signal);
  return one;
}

const waiting = aCluster({ pods: [aPod({ name: 'a' })] });
const soldOut = { status: 409, body: { error: { code: 'AllocationFailed', message: 'We do not have sufficient capacity.' } } };

/** As Azure lists an instance that it could not place. */
const failedInstance = (list: string): object => ({
  id: `${list}/9`,
  instanceId: '9',
  location: 'westeurope',
  properties: {
    provisioningState: 'Failed',
    instanceView: { statuses: [{ code: 'ProvisioningState/failed/AllocationFailed', level: 'Error', message: 'no capacity' }] },
  },
});

describe('clusters of one subscription', () => {
  it('do not ask for a size that another one was just refused, but for one try a minute', async () => {
    const server = new MemoryHintServer(() => START_MS);
    const [one, two] = [await aCloud(server, 'one'), await aCloud(server, 'two')];
    one.arm.intercept = (request) => (request.method === 'PUT' ? soldOut : undefined);
    expect(await one.increase(USER_POOL, 4)).toMatchObject({ kind: 'failed' });
    expect(two.group(USER_POOL, waiting).lastResort).toContain('another cluster of the subscription got no Standard_D4s_v5');
    // The look before asked for the right to try.
    expect(two.group(USER_POOL, waiting).lastResort).toBeUndefined();
    expect(await two.increase(USER_POOL, 4)).toMatchObject({ kind: 'accepted' });
  });

  it('learn of a lack of capacity that only an instance of another one shows, whichever program asked for it', async () => {
    const server = new MemoryHintServer(() => START_MS);
    const [one, two] = [await aCloud(server, 'one'), await aCloud(server, 'two')];
    one.arm.intercept = ({ path }) => (/virtualMachines$/i.test(path) ? { body: { value: [failedInstance(path)] } } : undefined);
    await one.azure.refresh(one.group(USER_POOL).id, one.signal);
    expect(one.group(USER_POOL).instances).toMatchObject([{ state: 'failed' }]);
    expect(two.group(USER_POOL, waiting).lastResort).toContain('another cluster of the subscription got no Standard_D4s_v5');
  });

  it('delay reads that Azure throttles for another one', async () => {
    const server = new MemoryHintServer(() => START_MS);
    const [one, two] = [await aCloud(server, 'one'), await aCloud(server, 'two')];
    one.arm.intercept = (request) =>
      request.method === 'GET'
        ? { status: 429, headers: { 'retry-after': '50' }, body: { error: { code: 'TooManyRequests', message: 'x' } } }
        : undefined;
    await one.pass(70_000);
    server.look();
    const held = two.azure.agentStatus().filter(({ state }) => state === 'held');
    expect(held.length).toBeGreaterThan(0);
  });

  it('report no limit that counts their own calls alone', async () => {
    const server = new MemoryHintServer(() => START_MS);
    const [one, two] = [await aCloud(server, 'one'), await aCloud(server, 'two')];
    one.arm.intercept = (request) =>
      request.method === 'GET'
        ? { status: 429, headers: { 'retry-after': '50' }, body: { error: { code: 'SubscriptionRequestsThrottled', message: 'x' } } }
        : undefined;
    await one.pass(70_000);
    expect(one.azure.agentStatus().some(({ state }) => state === 'held')).toBe(true);
    server.look();
    expect(two.azure.agentStatus().filter(({ state }) => state === 'held')).toEqual([]);
  });

  it('slow their periodic reads if another one hears that few calls are left', async () => {
    const server = new MemoryHintServer(() => START_MS);
    const [one, two] = [await aCloud(server, 'one'), await aCloud(server, 'two')];
    server.of('three').report('remaining', 'HighCostGetVMScaleSet', START_MS + 60_000, { left: 1, of: 1_000 });
    server.look();
    for (const each of [one, two])
      expect(each.azure.agentStatus().filter(({ state, bucket }) => state === 'held' && bucket === 'HighCostGetVMScaleSet')).not.toEqual(
        [],
      );
  });

  it('increase a group although another cluster reports a stockout of its size: a write does not look at hints', async () => {
    const server = new MemoryHintServer(() => START_MS);
    const one = await aCloud(server, 'one');
    server.of('two').report('stockout', 'standard_d4s_v5/regular/*', START_MS + 60_000);
    expect(one.group(USER_POOL, aCluster({ pods: [] })).lastResort).toContain('another cluster of the subscription');
    expect(await one.increase(USER_POOL, 4)).toMatchObject({ kind: 'accepted' });
  });
});
