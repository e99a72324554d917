/** Which group a node is in, and what is known of its machine: over the scripted ARM and, for mixed kinds, the emulated one. */
import { describe, expect, it } from 'vitest';
import type { AzureOptions } from '../../src/azure/arm/options.ts';
import { explainNodes } from '../../src/planning/explain/unremovable-nodes.ts';
import { observe, plan } from '../planning/scale-down/world.ts';
import { aCluster, aNode } from '../support/builders.ts';
import { NODE_GROUP, refusal, SUBSCRIPTION } from '../azure/scripted-arm.ts';
import { rig, USER_POOL, type Rig } from '../azure/rig.ts';
import { SMALL, stage, vmsPool, vmsWorld } from './vms-pools-support.ts';

async function started(...args: Parameters<typeof rig>): Promise<Rig> {
  const r = await rig(...args);
  r.arm.addSet(USER_POOL, 2);
  await r.azure.start(r.signal);
  return r;
}

function nodeOf(id: string) {
  const scope = `/subscriptions/${SUBSCRIPTION}/resourceGroups/${NODE_GROUP.toLowerCase()}/providers/Microsoft.Compute`;
  return aNode({ name: `n${id}`, providerId: `azure://${scope}/virtualMachineScaleSets/${USER_POOL}/virtualMachines/${id}` });
}

describe('a node and its group', () => {
  it('a node without a provider id is in no group, and that is no error', async () => {
    const r = await started();
    const view = r.view(aCluster({ nodes: [aNode({ name: 'bare', providerId: '' }), nodeOf('0')] }));
    expect([...view.groupOfNode.keys()]).toEqual(['n0']);
    expect([...view.instanceOfNode.keys()]).toEqual(['n0']);
  });

  it('a node without a provider id is named by what is said of each node, and is never a candidate', async () => {
    const r = await started();
    const nodes = [aNode({ name: 'bare', providerId: '' })];
    const { groups, groupOfNode, instanceOfNode } = r.view(aCluster({ nodes }));
    const world = { groups, nodes, cloud: { groupOfNode, instanceOfNode } };
    expect(explainNodes(plan(world), observe(world))).toMatchObject([{ node: 'bare', verdict: 'stays', reason: 'NotAutoscaled' }]);
  });

  it('a machine that no list shows is neither there nor gone: its node has a group and no machine', async () => {
    const r = await started();
    const view = r.view(aCluster({ nodes: [nodeOf('0'), nodeOf('9')] }));
    expect(view.groupOfNode.get('n9')).toBe(USER_POOL);
    expect(view.instanceOfNode.has('n0')).toBe(true);
    expect(view.instanceOfNode.has('n9')).toBe(false);
  });

  it('what is listed again with the same limits is the same group, and no news', async () => {
    const r = await started({
      nodeGroups: [],
      discovery: [{ selectors: [{ key: 'aks-managed-poolName', value: USER_POOL }], min: 1, max: 4 }],
    });
    const [first] = r.view().groups;
    await r.pass(130_000);
    const again = r.view();
    expect(r.arm.sent('GET', '/virtualmachinescalesets').length).toBeGreaterThan(2);
    expect(again.events).toEqual([]);
    expect(again.groups).toHaveLength(1);
    expect(again.groups[0]?.template).toBe(first?.template);
    expect(again.groups[0]).toMatchObject({ id: USER_POOL, minSize: 1, maxSize: 4 });
  });

  it('with a set and a VMs pool, each finds its own machines and limits', async () => {
    const sets = { name: 'sets', vmSize: SMALL, count: 1, min: 1, max: 3 };
    const s = await stage(vmsWorld([vmsPool({ count: 2, min: 1, max: 7 }), sets]));
    const machines = s.arm.machines.list();
    const cluster = aCluster({ nodes: machines.map(({ hostName, providerId }) => aNode({ name: hostName, providerId })) });
    const view = s.azure.observe(cluster, s.clock.now());
    expect(view.instanceOfNode.size).toBe(machines.length);
    for (const { hostName, pool } of machines) {
      const group = view.groups.find(({ id }) => id === view.groupOfNode.get(hostName));
      expect(group).toMatchObject(pool === 'sets' ? { kind: 'vmss-uniform', maxSize: 3 } : { kind: 'vms-pool', maxSize: 7 });
    }
  });
});

describe('sizes of agent pools that AKS has not listed', () => {
  const name = 'mixed/Standard_D4s_v5';
  it.each<[string, Partial<AzureOptions>, RegExp]>([
    ['it refuses to', { clusterName: 'aks', clusterResourceGroup: 'rg' }, /agentPools has never succeeded \(.*no rights/],
    ['it is not asked', {}, /CLUSTER_NAME/],
  ])('are frozen while %s, not treated as missing', async (_what, rest, reason) => {
    const r = await rig({ nodeGroups: [{ name, min: 0, max: 9 }], ...rest });
    r.arm.intercept = ({ path }) => (path.endsWith('/agentpools') ? refusal(403, 'AuthorizationFailed', 'no rights') : undefined);
    await r.azure.start(r.signal);
    expect(r.group(name)).toMatchObject({ target: { known: false }, frozen: expect.stringMatching(reason) });
    r.arm.intercept = ({ path }) => (path.endsWith('/agentpools') ? { body: { value: [{ name: 'system' }] } } : undefined);
    await r.pass(300_000);
    const told = rest.clusterName === undefined ? reason : /no agent pool of type VirtualMachines/;
    expect(r.group(name).frozen).toMatch(told);
  });
});

describe('a scale set that is gone', () => {
  it('takes its instances with it: its nodes have none any more', async () => {
    const r = await started();
    const cluster = aCluster({ nodes: [nodeOf('0')] });
    expect(r.view(cluster).instanceOfNode.get('n0')).toBeDefined();
    r.arm.sets.delete(USER_POOL);
    while (r.group(USER_POOL).frozen === undefined) await r.pass(1_000);
    expect(r.view(cluster).instanceOfNode.get('n0')).toBeUndefined();
    // No later list of theirs would end them.
    expect(await r.count('cache_rows', { table: 'instances' })).toBe(0);
  });
});
