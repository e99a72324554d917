import { describe, expect, it } from 'vitest';
import { aGroup, aNode, aPod, aTemplate, START_MS } from '../../support/builders.ts';
import { growth, planFor, verdictOf } from './world.ts';

/** A node has room for 4 CPUs less what every node keeps. */
const high = (cpu: string) => aPod({ cpu, shape: { priority: 100 } });
const low = (cpu: string) => aPod({ cpu });

describe('capacity that is short goes to pods of higher priority', () => {
  it('though packing by size would have taken a larger pod first', () => {
    const [first, second, large] = [high('1500m'), high('1500m'), low('2500m')];
    const plan = planFor({ groups: [aGroup({ id: 'a', target: 0, maxSize: 1 })], pods: [large, first, second] });
    expect(growth(plan)).toEqual(['a 0->1']);
    expect([first, second].map((pod) => verdictOf(plan, pod)?.kind)).toEqual(['triggered', 'triggered']);
    expect(verdictOf(plan, large)).toEqual({ kind: 'helpless', byGroup: [{ group: 'a', skip: { kind: 'max-size', max: 1 } }] });
  });

  it('in as many whole plans as the loop has left', () => {
    // Each pod of higher priority is smaller, and the pool has room for one of the smallest and little more.
    const pods = Array.from({ length: 12 }, (_, step) => aPod({ cpu: `${3900 - step * 190}m`, shape: { priority: step } }));
    const world = { groups: [aGroup({ id: 'a', target: 0, maxSize: 1 })], pods };
    const kinds = (retries?: number) => {
      const plan = planFor(retries === undefined ? world : { ...world, retries });
      return { retried: plan.retried, top: verdictOf(plan, pods.at(-1)!)?.kind };
    };
    expect(kinds(0)).toEqual({ retried: 0, top: 'helpless' });
    expect(kinds(1)).toEqual({ retried: 1, top: 'triggered' });
    expect(kinds().retried).toBeLessThanOrEqual(6);
  });

  it('and in one plan with the others where it is not short', () => {
    const pods = [low('2500m'), high('1500m'), high('1500m')];
    const plan = planFor({ groups: [aGroup({ id: 'a', target: 0, maxSize: 2 })], pods });
    expect(pods.map((pod) => verdictOf(plan, pod)?.kind)).toEqual(['triggered', 'triggered', 'triggered']);
  });

  it('and is not held back for a pod that nothing can help', () => {
    const [impossible, other] = [high('64'), low('2500m')];
    const plan = planFor({ groups: [aGroup({ id: 'a', target: 0, maxSize: 1 })], pods: [impossible, other] });
    expect([impossible, other].map((pod) => verdictOf(plan, pod)?.kind)).toEqual(['helpless', 'triggered']);
  });

  it('where one priority cannot be helped and the next can', () => {
    const [impossible, middle, second, large] = [
      aPod({ cpu: '64', shape: { priority: 1000 } }),
      high('1500m'),
      high('1500m'),
      low('2500m'),
    ];
    const plan = planFor({ groups: [aGroup({ id: 'a', target: 0, maxSize: 1 })], pods: [large, impossible, middle, second] });
    expect([middle, second].map((pod) => verdictOf(plan, pod)?.kind)).toEqual(['triggered', 'triggered']);
    expect([verdictOf(plan, impossible)?.kind, verdictOf(plan, large)?.kind]).toEqual(['helpless', 'helpless']);
  });

  it('step by step, as long as a higher one is passed over', () => {
    const [top, middle, large] = [
      aPod({ cpu: '1500m', shape: { priority: 1000 } }),
      aPod({ cpu: '2', shape: { priority: 100 } }),
      aPod({ cpu: '3', shape: { priority: 1 } }),
    ];
    const verdicts = (maxSize: number) => {
      const plan = planFor({ groups: [aGroup({ id: 'a', target: 0, maxSize })], pods: [large, middle, top] });
      return [top, middle, large].map((pod) => verdictOf(plan, pod)?.kind);
    };
    expect(verdicts(1)).toEqual(['triggered', 'triggered', 'helpless']);
    expect(verdicts(2)).toEqual(['triggered', 'triggered', 'triggered']);
  });

  it('and goes on where the first step served the next one at the expense of the highest', () => {
    const of = (team: string, priority: number, cpu: string) => aPod({ cpu, shape: { priority, nodeSelector: { team } } });
    const [top, middle, last] = [of('x', 10, '1'), of('x', 0, '1'), of('x', -5, '3500m')];
    const others = [of('y', 0, '1800m'), of('y', 0, '1800m'), of('y', 0, '1800m')];
    const group = (id: string) => aGroup({ id, target: 0, maxSize: 2, template: aTemplate({ labels: { team: id } }) });
    const plan = planFor({
      groups: [group('x'), group('y')],
      pods: [last, top, middle, ...others],
      policy: { expanders: ['least-waste'], maxNodesTotal: 2 },
    });
    expect(growth(plan)).toEqual(['x 0->1', 'y 0->1']);
    expect([top, middle, last].map((pod) => verdictOf(plan, pod)?.kind)).toEqual(['triggered', 'triggered', 'helpless']);
    expect(others.filter((pod) => verdictOf(plan, pod)?.kind === 'triggered')).toHaveLength(2);
  });

  it('and the others get what is left, in the same plan: on the new nodes, and nodes of another group', () => {
    const first = high('3');
    const [large, small, huge] = [low('3500m'), low('500m'), low('7')];
    const groups = [
      aGroup({ id: 'a', target: 0, maxSize: 1 }),
      aGroup({ id: 'big', target: 0, maxSize: 1, template: aTemplate({ cpu: '8' }) }),
    ];
    const plan = planFor({ groups, pods: [huge, large, small, first], policy: { expanders: ['least-waste'] } });
    expect(growth(plan)).toEqual(['a 0->1', 'big 0->1']);
    expect([first, small, huge].map((pod) => verdictOf(plan, pod))).toEqual([
      { kind: 'triggered', group: 'a' },
      { kind: 'triggered', group: 'a' },
      { kind: 'triggered', group: 'big' },
    ]);
    expect(verdictOf(plan, large)?.kind).toBe('helpless');
  });

  it('also where places depend on each other', () => {
    const apart = {
      podAntiAffinity: [
        { topologyKey: 'kubernetes.io/hostname', selector: { requirements: [] }, namespaces: ['default'], namespaceSelector: undefined },
      ],
    };
    const pods = [
      aPod({ cpu: '3', shape: { priority: 1, ...apart } }),
      aPod({ cpu: '1', shape: { priority: 5, ...apart } }),
      aPod({ cpu: '2', shape: { priority: 9, ...apart } }),
    ];
    const plan = planFor({ groups: [aGroup({ id: 'a', target: 0, maxSize: 2 })], pods });
    expect(pods.map((pod) => verdictOf(plan, pod)?.kind)).toEqual(['helpless', 'triggered', 'triggered']);
    expect(growth(plan)).toEqual(['a 0->2']);
  });

  it('and what they leave on nodes that are there is for the others', () => {
    const [first, second, large, small] = [high('1500m'), high('1500m'), low('2500m'), low('200m')];
    const nodes = [aNode({ name: 'full' })];
    const filler = aPod({ cpu: '3500m', nodeName: 'full' });
    const groups = [aGroup({ id: 'a', target: 0, maxSize: 1 })];
    const plan = planFor({ groups, nodes, pods: [filler, large, small, first, second] });
    expect([first, second].map((pod) => verdictOf(plan, pod)?.kind)).toEqual(['triggered', 'triggered']);
    expect(verdictOf(plan, small)?.kind).toBe('fits-present-node');
  });

  it('in the time that there is for all tries together, and a replay that ends after as many estimates finds the same', () => {
    const groups = ['a', 'b', 'c'].map((id) => aGroup({ id, target: 0, maxSize: 1 }));
    const pods = [low('2500m'), low('2500m'), low('2500m'), ...Array.from({ length: 4 }, () => high('1500m'))];
    const endingAfter = (looks: number) => {
      let asked = 0;
      return planFor({ groups, pods, isLate: (_made, searches) => searches === undefined && ++asked > looks });
    };
    const plans = Array.from({ length: 16 }, (_, looks) => endingAfter(looks));
    for (const plan of plans) {
      const { cutShortAfter = Infinity } = plan;
      expect(planFor({ groups, pods, isLate: (made, searches) => searches === undefined && made >= cutShortAfter })).toEqual(plan);
    }
    const servedHigh = plans.map((plan) => pods.slice(3).filter((pod) => verdictOf(plan, pod)?.kind === 'triggered').length);
    expect([servedHigh[0], servedHigh.at(-1), plans.at(-1)?.cutShortAfter]).toEqual([1, 4, undefined]);
    // The first try was whole by then, and the second was not.
    expect(plans.some(({ increases, cutShortAfter }) => increases.length === 3 && cutShortAfter !== undefined)).toBe(true);
  });
});

