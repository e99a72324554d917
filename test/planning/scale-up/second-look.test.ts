import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { NodeGroup } from '../../../src/domain/node-group.ts';
import type { ScaleUpPlan } from '../../../src/domain/plan.ts';
import type { Pod } from '../../../src/domain/pod.ts';
import { casesOf } from '../../support/property-runs.ts';
import { aGroup, aNode, aPod, aTemplate } from '../../support/builders.ts';
import { type Applied, afterPlan, bindInOrder, look } from './applied-plan.ts';
import { anyBurst, type Burst, bursts, podsOf, PRIORITIES, withCreatedPods, withMissingPods } from './random-burst.ts';
import { growth, planFor, verdictOf, type World } from './world.ts';

const NODE = { cpu: '3860m' } as const;
const MINUTE = 60_000;
const pods = (count: number, cpu: string): readonly Pod[] => Array.from({ length: count }, () => aPod({ cpu }));

/** Pools of one node each, which is full. */
function fullPools(ids: readonly string[], pending: readonly Pod[]): World {
  return {
    groups: ids.map((id) => aGroup({ id, maxSize: 100, template: aTemplate(NODE) })),
    nodes: ids.map((id) => aNode({ name: `${id}-0`, ...NODE })),
    pods: [...ids.map((id) => aPod({ nodeName: `${id}-0`, cpu: '3860m' })), ...pending],
  };
}

const mixed = (): World => fullPools(['a'], [...pods(6, '1'), ...pods(2, '3')]);
const apply = (world: World, applied: Partial<Applied> = {}): World => afterPlan(world, planFor(world), { listed: false, ...applied });
const all = (added: number): number => added;

function podsServed({ verdicts }: ScaleUpPlan): ReadonlySet<string> {
  return new Set([...verdicts].filter(([, { kind }]) => kind === 'triggered').map(([{ uid }]) => uid));
}

