/** One pool per zone, and pods that mind in which zone the others are: one plan for all of them. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { NodeGroup } from '../../../../src/domain/node-group.ts';
import type { Pod, PodAffinityTerm, TopologySpreadConstraint } from '../../../../src/domain/pod.ts';
import { aGroup, aNode, aPod, aShape, aTemplate, type GroupOptions, type ShapeOptions } from '../../../support/builders.ts';
import { growth, planFor, skipOf, verdictOf } from '../world.ts';

const ZONE = 'topology.kubernetes.io/zone';
const HOST = 'kubernetes.io/hostname';
const WEB = { requirements: [{ key: 'app', operator: 'In', values: ['web'] }] } as const;
const term: PodAffinityTerm = { topologyKey: ZONE, selector: WEB, namespaces: [], namespaceSelector: undefined };

function spread(part: Partial<TopologySpreadConstraint> = {}): TopologySpreadConstraint {
  const usual = { topologyKey: ZONE, maxSkew: 1, minDomains: 1, selector: WEB } as const;
  return { ...usual, nodeAffinityPolicy: 'Honor', nodeTaintsPolicy: 'Ignore', ...part };
}
/** A pool of 4-core nodes in one zone. */
function pool(zone: number, part: Parameters<typeof aGroup>[0] & { readonly labels?: Record<string, string> } = {}): NodeGroup {
  const { labels = {}, ...rest } = part;
  return aGroup({ id: `z${zone}`, target: 0, maxSize: 50, template: aTemplate({ zones: [`we-${zone}`], labels }), ...rest });
}
const pools = (...zones: readonly number[]): readonly NodeGroup[] => zones.map((zone) => pool(zone));
/** Three to a node. */
function webs(count: number, shape: ShapeOptions): readonly Pod[] {
  const one = aShape({ cpu: '1300m', memory: '1Gi', labels: { app: 'web' }, ...shape });
  return Array.from({ length: count }, (_, at) => aPod({ name: `web-${String(at).padStart(4, '0')}`, shape: one }));
}
const triggered = (plan: ReturnType<typeof planFor>): number =>
  [...plan.verdicts.values()].filter(({ kind }) => kind === 'triggered').length;

