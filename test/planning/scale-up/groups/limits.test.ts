import { describe, expect, it } from 'vitest';
import type { TopologySpreadConstraint } from '../../../../src/domain/pod.ts';
import { explainSkip } from '../../../../src/planning/explain/refusals.ts';
import { aGroup, aNode, aPod, aTemplate } from '../../../support/builders.ts';
import { growth, planFor, skipOf, verdictOf } from '../world.ts';
import { describeSkip } from '../../../../src/planning/explain/describe-reasons.ts';

const ZONE = 'topology.kubernetes.io/zone';
const HOST = 'kubernetes.io/hostname';
const WEB = { requirements: [{ key: 'app', operator: 'In', values: ['web'] }] } as const;

function spread(topologyKey: string, maxSkew: number): TopologySpreadConstraint {
  return { topologyKey, maxSkew, minDomains: 1, selector: WEB, nodeAffinityPolicy: 'Honor', nodeTaintsPolicy: 'Ignore' };
}
function pods(count: number, options: Parameters<typeof aPod>[0] = {}) {
  return Array.from({ length: count }, () => aPod(options));
}

describe('planScaleUp: limits', () => {
  it('cores of the cluster', () => {
    const nodes = [aNode({ name: 'a-0' }), aNode({ name: 'a-1' })];
    const plan = planFor({ groups: [aGroup({ id: 'a', target: 2 })], nodes, pods: [aPod({ cpu: '4' })], policy: { maxCoresTotal: 10 } });
    expect(skipOf(plan, 'a')).toEqual({ kind: 'cluster-limit', limit: 'cores', value: 10, used: 8, needs: 4 });
  });

  it('two reached limits are both reported', () => {
    const nodes = [aNode({ name: 'a-0' }), aNode({ name: 'a-1' })];
    const pod = aPod({ cpu: '4' });
    const policy = { maxCoresTotal: 10, maxMemoryTotalBytes: 40 * 2 ** 30 };
    const plan = planFor({ groups: [aGroup({ id: 'a', target: 2 })], nodes, pods: [pod], policy });
    const skip = skipOf(plan, 'a');
    const memory = { limit: 'memory', value: 40 * 2 ** 30, used: 32 * 2 ** 30, needs: 16 * 2 ** 30 };
    expect(skip).toEqual({ kind: 'cluster-limit', limit: 'cores', value: 10, used: 8, needs: 4, also: [memory] });
    expect(describeSkip(skip!)).toBe('cluster limit of 10 cores reached and cluster limit of 40 GiB of memory reached');
    const { detail } = explainSkip(skip!, undefined);
    expect(detail).toContain(': 8 of 10 cores in use, a new node takes 4, and 32 of 40 GiB of memory in use, a new node takes 16');
  });

  it('virtual nodes count as nodes, and what they claim to have as nothing', () => {
    const virtual = aNode({ name: 'v', cpu: '10000', memory: '4Ti', labels: { type: 'virtual-kubelet' } });
    const world = {
      groups: [aGroup({ id: 'a', target: 0 })],
      nodes: [virtual],
      pods: [aPod({ cpu: '4', shape: { nodeSelector: { team: 'x' } } })],
    };
    const group = aGroup({ id: 'a', target: 0, template: aTemplate({ labels: { team: 'x' } }) });
    const planWith = (policy: object) => growth(planFor({ ...world, groups: [group], policy }));
    expect(planWith({ maxCoresTotal: 4, maxMemoryTotalBytes: 16 * 2 ** 30 })).toEqual(['a 0->1']);
    expect(planWith({ maxNodesTotal: 1 })).toEqual([]);
  });

  it('nodes of the cluster', () => {
    const world = { groups: [aGroup({ id: 'a' })], nodes: [aNode({ name: 'a-0' })], pods: pods(4, { cpu: '4' }) };
    expect(skipOf(planFor({ ...world, policy: { maxNodesTotal: 1 } }), 'a')).toMatchObject({
      kind: 'cluster-limit',
      limit: 'nodes',
      value: 1,
    });
    expect(growth(planFor({ ...world, policy: { maxNodesTotal: 3 } }))).toEqual(['a 1->3']);
  });

  it('nodes of one plan: the rest waits', () => {
    const all = pods(5, { cpu: '4' });
    const plan = planFor({ groups: [aGroup({ id: 'a', target: 0 })], pods: all, policy: { maxNodesPerScaleUp: 2 } });
    expect(growth(plan)).toEqual(['a 0->2']);
    expect([...plan.verdicts.values()].filter((verdict) => verdict.kind === 'waiting')).toHaveLength(3);
  });

  it('memory of the cluster', () => {
    const plan = planFor({
      groups: [aGroup({ id: 'a', target: 0 })],
      pods: pods(3, { cpu: '4' }),
      policy: { maxMemoryTotalBytes: 33 * 2 ** 30 },
    });
    expect(growth(plan)).toEqual(['a 0->2']);
  });

  it('enforces the minimum size, of groups that may be touched', () => {
    const groups = [aGroup({ id: 'a', target: 1, minSize: 3 }), aGroup({ id: 'b', target: 0, minSize: 1, frozen: 'upgrading' })];
    const plan = planFor({ groups, policy: { enforceMinSize: true } });
    expect(plan.increases).toEqual([{ group: 'a', from: 1, to: 3, version: '"1"', pods: [], cause: 'min-size' }]);
    expect(planFor({ groups }).increases).toEqual([]);
  });

  it('pods use the nodes of the minimum first, and one increase covers both', () => {
    const group = aGroup({ id: 'a', target: 0, minSize: 1 });
    const all = pods(3, { cpu: '4' });
    const plan = planFor({ groups: [group], pods: all, policy: { enforceMinSize: true } });
    expect(plan.increases).toMatchObject([{ from: 0, to: 3, cause: 'pods' }]);
    expect(plan.increases[0]?.pods).toHaveLength(2);
  });
});

