import { describe, expect, it } from 'vitest';
import type { NodeGroup } from '../../../../src/domain/node-group.ts';
import { finishAtOnce } from '../../../../src/lib/slices.ts';
import { estimateRepacks } from '../../../../src/planning/scale-down/repack/repack-estimate.ts';
import { describeEstimate } from '../../../../src/planning/explain/repack-words.ts';
import { START_MS, aPod, podWith, resourceNames } from '../../../support/builders.ts';
import { aPolicy } from '../../../support/policy.ts';
import type { Policy } from '../../../../src/domain/policy.ts';
import { withOnDemandShares } from '../../../../src/planning/scale-up/pods/on-demand-shares.ts';
import { aState } from '../../../support/state.ts';
import { observe, type World } from '../world.ts';
import { found, searchIn, worldOf, type SmallCluster } from './repack-world.ts';

const SIZES = {
  big: { cpu: 80, price: 0.4 },
  small: { cpu: 20, price: 0.12 },
  spot: { cpu: 40, price: 0.06 },
  spotter: { cpu: 40, price: 0.03 },
};
const NONE = { big: 0, small: 0, spot: 0, spotter: 0 };

const changesIn = (cluster: SmallCluster) =>
  found(cluster, SIZES).sets.map(({ remove, add }) => ({
    remove: remove.map(({ node }) => node).sort(),
    add: add === undefined ? undefined : `${add.nodes} ${add.group}`,
  }));

describe('a set', () => {
  it.each([
    {
      name: 'removes several nodes whose pods fit on the others, however much of them is used',
      nodes: [
        { pool: 'big', pods: [10] },
        { pool: 'small', pods: [15] },
        { pool: 'small', pods: [15] },
      ],
      most: NONE,
      sets: [{ remove: ['small-0', 'small-1'], add: undefined }],
    },
    {
      name: 'replaces several nodes by one larger node that costs less',
      nodes: Array.from({ length: 4 }, () => ({ pool: 'small', pods: [19] })),
      most: { ...NONE, big: 1 },
      sets: [{ remove: ['small-0', 'small-1', 'small-2', 'small-3'], add: '1 big' }],
    },
    {
      name: 'replaces a large node by several small ones that cost less',
      nodes: [{ pool: 'big', pods: [18, 18] }],
      most: { ...NONE, small: 3 },
      sets: [{ remove: ['big-0'], add: '2 small' }],
    },
    {
      name: 'replaces a Spot node by a cheaper Spot node',
      nodes: [{ pool: 'spot', pods: [30] }],
      most: { ...NONE, spotter: 1 },
      sets: [{ remove: ['spot-0'], add: '1 spotter' }],
    },
    { name: 'is not found where it would cost more', nodes: [{ pool: 'small', pods: [19] }], most: { ...NONE, big: 1 }, sets: [] },
    {
      name: 'replaces no node by one of the same size and price',
      nodes: [{ pool: 'small', pods: [19] }],
      most: { ...NONE, small: 3 },
      sets: [],
    },
  ])('$name', ({ nodes, most, sets }) => {
    expect(changesIn({ nodes, most })).toEqual(sets);
  });
});

const changed = (world: World, change: (group: NodeGroup) => Partial<NodeGroup>): World => ({
  ...world,
  groups: world.groups.map((group) => ({ ...group, ...change(group) })),
});