describe('a second look at pods whose nodes are on their way', () => {
  it.each([
    ['none of the nodes has joined', {}],
    ['none of the nodes has joined, and Azure lists them', { listed: true }],
    ['some have joined', { joined: (added: number) => Math.floor(added / 4) }],
    ['all have joined, and kube-scheduler has bound nothing yet', { joined: all }],
  ])('requests nothing while %s', (_name, applied) => {
    const world = mixed();
    expect(growth(planFor(world))).toEqual(['a 1->5']);
    expect(growth(planFor(apply(world, applied)))).toEqual([]);
    expect(growth(planFor(apply(world, { ...applied, remembers: false })))).toEqual([]);
  });

  it('requests nodes for pods that came later, and for these alone', () => {
    const applied = apply(mixed());
    expect(growth(planFor({ ...applied, pods: [...(applied.pods ?? []), aPod({ cpu: '3' })] }))).toEqual(['a 5->6']);
  });

  it('packs the nodes on their way by size, as when they were requested: what looks free is not', () => {
    const first = ['1500m', '1500m', '2300m', '2300m'].map((cpu, at) => aPod({ name: `p-${at}`, cpu }));
    const applied = apply(fullPools(['a'], first));
    expect(applied.groups[0]?.target).toMatchObject({ value: 3 });
    expect(growth(planFor({ ...applied, pods: [...(applied.pods ?? []), aPod({ cpu: '800m' })] }))).toEqual(['a 3->4']);
  });

  it('leaves the room of buffers to other pods, and requests no other room before the nodes are ready', () => {
    const copies = [1, 2].map(() => aPod({ cpu: '3', origin: 'buffer' }));
    const applied = apply(fullPools(['a'], copies), { listed: true });
    const withOthers = (count: number): World => ({ ...applied, pods: [...(applied.pods ?? []), ...pods(count, '3')] });
    expect(growth(planFor(withOthers(2)))).toEqual([]);
    expect(growth(planFor(withOthers(3)))).toEqual(['a 3->4']);
  });

  it('requests nodes for the pods that kube-scheduler refused after all nodes were ready, once it had time to try again', () => {
    const settled = bindInOrder(apply(mixed(), { joined: all }));
    expect((settled.pods ?? []).filter(({ nodeName }) => nodeName === undefined)).toHaveLength(2);
    expect(growth(planFor(settled))).toEqual([]);
    expect(growth(planFor(look({ ...settled, nowMs: (settled.nowMs ?? 0) + MINUTE })))).toEqual(['a 5->7']);
  });

  it.each([
    [
      'with all nodes, of which none has a taint',
      '0/5 nodes are available: 5 Insufficient cpu. preemption: 0/5 nodes are available: 5 x.',
      true,
    ],
    ['before the last node joined', '0/4 nodes are available: 4 Insufficient cpu.', false],
    ['before the last node was ready', '0/5 nodes are available: 1 node(s) had untolerated taint {a: }, 4 Insufficient cpu.', false],
    ['in other words', 'no node is large enough', false],
  ])('requests nodes at once for pods that kube-scheduler refused %s: %s', (_name, message, asks) => {
    const settled = bindInOrder(apply(mixed(), { joined: all }));
    const refused = (settled.pods ?? []).map((pod) =>
      pod.unschedulable === undefined ? pod : { ...pod, unschedulable: { ...pod.unschedulable, message } },
    );
    const seen = look({ ...settled, pods: refused, nowMs: (settled.nowMs ?? 0) + 1_000 });
    expect(growth(planFor(seen))).toEqual(asks ? ['a 5->7'] : []);
    const tainted = { key: 'a', value: '', effect: 'NoSchedule' } as const;
    const nodes = (seen.nodes ?? []).map((node) => (node.name === 'a-0' ? { ...node, taints: [tainted] } : node));
    expect(growth(planFor({ ...seen, nodes })).length).toBe(asks || message.includes('untolerated') ? 1 : 0);
  });

  it('gives nodes on their way to the pods that they were requested for before it serves others', () => {
    const applied = apply(fullPools(['a'], pods(2, '3')));
    const late = [1, 2].map(() => aPod({ cpu: '3500m', shape: { priority: 100 } }));
    const plan = planFor({ ...applied, pods: [...(applied.pods ?? []), ...late] });
    expect(growth(plan)).toEqual(['a 3->5']);
    expect(late.map((pod) => verdictOf(plan, pod)?.kind)).toEqual(['triggered', 'triggered']);
  });

  it('gives the last node of a pool to pods of higher priority, though a larger pod would come first', () => {
    const high = [1, 2].map(() => aPod({ cpu: '1500m', shape: { priority: 100 } }));
    const low = aPod({ cpu: '2500m' });
    const world = { groups: [aGroup({ id: 'a', target: 0, maxSize: 1 })], pods: [low, ...high] };
    for (const remembers of [true, false]) {
      const plan = planFor(apply(world, { remembers }));
      expect(high.map((pod) => verdictOf(plan, pod)?.kind)).toEqual(['fits-upcoming-node', 'fits-upcoming-node']);
      expect(verdictOf(plan, low)?.kind).toBe('helpless');
    }
  });

  it('serves pods elsewhere at once if their nodes cannot hold them any more, or come to another zone than the pods need', () => {
    const applied = apply(fullPools(['a', 'b'], pods(2, '3')));
    const smaller = applied.groups.map((group) => (group.id === 'a' ? { ...group, template: aTemplate({ cpu: '2' }) } : group));
    expect(growth(planFor({ ...applied, groups: smaller }))).toEqual(['b 1->3']);
    const pod = aPod({ cpu: '1', shape: { nodeSelector: { 'topology.kubernetes.io/zone': 'r-2' } } });
    const zonal = { groups: [aGroup({ id: 'a', target: 0, template: aTemplate({ zones: ['r-1', 'r-2'] }) })], pods: [pod] };
    expect(growth(planFor(apply(zonal)))).toEqual([]);
    expect(growth(planFor(apply(zonal, { listed: true })))).toEqual(['a 1->2']);
  });

  it('lets nodes on their way take turns in their zones, as new nodes do: a pod that the burst left over has no place now, either', () => {
    const selector = { requirements: [{ key: 'app', operator: 'In', values: ['x'] }] } as const;
    const rule = { topologyKey: 'topology.kubernetes.io/zone', maxSkew: 1, minDomains: 1, selector } as const;
    const spread = { ...rule, nodeAffinityPolicy: 'Honor', nodeTaintsPolicy: 'Ignore' } as const;
    const kind = () => aPod({ shape: { cpu: '3', labels: { app: 'x' }, topologySpread: [spread] } });
    const template = (zones: readonly string[]) =>
      aTemplate({ ...NODE, zones, labels: zones.length === 1 ? { [spread.topologyKey]: zones[0] ?? '' } : {} });
    const full = aGroup({ id: 'a', target: 0, maxSize: 5, template: template(['r-1', 'r-2', 'r-3']) });
    const second = aGroup({ id: 'b', target: 0, maxSize: 2, template: template(['r-2']), priority: 'Spot' });
    const world = {
      groups: [full, second],
      pods: Array.from({ length: 7 }, kind),
      policy: { expanders: ['priority'], priorities: [{ priority: 5, patterns: ['a'] }] },
    } as const;
    expect(growth(planFor(world))).toEqual(['a 0->5']);
    for (const remembers of [true, false]) expect(growth(planFor(apply(world, { remembers })))).toEqual([]);
  });

  it('does not take other pods of a kind for the first, while the place of the first is not decided', () => {
    const selector = { requirements: [{ key: 'app', operator: 'In', values: ['x'] }] } as const;
    const together = { topologyKey: 'kubernetes.io/hostname', selector, namespaces: [], namespaceSelector: undefined };
    const kind = () => aPod({ shape: { cpu: '2', labels: { app: 'x' }, podAffinity: [together] } });
    const applied = apply(fullPools(['a'], [kind()]), { joined: all });
    const taken = [...(applied.pods ?? []), aPod({ cpu: '3', nodeName: 'a-new-1' }), kind()];
    expect(growth(planFor({ ...applied, pods: taken }))).toEqual([]);
  });
});

