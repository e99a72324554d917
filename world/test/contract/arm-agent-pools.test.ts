/** Agent pools and the cluster, with the real AKS client. */
import { describe, expect, it } from 'vitest';
import { pickObject } from '../../simulator/arm/http/json.ts';
import { MINUTE, aPool, aWorld, poolPath, setPath, startRig, stateOf } from '../simulator/arm/harness.ts';

const GROUP = 'rg';

describe('agent pools', () => {
  it('lists pools and shows the cluster', async () => {
    const rig = await startRig(
      aWorld([aPool('a', { labels: { team: 'x' }, taints: ['team=x:NoSchedule'] }), aPool('vms', { kind: 'vms-pool' })]),
    );
    const pools = [];
    for await (const pool of rig.aks.agentPools.list(GROUP, 'aks')) pools.push(pool);
    expect(pools).toMatchObject([
      { name: 'a', count: 2, nodeLabels: { team: 'x' }, nodeTaints: ['team=x:NoSchedule'], provisioningState: 'Succeeded' },
      { name: 'vms', virtualMachinesProfile: { scale: { manual: [{ size: 'Standard_D4s_v5', count: 2 }] } } },
    ]);
    const cluster = await rig.aks.managedClusters.get(GROUP, 'aks');
    expect(cluster.nodeResourceGroup).toBe(rig.spec.nodeResourceGroup);
  });

  it('a PUT scales through AKS; a second one meets 409 at the root; the eTag moves', async () => {
    const rig = await startRig(aWorld([aPool('a'), aPool('b')]));
    const before = await rig.call('GET', poolPath(rig, 'a'));
    const etag = (before.json['properties'] as unknown as { readonly eTag: string }).eTag;
    const body = { properties: { count: 4 } };
    const put = await rig.call('PUT', poolPath(rig, 'a'), { body, headers: { 'if-match': etag } });
    expect(put).toMatchObject({ status: 200, json: { properties: { count: 4, provisioningState: 'Scaling', vmSize: 'Standard_D4s_v5' } } });
    expect(String(put.headers['azure-asyncoperation'])).toContain('api-version=2025-03-01');
    expect(stateOf(rig, 'a').capacity).toBe(4);
    const busy = await rig.call('PUT', poolPath(rig, 'a'), { body: { properties: { count: 5 } } });
    expect(busy).toMatchObject({ status: 409, json: { code: 'OperationNotAllowed' } });
    rig.clock.advance(10 * MINUTE);
    const stale = await rig.call('PUT', poolPath(rig, 'a'), { body: { properties: { count: 5 } }, headers: { 'if-match': etag } });
    expect(stale).toMatchObject({ status: 412, json: { code: 'PreConditionFailed' } });
    expect(rig.violations.list()).toEqual([]);
  });

  it("whatever a PUT of a pool changes: its tags are its scale set's, and the capacity is what AKS counts", async () => {
    const rig = await startRig(aWorld([aPool('a', { count: 2 })]));
    rig.arm.control.raise({ foreignScale: { pool: 'a', to: 4 } });
    rig.clock.advance(10 * MINUTE);
    const { json } = await rig.call('GET', poolPath(rig, 'a'));
    const { eTag: _tag, provisioningState: _state, tags: _tags, ...properties } = pickObject(json, 'properties');
    const without = { ...pickObject(json, 'properties', 'tags'), max: '7', team: 'x', min: undefined };
    expect((await rig.call('PUT', poolPath(rig, 'a'), { body: { properties: { ...properties, tags: without } } })).status).toBe(200);
    const path = `${setPath(rig, 'a')}?api-version=2026-04-01`;
    const set = await rig.call('GET', path);
    const told = pickObject(set.json, 'tags');
    expect(told).toMatchObject({ max: '7', team: 'x', 'aks-managed-poolName': 'a', poolName: 'a' });
    expect(told['min']).toBeUndefined();
    expect(stateOf(rig, 'a').capacity).toBe(2);
    rig.clock.advance(10 * MINUTE);
    expect(rig.arm.machines.list()).toHaveLength(2);
    // Of an autoscaler that would be a breach: it has let AKS choose what goes.
    expect(rig.violations.list().map(({ rule }) => rule)).toContain('instance-deleted-that-was-never-named');
  });

  it('deleteMachines removes the machine that was named, and no other', async () => {
    const rig = await startRig(aWorld([aPool('vms', { kind: 'vms-pool', count: 3 })]));
    const machines = rig.arm.machines.list().map((machine) => machine.hostName);
    const [, second = ''] = machines;
    const deletion = await rig.call('POST', poolPath(rig, 'vms', '/deleteMachines'), { body: { machineNames: [second] } });
    expect(deletion.status).toBe(202);
    expect(String(deletion.headers['location'])).toContain('/operationresults/');
    rig.clock.advance(10 * MINUTE);
    expect(rig.arm.machines.list().map((machine) => machine.hostName)).toEqual(machines.filter((name) => name !== second));
    const { json } = await rig.call('GET', poolPath(rig, 'vms'));
    expect(json).toMatchObject({
      properties: { virtualMachinesProfile: { scale: { manual: [{ count: 2 }] } }, provisioningState: 'Succeeded' },
    });
  });

  it('grows a pool of VMs by its manual scale, and lists them by RG', async () => {
    const rig = await startRig(aWorld([aPool('vms', { kind: 'vms-pool', count: 1 })]));
    const body = {
      properties: { type: 'VirtualMachines', virtualMachinesProfile: { scale: { manual: [{ size: 'Standard_D4s_v5', count: 3 }] } } },
    };
    expect((await rig.call('PUT', poolPath(rig, 'vms'), { body })).status).toBe(200);
    rig.clock.advance(10 * MINUTE);
    const vms = [];
    for await (const vm of rig.compute.virtualMachines.list(rig.spec.nodeResourceGroup)) vms.push(vm);
    expect(vms.map((vm) => vm.tags?.['aks-managed-poolName'])).toEqual(['vms', 'vms', 'vms']);
    expect(vms[0]?.name).toMatch(/^aks-vms-\d{8}-vm0$/);
  });

  it('another writer before a PUT of a VMs pool makes its tag stale: no effect at all', async () => {
    const pool = aPool('vms', { kind: 'vms-pool', count: 1, sizes: [{ vmSize: 'Standard_D8s_v5', count: 1 }] });
    const rig = await startRig(aWorld([pool]));
    const before = await rig.call('GET', poolPath(rig, 'vms'));
    const { eTag, ...rest } = before.json['properties'] as unknown as { readonly eTag: string };
    const scale = (small: number, large: number) => ({
      scale: {
        manual: [
          { size: 'Standard_D4s_v5', count: small },
          { size: 'Standard_D8s_v5', count: large },
        ],
      },
    });
    rig.arm.control.raise({ foreignScale: { pool: 'vms', vmSize: 'standard_d8s_v5', delta: 2, when: 'before-next-write' } });
    const body = { properties: { ...rest, virtualMachinesProfile: scale(4, 1) } };
    const stale = await rig.call('PUT', poolPath(rig, 'vms'), { body, headers: { 'if-match': eTag } });
    expect(stale.status).toBe(412);
    const sizes = () => rig.arm.control.state().agentPools[0]?.sizes;
    expect(sizes()).toEqual({ Standard_D4s_v5: 1, Standard_D8s_v5: 3 });
    expect(rig.violations.list()).toEqual([]);
    rig.clock.advance(10 * MINUTE);
    // Without the condition the other's machines are lost: the judge sees the lowered size and the number never read.
    expect((await rig.call('PUT', poolPath(rig, 'vms'), { body })).status).toBe(200);
    expect(new Set(rig.violations.list().map(({ rule }) => rule))).toEqual(
      new Set(['lost-update', 'capacity-lowered-by-put', 'instance-deleted-that-was-never-named']),
    );
  });

  it('holds each size of a VMs pool to the maximum by itself', async () => {
    const pool = aPool('vms', { kind: 'vms-pool', count: 6, max: 8, sizes: [{ vmSize: 'Standard_D8s_v5', count: 6 }] });
    const rig = await startRig(aWorld([pool]));
    rig.arm.control.raise({ foreignScale: { pool: 'vms', to: 7 } });
    rig.clock.advance(10 * MINUTE);
    await rig.call('GET', poolPath(rig, 'vms'));
    const scale = (large: number) => ({
      properties: {
        virtualMachinesProfile: {
          scale: {
            manual: [
              { size: 'Standard_D4s_v5', count: 7 },
              { size: 'Standard_D8s_v5', count: large },
            ],
          },
        },
      },
    });
    await rig.call('PUT', poolPath(rig, 'vms'), { body: scale(8) });
    expect(rig.violations.list()).toEqual([]);
    rig.clock.advance(10 * MINUTE);
    await rig.call('PUT', poolPath(rig, 'vms'), { body: scale(9) });
    expect(rig.violations.list()).toMatchObject([{ rule: 'above-max', subject: 'vms/standard_d8s_v5' }]);
  });
});
