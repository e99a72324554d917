/** Kubernetes versions through the real client: upgrades of pools and of the control plane, what AKS refuses, and aborts. */
import type { AgentPool } from '@azure/arm-containerservice';
import { describe, expect, it } from 'vitest';
import type { PoolSpec, WorldSpec } from '../../simulator/base/world-spec.ts';
import { MINUTE, RG, aPool, aWorld, poolPath, startRig, stateOf, type Rig } from '../simulator/arm/harness.ts';

let rig: Rig;

async function begin(pools: readonly PoolSpec[], over: Partial<WorldSpec> = {}): Promise<void> {
  rig = await startRig(aWorld(pools, { kubernetesVersion: '1.34.1', ...over }), { knobs: { throttling: false } });
}

const pool = (name = 'a'): Promise<AgentPool> => rig.aks.agentPools.get('rg', 'aks', name);
const cluster = () => rig.aks.managedClusters.get('rg', 'aks');
const versions = (name = 'a'): readonly string[] =>
  rig.arm.machines
    .list()
    .filter((machine) => machine.pool === name)
    .map(({ kubernetesVersion }) => kubernetesVersion);
const hosts = (): readonly string[] => rig.arm.machines.list().map(({ hostName }) => hostName);

async function upgrade(version: string, name = 'a') {
  const poller = rig.aks.agentPools.createOrUpdate('rg', 'aks', name, { ...(await pool(name)), orchestratorVersion: version });
  await poller.submitted();
  // A poller is thenable: an async function that returned it would wait for its end.
  return { poller };
}

describe('another version of a pool', () => {
  it('rolls its nodes with a surge: the names stay, the count stays, and the set says the version', async () => {
    await begin([aPool('a', { count: 3 })]);
    const before = hosts();
    expect((await rig.aks.agentPools.getUpgradeProfile('rg', 'aks', 'a')).upgrades).toEqual([
      { kubernetesVersion: '1.33.4' },
      { kubernetesVersion: '1.34.1' },
    ]);
    const { poller } = await upgrade('1.34.1');
    expect(await pool()).toMatchObject({ provisioningState: 'Upgrading', currentOrchestratorVersion: '1.33.2', count: 3 });
    expect([stateOf(rig, 'a').capacity, versions()]).toEqual([4, ['1.33.2', '1.33.2', '1.33.2', '1.34.1']]);
    await expect(upgrade('1.34.1')).rejects.toMatchObject({ statusCode: 409 });
    rig.clock.advance(30 * MINUTE);
    expect(await poller.pollUntilDone()).toMatchObject({
      provisioningState: 'Succeeded',
      orchestratorVersion: '1.34.1',
      currentOrchestratorVersion: '1.34.1',
      count: 3,
    });
    expect([stateOf(rig, 'a').capacity, versions(), hosts()]).toEqual([3, ['1.34.1', '1.34.1', '1.34.1'], before]);
    const set = await rig.compute.virtualMachineScaleSets.get(RG, rig.set('a'));
    expect(set.tags).toMatchObject({ orchestrator: 'Kubernetes:1.34.1', 'aks-managed-orchestrator': 'Kubernetes:1.34.1' });
  });

  it('rolls the VMs of a pool without a set, each size by its own; the counts of sizes stay', async () => {
    const sizes = [{ vmSize: 'Standard_D8s_v5', count: 1 }];
    await begin([aPool('a', { kind: 'vms-pool', count: 2, sizes })]);
    const before = hosts();
    const manual = (await pool()).virtualMachinesProfile?.scale?.manual;
    const { poller } = await upgrade('1.34.1');
    expect(versions()).toEqual(['1.33.2', '1.33.2', '1.33.2', '1.34.1']);
    rig.clock.advance(30 * MINUTE);
    expect(await poller.pollUntilDone()).toMatchObject({ orchestratorVersion: '1.34.1', currentOrchestratorVersion: '1.34.1' });
    expect((await pool()).virtualMachinesProfile?.scale?.manual).toEqual(manual);
    expect([versions(), hosts()]).toEqual([['1.34.1', '1.34.1', '1.34.1'], before]);
  });

  it.each<[version: string, code: string, words: string]>([
    ['1.35.1', 'NodePoolMcVersionIncompatible', 'Minor version of node pool version 35 is bigger than control plane version 34'],
    ['1.34.3', 'NodePoolMcVersionIncompatible', 'Node pool version 1.34.3 and control plane version 1.34.1 are incompatible'],
    ['1.32.6', 'AgentPoolUpgradeVersionNotAllowed', 'Upgrade agent pool version from 1.33.2 to 1.32.6 is not allowed'],
    ['1.30.0', 'AgentPoolK8sVersionNotSupported', 'Version 1.30.0 is not supported in this region'],
    ['newest', 'AgentPoolK8sVersionNotSupported', 'Version newest is not supported in this region'],
  ])('is refused: %s', async (version, code, words) => {
    await begin([aPool('a')]);
    await expect(upgrade(version)).rejects.toMatchObject({ statusCode: 400, code, message: expect.stringContaining(words) as unknown });
    expect([stateOf(rig, 'a').capacity, (await pool()).provisioningState]).toEqual([2, 'Succeeded']);
  });

  it('is no upgrade if it is the minor version that the pool has', async () => {
    await begin([aPool('a')]);
    await upgrade('1.33');
    expect([stateOf(rig, 'a').capacity, (await pool()).currentOrchestratorVersion]).toEqual([2, '1.33.2']);
  });

  it('is refused without quota for the surge, and of a pool without a set, too', async () => {
    await begin([aPool('a'), aPool('vms', { kind: 'vms-pool', count: 1 })], { quota: { cores: 12 } });
    for (const name of ['a', 'vms']) await expect(upgrade('1.34.1', name)).rejects.toMatchObject({ code: 'ErrCode_InsufficientVCPUQuota' });
  });
});