describe('planScaleUp: more pods than a call takes arguments', () => {
  it('pods that are left over still get a reason, interdependent ones too', () => {
    const one = aPod({ cpu: '3', shape: { labels: { app: 'web' }, topologySpread: [spread(HOST, 5)] } });
    const all = Array.from({ length: 130_000 }, (_, at) => ({ ...one, name: `web-${at}`, uid: `web-${at}` }));
    const plan = planFor({ groups: [aGroup({ id: 'a', target: 0, maxSize: 3 })], pods: all });
    expect(growth(plan)).toEqual(['a 0->3']);
    expect([...plan.verdicts.values()].filter(({ kind }) => kind === 'helpless')).toHaveLength(all.length - 3);
  });
});

describe('planScaleUp: a plan that takes too long', () => {
  const groups = ['a', 'b', 'c'].map((id) => aGroup({ id, target: 0, template: aTemplate({ cpu: id === 'c' ? '3' : '4' }) }));

  it('the choice is among the groups that were estimated in time; the others are named', () => {
    const plan = planFor({ groups, pods: pods(1, { cpu: '3' }), loopId: 3, isLate: (made) => made >= 1 });
    expect(growth(plan)).toEqual(['a 0->1']);
    expect(plan).toMatchObject({ cutShortAfter: 1, options: [{ group: 'a' }] });
    expect([skipOf(plan, 'b'), skipOf(plan, 'c')]).toEqual([{ kind: 'not-judged' }, { kind: 'not-judged' }]);
    expect(growth(planFor({ groups, pods: pods(1, { cpu: '3' }) }))).toEqual(['c 0->1']);
  });

  it('what is not helped in time waits, and the next loops begin with other groups', () => {
    const [big] = pods(1, { cpu: '7' });
    const all = [...groups, aGroup({ id: 'd', target: 0, template: aTemplate({ cpu: '8' }) })];
    const plans = [4, 5, 6, 7].map((loopId) => planFor({ groups: all, pods: [big!], loopId, isLate: () => true }));
    expect(plans.map(growth)).toEqual([[], [], [], ['d 0->1']]);
    expect(verdictOf(plans[0]!, big!)).toEqual({ kind: 'waiting', detail: 'the time limit of one plan was reached' });
  });

  it('pods that look at each other are no exception', () => {
    const shape = { cpu: '3', labels: { app: 'web' }, topologySpread: [spread(HOST, 1), spread(ZONE, 1)] };
    const zoned = groups.map((group) => ({ ...group, template: { ...group.template!, zones: ['we-1'] } }));
    const plan = planFor({ groups: zoned, pods: pods(2, { shape }), loopId: 3, isLate: (made) => made >= 1 });
    expect(plan.cutShortAfter).toBe(1);
    expect(growth(plan)).toEqual(['a 0->2']);
  });
});