describe('sibling pools are planned together', () => {
  it.each<[string, Parameters<typeof pool>[1], readonly string[]]>([
    [
      'that a living node tells more of one than Azure of the others',
      { labels: { 'kubernetes.azure.com/told-by-nodes': 'x' } },
      ['z1 0->2', 'z2 0->2', 'z3 0->2'],
    ],
    ['a label of somebody', { labels: { team: 'x' } }, ['z1 0->6']],
    [
      'another size, and less known of it',
      { labels: { 'kubernetes.azure.com/told-by-nodes': 'x' }, vmSize: 'Standard_F4s_v2' },
      ['z1 0->6'],
    ],
  ])('%s: planned together or not', (_what, part, expected) => {
    const living = pool(1, part);
    const first = { ...living, template: { ...living.template!, source: 'live-node' as const } };
    const others = pools(2, 3).map((group) => ({ ...group, template: { ...group.template!, source: 'cloud' as const } }));
    const plan = planFor({ groups: [first, ...others], pods: webs(18, { topologySpread: [spread()] }) });
    expect(growth(plan)).toEqual(expected);
  });

  it.each<[string, number, ShapeOptions, readonly string[]]>([
    ['spread over three empty pools', 9, { topologySpread: [spread()] }, ['z1 0->1', 'z2 0->1', 'z3 0->1']],
    ['a wider skew is no reason to be uneven', 18, { topologySpread: [spread({ maxSkew: 3 })] }, ['z1 0->2', 'z2 0->2', 'z3 0->2']],
    ['fewer pods than zones', 2, { topologySpread: [spread()] }, ['z1 0->1', 'z2 0->1']],
    ['minDomains that the pools can reach', 6, { topologySpread: [spread({ minDomains: 3 })] }, ['z1 0->1', 'z2 0->1', 'z3 0->1']],
    ['hosts as well as zones', 6, { topologySpread: [spread(), spread({ topologyKey: HOST })] }, ['z1 0->1', 'z2 0->1', 'z3 0->1']],
    [
      'anti-affinity per zone is not reckoned as if pods were equal: one pod per zone',
      3,
      { podAntiAffinity: [term] },
      ['z1 0->1', 'z2 0->1', 'z3 0->1'],
    ],
    ['affinity to itself: all in one zone', 7, { podAffinity: [term] }, ['z1 0->3']],
  ])('%s', (_, count, shape, expected) => {
    const plan = planFor({ groups: pools(1, 2, 3), pods: webs(count, shape) });
    expect(growth(plan)).toEqual(expected);
    expect(triggered(plan)).toBe(count);
  });

  it('anti-affinity per zone: more pods than zones stay, with the reason', () => {
    const pods = webs(4, { podAntiAffinity: [term] });
    const plan = planFor({ groups: pools(1, 2, 3), pods });
    expect(growth(plan)).toEqual(['z1 0->1', 'z2 0->1', 'z3 0->1']);
    expect(verdictOf(plan, pods[3]!)).toMatchObject({ kind: 'helpless', byGroup: [{ fit: [{ kind: 'pod-affinity' }] }, {}, {}] });
  });

  it('minDomains that the pools cannot reach: each zone takes what the skew allows', () => {
    const plan = planFor({ groups: pools(1, 2), pods: webs(6, { topologySpread: [spread({ minDomains: 3 })] }) });
    expect(growth(plan)).toEqual(['z1 0->1', 'z2 0->1']);
    expect(triggered(plan)).toBe(2);
  });

  it('a zone that has pods already is caught up with', () => {
    const groups = [pool(1, { target: 1 }), pool(2), pool(3)];
    const node = aNode({ name: 'old', labels: { [ZONE]: 'we-1' } });
    const there = webs(3, {}).map((pod) => ({
      ...pod,
      uid: `old-${pod.uid}`,
      name: `old-${pod.name}`,
      nodeName: 'old',
      unschedulable: undefined,
    }));
    const plan = planFor({ groups, nodes: [node], pods: [...there, ...webs(6, { topologySpread: [spread()] })] });
    expect(growth(plan)).toEqual(['z2 0->1', 'z3 0->1']);
    expect(triggered(plan)).toBe(6);
  });

  it.each<[string, GroupOptions]>([
    ['at its maximum', { maxSize: 0 }],
    ['frozen', { frozen: 'upgrading' }],
  ])('a pool %s is no zone to wait for', (_, part) => {
    const plan = planFor({ groups: [pool(1), pool(2, part), pool(3)], pods: webs(6, { topologySpread: [spread()] }) });
    expect(growth(plan)).toEqual(['z1 0->1', 'z3 0->1']);
    expect(triggered(plan)).toBe(6);
  });

  it('pods do not wait for a zone that other pods keep them out of', () => {
    const hermit = aPod({ name: 'hermit', nodeName: 'x', shape: { labels: { app: 'db' }, podAntiAffinity: [term] } });
    const taints = [{ key: 'db', value: '', effect: 'NoSchedule' }] as const;
    const node = aNode({ name: 'x', labels: { [ZONE]: 'we-2' }, taints });
    const pods = webs(6, { topologySpread: [spread({ nodeTaintsPolicy: 'Honor' })] });
    // The node that is there is not one that the pods tolerate, so its zone is no domain for them yet.
    const plan = planFor({ groups: pools(1, 2, 3), nodes: [node], pods: [hermit, ...pods] });
    expect(growth(plan)).toEqual(['z1 0->1', 'z3 0->1']);
    expect(triggered(plan)).toBe(6);
  });

  it('a pool that is full holds the others to the skew', () => {
    const plan = planFor({ groups: [pool(1), pool(2, { maxSize: 1 }), pool(3)], pods: webs(15, { topologySpread: [spread()] }) });
    expect(growth(plan)).toEqual(['z1 0->2', 'z2 0->1', 'z3 0->2']);
    expect(triggered(plan)).toBe(3 + 4 + 4);
  });

  it('the limits of the cluster and of one plan hold for all of them together', () => {
    const pods = webs(27, { topologySpread: [spread()] });
    expect(growth(planFor({ groups: pools(1, 2, 3), pods, policy: { maxNodesPerScaleUp: 4 } }))).toEqual(['z1 0->2', 'z2 0->1', 'z3 0->1']);
    expect(growth(planFor({ groups: pools(1, 2, 3), pods, policy: { maxCoresTotal: 12 } }))).toEqual(['z1 0->1', 'z2 0->1', 'z3 0->1']);
  });

  it('pools that are no siblings are not opened for the sake of evenness', () => {
    const groups = [pool(1), pool(2, { labels: { team: 'other' } }), pool(3)];
    const plan = planFor({ groups, pods: webs(6, { topologySpread: [spread()] }) });
    expect(growth(plan)).toEqual(['z1 0->1', 'z3 0->1']);
    expect(skipOf(plan, 'z2')).toEqual({ kind: 'not-chosen', expander: 'least-waste' });
  });

  it('who prefers one pool to its sibling gets it', () => {
    const priorities = [
      { priority: 50, patterns: ['z3'] },
      { priority: 10, patterns: ['z1', 'z2'] },
    ];
    const policy = { expanders: ['priority', 'least-waste'] as const, priorities };
    expect(growth(planFor({ groups: pools(1, 2, 3), pods: webs(3, { topologySpread: [spread()] }), policy }))).toEqual(['z3 0->1']);
  });

  it('pods that only need room, in the same plan, fill the nodes and are pinned where they say', () => {
    const pinned = aPod({ name: 'pinned', cpu: '3', shape: { cpu: '3', nodeSelector: { [ZONE]: 'we-2' } } });
    const small = Array.from({ length: 3 }, (_, at) => aPod({ name: `small-${at}`, cpu: '1', shape: { cpu: '1' } }));
    const plan = planFor({ groups: pools(1, 2, 3), pods: [pinned, ...small, ...webs(3, { cpu: '2', topologySpread: [spread()] })] });
    expect(growth(plan)).toEqual(['z1 0->1', 'z2 0->2', 'z3 0->1']);
    expect([...plan.verdicts.values()].every(({ kind }) => kind === 'triggered')).toBe(true);
  });

  it('however many pods and whatever the skew: every pod is served, zones stay within the skew, in one plan', () => {
    const cases = { zones: fc.integer({ min: 1, max: 4 }), skew: fc.integer({ min: 1, max: 3 }), count: fc.integer({ min: 1, max: 40 }) };
    fc.assert(
      fc.property(cases.zones, cases.skew, cases.count, fc.boolean(), (zones, maxSkew, count, hosts) => {
        const groups = pools(...Array.from({ length: zones }, (_, at) => at + 1));
        const topologySpread = [spread({ maxSkew }), ...(hosts ? [spread({ topologyKey: HOST, maxSkew: 3 })] : [])];
        const plan = planFor({ groups, pods: webs(count, { topologySpread }) });
        expect(triggered(plan)).toBe(count);
        const perZone = groups.map(({ id }) => plan.increases.find(({ group }) => group === id)?.pods.length ?? 0);
        expect(Math.max(...perZone) - Math.min(...perZone)).toBeLessThanOrEqual(maxSkew);
        for (const { from, to, pods } of plan.increases) expect(pods.length).toBeLessThanOrEqual(3 * (to - from));
      }),
      { seed: 17, numRuns: 80 },
    );
  });
});
