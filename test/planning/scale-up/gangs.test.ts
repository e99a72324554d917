import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Pod, PodShape } from '../../../src/domain/pod.ts';
import type { ScaleUpPlan } from '../../../src/domain/plan.ts';
import type { PodVerdict } from '../../../src/domain/reasons.ts';
import { sortGangs } from '../../../src/planning/scale-up/pods/starting-gangs.ts';
import { aCluster, aGroup, aNode, aPod, aTemplate, podWith, somePodGroups } from '../../support/builders.ts';
import { PodGroupShapes } from '../../../src/kubernetes/views/pod-group-shapes.ts';
import { casesOf } from '../../support/property-runs.ts';
import { afterPlan } from './applied-plan.ts';
import { anyBurst } from './random-burst.ts';
import { growth, planFor, verdictOf, type World } from './world.ts';

const NODE = { cpu: '3860m' } as const;

/** Each needs a node of its own. */
function members(name: string, count: number, shape: Partial<PodShape> = {}): readonly Pod[] {
  return Array.from({ length: count }, () => aPod({ cpu: '3', shape: { gang: `pod group ${name}`, ...shape } }));
}

function pools(maximums: Readonly<Record<string, number>>): World['groups'] {
  return Object.entries(maximums).map(([id, maxSize]) => aGroup({ id, target: 0, maxSize, template: aTemplate(NODE) }));
}

const NOT_UNSCHEDULABLE: PodVerdict = { kind: 'ignored', reason: 'not-unschedulable' };
const kinds = (plan: ScaleUpPlan, pods: readonly Pod[]) => [...new Set(pods.map((pod) => verdictOf(plan, pod)?.kind))];

it('each pod is looked at as often with many gangs as with few', () => {
  const reads = (gangs: number): number => {
    let count = 0;
    const names = Array.from({ length: gangs }, (_, at) => `g${at}`);
    const pods = names.flatMap((name) =>
      [...members(name, 2), ...members(name, 1).map((pod) => podWith(pod, { unseen: true }))].map((pod) =>
        Object.defineProperty({ ...pod }, 'namespace', { enumerable: true, get: () => (count++, pod.namespace) }),
      ),
    );
    const ignored = new Map(pods.filter(({ status }) => status.unseen).map((pod) => [pod, NOT_UNSCHEDULABLE] as const));
    const asking = pods.filter(({ status }) => !status.unseen);
    const cluster = { ...aCluster({ podGroups: somePodGroups(Object.fromEntries(names.map((name) => [name, 4]))) }), pendingPods: pods };
    count = 0;
    expect(sortGangs(cluster, { asking, ignored }).gangs).toEqual([]);
    return count / pods.length;
  };
  expect(reads(40)).toBeLessThanOrEqual(reads(4));
});