describe('the control plane', () => {
  it('is upgraded alone if the body names every pool with its version', async () => {
    await begin([aPool('a'), aPool('b')], { kubernetesVersion: '1.33.2' });
    const poller = rig.aks.managedClusters.createOrUpdate('rg', 'aks', { ...(await cluster()), kubernetesVersion: '1.34.1' });
    await poller.submitted();
    expect(await cluster()).toMatchObject({ provisioningState: 'Upgrading', currentKubernetesVersion: '1.33.2' });
    // Its pools are idle, and take no write (Azure/telescope 1213, June 2026).
    expect((await pool('a')).provisioningState).toBe('Succeeded');
    const busy = {
      statusCode: 409,
      code: 'OperationNotAllowed',
      message: expect.stringContaining('Another operation (Upgrading) is in progress') as unknown,
    };
    await expect(rig.aks.agentPools.createOrUpdate('rg', 'aks', 'a', { count: 4 }).submitted()).rejects.toMatchObject(busy);
    await expect(
      rig.aks.agentPools.createOrUpdate('rg', 'aks', 'new', { count: 1, vmSize: 'Standard_D4s_v5' }).submitted(),
    ).rejects.toMatchObject(busy);
    await expect(rig.aks.agentPools.delete('rg', 'aks', 'b').submitted()).rejects.toMatchObject(busy);
    await expect(rig.aks.managedClusters.updateTags('rg', 'aks', { tags: { a: 'b' } }).submitted()).rejects.toMatchObject(busy);
    rig.clock.advance(10 * MINUTE);
    expect(await poller.pollUntilDone()).toMatchObject({ currentKubernetesVersion: '1.34.1', provisioningState: 'Succeeded' });
    expect([...versions('a'), ...versions('b')]).toEqual(['1.33.2', '1.33.2', '1.33.2', '1.33.2']);
  });

  it('is upgraded with all pools if the body names none', async () => {
    await begin([aPool('a'), aPool('b')], { kubernetesVersion: '1.33.2' });
    const poller = rig.aks.managedClusters.createOrUpdate('rg', 'aks', { location: 'westeurope', kubernetesVersion: '1.34' });
    await poller.submitted();
    rig.clock.advance(40 * MINUTE);
    await poller.pollUntilDone();
    expect([...versions('a'), ...versions('b')]).toEqual(['1.34.3', '1.34.3', '1.34.3', '1.34.3']);
    expect((await pool('b')).currentOrchestratorVersion).toBe('1.34.3');
  });

  it.each<[version: string, code: string, words: string]>([
    [
      '1.32.6',
      'OperationNotAllowed',
      'Downgrading Kubernetes version 1.33.2 to 1.32.6 is not allowed. Available upgrades: 1.33.4,1.34.1,1.34.3.',
    ],
    ['1.35.1', 'OperationNotAllowed', 'Upgrading Kubernetes version 1.33.2 to 1.35.1 is not allowed.'],
    ['1.99', 'K8sVersionNotSupported', 'Version 1.99 is not supported in this region'],
  ])('is refused: %s', async (version, code, words) => {
    await begin([aPool('a')], { kubernetesVersion: '1.33.2' });
    const put = rig.aks.managedClusters.createOrUpdate('rg', 'aks', { location: 'westeurope', kubernetesVersion: version });
    await expect(put).rejects.toMatchObject({ statusCode: 400, code, message: expect.stringContaining(words) as unknown });
  });

  it('refuses another version of a pool without its own', async () => {
    await begin([aPool('a')]);
    const [first] = (await cluster()).agentPoolProfiles ?? [];
    const agentPoolProfiles = [{ ...first, name: 'a', orchestratorVersion: '1.34.1' }];
    await expect(rig.aks.managedClusters.createOrUpdate('rg', 'aks', { location: 'westeurope', agentPoolProfiles })).rejects.toMatchObject({
      code: 'NotAllAgentPoolOrchestratorVersionSpecifiedAndUnchanged',
    });
  });

  it('is refused with some of the pools named', async () => {
    await begin([aPool('a'), aPool('b')], { kubernetesVersion: '1.33.2' });
    const [first] = (await cluster()).agentPoolProfiles ?? [];
    const body = { location: 'westeurope', kubernetesVersion: '1.34.1', ...(first === undefined ? {} : { agentPoolProfiles: [first] }) };
    await expect(rig.aks.managedClusters.createOrUpdate('rg', 'aks', body)).rejects.toMatchObject({
      code: 'NotAllAgentPoolOrchestratorVersionSpecifiedAndUnchanged',
    });
  });
});

