/** Agent pools of type VirtualMachines: each size is a group, and which of them may be changed. */
import { describe, expect, it } from 'vitest';
import type { PoolSpec } from '../../world/simulator/base/world-spec.ts';
import { aCluster, aNode } from '../support/builders.ts';
import { LARGE, LARGE_GROUP, SMALL, SMALL_GROUP, stage, TWO_SIZES, vmsPool, vmsWorld, type Stage } from './vms-pools-support.ts';

const SCALE_SET_POOL: PoolSpec = { name: 'sets', vmSize: SMALL, count: 1, min: 1, max: 3 };

function ids(s: Stage): readonly string[] {
  return s.groups().map(({ id }) => id.replace(/^aks-(\w+)-\d+-vmss$/, '$1'));
}

describe('sizes of VMs pools as node groups', () => {
  it('of a scale-set pool, a VMs pool and an empty one, each size of the VMs pools is a group', async () => {
    const pools = [SCALE_SET_POOL, vmsPool(TWO_SIZES), vmsPool({ name: 'idle', count: 0, min: 0 })];
    const s = await stage(vmsWorld(pools));
    expect(ids(s)).toEqual(['sets', `idle/${SMALL}`, SMALL_GROUP, LARGE_GROUP]);
    const shown = [SMALL_GROUP, LARGE_GROUP, `idle/${SMALL}`].map((id) => s.group(id));
    expect(shown).toMatchObject([
      { kind: 'vms-pool', minSize: 1, maxSize: 10, vmSize: SMALL, target: { known: true, value: 2, confirmed: true } },
      { kind: 'vms-pool', vmSize: LARGE, target: { value: 1 } },
      { kind: 'vms-pool', minSize: 0, target: { value: 0 } },
    ]);
    expect(shown.map(({ frozen }) => frozen)).toEqual([undefined, undefined, undefined]);
    expect(shown.map(({ instances }) => instances?.length)).toEqual([2, 1, 0]);
  });

  it('share what AKS allows their pool: 1,000 nodes', async () => {
    const nodeGroups = [
      { name: SMALL_GROUP, min: 0, max: 2_000 },
      { name: LARGE_GROUP, min: 0, max: 999 },
    ];
    const s = await stage(vmsWorld([vmsPool(TWO_SIZES)]), { nodeGroups, discovery: [] });
    expect(s.group(SMALL_GROUP)).toMatchObject({ target: { value: 2 }, maxSize: 999, poolLimit: 1_000, configuredMax: 2_000 });
    expect(s.group(LARGE_GROUP).configuredMax).toBeUndefined();
    expect(s.group(LARGE_GROUP)).toMatchObject({
      target: { value: 1 },
      maxSize: 998,
      poolLimit: 1_000,
      sharedPool: { limit: 1_000, room: 997 },
    });
  });

  it('is named by hand in any letter case, also while the pool lacks the size or does not exist', async () => {
    const nodeGroups = [
      { name: 'MIXED/standard_d4S_v5', min: 0, max: 4 },
      { name: `mixed/${LARGE.toUpperCase()}`, min: 0, max: 2 },
      { name: `later/${SMALL}`, min: 0, max: 2 },
    ];
    const s = await stage(vmsWorld([vmsPool()]), { nodeGroups, discovery: [] });
    expect(s.group('MIXED/standard_d4S_v5')).toMatchObject({ maxSize: 4, vmSize: SMALL, target: { value: 3 }, frozen: undefined });
    const large = s.group(`mixed/${LARGE.toUpperCase()}`);
    // Its nodes will have the spelling of Azure, and so has what is written.
    expect(large.template?.labels['node.kubernetes.io/instance-type']).toBe(LARGE);
    expect(large).toMatchObject({ maxSize: 2, vmSize: LARGE, target: { value: 0 }, frozen: undefined });
    expect(s.group(`later/${SMALL}`)).toMatchObject({ target: { known: false }, frozen: expect.stringContaining('no agent pool') });
    s.arm.control.raise({ addPool: vmsPool({ name: 'later', count: 1 }) });
    await s.pass(6 * 60_000);
    expect(s.group(`later/${SMALL}`)).toMatchObject({ target: { value: 1 }, frozen: undefined });
    expect(await s.increase(large.id, 1)).toMatchObject({ kind: 'accepted', target: 1 });
    expect(s.counts()).toEqual({ [SMALL]: 3, [LARGE]: 1 });
  });

  it('a machine on its way out is shown as such, the others as running', async () => {
    const s = await stage(vmsWorld([vmsPool()]));
    expect(await s.remove(SMALL_GROUP, [1])).toMatchObject({ kind: 'accepted' });
    expect(s.group(SMALL_GROUP).instances?.map(({ state }) => state)).toEqual(['running', 'deleting', 'running']);
    await s.azure.refresh(s.group(SMALL_GROUP).id, s.signal);
    expect(s.group(SMALL_GROUP).instances?.map(({ state }) => state)).toEqual(['running', 'deleting', 'running']);
  });

  it('the template says nothing of a machine that its own node would deny, and knows maximum pods, labels and taints', async () => {
    const s = await stage(vmsWorld([vmsPool({ labels: { team: 'a' }, taints: ['team=a:NoSchedule'], zones: ['2'] })]));
    const [machine] = s.arm.machines.list();
    const { template } = s.group(SMALL_GROUP);
    // The disk driver adds its own label once it has registered.
    const labels: Readonly<Record<string, string>> = { ...machine?.labels, 'topology.disk.csi.azure.com/zone': 'westeurope-2' };
    const wrong = Object.entries(template?.labels ?? {}).filter(([key, value]) => labels[key] !== value);
    expect(wrong).toEqual([]);
    expect(template).toMatchObject({
      source: 'cloud',
      zones: ['westeurope-2'],
      labels: { team: 'a', agentpool: 'mixed', 'node.kubernetes.io/instance-type': SMALL, 'topology.kubernetes.io/zone': 'westeurope-2' },
      taints: [{ key: 'team', value: 'a', effect: 'NoSchedule' }],
    });
    expect(template?.allocatable[3]).toBe(110);
  });

  it('a node of a pool belongs to the group of its size, whatever the case of its provider id', async () => {
    const s = await stage(vmsWorld([vmsPool(TWO_SIZES)]));
    const large = s.arm.machines.list().find(({ vmSize }) => vmSize === LARGE);
    const node = aNode({ name: 'n', providerId: (large?.providerId ?? '').replace('resourceGroups/mc_', 'resourcegroups/MC_') });
    const view = s.azure.observe(aCluster({ nodes: [node] }), s.clock.now());
    expect(view.groupOfNode.get('n')).toBe(LARGE_GROUP);
  });
});