describe('pods of a group that starts as a whole', () => {
  it('get all of their nodes in one plan, over as many pools as it takes', () => {
    const gang = members('train', 4);
    const plan = planFor({ groups: pools({ a: 3, b: 3 }), pods: gang, podGroups: somePodGroups({ train: 4 }) });
    expect(plan.increases.reduce((sum, { from, to }) => sum + to - from, 0)).toBe(4);
    expect(kinds(plan, gang)).toEqual(['triggered']);
  });

  it('get nothing if one of them would be left, share one reason with both numbers, and other pods get what they need', () => {
    const gang = members('train', 4);
    const other = aPod({ cpu: '1' });
    const plan = planFor({ groups: pools({ a: 3 }), pods: [...gang, other], podGroups: somePodGroups({ train: 4 }) });
    expect(growth(plan)).toEqual(['a 0->1']);
    expect(verdictOf(plan, other)).toMatchObject({ kind: 'triggered' });
    const [verdict, ...others] = new Set(gang.map((pod) => verdictOf(plan, pod)));
    expect(others).toEqual([]);
    expect(verdict).toMatchObject({
      kind: 'helpless',
      gang: { title: 'pod group train', kind: 'PodGroup', namespace: 'default', name: 'train', uid: 'uid-train', needs: 4, placed: 3 },
      byGroup: [{ group: 'a', skip: { kind: 'max-size', max: 3 } }],
    });
  });

  it.each([
    ['the cores of the cluster', { maxCoresTotal: 15 }],
    ['the nodes of the cluster', { maxNodesTotal: 3 }],
  ])('get nothing if %s do not allow all of them', (_name, policy) => {
    const plan = planFor({ groups: pools({ a: 9 }), pods: members('train', 4), podGroups: somePodGroups({ train: 4 }), policy });
    expect(growth(plan)).toEqual([]);
  });

  it.each([
    { without: 'their group is not known to the cluster', podGroups: undefined, expected: ['a 0->3'] },
    { without: 'their group starts its pods one by one', podGroups: somePodGroups({ train: undefined }), expected: ['a 0->3'] },
    { without: 'fewer than all are enough', podGroups: somePodGroups({ train: 3 }), expected: ['a 0->3'] },
    { without: 'too many are needed', podGroups: somePodGroups({ train: 4 }), expected: [] },
  ])('are planned one by one as far as $without', ({ podGroups, expected }) => {
    const world = { groups: pools({ a: 3 }), pods: members('train', 4) };
    expect(growth(planFor(podGroups === undefined ? world : { ...world, podGroups }))).toEqual(expected);
  });

  it('count those that run, those that fit on present nodes, and those with a nominated node', () => {
    const nodes = ['x', 'y', 'z'].map((name) => aNode({ name, ...NODE }));
    const running = aPod({ cpu: '3', nodeName: 'x', shape: { gang: 'pod group train' } });
    const nominated = aPod({ cpu: '3', nominatedNodeName: 'y', shape: { gang: 'pod group train' } });
    const gang = members('train', 2);
    const planned = (minCount: number, max: number) =>
      planFor({ groups: pools({ a: max }), nodes, pods: [running, nominated, ...gang], podGroups: somePodGroups({ train: minCount }) });
    expect(growth(planned(4, 1))).toEqual(['a 0->1']);
    expect(kinds(planned(4, 0), gang)).toEqual(['helpless']);
    // Two have a place already: the others are ordinary pods.
    expect(growth(planned(2, 0))).toEqual([]);
    expect(kinds(planned(2, 0), gang)).toEqual(['fits-present-node', 'helpless']);
  });

  it.each([
    {
      why: 'fewer exist than must start together',
      podGroups: somePodGroups({ train: 5 }),
      detail: 'its pod group train starts with 5 pods together, and 4 exist',
    },
    {
      why: 'their group does not exist',
      podGroups: somePodGroups({ other: 1 }),
      detail: 'kube-scheduler does not try it: its pod group train does not exist',
    },
    {
      why: 'their group has not been read yet',
      podGroups: { ...somePodGroups({}), unread: true as const },
      detail: 'kube-scheduler does not try it: its pod group train has not been read yet',
    },
  ])('ask for nothing while $why', ({ podGroups, detail }) => {
    const gang = members('train', 4);
    const plan = planFor({ groups: pools({ a: 9 }), pods: gang, podGroups });
    expect(growth(plan)).toEqual([]);
    expect(gang.map((pod) => verdictOf(plan, pod))).toEqual(gang.map(() => ({ kind: 'ignored', reason: 'gang-incomplete', detail })));
  });

  it('ask for those that kube-scheduler has not reported on, too, since it may hold them back for the others', () => {
    const [first, ...gang] = members('train', 4);
    const world = { groups: pools({ a: 9 }), podGroups: somePodGroups({ train: 4 }) };
    const unseen = podWith({ ...first!, unschedulable: undefined }, { unseen: true });
    const plan = planFor({ ...world, pods: [unseen, ...gang] });
    expect(growth(plan)).toEqual(['a 0->4']);
    expect(plan.increases[0]?.pods).toContain(unseen);
    expect(growth(planFor({ ...world, pods: [unseen] }))).toEqual([]);
  });

  it('ask for nothing while a gate holds so many of them that too few are left', () => {
    const [first, ...gang] = members('train', 4);
    const gated = { ...first!, unschedulable: undefined };
    const plan = planFor({ groups: pools({ a: 9 }), pods: [gated, ...gang], podGroups: somePodGroups({ train: 4 }) });
    expect(growth(plan)).toEqual([]);
    expect(verdictOf(plan, gang[0]!)).toMatchObject({
      detail: 'its pod group train starts with 4 pods together; 0 have a place, and 3 ask for a node so far',
    });
  });

  it('of different sizes: the reason is that of the pods that are hardest to place', () => {
    const gang = [...members('train', 2), aPod({ cpu: '9', shape: { gang: 'pod group train' } })];
    const plan = planFor({ groups: pools({ a: 9 }), pods: gang, podGroups: somePodGroups({ train: 3 }) });
    expect(growth(plan)).toEqual([]);
    expect(verdictOf(plan, gang[0]!)).toMatchObject({
      gang: { needs: 3, placed: 2 },
      byGroup: [{ group: 'a', fit: [{ kind: 'insufficient-resource', resource: 'cpu' }] }],
    });
  });

  it('of a group whose nodes share a zone all come to one zone, or none does', () => {
    const ZONE = 'topology.kubernetes.io/zone';
    const gang = members('train', 4);
    const podGroups = somePodGroups({ train: 4 }, { topologyKey: ZONE });
    const inZone = (zone: string, maxSize: number) =>
      aGroup({ id: zone, target: 0, maxSize, template: aTemplate({ ...NODE, zones: [zone], labels: { [ZONE]: zone } }) });
    const planned = (max: number) => {
      const { pendingPods } = new PodGroupShapes().resolve(aCluster({ pods: gang }), podGroups);
      return planFor({ groups: [inZone('r-1', max), inZone('r-2', max)], pods: pendingPods, podGroups });
    };
    expect(growth(planned(4))).toEqual(['r-1 0->4']);
    expect(growth(planned(2))).toEqual([]);
  });

  it('take part of a second look that requests nothing, whether none, some or all of their nodes have joined', () => {
    const gang = members('train', 4);
    const world: World = { groups: pools({ a: 3, b: 3 }), pods: gang, podGroups: somePodGroups({ train: 4 }) };
    const plan = planFor(world);
    for (const remembers of [true, false]) {
      for (const joined of [0, 1, 2]) {
        const applied = afterPlan(world, plan, { listed: true, remembers, joined: (added) => Math.min(joined, added) });
        const next = planFor(applied);
        expect(growth(next)).toEqual([]);
        expect(kinds(next, gang)).not.toContain('helpless');
      }
    }
  });
});

