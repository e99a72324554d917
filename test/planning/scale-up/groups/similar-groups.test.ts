import { describe, expect, it } from 'vitest';
import { nodeGroupId } from '../../../../src/domain/ids.ts';
import { MEMORY, type Resources } from '../../../../src/domain/resources.ts';
import { shareEvenly, areSimilar, similarityRulesOf } from '../../../../src/planning/scale-up/groups/similar-groups.ts';
import { zonalFamilies } from '../../../../src/planning/scale-up/groups/zonal-siblings.ts';
import { makeTemplate } from '../../../../src/planning/scale-up/groups/template-node.ts';
import { aGroup, aPod, aTemplate, START_MS } from '../../../support/builders.ts';
import { aPolicy } from '../../../support/policy.ts';
import { growth, planFor, type World } from '../world.ts';
import type { NodeTemplate } from '../../../../src/domain/node-template.ts';
import { aBackoff } from '../../../support/state.ts';

const ZONE = 'topology.kubernetes.io/zone';
const pods = (count: number, shape = {}) =>
  Array.from({ length: count }, (_, at) =>
    aPod({ name: `p-${at}`, cpu: '3', memory: '1Gi', shape: { cpu: '3', memory: '1Gi', ...shape } }),
  );
const group = (id: string, target: number, part: Parameters<typeof aGroup>[0] = {}) => aGroup({ id, target, maxSize: 10, ...part });
const zonal = (id: string, zone: string, part: Parameters<typeof aGroup>[0] = {}) =>
  group(id, 0, { template: aTemplate({ zones: [zone], labels: { [ZONE]: zone, agentpool: id } }), ...part });
const balanced = (world: World) => growth(planFor({ ...world, policy: { balanceSimilarGroups: true, ...world.policy } }));
type PolicyPart = NonNullable<World['policy']>;

const USUAL = { memory: 0.015, allocatable: 0.05, free: 0.05 };
const RULES = { ignoredLabels: [], labels: [], ratios: USUAL };

describe('levelling out', () => {
  it.each([
    ['BL01', [1, 3], [9, 9], 4, [4, 4]],
    ['one is full', [1, 5, 2], [9, 5, 9], 3, [3, 5, 3]],
    ['one group only', [1], [9], 4, [5]],
    ['all are full before it is done', [1, 1], [2, 2], 9, [2, 2]],
    ['nothing to add', [1, 2], [9, 9], 0, [1, 2]],
  ])('%s', (_, sizes, maxima, nodes, expected) => {
    const groups = sizes.map((size, at) => ({ id: nodeGroupId(`g-${at}`), size, maxSize: maxima[at] ?? 0 }));
    const added = shareEvenly(groups, nodes);
    expect(groups.map(({ id, size }) => size + (added.get(id) ?? 0))).toEqual(expected);
  });
});

