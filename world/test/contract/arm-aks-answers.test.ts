/** Answers of AKS that differ from what a reader of its reference expects (recorded by Azure's CLI and its issues, 2024 to July 2026). */
import { describe, expect, it } from 'vitest';
import { pickObject } from '../../simulator/arm/http/json.ts';
import { MINUTE, aPool, aWorld, poolPath, setPath, startRig, stateOf } from '../simulator/arm/harness.ts';

const UNTHROTTLED = { knobs: { throttling: false } };

describe('a stopped pool', () => {
  it('shows the count 0 from the first answer on, takes it back, and has its old count once it is started', async () => {
    const rig = await startRig(aWorld([aPool('a', { count: 3, min: 0 })]), UNTHROTTLED);
    const { agentPools } = rig.aks;
    const stop = await rig.call('PUT', poolPath(rig, 'a'), { body: { properties: { powerState: { code: 'Stopped' } } } });
    expect(stop.json).toMatchObject({ properties: { provisioningState: 'Stopping', count: 0, powerState: { code: 'Stopped' } } });
    rig.clock.advance(10 * MINUTE);
    const stopped = await agentPools.get('rg', 'aks', 'a');
    expect([stopped.count, stopped.provisioningState, stateOf(rig, 'a').capacity]).toEqual([0, 'Succeeded', 0]);
    await agentPools.createOrUpdate('rg', 'aks', 'a', { ...stopped, powerState: { code: 'Running' } }).submitted();
    rig.clock.advance(10 * MINUTE);
    expect([(await agentPools.get('rg', 'aks', 'a')).count, stateOf(rig, 'a').capacity]).toEqual([3, 3]);
  });
});

describe('an abort', () => {
  it('of a pool answers with the pool', async () => {
    const rig = await startRig(aWorld([aPool('a')]), UNTHROTTLED);
    await rig.call('PUT', poolPath(rig, 'a'), { body: { properties: { count: 4 } } });
    const abort = await rig.call('POST', poolPath(rig, 'a', '/abort'));
    expect(abort).toMatchObject({ status: 202, json: { name: 'a', properties: { provisioningState: 'Canceling', count: 4 } } });
  });

  it('of a cluster answers with the whole cluster, and cluster and pools end as Canceled', async () => {
    const rig = await startRig(aWorld([aPool('a')]), UNTHROTTLED);
    const cluster = poolPath(rig, '').replace('/agentPools/', '');
    const abort = cluster.replace('?', '/abort?');
    expect(await rig.call('POST', abort)).toMatchObject({ status: 409, json: { code: 'OperationNotAllowed' } });
    await rig.call('PUT', cluster, { body: { location: 'westeurope', properties: { agentPoolProfiles: [{ name: 'a', count: 4 }] } } });
    const aborted = await rig.call('POST', abort);
    expect(aborted).toMatchObject({ status: 202, json: { name: 'aks', properties: { provisioningState: 'Canceling' } } });
    expect(String(aborted.headers['azure-asyncoperation'])).toContain('/operations/');
    rig.clock.advance(10 * MINUTE);
    const after = await rig.aks.managedClusters.get('rg', 'aks');
    expect([after.provisioningState, after.agentPoolProfiles?.[0]?.provisioningState]).toEqual(['Canceled', 'Canceled']);
  });
});

describe('a write of a pool that does not exist', () => {
  it('under a condition is refused with a spelling and a text of its own', async () => {
    const rig = await startRig(aWorld([aPool('a')]), UNTHROTTLED);
    const put = await rig.call('PUT', poolPath(rig, 'absent'), { body: { properties: {} }, headers: { 'if-match': 'x' } });
    expect(put).toMatchObject({
      status: 412,
      json: { code: 'PreconditionFailed', message: expect.stringContaining('Resource not found but ETag header is provided') },
    });
  });

  it('gives it the tags of the client and no others, and its scale set none that make it the autoscaler’s', async () => {
    const rig = await startRig(aWorld([aPool('a')]), UNTHROTTLED);
    const create = (pool: string, tags: unknown) =>
      rig.call('PUT', poolPath(rig, pool), { body: { properties: { vmSize: 'Standard_D4s_v5', count: 0, tags } } });
    expect(pickObject((await create('bare', undefined)).json, 'properties')).not.toHaveProperty('tags');
    expect((await create('own', { team: 'x', max: '4' })).json).toMatchObject({ properties: { tags: { team: 'x', max: '4' } } });
    const tagsOf = async (pool: string) => pickObject((await rig.call('GET', `${setPath(rig, pool)}?api-version=2026-04-01`)).json, 'tags');
    const bare = Object.keys(await tagsOf('bare'));
    expect(bare).toContain('aks-managed-poolName');
    expect(['min', 'max', 'cluster-autoscaler-enabled'].filter((name) => bare.includes(name))).toEqual([]);
    expect(await tagsOf('own')).toMatchObject({ team: 'x', max: '4' });
  });
});

describe('the gateway', () => {
  it('leaves more calls than before 2026', async () => {
    const rig = await startRig(aWorld([aPool('a')]));
    const { headers } = await rig.call('GET', poolPath(rig, 'a'));
    expect(headers).toMatchObject({
      'x-ms-ratelimit-remaining-subscription-reads': '1099',
      'x-ms-ratelimit-remaining-subscription-global-reads': '16499',
    });
    const put = await rig.call('PUT', poolPath(rig, 'a'), { body: { properties: { count: 3 } } });
    expect(put.headers).toMatchObject({
      'x-ms-ratelimit-remaining-subscription-writes': '799',
      'x-ms-ratelimit-remaining-subscription-global-writes': '11999',
    });
  });
});

describe('the profile of AKS’s own autoscaler', () => {
  it('has three booleans, and texts otherwise', async () => {
    const rig = await startRig(aWorld([aPool('a')]));
    const { autoScalerProfile = {} } = await rig.aks.managedClusters.get('rg', 'aks');
    const booleans = Object.entries(autoScalerProfile).flatMap(([name, value]) => (typeof value === 'boolean' ? [name] : []));
    expect(booleans.sort()).toEqual(['daemonsetEvictionForEmptyNodes', 'daemonsetEvictionForOccupiedNodes', 'ignoreDaemonsetsUtilization']);
  });
});
