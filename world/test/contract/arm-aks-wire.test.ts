/** What the AKS provider refuses, and what its operations do beside what they were asked for. */
import { describe, expect, it } from 'vitest';
import { MINUTE, aPool, aWorld, operationOf, poolPath, startRig, stateOf } from '../simulator/arm/harness.ts';

const UNTHROTTLED = { knobs: { throttling: false } };

describe('the AKS provider', () => {
  it.each([
    { what: 'a count below 0', properties: { count: -1 }, code: 'InvalidParameter' },
    { what: 'a count over a thousand', properties: { count: 1_001 }, code: 'InvalidParameter' },
    { what: 'half a machine', properties: { count: 1.5 }, code: 'InvalidParameter' },
    { what: 'a count as text', properties: { count: '3' }, code: 'InvalidParameter' },
    { what: 'a System pool without machines', pool: 's', properties: { count: 0 }, code: 'InvalidParameter' },
    { what: 'a minimum above the maximum', properties: { enableAutoScaling: true, minCount: 5, maxCount: 2 }, code: 'InvalidParameter' },
    {
      what: 'a count outside its limits',
      properties: { enableAutoScaling: true, minCount: 3, maxCount: 5, count: 2 },
      code: 'InvalidParameter',
    },
    {
      what: 'a count of a pool that AKS scales',
      pool: 'm',
      properties: { enableAutoScaling: true, count: 3, minCount: 1, maxCount: 10 },
      code: 'BadRequest',
    },
    { what: 'another size', properties: { vmSize: 'Standard_D8s_v5' }, code: 'PropertyChangeNotAllowed' },
    { what: 'more than the quota', properties: { count: 9 }, code: 'ErrCode_InsufficientVCPUQuota' },
    { what: 'sizes that together break the quota', pool: 'v', properties: manual(3, 2), code: 'ErrCode_InsufficientVCPUQuota' },
    { what: 'a size that nobody sells', pool: 'v', properties: manual(1, 1, 'Standard_Nothing'), code: 'InvalidParameter' },
    { what: 'less than no machine of a size', pool: 'v', properties: manual(-1, 1), code: 'InvalidParameter' },
    { what: 'nothing', properties: undefined, code: 'BadRequest' },
  ])('refuses $what at the root of the answer, and changes nothing', async ({ pool = 'a', properties, code }) => {
    const pools = [
      aPool('a'),
      aPool('s', { mode: 'System' }),
      aPool('m', { managedAutoscaler: true }),
      aPool('v', { kind: 'vms-pool', count: 1, sizes: [{ vmSize: 'Standard_D8s_v5', count: 1 }] }),
    ];
    const rig = await startRig(aWorld(pools, { quota: { cores: 46 } }), UNTHROTTLED);
    const before = (await rig.call('GET', poolPath(rig, pool))).text;
    const refused = await rig.call('PUT', poolPath(rig, pool), { body: properties === undefined ? {} : { properties } });
    expect(refused).toMatchObject({ status: 400, json: { code, details: null, subcode: '' } });
    expect((await rig.call('GET', poolPath(rig, pool))).text).toBe(before);
  });

  it('founds a pool with its scale set by PUT, once, and takes both away', async () => {
    const rig = await startRig(aWorld([aPool('a')]), UNTHROTTLED);
    const properties = {
      vmSize: 'Standard_E4s_v5',
      count: 2,
      mode: 'User',
      nodeLabels: { team: 'x' },
      tags: { min: '0', max: '4' },
      future: 1,
    };
    const put = await rig.call('PUT', poolPath(rig, 'new'), { body: { properties }, headers: { 'if-none-match': '*' } });
    expect(put).toMatchObject({ status: 201, json: { name: 'new', properties: { count: 2, provisioningState: 'Creating', future: 1 } } });
    expect(String(put.headers['azure-asyncoperation'])).toContain('api-version=2025-03-01');
    expect(stateOf(rig, 'new')).toMatchObject({ capacity: 2, min: 0, max: 4 });
    rig.clock.advance(10 * MINUTE);
    expect((await rig.aks.agentPools.get('rg', 'aks', 'new')).provisioningState).toBe('Succeeded');
    expect((await rig.call('PUT', poolPath(rig, 'new'), { body: { properties }, headers: { 'if-none-match': '*' } })).status).toBe(412);
    const machine = rig.arm.machines.list().find(({ pool }) => pool === 'new');
    expect(machine?.labels).toMatchObject({ team: 'x', agentpool: 'new' });
    const shown = await rig.call('GET', poolPath(rig, 'new', `/machines/${machine?.hostName}`));
    expect(shown.json).toMatchObject({
      name: machine?.hostName,
      properties: { resourceId: machine?.id, network: { ipAddresses: [{ family: 'IPv4' }] } },
    });
    expect((await rig.call('GET', poolPath(rig, 'new', '/machines/nobody'))).status).toBe(404);
    expect((await rig.call('DELETE', poolPath(rig, 'new'), { headers: { 'if-match': 'stale' } })).status).toBe(412);
    const gone = await rig.call('DELETE', poolPath(rig, 'new'));
    expect([gone.status, String(gone.headers['location']).includes('/operationresults/')]).toEqual([202, true]);
    rig.clock.advance(10 * MINUTE);
    expect((await rig.call('GET', poolPath(rig, 'new'))).status).toBe(404);
    expect((await rig.call('DELETE', poolPath(rig, 'new'))).status).toBe(204);
    expect(rig.arm.control.state().sets.map(({ pool }) => pool)).toEqual(['a']);
  });

  it.each([
    { name: 'New1', properties: { vmSize: 'Standard_D4s_v5' } },
    { name: 'waytoolongname', properties: { vmSize: 'Standard_D4s_v5' } },
    { name: 'nosize', properties: { count: 1 } },
    { name: 'badsize', properties: { vmSize: 'Standard_Nothing' } },
    { name: 'sys', properties: { vmSize: 'Standard_D4s_v5', mode: 'System', count: 0 } },
  ])('refuses to found $name', async ({ name, properties }) => {
    const rig = await startRig(aWorld([aPool('a')]));
    const refused = await rig.call('PUT', poolPath(rig, name), { body: { properties } });
    expect(refused).toMatchObject({ status: 400, json: { code: 'InvalidParameter' } });
    expect(rig.arm.control.state().agentPools).toHaveLength(1);
  });

  it('any PUT of a pool sets a drifted scale set back; one without news on a pool in order begins nothing', async () => {
    const rig = await startRig(aWorld([aPool('a')]), UNTHROTTLED);
    const { properties } = (await rig.call('GET', poolPath(rig, 'a'))).json as unknown as { properties: Record<string, unknown> };
    const calm = await rig.call('PUT', poolPath(rig, 'a'), { body: { properties } });
    expect([calm.status, calm.headers['azure-asyncoperation']]).toEqual([200, undefined]);
    rig.arm.control.raise({ foreignScale: { pool: 'a', to: 5 } });
    const put = await rig.call('PUT', poolPath(rig, 'a'), { body: { properties } });
    expect(put).toMatchObject({ status: 200, json: { properties: { provisioningState: 'Updating' } } });
    expect(stateOf(rig, 'a').capacity).toBe(2);
  });

  it("tags of the cluster: all pools are set back to their counts and all their eTags move; a busy pool's cluster is refused", async () => {
    const rig = await startRig(aWorld([aPool('a'), aPool('b')]), UNTHROTTLED);
    const cluster = poolPath(rig, '').replace('/agentPools/', '');
    const etags = async (): Promise<readonly unknown[]> => {
      const list = await rig.call('GET', poolPath(rig, '').replace('/agentPools/', '/agentPools'));
      return (list.json['value'] as unknown as { properties: { eTag: string } }[]).map(({ properties }) => properties.eTag);
    };
    const before = await etags();
    rig.arm.control.raise({ foreignScale: { pool: 'b', to: 4 } });
    const patch = await rig.call('PATCH', cluster, { body: { tags: { cost: 'x' } } });
    expect(patch).toMatchObject({ status: 200, json: { tags: { cost: 'x' }, properties: { provisioningState: 'Updating' } } });
    expect(stateOf(rig, 'b').capacity).toBe(2);
    expect((await etags()).filter((etag) => before.includes(etag))).toEqual([]);
    expect((await rig.call('PATCH', cluster, { body: { tags: {} } })).status).toBe(409);
    rig.clock.advance(MINUTE);
    expect((await rig.aks.managedClusters.get('rg', 'aks')).provisioningState).toBe('Succeeded');
    expect((await rig.call('PATCH', cluster, { body: { tags: {} }, headers: { 'if-match': 'stale' } })).status).toBe(412);
  });

  it('an operation on a pool ends a while after its machines are up; one whose machines never are ends badly, in time', async () => {
    const rig = await startRig(aWorld([aPool('a')]), UNTHROTTLED);
    const startMs = rig.clock.now();
    const grown = await rig.call('PUT', poolPath(rig, 'a'), { body: { properties: { count: 3 } } });
    const isUp = (): boolean => stateOf(rig, 'a').instances.every(({ provisioningState }) => provisioningState === 'Succeeded');
    const status = async (): Promise<unknown> => (await operationOf(rig, grown)).json['status'];
    rig.clock.advance(20_000);
    expect([isUp(), await status()]).toEqual([false, 'ReconcilingAppSecurityGroup']);
    while (!isUp()) rig.clock.advance(1_000);
    const toMachinesMs = rig.clock.now() - startMs;
    expect((await rig.aks.agentPools.get('rg', 'aks', 'a')).provisioningState).toBe('Scaling');
    while ((await status()) !== 'Succeeded') rig.clock.advance(1_000);
    // Recorded: 118 to 150 s, with machines after 39 to 45.
    expect([toMachinesMs < 70_000, rig.clock.now() - startMs > 110_000, rig.clock.now() - startMs < 170_000]).toEqual([true, true, true]);
    expect([await status(), (await rig.aks.agentPools.get('rg', 'aks', 'a')).provisioningState]).toEqual(['Succeeded', 'Succeeded']);
    rig.arm.control.addFault({ id: 'stuck', match: {}, effect: { kind: 'birth', how: 'stuck' } });
    const endless = await rig.call('PUT', poolPath(rig, 'a'), { body: { properties: { count: 4 } } });
    rig.clock.advance(25 * MINUTE);
    expect((await operationOf(rig, endless)).json).toMatchObject({ status: 'Failed', error: { code: 'OperationTimedOut' } });
    expect((await rig.aks.agentPools.get('rg', 'aks', 'a')).provisioningState).toBe('Failed');
  });

  it('a pool that parks: fewer are deallocated and keep their place, more are started before any is made, Delete takes the parked away', async () => {
    const rig = await startRig(aWorld([aPool('a', { count: 4 })]), UNTHROTTLED);
    const put = async (properties: Readonly<Record<string, unknown>>): Promise<number> => {
      const answer = await rig.call('PUT', poolPath(rig, 'a'), { body: { properties } });
      rig.clock.advance(10 * MINUTE);
      return answer.status;
    };
    const power = (): readonly string[] => stateOf(rig, 'a').instances.map(({ id, power: state }) => `${id} ${state}`);
    expect(await put({ scaleDownMode: 'Deallocate', osDiskType: 'Ephemeral' })).toBe(400);
    expect(await put({ scaleDownMode: 'Hibernate' })).toBe(400);
    expect(await put({ scaleDownMode: 'Deallocate', count: 2 })).toBe(200);
    expect(power()).toEqual(['0 running', '1 running', '2 deallocated', '3 deallocated']);
    const pool = await rig.aks.agentPools.get('rg', 'aks', 'a');
    expect([stateOf(rig, 'a').capacity, pool.count, pool.provisioningState]).toEqual([4, 2, 'Succeeded']);
    expect((await rig.call('PUT', poolPath(rig, 'a'), { body: { properties: { count: 2 } } })).headers).not.toHaveProperty(
      'azure-asyncoperation',
    );
    expect(await put({ count: 5 })).toBe(200);
    expect(power()).toEqual(['0 running', '1 running', '2 running', '3 running', '4 running']);
    expect(await put({ count: 3 })).toBe(200);
    expect(await put({ scaleDownMode: 'Delete' })).toBe(200);
    expect(power()).toEqual(['0 running', '1 running', '2 running']);
    expect(stateOf(rig, 'a').capacity).toBe(3);
  });

  it('a cluster that stops loses its machines and keeps its counts; started again, as many others come', async () => {
    const rig = await startRig(aWorld([aPool('a'), aPool('s', { mode: 'System' })]), UNTHROTTLED);
    const names = (): readonly string[] => rig.arm.machines.list().map(({ hostName }) => hostName);
    const before = names();
    const stopped = await rig.aks.managedClusters.stop('rg', 'aks').submitted();
    expect(stopped).toBeUndefined();
    expect(await rig.aks.managedClusters.get('rg', 'aks')).toMatchObject({
      provisioningState: 'Stopping',
      powerState: { code: 'Stopped' },
    });
    expect((await rig.aks.agentPools.get('rg', 'aks', 'a')).provisioningState).toBe('Stopping');
    rig.clock.advance(10 * MINUTE);
    expect(names()).toEqual([]);
    expect(await rig.aks.agentPools.get('rg', 'aks', 'a')).toMatchObject({
      count: 2,
      powerState: { code: 'Stopped' },
      provisioningState: 'Succeeded',
    });
    await expect(rig.aks.agentPools.createOrUpdate('rg', 'aks', 'a', { count: 3 })).rejects.toMatchObject({ statusCode: 409 });
    await expect(rig.aks.managedClusters.stop('rg', 'aks')).rejects.toMatchObject({ statusCode: 409 });
    await rig.aks.managedClusters.start('rg', 'aks').submitted();
    rig.clock.advance(10 * MINUTE);
    expect(names()).toHaveLength(before.length);
    expect(names().filter((name) => before.includes(name))).toEqual([]);
    expect((await rig.aks.agentPools.get('rg', 'aks', 'a')).powerState?.code).toBe('Running');
    await expect(rig.aks.managedClusters.start('rg', 'aks')).rejects.toMatchObject({ statusCode: 409 });
  });

  it('one pool is stopped and started by its power state; one that runs the system is not', async () => {
    const rig = await startRig(aWorld([aPool('a'), aPool('s', { mode: 'System' })]), UNTHROTTLED);
    const put = (pool: string, code: string) => rig.call('PUT', poolPath(rig, pool), { body: { properties: { powerState: { code } } } });
    expect((await put('s', 'Stopped')).status).toBe(400);
    expect(await put('a', 'Stopped')).toMatchObject({ status: 200, json: { properties: { provisioningState: 'Stopping', count: 0 } } });
    rig.clock.advance(10 * MINUTE);
    expect([stateOf(rig, 'a').capacity, stateOf(rig, 's').capacity]).toEqual([0, 2]);
    expect(await put('a', 'Running')).toMatchObject({ status: 200, json: { properties: { provisioningState: 'Starting' } } });
    expect(stateOf(rig, 'a').capacity).toBe(2);
  });

  it('a PUT of the cluster sets what its body says of pools and sets all scale sets back to their counts, within its own budget', async () => {
    const rig = await startRig(aWorld([aPool('a'), aPool('b')]));
    const cluster = poolPath(rig, '').replace('/agentPools/', '');
    const put = (profiles: readonly unknown[]) =>
      rig.call('PUT', cluster, { body: { location: 'westeurope', properties: { agentPoolProfiles: profiles } } });
    rig.arm.control.raise({ foreignScale: { pool: 'b', to: 4 } });
    expect(await put([{ name: 'a', count: 3 }])).toMatchObject({
      status: 200,
      json: { properties: { provisioningState: 'Updating' } },
    });
    expect([stateOf(rig, 'a').capacity, stateOf(rig, 'b').capacity]).toEqual([3, 2]);
    expect((await put([])).status).toBe(409);
    rig.clock.advance(10 * MINUTE);
    expect((await put([{ name: 'a', count: -1 }])).json).toMatchObject({ code: 'InvalidParameter' });
    expect((await put([{ name: 'unheard', count: 1 }])).json).toMatchObject({ error: { code: 'NotSupported' } });
    expect((await rig.call('PUT', cluster, { body: { properties: {} } })).status).toBe(400);
    for (let left = 25; left > 0; left--) await put([{ name: 'a', count: -1 }]);
    const throttled = await put([]);
    expect(throttled).toMatchObject({ status: 429, json: { code: 'Throttled' } });
    expect(Number(throttled.headers['retry-after'])).toBeGreaterThan(0);
  });

  it('an abort of nothing is refused in words', async () => {
    const rig = await startRig(aWorld([aPool('a')]));
    const refused = await rig.call('POST', poolPath(rig, 'a', '/abort'));
    expect(refused).toMatchObject({ status: 409, json: { code: 'OperationNotAllowed' } });
  });
});

function manual(small: number, large: number, size = 'Standard_D8s_v5') {
  const sizes = [
    { size: 'Standard_D4s_v5', count: small },
    { size, count: large },
  ];
  return { virtualMachinesProfile: { scale: { manual: sizes } } };
}