describe('the limits of a search', () => {
  const four = worldOf({ nodes: Array.from({ length: 4 }, () => ({ pool: 'small', pods: [9] })), most: NONE }, SIZES);
  const removedIn = (world: World) => searchIn(world).sets.flatMap(({ remove }) => remove).length;

  it('are the minimum sizes of groups', () => {
    expect(removedIn(four)).toBe(2);
    expect(removedIn(changed(four, () => ({ minSize: 3 })))).toBe(1);
  });

  it('are the budgets that allow no disruption, and pods that may not move', () => {
    const kept = aPod({ name: 'alone', nodeName: 'small-3', cpu: '100m', memory: '1Mi', controller: undefined });
    const other = aPod({ name: 'other', nodeName: 'small-2', cpu: '100m', memory: '1Mi', safeToEvict: 'false' });
    const third = aPod({ name: 'third', nodeName: 'small-1', cpu: '100m', memory: '1Mi', safeToEvict: 'false' });
    const fourth = aPod({ name: 'fourth', nodeName: 'small-0', cpu: '100m', memory: '1Mi', safeToEvict: 'false' });
    expect(removedIn({ ...four, pods: [...(four.pods ?? []), kept, other, third, fourth] })).toBe(0);
  });

  it('are the spread of hosts that a workload demands', () => {
    const shape = {
      labels: { app: 'web' },
      podAntiAffinity: [
        {
          topologyKey: 'kubernetes.io/hostname',
          selector: { requirements: [{ key: 'app', operator: 'In' as const, values: ['web'] }] },
          namespaces: ['default'],
          namespaceSelector: undefined,
        },
      ],
    };
    const pods = four.nodes.map(({ name }) => aPod({ name: `web-${name}`, nodeName: name, cpu: '900m', memory: '1Mi', shape }));
    expect(removedIn({ ...four, pods })).toBe(0);
  });

  it('are that no group without a price of the user brings new nodes', () => {
    const world = worldOf({ nodes: Array.from({ length: 4 }, () => ({ pool: 'small', pods: [19] })), most: { ...NONE, big: 1 } }, SIZES);
    expect(removedIn(world)).toBe(4);
    expect(removedIn({ ...world, policy: aPolicy() })).toBe(0);
  });

  it('are that Azure chooses the zone of a new node', () => {
    const zone = 'topology.kubernetes.io/zone';
    const shape = { nodeSelector: { [zone]: 'r-1' } };
    const world = worldOf({ nodes: Array.from({ length: 4 }, () => ({ pool: 'small', pods: [] })), most: { ...NONE, big: 1 } }, SIZES);
    const pinned: World = {
      ...world,
      nodes: world.nodes.map((node) => ({ ...node, labels: { ...node.labels, [zone]: 'r-1' } })),
      pods: world.nodes.map(({ name }) => aPod({ name: `pinned-${name}`, nodeName: name, cpu: '1900m', memory: '1Mi', shape })),
    };
    const withZones = (zones: readonly string[]): World =>
      changed(pinned, ({ template }) => (template === undefined ? {} : { template: { ...template, zones } }));
    expect(removedIn(withZones(['r-1']))).toBe(4);
    expect(removedIn(withZones(['r-1', 'r-2']))).toBe(0);
  });

  it('are that no group that is frozen brings new nodes', () => {
    const world = worldOf({ nodes: Array.from({ length: 4 }, () => ({ pool: 'small', pods: [19] })), most: { ...NONE, big: 1 } }, SIZES);
    const blocks = {
      change: undefined,
      increase: { code: 'own-operation' as const },
      removal: undefined,
      choice: undefined,
      deletion: undefined,
    };
    expect(removedIn(changed(world, ({ id }) => (id === 'big' ? { blocks } : {})))).toBe(0);
  });
});

describe('what it would save', () => {
  const estimateOf = (world: World) => {
    const observation = observe(world);
    return finishAtOnce(estimateRepacks({ observation, state: aState(), policy: world.policy ?? aPolicy(), names: resourceNames }));
  };

  it('counts nodes, money, and what blocks the others', () => {
    const world = worldOf({ nodes: Array.from({ length: 4 }, () => ({ pool: 'small', pods: [9] })), most: NONE }, SIZES);
    const alone = aPod({ name: 'alone', nodeName: 'small-3', cpu: '100m', memory: '1Mi', controller: undefined });
    const estimate = estimateOf({ ...world, pods: [...(world.pods ?? []), alone] });
    expect(estimate).toMatchObject({
      atMs: START_MS,
      nodes: 4,
      needed: 2,
      saved: { nodes: 2, cpuMillis: 4_000, perHour: 0.24 },
      cutShort: false,
    });
    expect(estimate.blockers).toMatchObject([{ reason: 'BlockedByPod', blocker: 'NotReplicated', nodes: 1, unused: { cpuMillis: 1_000 } }]);
    expect(describeEstimate(estimate, 'EUR')).toBe('4 nodes, 2 would do: 40 EUR a week less');
  });

  it('counts CPU where prices are not known', () => {
    const world = worldOf({ nodes: Array.from({ length: 4 }, () => ({ pool: 'small', pods: [9] })), most: NONE }, SIZES);
    expect(describeEstimate(estimateOf({ ...world, policy: aPolicy() }))).toBe('4 nodes, 2 would do: 2 nodes and 4 CPU less');
  });
});

