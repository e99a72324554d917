/** Quotas of the cluster: what they allow, what they say, and what their status follows. */
import { describe, expect, it } from 'vitest';
import * as fc from 'fast-check';
import type { CapacityQuota } from '../../../src/domain/capacity-objects.ts';
import { quotaStatus } from '../../../src/planning/capacity-objects/capacity-quotas.ts';
import { explainSkip } from '../../../src/planning/explain/refusals.ts';
import { aGroup, aNode, anInstance, aPod, aQuota, aTemplate, resourceNames, START_MS } from '../../support/builders.ts';
import { growth, planFor, skipOf } from '../scale-up/world.ts';
import { describeSkip } from '../../../src/planning/explain/describe-reasons.ts';

const ZONE = 'topology.kubernetes.io/zone';
const inZone = (zone: string): CapacityQuota['selector'] => ({ requirements: [{ key: ZONE, operator: 'In', values: [zone] }] });
const labels = (zone: string) => ({ [ZONE]: zone });
const zonal = (id: string, zone: string, target = 0) => aGroup({ id, target, template: aTemplate({ labels: labels(zone) }) });
const nodesOf = (group: string, zone: string, count: number) =>
  Array.from({ length: count }, (_none, at) => aNode({ name: `${group}-${at}`, labels: labels(zone) }));
const busy = (group: string, count: number) => Array.from({ length: count }, (_none, at) => aPod({ cpu: '4', nodeName: `${group}-${at}` }));
const wanting = (count: number, cpu = '3') => Array.from({ length: count }, () => aPod({ cpu }));