const runs = casesOf(14, 40);
const missingPods = fc
  .record({ burst: anyBurst, extra: fc.array(fc.integer({ min: 0, max: 6 }), { maxLength: 6 }), created: fc.constantFrom(0, 1, 9) })
  .map(({ burst, extra, created }) => ({ ...burst, world: withMissingPods(burst.world, extra), created }));
const quarters = (part: number) => (whole: number) => Math.floor((whole * part) / 4);

function applyBurst({ world, listed, joined, bound }: Burst, remembers: boolean): World {
  const applied = apply(world, { listed, joined: quarters(joined), remembers });
  return bindInOrder(applied, quarters(bound)(applied.pods?.length ?? 0));
}

describe('whatever the sizes, priorities, rules between pods, zones and sibling pools', () => {
  it('nothing is requested again while no node has joined', () => {
    fc.assert(
      fc.property(anyBurst, (burst) => {
        expect(growth(planFor(applyBurst({ ...burst, joined: 0, bound: 0 }, true)))).toEqual([]);
      }),
      runs,
    );
  });

  it('nothing is requested again by a process that remembers no increase, even if groups are chosen at random', () => {
    fc.assert(
      fc.property(anyBurst, (burst) => {
        expect(growth(planFor(applyBurst({ ...burst, joined: 0, bound: 0 }, false)))).toEqual([]);
      }),
      casesOf(14, 80),
    );
  });

  // Of 8,000 bursts one pod of one burst asked again: without a memory, nodes that Azure put into other zones than planned explain nothing.
  it.each([
    ['a process that remembers its increases', true],
    ['one that remembers none', false],
  ])('no pod asks again while nodes join and kube-scheduler binds some: %s', (_name, remembers) => {
    fc.assert(
      fc.property(anyBurst, (burst) => {
        const served = podsServed(planFor(burst.world));
        const { increases } = planFor(applyBurst({ ...burst, joined: Math.max(1, burst.joined) }, remembers));
        expect(increases.flatMap(({ pods: some }) => some).filter(({ uid }) => served.has(uid))).toEqual([]);
      }),
      runs,
    );
  });

  it.each([
    { process: 'remembers its increases', remembers: true, part: 0, creates: true },
    { process: 'remembers its increases', remembers: true, part: 2, creates: true },
    { process: 'remembers none', remembers: false, part: 0, creates: true },
    { process: 'remembers none', remembers: false, part: 2, creates: false },
  ])(
    'nothing is requested again for pods that controllers are about to create (they create some: $creates) in a process that $process',
    ({ remembers, part, creates }) => {
      fc.assert(
        fc.property(missingPods, ({ world, listed, created }) => {
          const applied = apply(world, { listed, joined: quarters(part), remembers });
          const later = creates ? look(withCreatedPods(applied, created)) : applied;
          expect(growth(planFor(later))).toEqual([]);
        }),
        casesOf(14, 25),
      );
    },
  );

  it('every pod that was served is bound in the end', () => {
    fc.assert(
      fc.property(anyBurst, ({ world }) => {
        const served = podsServed(planFor(world));
        let now = world;
        for (let round = 0; round < 12; round++) {
          const plan = planFor(now);
          if (plan.increases.length === 0 && round > 0) break;
          const joined = bindInOrder(afterPlan(now, plan, { listed: true, joined: all }));
          now = look({ ...joined, nowMs: (joined.nowMs ?? 0) + MINUTE });
        }
        const pending = (now.pods ?? []).filter(({ uid, nodeName }) => served.has(uid) && nodeName === undefined);
        expect(pending.filter((pod) => verdictOf(planFor(now), pod)?.kind !== 'helpless')).toEqual([]);
      }),
      runs,
    );
  });
});

describe('a process that remembers no increase requests nothing again', () => {
  const pool = (id: string, cpu: string, memory: string, maxSize: number): NodeGroup =>
    aGroup({ id, target: 0, maxSize, template: aTemplate({ cpu, memory, pods: '30' }), vmSize: `Standard_${id}` });

  it('if similar pools shared the nodes', () => {
    fc.assert(
      fc.property(bursts(PRIORITIES, 'none'), (parts) => {
        const world = { ...fullPools(['a', 'b', 'c'], podsOf(parts)), policy: { balanceSimilarGroups: true } };
        expect(growth(planFor(apply(world, { remembers: false })))).toEqual([]);
      }),
      runs,
    );
  });

  it.each([
    { expander: 'least-waste', max: 100 },
    { expander: 'most-pods', max: 2 },
  ] as const)('if three different pools of at most $max nodes grew as $expander chose', ({ expander, max }) => {
    fc.assert(
      fc.property(bursts(PRIORITIES, 'none'), (parts) => {
        const groups = [pool('a', '3860m', '14Gi', max), pool('b', '1900m', '30Gi', max), pool('c', '7800m', '14Gi', max)];
        expect(growth(planFor(apply({ groups, pods: podsOf(parts), policy: { expanders: [expander] } }, { remembers: false })))).toEqual(
          [],
        );
      }),
      runs,
    );
  });
});
