/** Every fix that is advised works: the changes are made by hand, without the code that simulated them, and the plan is made again. */
import { array, assert, boolean, constantFrom, integer, property, record, type Arbitrary } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CapacityObjects, NO_CAPACITY_OBJECTS } from '../../../../src/domain/capacity-objects.ts';
import type { NodeGroup } from '../../../../src/domain/node-group.ts';
import type { ScaleUpPlan } from '../../../../src/domain/plan.ts';
import type { Pod, PodShape } from '../../../../src/domain/pod.ts';
import { adviseClass, helplessClasses } from '../../../../src/planning/explain/advice/advice.ts';
import type { ClaimBlocker } from '../../../../src/domain/volumes.ts';
import type { Advice } from '../../../../src/planning/explain/advice/fix.ts';
import type { Change } from '../../../../src/planning/explain/changes/change-kinds.ts';
import { planScaleUp } from '../../../../src/planning/scale-up/plan.ts';
import { aGroup, aNode, aPod, aQuota, aShape, aTemplate, resourceNames } from '../../../support/builders.ts';
import { aDevicePool, claiming } from '../../../support/devices.ts';
import { inputFor, type World } from '../../scale-up/world.ts';

const TAINTS = ['a', 'b'].map((key) => ({ key, value: 'x', effect: 'NoSchedule' as const }));
const MISSING_CLAIM: ClaimBlocker = {
  message: 'resourceclaim "gpu" not found',
  detail: 'claim gpu',
  repair: { kind: 'create', object: 'ResourceClaim', name: 'gpu' },
};
const ZONE = 'topology.kubernetes.io/zone';

const groups: Arbitrary<readonly NodeGroup[]> = array(
  record({
    cpu: constantFrom('2', '4', '8'),
    memory: constantFrom('4Gi', '16Gi'),
    team: constantFrom('red', 'blue', undefined),
    taints: array(constantFrom(...TAINTS), { maxLength: 2 }),
    size: integer({ min: 0, max: 3 }),
    room: integer({ min: 0, max: 2 }),
    zones: constantFrom<readonly string[]>([], ['we-1'], ['we-1', 'we-2']),
    frozen: constantFrom(undefined, undefined, undefined, 'upgrading'),
    draws: boolean(),
  }),
  { minLength: 1, maxLength: 4 },
).map((specs) =>
  specs.map(({ size, room, frozen, draws, team, zones, ...node }, at) => {
    const labels = { agentpool: `g${at}`, ...(team === undefined ? {} : { team }) };
    const template = {
      ...aTemplate({ ...node, labels, zones }),
      ...(draws ? { draws: [{ quota: 'cores', cores: Number(node.cpu) }] } : {}),
    };
    return aGroup({ id: `g${at}`, target: size, maxSize: size + room, frozen, template, zones, instances: [] });
  }),
);

const shapes: Arbitrary<PodShape> = record({
  cpu: constantFrom('500m', '3', '6', '40'),
  memory: constantFrom('128Mi', '10Gi'),
  team: constantFrom('red', 'green', undefined),
  pool: constantFrom('g0', 'g9', undefined, undefined),
  zone: constantFrom('we-2', 'we-3', undefined, undefined),
  tolerated: array(constantFrom(...TAINTS), { maxLength: 1 }),
  gpu: boolean(),
}).map(({ team, pool, zone, tolerated, gpu, ...requests }) =>
  aShape({
    ...requests,
    resources: gpu ? { 'nvidia.com/gpu': '1' } : {},
    nodeSelector: Object.fromEntries(
      [
        ['team', team],
        ['agentpool', pool],
        [ZONE, zone],
      ].filter((entry): entry is [string, string] => entry[1] !== undefined),
    ),
    tolerations: tolerated.map((taint) => ({ ...taint, operator: 'Equal' as const })),
  }),
);

const worlds: Arbitrary<World> = record({
  groups,
  owners: array(record({ shape: shapes, pods: integer({ min: 1, max: 3 }) }), { minLength: 1, maxLength: 3 }),
  quota: constantFrom(0, 8, 1000),
  maxNodesTotal: constantFrom(0, 0, 2),
  limited: constantFrom(undefined, undefined, 4),
}).map(({ groups: pools, owners, quota, maxNodesTotal, limited }) => ({
  groups: pools,
  pods: owners.flatMap(({ shape, pods }, owner) => Array.from({ length: pods }, (_, at) => aPod({ name: `p-${owner}-${at}`, shape }))),
  policy: { maxNodesTotal },
  cloud: { quotas: [{ name: 'cores', title: 'region', used: 0, limit: quota }] },
  ...(limited === undefined ? {} : { capacity: teamQuota(limited), capacityPolicy: { quotas: true } }),
}));