describe('groups that start as a whole beside each other', () => {
  const two = (minimums: Readonly<Record<string, number>>, max: number, loopId = 1) => {
    const pods = Object.keys(minimums).flatMap((name) => members(name, 4));
    const plan = planFor({ groups: pools({ a: max }), pods, podGroups: somePodGroups(minimums), loopId });
    return { plan, served: new Set(pods.flatMap((pod) => (verdictOf(plan, pod)?.kind === 'triggered' ? [pod.shape.gang] : []))) };
  };

  it('do not take each other half of the room: one gets all of it, and the other waits', () => {
    for (const loopId of [1, 2, 3]) {
      const { plan, served } = two({ one: 4, two: 4 }, 4, loopId);
      expect(growth(plan)).toEqual(['a 0->4']);
      expect(served.size).toBe(1);
    }
  });

  it('each get their turn: one that can never start keeps no other from it', () => {
    const never = members('never', 3, { nodeSelector: { none: 'such' } });
    const pods = [...never, ...members('one', 4), ...members('two', 4)];
    const podGroups = somePodGroups({ never: 3, one: 4, two: 4 });
    const served = (loopId: number) => planFor({ groups: pools({ a: 4 }), pods, podGroups, loopId });
    for (const loopId of [1, 2, 3, 4]) expect(growth(served(loopId))).toEqual(['a 0->4']);
  });

  it('that a loop has no plan left for are tried by a later one, and are not called impossible', () => {
    const never = Array.from({ length: 6 }, (_, at) => [
      ...members(`no-${at}`, 1),
      ...members(`no-${at}`, 1, { nodeSelector: { none: 'such' } }),
    ]);
    const last = members('one', 3);
    const pods = [...never.flat(), ...last];
    const podGroups = somePodGroups({ one: 3, ...Object.fromEntries(never.map((_, at) => [`no-${at}`, 2])) });
    const plans = Array.from({ length: 7 }, (_, at) => planFor({ groups: pools({ a: 3 }), pods, podGroups, loopId: at + 1, retries: 2 }));
    expect(plans.map((plan) => growth(plan).join()).sort()).toEqual(['', '', '', '', '', 'a 0->3', 'a 0->3']);
    for (const plan of plans) {
      const kind = verdictOf(plan, last[0]!)?.kind;
      expect(kind).toBe(plan.increases.length === 0 ? 'waiting' : 'triggered');
    }
  });
});

