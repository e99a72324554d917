import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { NodeGroup } from '../../../src/domain/node-group.ts';
import type { Pod, PodShape } from '../../../src/domain/pod.ts';
import { aGroup, aNode, aPod, aTemplate } from '../../support/builders.ts';
import { afterPlan, bindInOrder, look } from './applied-plan.ts';
import { growth, planFor, verdictOf, type World } from './world.ts';

const HOST = 'kubernetes.io/hostname';
const NODE = { cpu: '3860m' } as const;
const pods = (count: number, cpu: string): readonly Pod[] => Array.from({ length: count }, () => aPod({ cpu }));

/** Pools of one node each, which is full. */
function fullPools(ids: readonly string[], pending: readonly Pod[]): World {
  return {
    groups: ids.map((id) => aGroup({ id, maxSize: 100, template: aTemplate(NODE) })),
    nodes: ids.map((id) => aNode({ name: `${id}-0`, ...NODE })),
    pods: [...ids.map((id) => aPod({ nodeName: `${id}-0`, cpu: '3860m' })), ...pending],
  };
}

/** Without the memory of an earlier look: the pods are packed as they were before. */
function growthAfter(world: World, listed = false): readonly string[] {
  return growth(planFor(afterPlan(world, planFor(world), { listed, remembers: false })));
}

type Rules = 'none' | 'port' | 'host spread' | 'host anti-affinity';
interface Part {
  readonly cpu: string;
  readonly memory: string;
  readonly count: number;
  readonly priority: number;
  readonly rules: Rules;
}

function rulesOf(rules: Rules, app: string): Partial<PodShape> {
  const selector = { requirements: [{ key: 'app', operator: 'In', values: [app] }] } as const;
  const spread = { maxSkew: 1, minDomains: 1, nodeAffinityPolicy: 'Honor', nodeTaintsPolicy: 'Ignore' } as const;
  const term = { namespaces: [], namespaceSelector: undefined };
  switch (rules) {
    case 'none':
      return {};
    case 'port':
      return { hostPorts: [{ port: 80, protocol: 'TCP', hostIp: '0.0.0.0' }] };
    case 'host spread':
      return { topologySpread: [{ topologyKey: HOST, selector, ...spread }] };
    case 'host anti-affinity':
      return { podAntiAffinity: [{ topologyKey: HOST, selector, ...term }] };
  }
}

function podsOf(parts: readonly Part[]): readonly Pod[] {
  return parts.flatMap(({ cpu, memory, count, priority, rules }, index) => {
    const app = `app-${index}`;
    return Array.from({ length: count }, () => aPod({ shape: { cpu, memory, priority, labels: { app }, ...rulesOf(rules, app) } }));
  });
}

function bursts(priorities: readonly number[], ...rules: readonly Rules[]): fc.Arbitrary<readonly Part[]> {
  const part = fc.record({
    cpu: fc.constantFrom('100m', '300m', '500m', '700m', '900m', '1', '1200m', '1500m', '1900m', '2', '2500m', '3', '3500m'),
    memory: fc.constantFrom('128Mi', '1Gi', '3Gi', '7Gi'),
    count: fc.integer({ min: 1, max: 9 }),
    priority: fc.constantFrom(...priorities),
    rules: fc.constantFrom(...rules),
  });
  return fc.array(part, { minLength: 1, maxLength: 6 });
}

const PRIORITIES = [0, 10, 100];
const runs = { seed: 14, numRuns: 150 };