function teamQuota(cpu: number): CapacityObjects {
  return { ...NO_CAPACITY_OBJECTS, quotas: [aQuota('team', { cpu })] };
}

describe('a fix that is advised', () => {
  it('places as many pods as it says, once its changes are made', () => {
    let fixes = 0;
    assert(
      property(worlds, (world) => {
        const input = inputFor(world);
        const plan = planScaleUp(input);
        for (const helpless of helplessClasses(plan)) {
          const { fix } = adviseClass({ input, plan }, helpless);
          if (fix === undefined) continue;
          fixes += 1;
          const uids = new Set(helpless.pods.map(({ uid }) => uid));
          const after = planScaleUp(inputFor(changedByHand(world, uids, fix.changes)));
          expect({ fix: fix.text, pods: helpedOf(after, uids) }).toEqual({ fix: fix.text, pods: fix.proof.pods });
          expect(fix.proof.pods).toBeGreaterThan(0);
          expect(fix.proof.of).toBe(uids.size);
        }
      }),
      { seed: 15, numRuns: 120 },
    );
    expect(fixes).toBeGreaterThan(40);
  });

  it('raises a maximum no further than it must', () => {
    let checked = 0;
    const full = record({ cpu: constantFrom('2', '4', '8'), pods: integer({ min: 2, max: 9 }), others: integer({ min: 0, max: 3 }) }).map(
      ({ cpu, pods, others }): World => ({
        groups: ['a', 'b'].map((id) => aGroup({ id, target: 1, maxSize: 1, instances: [], template: aTemplate({ cpu }) })),
        pods: [...Array.from({ length: pods }, () => aPod({ cpu: '1500m' })), ...Array.from({ length: others }, () => aPod({ cpu: '1' }))],
      }),
    );
    assert(
      property(full, (world) => {
        const input = inputFor(world);
        const plan = planScaleUp(input);
        for (const helpless of helplessClasses(plan)) {
          const { fix } = adviseClass({ input, plan }, helpless);
          const [change] = fix?.changes ?? [];
          if (fix === undefined || fix.changes.length > 1 || change?.kind !== 'raise-maximum' || change.to === change.from + 1) continue;
          checked += 1;
          const uids = new Set(helpless.pods.map(({ uid }) => uid));
          const less = planScaleUp(inputFor(changedByHand(world, uids, [{ ...change, to: change.to - 1 }])));
          expect(helpedOf(less, uids)).toBeLessThan(fix.proof.pods);
        }
      }),
      { seed: 16, numRuns: 50 },
    );
    expect(checked).toBeGreaterThan(20);
  });
});

function helpedOf({ verdicts }: ScaleUpPlan, uids: ReadonlySet<string>): number {
  return [...verdicts].filter(([pod, { kind }]) => uids.has(pod.uid) && (kind === 'triggered' || kind.startsWith('fits-'))).length;
}

function changedByHand(world: World, uids: ReadonlySet<string>, changes: readonly Change[]): World {
  return changes.reduce((before, change) => changeWorld(before, uids, change), world);
}

function changeWorld(world: World, uids: ReadonlySet<string>, change: Change): World {
  const group = (id: string, edit: (one: NodeGroup) => NodeGroup): World => ({
    ...world,
    groups: world.groups.map((one) => (one.id === id ? edit(one) : one)),
  });
  const shape = (edit: (one: PodShape) => Partial<PodShape>): World => ({
    ...world,
    pods: (world.pods ?? []).map((pod: Pod) => {
      const next = { ...pod.shape, ...edit(pod.shape) };
      return uids.has(pod.uid) ? { ...pod, shape: { ...next, key: `${pod.shape.key} ${JSON.stringify(change)}` } } : pod;
    }),
  });
  switch (change.kind) {
    case 'raise-maximum':
      return group(change.group, (one) => ({ ...one, maxSize: change.to }));
    case 'raise-cluster-limit':
      return { ...world, policy: { ...world.policy, maxNodesTotal: change.to } };
    case 'raise-azure-quota':
      return { ...world, cloud: { quotas: [{ name: 'cores', title: 'region', used: 0, limit: change.to }] } };
    case 'raise-capacity-quota':
      return { ...world, capacity: teamQuota(change.to) };
    case 'tolerate':
      return shape(({ tolerations }) => ({ tolerations: [...tolerations, { ...change.taint, operator: 'Equal' }] }));
    case 'label-pool':
      return group(change.group, (one) => ({
        ...one,
        template: { ...one.template!, labels: { ...one.template!.labels, [change.key]: change.value } },
      }));
    case 'lower-request':
      return shape(({ requests }) => ({
        requests: resourceNames.fromRecord({ ...resourceNames.toRecord(requests), [change.resource]: change.to }),
      }));
    case 'drop-label-rule':
      return shape(({ nodeSelector }) => ({
        nodeSelector: Object.fromEntries(Object.entries(nodeSelector).filter(([key]) => key !== change.key)),
      }));
    case 'add-pool': {
      const like = world.groups.find(({ id }) => id === change.like)!;
      const offered = { ...resourceNames.toRecord(like.template!.allocatable) };
      for (const [resource, amount] of Object.entries(change.offers)) offered[resource] = Math.max(offered[resource] ?? 0, amount);
      const resources = resourceNames.fromRecord(offered);
      const template = { ...like.template!, draws: [] };
      const labels = { ...template.labels, agentpool: 'brand-new' };
      const zones = change.zone === undefined ? template.zones : [change.zone];
      const added = aGroup({
        id: `new pool like ${like.id}`,
        target: 0,
        maxSize: 9,
        template: { ...template, labels, zones, allocatable: resources, capacity: resources },
      });
      return { ...world, groups: [...world.groups, added] };
    }
    default:
      throw new Error(`no world makes ${change.kind} necessary`);
  }
}