describe('an abort', () => {
  it('stops an upgrade where it is: the surge node stays, until AKS works on the pool again', async () => {
    await begin([aPool('a', { count: 3 })]);
    const put = await rig.call('PUT', poolPath(rig, 'a'), { body: { properties: { count: 3, orchestratorVersion: '1.34.1' } } });
    for (let left = 60; left > 0 && versions().filter((version) => version === '1.34.1').length < 2; left--) rig.clock.advance(5_000);
    const aborting = rig.aks.agentPools.abortLatestOperation('rg', 'aks', 'a');
    await aborting.submitted();
    expect((await pool()).provisioningState).toBe('Canceling');
    rig.clock.advance(20 * MINUTE);
    await aborting.pollUntilDone();
    expect(await pool()).toMatchObject({
      provisioningState: 'Canceled',
      currentOrchestratorVersion: '1.33.2',
      orchestratorVersion: '1.33',
    });
    const document = new URL(String(put.headers['azure-asyncoperation']));
    expect((await rig.call('GET', document.pathname + document.search)).json).toMatchObject({ status: 'Canceled' });
    expect([stateOf(rig, 'a').capacity, new Set(versions()).size]).toEqual([4, 2]);
    await expect(rig.aks.agentPools.abortLatestOperation('rg', 'aks', 'a')).rejects.toMatchObject({ statusCode: 409 });
    await upgrade('1.34.1');
    rig.clock.advance(20 * MINUTE);
    expect([(await pool()).provisioningState, new Set(versions())]).toEqual(['Succeeded', new Set(['1.34.1'])]);
  });
});
