/** Workloads keep a share of their pods on regular nodes: no plan of growth or of removals counts on Spot nodes for more than the rest. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { onDemandShareOf } from '../../../../src/domain/annotations.ts';
import type { Node } from '../../../../src/domain/node.ts';
import type { Observation } from '../../../../src/domain/observation.ts';
import type { Pod } from '../../../../src/domain/pod.ts';
import { brokenShares, withOnDemandShares } from '../../../../src/planning/scale-up/pods/on-demand-shares.ts';
import { describeFit } from '../../../../src/planning/explain/describe-reasons.ts';
import { planScaleUp } from '../../../../src/planning/scale-up/plan.ts';
import { planScaleDown } from '../../../../src/planning/scale-down/plan.ts';
import { ClusterSnapshot } from '../../../../src/scheduling/snapshot/cluster-snapshot.ts';
import { aGroup, aNode, aPod, aTemplate, resourceNames, START_MS, type PodOptions } from '../../../support/builders.ts';
import { aPolicy } from '../../../support/policy.ts';
import { aState } from '../../../support/state.ts';
import { REMOVALS_ALONE } from '../../../../src/planning/scale-down/plan-context.ts';
import { growth, inputFor, observationOf, type World } from '../world.ts';

const SPOT = { 'kubernetes.azure.com/scalesetpriority': 'spot' };
const MINUTE = 60_000;

describe('the annotation', () => {
  it.each([
    ['30%', { percent: 30, text: '30%' }],
    ['30', { percent: 30, text: '30%' }],
    [' 100 % ', { percent: 100, text: '100%' }],
    ['0%', { percent: 0, text: '0%' }],
    ['101%', { percent: 100, text: '"101%", which cannot be read and means 100%' }],
    ['a third', { percent: 100, text: '"a third", which cannot be read and means 100%' }],
    ['', { percent: 100, text: '"", which cannot be read and means 100%' }],
    [undefined, undefined],
  ])('%j is read as %j', (value, share) => {
    expect(onDemandShareOf(value)).toEqual(share);
  });
});

const share = (percent: number) => ({ minOnDemand: { percent, text: `${percent}%` } });
const spotNode = (name: string, cpu = '8'): Node => aNode({ name, cpu, labels: SPOT });
const podsOf = (count: number, options: PodOptions): readonly Pod[] =>
  Array.from({ length: count }, (_, at) => aPod({ name: `${options.nodeName ?? 'p'}-${at}`, cpu: '1', ...options }));
const spotGroup = (size = 0) => ({
  ...aGroup({ id: 'spot', target: size, maxSize: 50, template: aTemplate({ cpu: '4', labels: SPOT }) }),
  priority: 'Spot' as const,
});
const regularGroup = (size = 0) => aGroup({ id: 'web', target: size, maxSize: 50, template: aTemplate({ cpu: '4' }) });
const seen = (world: World): Observation => {
  const observation = observationOf(world);
  return { ...observation, cluster: withOnDemandShares(observation.cluster) };
};
const marked = ({ cluster }: Observation): readonly string[] =>
  [...cluster.pendingPods, ...[...cluster.podsByNode.values()].flat()]
    .filter(({ shape }) => shape.regularOnly !== undefined)
    .map(({ name }) => name);

describe('of a workload', () => {
  it.each([
    { name: 'without a share no pod is marked', percent: undefined, spot: 0, pending: 10, regular: 0, marks: 0 },
    { name: 'with 30% of ten pods three are', percent: 30, spot: 0, pending: 10, regular: 0, marks: 3 },
    { name: 'a part of a pod counts as one', percent: 30, spot: 0, pending: 4, regular: 0, marks: 2 },
    { name: 'with 0% none is', percent: 0, spot: 0, pending: 4, regular: 0, marks: 0 },
    { name: 'those on regular nodes are marked first', percent: 50, spot: 2, pending: 3, regular: 5, marks: 5, on: 'r-' },
    { name: 'those on Spot nodes last', percent: 50, spot: 8, pending: 2, regular: 0, marks: 5 },
  ])('$name', ({ percent, spot, pending, regular, marks, on }) => {
    const rest = percent === undefined ? {} : share(percent);
    const pods = [
      ...podsOf(pending, { ...rest }),
      ...podsOf(spot, { nodeName: 's', ...rest }),
      ...podsOf(regular, { nodeName: 'r', ...rest }),
    ];
    const names = marked(seen({ groups: [], nodes: [spotNode('s', '32'), aNode({ name: 'r', cpu: '32' })], pods }));
    expect(names).toHaveLength(marks);
    if (on !== undefined) expect(names.every((name) => name.startsWith(on))).toBe(true);
  });

  it('a view without shares stays the same object, and lists of pods without marks do', () => {
    const nodes = [aNode({ name: 'a' }), aNode({ name: 'b' })];
    const plain = observationOf({ groups: [], nodes, pods: podsOf(2, { nodeName: 'a' }) });
    expect(withOnDemandShares(plain.cluster)).toBe(plain.cluster);
    const mixed = observationOf({
      groups: [],
      nodes,
      pods: [...podsOf(2, { nodeName: 'a' }), ...podsOf(2, { nodeName: 'b', ...share(100) })],
    });
    const once = withOnDemandShares(mixed.cluster);
    const twice = withOnDemandShares(mixed.cluster);
    expect(once.podsByNode.get('a')).toBe(mixed.cluster.podsByNode.get('a'));
    expect(once.podsByNode.get('b')).not.toBe(mixed.cluster.podsByNode.get('b'));
    expect(twice.podsByNode.get('b')).toBe(once.podsByNode.get('b'));
  });
});

const preferSpot = {
  priorities: [
    { priority: 50, patterns: ['spot'] },
    { priority: 10, patterns: ['.*'] },
  ],
  expanders: ['priority'] as const,
};

describe('plans', () => {
  it.each([
    { percent: 0, grown: ['spot 0->10'] },
    { percent: 30, grown: ['spot 0->7', 'web 0->3'] },
    { percent: 100, grown: ['web 0->10'] },
  ])('of growth buy Spot nodes for the rest of $percent %', ({ percent, grown }) => {
    const observation = seen({ groups: [spotGroup(), regularGroup()], pods: podsOf(10, { cpu: '3', ...share(percent) }) });
    const input = { ...inputFor({ groups: [], policy: preferSpot }), observation };
    expect([...growth(planScaleUp(input))].sort()).toEqual(grown);
  });

  it('say why a pod of the share gets no Spot node', () => {
    const observation = seen({ groups: [spotGroup()], pods: podsOf(1, { cpu: '3', ...share(50) }) });
    const verdicts = planScaleUp({ ...inputFor({ groups: [] }), observation }).verdicts;
    const [verdict] = verdicts.values();
    const reasons = verdict?.kind === 'helpless' ? verdict.byGroup.flatMap(({ fit = [] }) => fit) : [];
    expect(reasons).toEqual([{ kind: 'on-demand-share', share: '50%' }]);
    expect(describeFit({ kind: 'on-demand-share', share: '50%' })).toContain('aks-autoscaler/min-on-demand');
  });

  const removedWith = (percent: number, spot: number, regular: number): readonly string[] => {
    const pods = [
      ...podsOf(spot, { nodeName: 'spot-0', cpu: '100m', ...share(percent) }),
      ...podsOf(regular, { nodeName: 'web-0', cpu: '100m', ...share(percent) }),
    ];
    const observation = seen({ groups: [spotGroup(1), regularGroup(1)], nodes: [spotNode('spot-0'), aNode({ name: 'web-0' })], pods });
    const snapshot = new ClusterSnapshot({ names: resourceNames });
    snapshot.sync(observation.cluster);
    const state = aState({ unneededSince: new Map([['web-0', START_MS - 30 * MINUTE]]) });
    const rules = { ...REMOVALS_ALONE, observation, state, policy: aPolicy(), names: resourceNames, snapshot, scaleUpPlanned: false };
    return planScaleDown(rules).removals.map(({ node }) => node);
  };

  it.each([
    { name: 'without a share its pods may all move to Spot nodes', percent: 0, spot: 2, regular: 2, removed: ['web-0'] },
    { name: 'with one they stay', percent: 50, spot: 2, regular: 2, removed: [] },
    { name: 'one pod is enough', percent: 10, spot: 4, regular: 1, removed: [] },
  ])('of removals: $name', ({ percent, spot, regular, removed }) => {
    // The Spot node may always go: its pods have a place on the regular one.
    expect(removedWith(percent, spot, regular).filter((name) => name === 'web-0')).toEqual(removed);
  });

  it('of growth never place more pods of a workload on Spot nodes than its share leaves', () => {
    const workload = fc.record({
      percent: fc.integer({ min: 0, max: 100 }),
      spot: fc.integer({ min: 0, max: 4 }),
      pending: fc.integer({ min: 0, max: 8 }),
      regular: fc.integer({ min: 0, max: 4 }),
      cpu: fc.constantFrom('500m', '1', '3'),
    });
    fc.assert(
      fc.property(fc.array(workload, { minLength: 1, maxLength: 3 }), fc.integer({ min: 0, max: 12 }), (workloads, max) => {
        const pods = workloads.flatMap(({ percent, spot, pending, regular, cpu }, at) => {
          const options = { cpu, ...share(percent), controller: { kind: 'ReplicaSet', name: `w${at}`, uid: `w${at}` } };
          const named = (count: number, where: string, rest: PodOptions) =>
            Array.from({ length: count }, (_, index) => aPod({ name: `w${at}-${where}${index}`, ...options, ...rest }));
          return [...named(spot, 's', { nodeName: 's' }), ...named(pending, 'p', {}), ...named(regular, 'r', { nodeName: 'r' })];
        });
        const nodes = [spotNode('s', '40'), aNode({ name: 'r', cpu: '40' })];
        const groups = [
          { ...spotGroup(), maxSize: max },
          { ...regularGroup(), maxSize: 12 },
        ];
        const observation = seen({ groups, nodes, pods });
        const plan = planScaleUp({ ...inputFor({ groups: [], policy: preferSpot }), observation });
        const places = [...observation.cluster.podsByNode].flatMap(([node, some]) => some.map((pod) => ({ pod, spot: node === 's' })));
        const placed = [...plan.verdicts].flatMap(([pod, verdict]) => {
          if (verdict.kind === 'triggered') return [{ pod, spot: verdict.group === 'spot' }];
          return verdict.kind === 'fits-present-node' ? [{ pod, spot: verdict.node === 's' }] : [];
        });
        const before = new Set(brokenShares(places).map(({ controller }) => controller));
        // A pending pod that gets no place is counted: it is as if it came to a regular node at last.
        const later = observation.cluster.pendingPods
          .filter((pod) => !placed.some((each) => each.pod === pod))
          .map((pod) => ({ pod, spot: false }));
        const after = brokenShares([...places, ...placed, ...later]).filter(({ controller }) => !before.has(controller));
        expect(after).toEqual([]);
        const gained = placed.filter(({ pod, spot }) => spot && before.has(pod.controller?.uid ?? ''));
        // A share that is broken already may be repaired by pods that pend, and is never broken further.
        for (const { pod } of gained) expect(pod.shape.regularOnly).toBeUndefined();
      }),
      { numRuns: 60 },
    );
  });
});