/** Rows that the random worlds above do not reach, or that must not change. */
describe('what is advised', () => {
  const adviceFor = (world: World, pod?: string): Advice => {
    const input = inputFor(world);
    const plan = planScaleUp(input);
    const first = helplessClasses(plan).find(({ pods }) => pod === undefined || pods.some(({ name }) => name === pod));
    if (first === undefined) throw new Error('every pod is helped');
    return adviseClass({ input, plan }, first);
  };
  const small = (part: Parameters<typeof aGroup>[0] = {}) => aGroup({ id: 'small', target: 0, template: aTemplate({ cpu: '8' }), ...part });

  const besideAHermit: World = {
    groups: [small({ zones: ['we-1'], template: aTemplate({ labels: { [ZONE]: 'we-1' }, zones: ['we-1'] }) })],
    nodes: [aNode({ name: 'n', cpu: '1', labels: { [ZONE]: 'we-1' } })],
    pods: [
      aPod({ name: 'web', shape: { cpu: '2', labels: { app: 'web' } } }),
      aPod({
        name: 'hermit',
        nodeName: 'n',
        controller: { kind: 'StatefulSet', name: 'hermit', uid: 'h' },
        shape: {
          podAntiAffinity: [
            {
              topologyKey: ZONE,
              selector: { requirements: [{ key: 'app', operator: 'In', values: ['web'] }] },
              namespaces: [],
              namespaceSelector: undefined,
            },
          ],
        },
      }),
    ],
  };

  it('is no toleration for a node that is too small anyway', () => {
    const template = aTemplate({ cpu: '8', taints: TAINTS.slice(0, 1) });
    const { fix } = adviceFor({ groups: [small({ template })], pods: [aPod({ cpu: '40' })] });
    expect(fix?.text).toBe('add a pool like small whose nodes have at least 40 CPU allocatable, and tolerate the taint a=x:NoSchedule');
  });

  it('is not the taint of another pool than the one that the pod selects', () => {
    const pool = (id: string, rest: Parameters<typeof aTemplate>[0]) =>
      aGroup({ id, target: 1, maxSize: id === 'own' ? 1 : 5, instances: [], template: aTemplate({ labels: { agentpool: id }, ...rest }) });
    const pods = [aPod({ shape: { cpu: '1', nodeSelector: { agentpool: 'own' } } })];
    const { fix } = adviceFor({ groups: [pool('other', { taints: TAINTS }), pool('own', {})], pods });
    expect(fix?.text).toBe('raise the maximum of own from 1 to 2');
  });

  it('is a combination where one change is not enough: a maximum, and then the quota that it meets', () => {
    const template = { ...aTemplate({ cpu: '4' }), draws: [{ quota: 'cores', cores: 4 }] };
    const world: World = {
      groups: [small({ maxSize: 0, template })],
      pods: [aPod({ name: 'a', cpu: '3' }), aPod({ name: 'b', cpu: '3' })],
      cloud: { quotas: [{ name: 'cores', title: 'family X', used: 6, limit: 10 }] },
    };
    const { fix } = adviceFor(world);
    expect(fix).toMatchObject({
      text: 'raise the maximum of small from 0 to 2, and request an Azure quota of 14 cores for family X, which has 10',
      proof: { pods: 2, of: 2, nodes: 2 },
    });
  });

  it('is a pool like the one that lacks least, and says who else gets its nodes', () => {
    const large = aGroup({ id: 'very-large', target: 0, template: aTemplate({ cpu: '32', memory: '64Gi' }) });
    const { fix } = adviceFor({ groups: [small(), large], pods: [aPod({ cpu: '64' })] });
    expect(fix).toMatchObject({
      text: 'add a pool like very-large whose nodes have at least 64 CPU allocatable',
      proof: { pods: 1, of: 1, others: 0 },
    });
    const full = { groups: [small({ maxSize: 0 })], pods: [aPod({ name: 'a', cpu: '6' }), aPod({ name: 'b', cpu: '7' })] };
    expect(adviceFor(full, 'a').fix).toMatchObject({
      text: 'raise the maximum of small from 0 to 2',
      proof: { pods: 1, of: 1, others: 1, nodes: 2 },
    });
  });

  it('is another pool, not a maximum, where the platform allows no more nodes in this one', () => {
    const { fix } = adviceFor({ groups: [small({ target: 2, maxSize: 2, poolLimit: 1000, instances: [] })], pods: [aPod()] });
    expect(fix?.text).toBe('add a pool like small');
  });

  it('is to wait for the pool that only needs time, and no detour', () => {
    const wide = aGroup({ id: 'wide', target: 0, template: aTemplate({ taints: TAINTS }) });
    const { fix, wait } = adviceFor({ groups: [small({ frozen: 'upgrading' }), wide], pods: [aPod()] });
    expect([fix, wait]).toEqual([undefined, { group: 'small' }]);
  });

  it('is nothing where no change is known to help, with the nearest pool', () => {
    const unsupported = [{ feature: 'x', detail: 'y' }];
    expect(adviceFor({ groups: [small()], pods: [aPod({ shape: { unsupported } })] })).toEqual({ nearest: 'small', tried: 0 });
  });

  const whole = (maxSize: number, part: Parameters<typeof aGroup>[0] = {}) =>
    aGroup({ id: 'whole', target: 0, maxSize, instances: [], options: { zeroOrMax: true }, template: aTemplate({ cpu: '4' }), ...part });

  it.each<[string, World, string]>([
    [
      'a limit of the cluster that an atomic group as a whole exceeds',
      { groups: [whole(4)], pods: [aPod()], policy: { maxNodesTotal: 3 } },
      'raise scaleUp.maxNodesTotal from 3 to 4',
    ],
    [
      'the number of nodes per scale-up, where an atomic group needs more',
      { groups: [whole(4)], pods: [aPod()], policy: { maxNodesPerScaleUp: 3 } },
      'raise scaleUp.maxNodesPerScaleUp from 3 to 4',
    ],
    [
      'the quota of Azure that an atomic group as a whole exceeds',
      {
        groups: [whole(4, { template: { ...aTemplate({ cpu: '4' }), draws: [{ quota: 'cores', cores: 4 }] } })],
        pods: [aPod()],
        cloud: { quotas: [{ name: 'cores', title: 'family X', used: 2, limit: 12 }] },
      },
      'request an Azure quota of 20 cores for family X, which has 12',
    ],
    [
      'the rule of running pods that keep it away, which is not its own',
      besideAHermit,
      `make the anti-affinity rule for ${ZONE} of StatefulSet default/hermit preferred instead of required`,
    ],
    [
      'a first node, where only a node shows what its kubelet declares',
      { groups: [small()], pods: [aPod({ shape: { nodeFeatures: ['Resize'] } })] },
      'start one node of small, if its kubelets declare Resize',
    ],
    [
      'fewer devices, where no node has as many',
      {
        groups: [small({ template: { ...aTemplate({ cpu: '8' }), devicePools: [aDevicePool('template', 4)], source: 'live-node' } })],
        pods: [aPod({ shape: claiming(5) })],
      },
      'claim 4 devices instead of 5',
    ],
    [
      'the claim that is missing',
      {
        groups: [small()],
        pods: [
          aPod({
            shape: { devices: { claims: [], pins: [], blockers: [MISSING_CLAIM] } },
          }),
        ],
      },
      'create ResourceClaim gpu (claim gpu)',
    ],
  ])('is %s', (_what, world, text) => {
    expect(adviceFor(world).fix?.text).toBe(text);
  });

  it('says where the rule of running pods is that keeps the pod away, and what its end means', () => {
    expect(adviceFor(besideAHermit).fix?.steps).toEqual([
      {
        where: 'podAntiAffinity in the pod template of StatefulSet default/hermit',
        warning: 'the pods may run side by side from then on, and fail together',
      },
    ]);
  });
});
