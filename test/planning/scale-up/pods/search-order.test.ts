/** Pods that nothing can hold never keep the pods of others from their search, loop after loop. */
import { describe, expect, it } from 'vitest';
import type { LoopState } from '../../../../src/domain/loop-state.ts';
import type { ScaleUpPlan } from '../../../../src/domain/plan.ts';
import type { Pod } from '../../../../src/domain/pod.ts';
import { dumpRecord, readDump } from '../../../../src/loop/replay/dump.ts';
import { replayDump } from '../../../../src/loop/replay/replay.ts';
import { rememberStop } from '../../../../src/planning/state/stopped-plans.ts';
import { planScaleUp } from '../../../../src/planning/scale-up/plan.ts';
import { aGroup, aNode, aPod, aTemplate, resourceNames, START_MS } from '../../../support/builders.ts';
import { growth, inputFor, verdictOf, type World } from '../world.ts';
import { NOTHING_DECIDED } from '../../../../src/domain/ports/records.ts';
import { aState } from '../../../support/state.ts';

const OLD_MS = START_MS - 600_000;
/** All different, older than other pods, and for no node at all. */
const hopeless = (count: number, namespaceOf: (at: number) => string, priority?: number): readonly Pod[] =>
  Array.from({ length: count }, (_, at) => {
    const namespace = namespaceOf(at);
    const shape = { namespace, nodeSelector: { nowhere: `x${at}` }, priority };
    return aPod({ name: `noise-${at}`, namespace, createdAtMs: OLD_MS, shape });
  });
const web = aPod({ name: 'web', namespace: 'team-b', cpu: '3', createdAtMs: START_MS - 60_000, shape: { namespace: 'team-b', cpu: '3' } });

interface Loop {
  readonly plan: ScaleUpPlan;
  readonly before: LoopState;
}

/** Loops of a world in which nothing changes, each with what the one before remembers. */
function loops(count: number, world: World): readonly Loop[] {
  let before: LoopState = aState();
  return Array.from({ length: count }, (_, at) => {
    const input = inputFor({ ...world, state: before, loopId: at + 1, nowMs: START_MS + at * 10_000 });
    const loop = { plan: planScaleUp(input), before };
    before = rememberStop(before, loop.plan, at + 1);
    return loop;
  });
}

const world = (pods: readonly Pod[], searchesInTime = 20): World => ({
  groups: [aGroup({ id: 'a', target: 0, maxSize: 9 })],
  nodes: [aNode({ name: 'there', cpu: '2' })],
  pods: [...pods, web],
  isLate: (_made, searches = 0) => searches >= searchesInTime,
});
const firstLoopThatServes = (pod: Pod, all: readonly Loop[]) => 1 + all.findIndex(({ plan }) => verdictOf(plan, pod)?.kind === 'triggered');

describe('the order of searches', () => {
  it('lets the namespaces take turns: the older pods of one are no reason to leave out those of another', () => {
    const [loop] = loops(1, world(hopeless(60, () => 'team-a')));
    expect(loop?.plan.verdicts.get(web)).toMatchObject({ kind: 'triggered' });
    expect(loop?.plan.searchedUntilLate).toBe(20);
  });

  it('serves higher priorities first, and the longer waiting first within a namespace', () => {
    const pod = (name: string, namespace: string, priority: number, ageMs: number) =>
      aPod({ name, namespace, createdAtMs: START_MS - ageMs, shape: { namespace, priority, nodeSelector: { nowhere: name } } });
    const pods = [pod('a1', 'a', 0, 9), pod('a2', 'a', 0, 8), pod('a3', 'a', 0, 7), pod('b1', 'b', 0, 6), pod('c1', 'c', 1, 1)];
    const searchedFirst = (searches: number) => {
      const [loop] = loops(1, { ...world([], searches), pods });
      return pods.filter((each) => loop?.plan.verdicts.get(each)?.kind === 'helpless').map(({ name }) => name);
    };
    expect([1, 2, 3, 4].map(searchedFirst)).toEqual([['c1'], ['a1', 'c1'], ['a1', 'b1', 'c1'], ['a1', 'a2', 'b1', 'c1']]);
  });

  it.each([
    { name: 'of a higher priority', pods: hopeless(60, () => 'team-a', 1_000) },
    { name: 'of the same namespace', pods: hopeless(60, () => 'team-b') },
    { name: 'of more namespaces than there is time for', pods: hopeless(60, (at) => `team-${at}`) },
  ])('goes on where the last plan stopped: pods $name that were searched in vain come last', ({ pods }) => {
    // Time for twenty searches in each loop: sixty-one pods need four loops.
    const all = loops(4, world(pods));
    expect(firstLoopThatServes(web, all)).toBe(4);
    expect(all.slice(0, 3).map(({ plan }) => growth(plan))).toEqual([[], [], []]);
  });

  it('begins a new round when each pod had its search, so that none is left behind for ever', () => {
    const pods = hopeless(60, () => 'team-a');
    const searched = loops(8, { ...world(pods), pods }).map(({ plan }) =>
      pods.flatMap((pod, at) => (plan.verdicts.get(pod)?.kind === 'helpless' ? [at] : [])),
    );
    const counts = pods.map((_, at) => searched.filter((some) => some.includes(at)).length);
    expect([Math.min(...counts), Math.max(...counts)]).toEqual([2, 3]);
  });

  it('is that of precedence again after a plan that came to its end', () => {
    const { stopped, ...rest } = rememberStop(
      aState({ stopped: { searched: [web.uid], explained: [], estimateFrom: 7 } }),
      { verdicts: new Map(), cutShortAfter: undefined },
      3,
    );
    expect([stopped, rest]).toEqual([undefined, aState()]);
  });

  it('is repeated by a replay of a plan that went on', () => {
    const pods = hopeless(60, () => 'team-b');
    const first = world(pods);
    for (const [at, { plan, before }] of loops(4, first).entries()) {
      const { observation, policy } = inputFor({ ...first, loopId: at + 1, nowMs: START_MS + at * 10_000 });
      const text = dumpRecord(
        { ...NOTHING_DECIDED, observation, stateBefore: before, scaleUp: [plan], scaleDown: undefined, policy },
        resourceNames,
      );
      expect(replayDump(readDump(text, resourceNames), resourceNames).equal).toBe(true);
    }
  });
});

describe('estimates that run out of time', () => {
  const groups = Array.from({ length: 12 }, (_, at) =>
    aGroup({ id: `g${at}`, target: 0, maxSize: 9, template: aTemplate({ labels: { pool: `p${at}` } }) }),
  );
  const pods = groups.map((_, at) => aPod({ name: `p${at}`, shape: { nodeSelector: { pool: `p${at}` } } }));

  it('go on with the groups where the last plan stopped, and not one group further', () => {
    const all = loops(4, { groups, pods, isLate: (made, searches) => searches === undefined && made >= 3 });
    const grown = all.flatMap(({ plan }) => plan.options.map(({ group }) => group));
    expect(new Set(grown).size).toBe(12);
  });

  it('are made although the time for searches was up', () => {
    const [loop] = loops(1, { groups, pods, isLate: (_made, searches = 0) => searches >= 6 });
    expect(loop?.plan.increases).toHaveLength(6);
  });
});
