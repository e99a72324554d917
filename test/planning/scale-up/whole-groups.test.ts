import { describe, expect, it } from 'vitest';
import type { NodeGroup } from '../../../src/domain/node-group.ts';
import { aGroup, aNode, aPod, aTemplate, START_MS } from '../../support/builders.ts';
import { growth, planFor, skipOf, verdictOf } from './world.ts';
import { describeSkip } from '../../../src/planning/explain/describe-reasons.ts';

const MINUTE = 60_000;

/** Of use only as a whole. */
function whole(id: string, rest: Partial<NodeGroup> = {}): NodeGroup {
  return { ...aGroup({ id, target: 0, maxSize: 8 }), options: { zeroOrMax: true }, ...rest };
}
function pods(count: number) {
  return Array.from({ length: count }, () => aPod({ cpu: '2' }));
}

describe('a group that is of use only as a whole', () => {
  it('grows to its maximum in one ordinary increase, however few pods ask', () => {
    const [pod] = pods(1);
    const plan = planFor({ groups: [whole('a')], pods: pod === undefined ? [] : [pod] });
    expect(growth(plan)).toEqual(['a 0->8']);
    expect(plan.options).toMatchObject([{ group: 'a', nodes: 8 }]);
  });

  it('is completed when a part of it is there', () => {
    expect(growth(planFor({ groups: [whole('a', { target: aGroup({ id: 'a', target: 3 }).target })], pods: pods(1) }))).toEqual(['a 3->8']);
  });

  it.each([
    { name: 'the nodes of the cluster leave 5', policy: { maxNodesTotal: 5 }, allowed: 5 },
    { name: 'the cores of the cluster leave 7', policy: { maxCoresTotal: 31 }, allowed: 7 },
    { name: 'one plan may add 4', policy: { maxNodesPerScaleUp: 4 }, allowed: 4 },
  ])('$name: not one node is bought, and the reason names both numbers', ({ policy, allowed }) => {
    const [pod] = pods(1);
    if (pod === undefined) throw new Error('no pod');
    const plan = planFor({ groups: [whole('a')], pods: [pod], policy });
    expect(plan.increases).toEqual([]);
    const reason = skipOf(plan, 'a');
    expect(reason).toEqual({ kind: 'atomic-limit', needs: 8, allowed });
    expect(verdictOf(plan, pod)).toMatchObject({ kind: 'helpless', byGroup: [{ group: 'a', skip: reason }] });
    expect(reason === undefined ? '' : describeSkip(reason)).toContain('atomic scale-up exceeds cluster node count limit');
  });

  it('a limit that others have used up in the same plan counts', () => {
    const groups = [whole('b', { maxSize: 4 }), { ...aGroup({ id: 'a', target: 0, maxSize: 10 }), template: whole('b').template }];
    const plan = planFor({ groups, pods: pods(4), policy: { maxNodesTotal: 5, expanders: ['least-nodes'] } });
    expect(growth(plan)).toEqual(['a 0->2']);
  });

  it('is weighed with all of its nodes, and never shares growth with groups like it', () => {
    const other = aGroup({ id: 'b', target: 0, maxSize: 8 });
    const least = planFor({
      groups: [whole('a'), other],
      pods: pods(4),
      policy: { expanders: ['least-nodes'], balanceSimilarGroups: true },
    });
    expect(growth(least)).toEqual(['b 0->2']);
    const alone = planFor({ groups: [whole('a'), whole('b')], pods: pods(4), policy: { balanceSimilarGroups: true } });
    expect(growth(alone)).toEqual(['a 0->8']);
  });

  it('pods that spread over zones are served by it too', () => {
    const selector = { requirements: [{ key: 'app', operator: 'In', values: ['web'] }] } as const;
    const topologySpread = [
      {
        topologyKey: 'topology.kubernetes.io/zone',
        maxSkew: 1,
        minDomains: 1,
        selector,
        nodeAffinityPolicy: 'Honor',
        nodeTaintsPolicy: 'Ignore',
      } as const,
    ];
    const spread = Array.from({ length: 2 }, () => aPod({ cpu: '2', shape: { labels: { app: 'web' }, topologySpread } }));
    const labels = { 'topology.kubernetes.io/zone': 'westeurope-1' };
    const zonal = { ...whole('a', { maxSize: 4 }), template: aTemplate({ labels, zones: ['westeurope-1'] }) };
    expect(growth(planFor({ groups: [zonal], pods: spread }))).toEqual(['a 0->4']);
  });

  it('a minimum is reached by going to the maximum, or not at all', () => {
    const group = whole('a', { minSize: 1 });
    expect(growth(planFor({ groups: [group], policy: { enforceMinSize: true } }))).toEqual(['a 0->8']);
    expect(growth(planFor({ groups: [group], policy: { enforceMinSize: true, maxNodesTotal: 7 } }))).toEqual([]);
  });
});

describe('nodes that do not work, in a group at its minimum', () => {
  const sick = (rest: Parameters<typeof aNode>[0] = {}) =>
    aNode({ name: 'a-0', readiness: { ready: false, sinceMs: 0, reason: 'NotReady' }, ...rest });
  const group = aGroup({ id: 'a', target: 2, minSize: 2, maxSize: 9 });
  it.each([
    { name: 'for 19 minutes: not yet', minutes: 19, node: sick(), groups: [group], expected: [] },
    { name: 'for 21 minutes: replaced first', minutes: 21, node: sick(), groups: [group], expected: ['a 2->3'] },
    {
      name: 'the replacement is asked for once',
      minutes: 21,
      node: sick(),
      groups: [aGroup({ id: 'a', target: 3, minSize: 2, maxSize: 9 })],
      expected: [],
    },
    { name: 'somebody wants it kept', minutes: 21, node: sick({ scaleDownDisabled: true }), groups: [group], expected: [] },
    { name: 'works again', minutes: 21, node: aNode({ name: 'a-0' }), groups: [group], expected: [] },
    { name: 'is going already', minutes: 21, node: sick({ deletionAtMs: START_MS }), groups: [group], expected: [] },
    { name: 'no room above', minutes: 21, node: sick(), groups: [aGroup({ id: 'a', target: 2, minSize: 2, maxSize: 2 })], expected: [] },
    { name: 'its own time', minutes: 21, node: sick(), groups: [{ ...group, options: { unreadyForMs: 30 * MINUTE } }], expected: [] },
  ])('$name', ({ minutes, node, groups, expected }) => {
    const nodes = [node, aNode({ name: 'a-1' }), aNode({ name: 'a-2' })];
    const state = { unneededSince: new Map([['a-0', START_MS - minutes * MINUTE]]) };
    expect(growth(planFor({ groups, nodes, state, policy: { enforceMinSize: true } }))).toEqual(expected);
  });
});