describe('the order of the user', () => {
  const ORDER = [
    { priority: 50, patterns: ['spot'] },
    { priority: 10, patterns: ['.*'] },
  ];
  const inOrder = (cluster: SmallCluster, scaleUp: Partial<Policy['scaleUp']> = {}, state: World['state'] = {}): readonly string[] => {
    const world = worldOf(cluster, SIZES);
    const policy = aPolicy({ scaleUp: { expanders: ['priority'], priorities: ORDER, ...scaleUp } });
    return searchIn({ ...world, policy, state }).sets.map(
      ({ remove, add }) => `${remove.map(({ node }) => node).join(' ')} -> ${add === undefined ? 'others' : `${add.nodes} ${add.group}`}`,
    );
  };
  const regular: SmallCluster = {
    nodes: [
      { pool: 'small', pods: [18] },
      { pool: 'small', pods: [18] },
    ],
    most: { ...NONE, spot: 3 },
  };
  const stockout = (untilMs: number) => ({
    stockouts: [
      { scope: { vmSize: 'Standard_spot', priority: 'Spot' as const }, code: 'AllocationFailed', sinceMs: START_MS - 600_000, untilMs },
    ],
  });

  it('brings pods back to the group that comes first, without any price', () => {
    expect(inOrder(regular)).toEqual(['small-0 small-1 -> 1 spot']);
  });

  it.each([
    { name: 'no expander follows the order', scaleUp: { expanders: ['least-waste'] as const } },
    { name: 'the order puts the groups on one level', scaleUp: { priorities: [{ priority: 10, patterns: ['.*'] }] } },
    { name: 'the group is out of stock', state: stockout(START_MS + 1) },
  ])('moves nothing if $name', ({ scaleUp, state }) => {
    expect(inOrder(regular, scaleUp, state)).toEqual([]);
  });

  it('sends one node ahead while a stockout may be over', () => {
    const many = { nodes: Array.from({ length: 4 }, () => ({ pool: 'small', pods: [18] })), most: { ...NONE, spot: 3 } };
    const added = (sets: readonly string[]): number => sets.reduce((sum, set) => sum + Number(/-> (\d+)/.exec(set)?.[1] ?? 0), 0);
    expect(added(inOrder(many))).toBe(2);
    expect(inOrder(many, {}, stockout(START_MS - 1))).toEqual(['small-0 small-1 -> 1 spot']);
  });

  it('keeps pods from groups that come later, though these cost less', () => {
    const prices = { standard_small: 0.12, 'standard_spot/spot': 0.5 };
    const spot: SmallCluster = { nodes: [{ pool: 'spot', pods: [15] }], most: { ...NONE, small: 3 } };
    expect(inOrder(spot, { expanders: ['priority', 'price'], prices })).toEqual([]);
    expect(inOrder(spot, { expanders: ['price', 'priority'], prices })).toEqual(['spot-0 -> 1 small']);
  });

  it('leaves the share of a workload on regular nodes', () => {
    const world = worldOf(regular, SIZES);
    const policy = aPolicy({ scaleUp: { expanders: ['priority'], priorities: ORDER } });
    const spotLabel = { 'kubernetes.azure.com/scalesetpriority': 'spot' };
    const groups = world.groups.map((group) =>
      group.id === 'spot' && group.template !== undefined
        ? { ...group, template: { ...group.template, labels: { ...group.template.labels, ...spotLabel } } }
        : group,
    );
    const withShare = (percent: number) => (world.pods ?? []).map((pod) => podWith(pod, { minOnDemand: { percent, text: `${percent}%` } }));
    const sets = (percent: number) =>
      searchIn({ ...world, groups, policy, pods: withShare(percent) }, withOnDemandShares).sets.map(({ remove }) => remove.length);
    expect([sets(0), sets(50), sets(100)]).toEqual([[2], [1], []]);
  });
});