describe('who is put aside, and who comes first', () => {
  const place = { groups: [aGroup({ id: 'a', target: 1 })], nodes: [aNode({ name: 'a-0', cpu: '2' })] };
  const asking = (name: string, priority: number | undefined, rest: Parameters<typeof aPod>[0] = {}) =>
    aPod({ name, cpu: '1500m', ...rest, shape: { cpu: '1500m', priority } });
  const verdicts = (pods: ReturnType<typeof aPod>[]) => {
    const plan = planFor({ ...place, pods });
    return pods.map((pod) => verdictOf(plan, pod)?.kind);
  };

  it.each([
    ['says none', undefined, 'triggered'],
    ['has 0', 0, 'triggered'],
    ['is at the cutoff', -10, 'triggered'],
    ['is below it', -11, 'ignored'],
  ] as const)('a pod whose priority %s asks for a node, or is expendable', (_what, priority, kind) => {
    expect(verdicts([asking('full', 100), asking('p', priority)])).toEqual(['fits-present-node', kind]);
  });

  it('expendable pods that wait take no room from others, and those that are there make room for them', () => {
    expect(verdicts([asking('wait', -20), asking('p', undefined)])).toEqual(['ignored', 'fits-present-node']);
    const there = asking('there', -20, { nodeName: 'a-0' });
    expect(verdicts([there, asking('wait', -20), asking('p', undefined)])).toEqual([undefined, 'ignored', 'fits-present-node']);
  });

  it('room that is there goes to the higher priority, then to who has waited longer', () => {
    expect(verdicts([asking('low', 1), asking('high', 2)])).toEqual(['triggered', 'fits-present-node']);
    const [young, old] = [asking('a', 1, { createdAtMs: START_MS - 100_000 }), asking('b', 1, { createdAtMs: START_MS - 200_000 })];
    expect(verdicts([young, old])).toEqual(['triggered', 'fits-present-node']);
  });
});