describe('similar groups', () => {
  const template = (part: Parameters<typeof aTemplate>[0]): NodeTemplate => aTemplate(part);
  const plain = template({});
  it.each<[string, NodeTemplate, boolean, (readonly string[])?]>([
    ['labels that differ only in zone and agent pool', template({ labels: { [ZONE]: 'we-2', agentpool: 'b' } }), true],
    ['the same agent pool, another size', template({ cpu: '8', labels: { agentpool: 'a' } }), false],
    ['memory 1 % less', template({ memory: `${16 * 0.99}Gi` }), true],
    ['memory 2 % less', template({ memory: `${16 * 0.98}Gi` }), false],
    ['an extra resource on one side', template({ resources: { 'nvidia.com/gpu': '1' } }), false],
    ['another label', template({ labels: { team: 'b' } }), false],
    ['another label that is ignored', template({ labels: { team: 'b' } }), true, ['team']],
  ])('%s', (_, other, similar, ignored = []) => {
    const made = (id: string, given: NodeTemplate) => makeTemplate(aGroup({ id, template: given }), given, { daemonSets: [] }, new Set());
    expect(areSimilar(made('a', plain), made('b', other), { ...RULES, ignoredLabels: ignored })).toBe(similar);
    expect(areSimilar(made('b', other), made('a', plain), { ...RULES, ignoredLabels: ignored })).toBe(similar);
  });

  it.each([
    ['equal', { team: 'a', tier: 'x' }, true],
    ['the value is missing on one', { team: 'a' }, false],
    ['another value', { team: 'a', tier: 'y' }, false],
  ])('when labels alone make groups similar, nothing else is compared: %s', (_, labels, similar) => {
    const made = (id: string, given: NodeTemplate) => makeTemplate(aGroup({ id, template: given }), given, { daemonSets: [] }, new Set());
    const left = made('a', template({ labels: { team: 'a', tier: 'x' } }));
    const right = made('b', template({ cpu: '64', labels: { ...labels, other: 'yes' } }));
    const likeness = { ...RULES, ignoredLabels: ['tier'], labels: ['team', 'tier'] };
    expect(areSimilar(left, right, likeness)).toBe(similar);
    expect(areSimilar(right, left, likeness)).toBe(similar);
  });

  it.each<[string, Partial<typeof USUAL>, Record<string, number>, boolean]>([
    ['2 % less memory where 2 % is allowed', { memory: 0.02 }, { capacity: 0.98 }, true],
    ['2.1 % less memory where 2 % is allowed', { memory: 0.02 }, { capacity: 0.979 }, false],
    ['any difference of memory where none is', { memory: 0 }, { capacity: 0.999 }, false],
    ['equal memory where no difference is allowed', { memory: 0 }, {}, true],
    ['10 % less allocatable where 10 % is allowed', { allocatable: 0.1 }, { allocatable: 0.9 }, true],
    ['10 % less allocatable by the usual measure', {}, { allocatable: 0.9 }, false],
    ['any difference of what is allocatable where none is', { allocatable: 0 }, { allocatable: 0.999 }, false],
    ['half the free room where half is allowed', { free: 0.5 }, { free: 0.5 }, true],
    ['any difference of free room where none is', { free: 0 }, { free: 0.999 }, false],
    ['10 % less of all where only memory may differ as much', { memory: 0.1 }, { capacity: 0.9, allocatable: 0.9, free: 0.9 }, false],
    ['10 % less of all where all may', { memory: 0.1, allocatable: 0.1, free: 0.1 }, { capacity: 0.9, allocatable: 0.9, free: 0.9 }, true],
    ['equal groups where nothing may differ', { memory: 0, allocatable: 0, free: 0 }, {}, true],
  ])('shares by which they may differ: %s', (_, ratios, shares, similar) => {
    const made = makeTemplate(aGroup(), plain, { daemonSets: [] }, new Set());
    const part = (amounts: Resources, share = 1): Resources =>
      amounts.map((amount, index) => (index === MEMORY ? Math.ceil(amount * share) : amount));
    const other = {
      ...made,
      template: {
        ...made.template,
        capacity: part(made.template.capacity, shares['capacity']),
        allocatable: part(made.template.allocatable, shares['allocatable']),
      },
      free: part(made.free, shares['free']),
    };
    const likeness = { ...RULES, ratios: { ...USUAL, ...ratios } };
    expect(areSimilar(made, other, likeness)).toBe(similar);
    expect(areSimilar(other, made, likeness)).toBe(similar);
  });

  it('daemon pods that take room on one side only count', () => {
    const [left, right] = [
      makeTemplate(aGroup(), plain, { daemonSets: [] }, new Set()),
      makeTemplate(aGroup(), plain, { daemonSets: [] }, new Set()),
    ];
    const less = right.free.map((amount, index) => (index === 0 ? amount * 0.9 : amount));
    expect(areSimilar(left, { ...right, free: less }, RULES)).toBe(false);
  });
});