describe('quotas of the cluster', () => {
  it('five nodes of five in one zone: its group is skipped with the name of the quota, the other zone serves', () => {
    const quotas = [aQuota('zone-1', { nodes: 5 }, { selector: inZone('1') })];
    const plan = planFor({
      groups: [zonal('a', '1', 5), zonal('b', '2')],
      nodes: nodesOf('a', '1', 5),
      pods: [...busy('a', 5), ...wanting(2)],
      capacity: { quotas },
    });
    expect(growth(plan)).toEqual(['b 0->2']);
    const reason = skipOf(plan, 'a');
    expect(reason).toEqual({
      kind: 'capacity-quota',
      exceeded: [{ quota: 'CapacityQuota/zone-1', resources: ['nodes'], short: [{ left: 0, needs: 1 }] }],
    });
    expect(describeSkip(reason!)).toBe('exceeded quota: "CapacityQuota/zone-1", resources: nodes');
    expect(explainSkip(reason!, undefined).detail).toBe(
      'exceeded quota: "CapacityQuota/zone-1", resources: nodes (0 nodes left, a new node takes 1)',
    );
  });

  it('reports every exceeded quota, those of the whole cluster first', () => {
    const quotas = [aQuota('cores', { cpu: 8, memory: 20 * 2 ** 30 }), aQuota('few', { nodes: 9 }), aQuota('two', { nodes: 2 })];
    const world = { groups: [aGroup({ id: 'a', target: 2 })], nodes: [aNode({ name: 'a-0' }), aNode({ name: 'a-1' })] };
    const plan = planFor({ ...world, pods: [...busy('a', 2), ...wanting(1)], capacity: { quotas }, policy: { maxCoresTotal: 10 } });
    expect(describeSkip(skipOf(plan, 'a')!)).toBe(
      'exceeded quota: "cluster-wide", resources: cpu; exceeded quota: "CapacityQuota/cores", resources: cpu, memory; ' +
        'exceeded quota: "CapacityQuota/two", resources: nodes',
    );
  });

  const rows: readonly (readonly [string, CapacityQuota['limits'], number])[] = [
    ['nodes', { nodes: 4 }, 3],
    ['cores, of what nodes have and not of what pods may use', { cpu: 11 }, 1],
    ['memory', { memory: 3 * 16 * 2 ** 30 }, 2],
    ['a resource that no node has limits nothing', { 'example.com/licence': 0 }, 6],
    ['nothing may be there', { nodes: 0 }, 0],
  ];
  it.each(rows)('a partial answer within the quota: %s', (_what, limits, more) => {
    const plan = planFor({
      groups: [aGroup({ id: 'a', target: 1 })],
      nodes: [aNode({ name: 'a-0' })],
      pods: [...busy('a', 1), ...wanting(6)],
      capacity: { quotas: [aQuota('q', limits)] },
    });
    expect(growth(plan)).toEqual(more === 0 ? [] : [`a 1->${1 + more}`]);
  });

  it('what is on its way counts; a virtual node does not; a minimum stays within the quota', () => {
    const instances = ['a-0', 'a-1'].map((node) => anInstance({ node, state: 'creating', firstSeenMs: START_MS }));
    const coming = { ...zonal('a', '1', 2), instances };
    const virtual = aNode({ name: 'vk', labels: { type: 'virtual-kubelet', [ZONE]: '1' } });
    const quotas = [aQuota('q', { nodes: 3 }, { selector: inZone('1') })];
    const plan = planFor({ groups: [coming], nodes: [virtual], pods: wanting(4), capacity: { quotas } });
    expect(growth(plan)).toEqual(['a 2->3']);
    const minimum = aGroup({ id: 'm', target: 0, minSize: 4 });
    expect(
      growth(planFor({ groups: [minimum], capacity: { quotas: [aQuota('q', { nodes: 2 })] }, policy: { enforceMinSize: true } })),
    ).toEqual(['m 0->2']);
  });

  it('similar groups share what one quota leaves', () => {
    const groups = ['a', 'b'].map((id) => aGroup({ id, target: 0 }));
    const plan = planFor({
      groups,
      pods: wanting(8),
      capacity: { quotas: [aQuota('q', { nodes: 3 })] },
      policy: { balanceSimilarGroups: true },
    });
    expect(plan.increases.reduce((sum, { from, to }) => sum + to - from, 0)).toBe(3);
  });

  it('whatever the quotas, no plan goes beyond one of them', () => {
    const limit = fc.record({ nodes: fc.nat(6), cpu: fc.nat(30), zone: fc.constantFrom('1', '2', undefined) });
    fc.assert(
      fc.property(fc.array(limit, { maxLength: 4 }), fc.nat(9), fc.boolean(), (limits, pods, balance) => {
        const quotas = limits.map(({ nodes, cpu, zone }, at) =>
          aQuota(`q${at}`, { nodes, cpu }, zone === undefined ? {} : { selector: inZone(zone) }),
        );
        const groups = [zonal('a', '1'), zonal('b', '2'), zonal('c', '1')];
        const plan = planFor({ groups, pods: wanting(pods), capacity: { quotas }, policy: { balanceSimilarGroups: balance } });
        for (const { nodes, cpu, zone } of limits) {
          const zones: Readonly<Record<string, string>> = { a: '1', b: '2', c: '1' };
          const added = plan.increases.filter(({ group }) => zone === undefined || zones[group] === zone);
          const count = added.reduce((sum, { from, to }) => sum + to - from, 0);
          expect(count).toBeLessThanOrEqual(nodes);
          expect(count * 4).toBeLessThanOrEqual(Math.max(cpu, 0));
        }
      }),
      { numRuns: 60, seed: 7 },
    );
  });

  it('a quota that is not valid limits nothing and says so', () => {
    const bad = aQuota('q', {}, { problem: { reason: 'ValidationFailed', message: 'spec.selector: not a selector.' } });
    expect(growth(planFor({ groups: [aGroup({ id: 'a', target: 0 })], pods: wanting(2), capacity: { quotas: [bad] } }))).toEqual([
      'a 0->2',
    ]);
    expect(quotaStatus(bad, [], resourceNames, START_MS)).toEqual({
      conditions: [
        {
          type: 'cluster-autoscaler.kubernetes.io/valid',
          status: 'False',
          reason: 'ValidationFailed',
          message: 'spec.selector: not a selector.',
          observedGeneration: 1,
          sinceMs: START_MS,
        },
      ],
    });
  });

  it('the usage is that of the nodes that match now, and nothing is said twice', () => {
    const quota = aQuota('q', { cpu: 100, nodes: 9 }, { selector: inZone('1') });
    const nodes = nodesOf('a', '1', 2);
    const first = quotaStatus(quota, nodes, resourceNames, START_MS);
    expect(first.used).toEqual({ cpu: 8, nodes: 2 });
    expect(first.conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`)).toEqual([
      'cluster-autoscaler.kubernetes.io/valid True ValidationSucceeded',
      'Reconciled True ReconciliationSucceeded',
    ]);
    const again = { ...quota, status: first };
    expect(quotaStatus(again, nodes, resourceNames, START_MS + 60_000)).toBe(first);
    const relabelled = [nodes[0]!, { ...nodes[1]!, labels: labels('2') }];
    expect(quotaStatus(again, relabelled, resourceNames, START_MS).used).toEqual({ cpu: 4, nodes: 1 });
    expect(quotaStatus(again, [], resourceNames, START_MS)).toEqual({ ...first, used: { cpu: 0, nodes: 0 } });
  });
});