describe('a second look at pods whose nodes are on their way', () => {
  it.each([false, true])('requests nothing for a burst of mixed sizes (instances listed: %s)', (listed) => {
    const world = fullPools(['a'], [...pods(6, '1'), ...pods(2, '3')]);
    expect(growth(planFor(world))).toEqual(['a 1->5']);
    expect(growthAfter(world, listed)).toEqual([]);
  });

  it('requests nodes for pods that came later, and for these alone', () => {
    const world = fullPools(['a'], [...pods(6, '1'), ...pods(2, '3')]);
    const applied = afterPlan(world, planFor(world), { listed: false });
    const late = aPod({ cpu: '3' });
    const plan = planFor({ ...applied, pods: [...(applied.pods ?? []), late] });
    expect(growth(plan)).toEqual(['a 5->6']);
  });

  it('requests nothing for any burst that one pool serves, whatever the priorities, host ports and rules between hosts', () => {
    const burst = bursts(PRIORITIES, 'none', 'none', 'port', 'host spread', 'host anti-affinity');
    fc.assert(
      fc.property(burst, fc.boolean(), (parts, listed) => {
        expect(growthAfter(fullPools(['a'], podsOf(parts)), listed)).toEqual([]);
      }),
      runs,
    );
  });

  const pool = (id: string, cpu: string, memory: string, maxSize: number): NodeGroup =>
    aGroup({ id, target: 0, maxSize, template: aTemplate({ cpu, memory, pods: '30' }), vmSize: `Standard_${id}` });

  const chains = ['least-waste', 'most-pods', 'random'] as const;
  it.each([
    ...chains.map((expander) => ({ expander, max: 100, priorities: PRIORITIES })),
    ...chains.map((expander) => ({ expander, max: 2, priorities: [0] })),
  ])('requests nothing if three different pools of at most $max nodes grew as $expander chose', ({ expander, max, priorities }) => {
    fc.assert(
      fc.property(bursts(priorities, 'none'), (parts) => {
        const groups = [pool('a', '3860m', '14Gi', max), pool('b', '1900m', '30Gi', max), pool('c', '7800m', '14Gi', max)];
        expect(growthAfter({ groups, pods: podsOf(parts), policy: { expanders: [expander] } })).toEqual([]);
      }),
      runs,
    );
  });

  it('requests nothing if similar pools shared the nodes', () => {
    fc.assert(
      fc.property(bursts(PRIORITIES, 'none'), (parts) => {
        const world = fullPools(['a', 'b', 'c'], podsOf(parts));
        expect(growthAfter({ ...world, policy: { balanceSimilarGroups: true } })).toEqual([]);
      }),
      runs,
    );
  });

  it('gives a node on its way to pods of higher priority, though a larger pod would come first', () => {
    const high = [1, 2].map(() => aPod({ cpu: '1500m', shape: { priority: 100 } }));
    const low = aPod({ cpu: '2500m' });
    const world = { groups: [aGroup({ id: 'a', target: 0, maxSize: 1 })], pods: [low, ...high] };
    const plan = planFor(afterPlan(world, planFor(world), { listed: false, remembers: false }));
    expect(high.map((pod) => verdictOf(plan, pod)?.kind)).toEqual(['fits-upcoming-node', 'fits-upcoming-node']);
    expect(verdictOf(plan, low)?.kind).toBe('helpless');
  });
});

describe('a second look that remembers the pods of the increases', () => {
  const burst = (): World => fullPools(['a'], [...pods(6, '1'), ...pods(2, '3')]);
  const quarter = (added: number): number => Math.floor(added / 4);

  it.each([
    ['none of the nodes has joined', {}],
    ['some have joined', { joined: quarter }],
    ['all have joined, and kube-scheduler has bound nothing yet', { joined: (added: number) => added }],
  ])('requests nothing while %s', (_name, applied) => {
    const world = burst();
    expect(growth(planFor(afterPlan(world, planFor(world), { listed: true, ...applied })))).toEqual([]);
  });

  it('requests nodes for the pods that kube-scheduler refused after all nodes were ready, and had time to try again', () => {
    const world = burst();
    const joined = afterPlan(world, planFor(world), { listed: true, joined: (added) => added });
    const settled = bindInOrder(joined);
    const left = (settled.pods ?? []).filter(({ nodeName }) => nodeName === undefined);
    expect(left).toHaveLength(2);
    expect(growth(planFor(settled))).toEqual([]);
    const later = look({ ...settled, nowMs: (settled.nowMs ?? 0) + 60_000 });
    expect(growth(planFor(later))).toEqual(['a 5->7']);
  });

  it('gives nodes on their way to the pods that they were requested for before it serves others', () => {
    const world = fullPools(['a'], pods(2, '3'));
    const applied = afterPlan(world, planFor(world), { listed: false });
    const late = [1, 2].map(() => aPod({ cpu: '3500m', shape: { priority: 100 } }));
    const plan = planFor({ ...applied, pods: [...(applied.pods ?? []), ...late] });
    expect(growth(plan)).toEqual(['a 3->5']);
    expect(late.map((pod) => verdictOf(plan, pod)?.kind)).toEqual(['triggered', 'triggered']);
  });

  it('serves the pods elsewhere at once if their nodes failed, or cannot hold them any more', () => {
    const world = fullPools(['a', 'b'], pods(2, '3'));
    const applied = afterPlan(world, planFor(world), { listed: false });
    const smaller = applied.groups.map((group) => (group.id === 'a' ? { ...group, template: aTemplate({ cpu: '2' }) } : group));
    expect(growth(planFor({ ...applied, groups: smaller }))).toEqual(['b 1->3']);
  });
});