describe('whatever the sizes, rules, zones, priorities and pools', () => {
  /** The kinds of a burst as gangs of some of their pods. */
  const gangsIn = anyBurst.chain((burst) =>
    fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 6, maxLength: 6 }).map((minimums) => {
      const nameOf = ({ shape }: Pod) => shape.labels['app'] ?? '';
      const sizes = Map.groupBy(burst.world.pods ?? [], nameOf);
      const needs = new Map([...sizes].map(([name, { length }], at) => [name, Math.min(length, minimums[at] ?? 0)]));
      const pods = (burst.world.pods ?? []).map((pod) =>
        (needs.get(nameOf(pod)) ?? 0) === 0
          ? pod
          : { ...pod, shape: { ...pod.shape, key: `${pod.shape.key}!`, gang: `pod group ${nameOf(pod)}` } },
      );
      const podGroups = somePodGroups(Object.fromEntries([...needs].filter(([, need]) => need > 0)));
      return { ...burst, world: { ...burst.world, pods, podGroups }, needs };
    }),
  );
  const hasPlace = (plan: ScaleUpPlan, pod: Pod) =>
    ['triggered', 'fits-present-node', 'fits-upcoming-node'].includes(verdictOf(plan, pod)?.kind ?? '');

  it('no half of a gang is ever bought, and the plan is that of the pods that start', () => {
    fc.assert(
      fc.property(gangsIn, ({ world, needs }) => {
        const plan = planFor(world);
        const byGang = Map.groupBy(world.pods, ({ shape }) => shape.labels['app'] ?? '');
        for (const [name, pods] of byGang) {
          const placed = pods.filter((pod) => hasPlace(plan, pod)).length;
          const need = needs.get(name) ?? 0;
          if (need > 0) expect(placed === 0 || placed >= need).toBe(true);
        }
        const bought = plan.increases.flatMap(({ pods }) => pods);
        expect(bought.filter((pod) => !hasPlace(plan, pod))).toEqual([]);
        for (const { pods } of plan.increases) expect(pods.length).toBeGreaterThan(0);
      }),
      casesOf(31, 60),
    );
  });

  it('a gang is bought once: a second look requests nothing while no node has joined', () => {
    fc.assert(
      fc.property(gangsIn, ({ world, listed }) => {
        const next = afterPlan(world, planFor(world), { listed });
        expect(growth(planFor(next))).toEqual([]);
      }),
      casesOf(31, 60),
    );
  });

  it('without groups in the cluster, the plan is that of ordinary pods', () => {
    fc.assert(
      fc.property(gangsIn, ({ world: { podGroups: _podGroups, ...world } }) => {
        const ordinary = world.pods.map((pod) => ({ ...pod, shape: { ...pod.shape, gang: undefined } }));
        expect(growth(planFor(world))).toEqual(growth(planFor({ ...world, pods: ordinary })));
      }),
      casesOf(31, 30),
    );
  });
});