const POOL_PROPERTIES = {
  type: 'VirtualMachines',
  eTag: 'some',
  mode: 'User',
  provisioningState: 'Succeeded',
  powerState: { code: 'Running' },
  virtualMachinesProfile: { scale: { manual: [{ size: SMALL, count: 3 }] } },
};

describe('pools that are not managed', () => {
  const FIELDS: readonly (readonly [string, Readonly<Record<string, unknown>>, RegExp])[] = [
    ['AKS scales it', { enableAutoScaling: true }, /runs its own autoscaler/],
    [
      'AKS scales its sizes',
      { virtualMachinesProfile: { scale: { autoscale: [{ size: SMALL, minCount: 1, maxCount: 3 }] } } },
      /runs its own autoscaler/,
    ],
    ['it is being upgraded', { provisioningState: 'UpgradingNodeImageVersion' }, /state UpgradingNodeImageVersion/],
    ['it is stopped', { powerState: { code: 'Stopped' } }, /stopped/],
    ['AKS hosts it', { mode: 'HostedSystem' }, /hosted/],
  ];

  it.each(FIELDS)('because %s, with the reason, in both directions', async (_name, fields, reason) => {
    const nodeGroups = [{ name: SMALL_GROUP, min: 0, max: 10 }];
    const s = await stage(vmsWorld([vmsPool()]), { nodeGroups, discovery: [] });
    const pool = { name: 'mixed', properties: { ...POOL_PROPERTIES, ...fields } };
    s.arm.control.addFault({
      id: 'one',
      match: { method: 'GET', pathGlob: '**/agentPools/mixed' },
      effect: { kind: 'answer', status: 200, body: pool },
    });
    s.arm.control.addFault({
      id: 'all',
      match: { method: 'GET', pathGlob: '**/agentPools' },
      effect: { kind: 'answer', status: 200, body: { value: [pool] } },
    });
    const before = await s.increase(SMALL_GROUP, 1);
    expect(before.kind === 'refused' || before.kind === 'conflict').toBe(true);
    expect(s.group(SMALL_GROUP).frozen).toMatch(reason);
    expect(await s.remove(SMALL_GROUP, [0])).toMatchObject({ kind: 'refused', reason: expect.stringMatching(reason) });
    expect(s.writes()).toEqual([]);
  });
});