describe('balancing', () => {
  it('sizes end level; without it one group takes all', () => {
    const groups = [group('a', 1), group('b', 3)];
    expect(balanced({ groups, pods: pods(4) })).toEqual(['a 1->4', 'b 3->4']);
    expect(growth(planFor({ groups, pods: pods(4) }))).toEqual(['a 1->5']);
  });

  it('a full group gets nothing, the others its share', () => {
    const groups = [group('a', 1), group('b', 5, { maxSize: 5 }), group('c', 2)];
    expect(balanced({ groups, pods: pods(3) })).toEqual(['a 1->3', 'c 2->3']);
  });

  it('what one cannot take any more goes to the others in the same plan', () => {
    const groups = [group('a', 0, { maxSize: 2 }), group('b', 0), group('c', 0)];
    expect(balanced({ groups, pods: pods(9) })).toEqual(['a 0->2', 'b 0->4', 'c 0->3']);
  });

  it('room for three beside its own two makes five new nodes in one plan', () => {
    const groups = [group('a', 8), group('b', 7)];
    expect(balanced({ groups, pods: pods(9) })).toEqual(['a 8->10', 'b 7->10']);
  });

  it('growth is levelled over groups that share the labels, whatever their size', () => {
    const big = group('b', 0, { template: aTemplate({ cpu: '8', labels: { tier: 'x' } }) });
    const groups = [group('a', 0, { template: aTemplate({ labels: { tier: 'x' } }) }), big, group('c', 0)];
    const grown = balanced({ groups, pods: pods(6), policy: { balancingLabels: ['tier'] } });
    expect(grown.map((line) => line.slice(0, 1))).toEqual(['a', 'b']);
  });

  it.each<[string, PolicyPart, readonly string[]]>([
    ['are different by the usual measures', {}, ['b 0->6']],
    ['are alike where the ratios are wider', { differenceRatios: { memory: 0.1, allocatable: 0.1, free: 0.1 } }, ['a 0->3', 'b 0->3']],
  ])('groups of 16 and 14.7 GiB %s', (_, policy, expected) => {
    const groups = [group('a', 0), group('b', 0, { template: aTemplate({ memory: `${16 * 0.92}Gi` }) })];
    expect(balanced({ groups, pods: pods(6), policy })).toEqual(expected);
  });

  it('pools of one zone each are siblings by the same ratios, balanced or not', () => {
    const made = (zone: string, memory: string) => {
      const template = aTemplate({ memory, zones: [zone], labels: { [ZONE]: zone } });
      return makeTemplate(aGroup({ id: zone, template }), template, { daemonSets: [] }, new Set());
    };
    const templates = [made('we-1', '16Gi'), made('we-2', '15Gi')];
    const familiesWith = (share: number) => {
      const differenceRatios = { memory: share, allocatable: share, free: share };
      const { scaleUp } = aPolicy({ scaleUp: { differenceRatios, balancingLabels: ['nobody-has'] } });
      return zonalFamilies(templates, similarityRulesOf(scaleUp), () => '').length;
    };
    expect([familiesWith(0.1), familiesWith(0.05)]).toEqual([1, 2]);
  });

  it('a group in backoff is left out', () => {
    const backoff = aBackoff({ untilMs: START_MS + 60_000, durationMs: 60_000, lastFailureMs: START_MS, cause: 'quota' });
    const groups = [group('a', 0), group('b', 0), group('c', 0)];
    const state = { backoffs: new Map([[nodeGroupId('b'), backoff]]) };
    expect(balanced({ groups, pods: pods(4), state })).toEqual(['a 0->2', 'c 0->2']);
  });

  it('a group that some of the pods cannot use gets no share', () => {
    const groups = [zonal('a', 'we-1'), zonal('b', 'we-2'), zonal('c', 'we-1')];
    expect(balanced({ groups, pods: pods(4, { nodeSelector: { [ZONE]: 'we-1' } }) })).toEqual(['a 0->2', 'c 0->2']);
  });

  it('a limit of the cluster is shared in order', () => {
    const groups = [group('a', 0), group('b', 0)];
    expect(balanced({ groups, pods: pods(6), policy: { maxNodesTotal: 3 } })).toEqual(['a 0->2', 'b 0->1']);
  });

  it('groups per zone and pods that spread over zones: level, and every pod is served', () => {
    const topologySpread = [
      {
        topologyKey: ZONE,
        maxSkew: 1,
        minDomains: 1,
        selector: { requirements: [] },
        nodeAffinityPolicy: 'Honor',
        nodeTaintsPolicy: 'Ignore',
      } as const,
    ];
    const groups = [zonal('a', 'we-1'), zonal('b', 'we-2'), zonal('c', 'we-3')];
    const world = { groups, pods: pods(6, { topologySpread }) };
    expect(balanced(world)).toEqual(['a 0->2', 'b 0->2', 'c 0->2']);
    const plan = planFor({ ...world, policy: { balanceSimilarGroups: true } });
    expect([...plan.verdicts.values()].every(({ kind }) => kind === 'triggered')).toBe(true);
  });
});
