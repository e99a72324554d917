import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nodeGroupId } from '../../../../src/domain/ids.ts';
import type { LoopState } from '../../../../src/domain/loop-state.ts';
import { reduceIncrease, reduceObservation } from '../../../../src/planning/state/loop-state.ts';
import { classifyVerdict } from '../../../../src/planning/explain/verdicts.ts';
import { aCluster, aGroup, anObservation, aPod, START_MS } from '../../../support/builders.ts';
import { aPolicy, growth, planFor, skipOf, verdictOf, type World } from '../../scale-up/world.ts';
import { aState, type StateParts } from '../../../support/state.ts';
import { requestedLastMinute, type RequestsByGroup } from '../../../../src/planning/state/increases/increase-rate.ts';

const A = nodeGroupId('a');
/** One pod per node. */
const pods = (count: number) => Array.from({ length: count }, (_, at) => aPod({ name: `p-${at}`, cpu: '3', shape: { cpu: '3' } }));
const group = (id: string, part: Parameters<typeof aGroup>[0] = {}) => aGroup({ id, target: 0, maxSize: 20, ...part });
const asked = (nodes: number, secondsAgo: number): StateParts => ({
  asked: new Map([[A, [{ atMs: START_MS - secondsAgo * 1000, nodes }]]]),
});
const ramped = (world: World, most = 4) => planFor({ ...world, policy: { maxNodesPerGroupPerMinute: most, ...world.policy } });

describe('a group grows by so many nodes within a minute', () => {
  it.each<[string, StateParts, readonly string[]]>([
    ['nothing was asked for', {}, ['a 0->4']],
    ['some were', asked(3, 30), ['a 0->1']],
    ['as many as may be were', asked(4, 30), []],
    ['they were a minute ago', asked(4, 60), ['a 0->4']],
  ])('%s', (_, state, expected) => {
    expect(growth(ramped({ groups: [group('a')], pods: pods(6), state }))).toEqual(expected);
  });

  it('what it may not be asked for goes to the next group in the same plan', () => {
    const plan = ramped({ groups: [group('a'), group('b')], pods: pods(6) });
    expect(growth(plan)).toEqual(['a 0->4', 'b 0->2']);
  });

  it('with no other group its pods wait, and their reason has the end of the wait', () => {
    const waiting = pods(6);
    const plan = ramped({ groups: [group('a')], pods: waiting, state: asked(4, 20) });
    const verdict = verdictOf(plan, waiting[0]!)!;
    expect(skipOf(plan, 'a')).toEqual({ kind: 'ramp', perMinute: 4, untilMs: START_MS + 40_000 });
    expect(verdict).toMatchObject({ kind: 'helpless', byGroup: [{ group: 'a', skip: { kind: 'ramp' } }] });
    expect(classifyVerdict(verdict)).toBe('coming');
  });

  it('what a part of the pods is asked for, the others wait for, too', () => {
    const waiting = pods(6);
    const plan = ramped({ groups: [group('a')], pods: waiting });
    const verdicts = waiting.map((pod) => classifyVerdict(verdictOf(plan, pod)!));
    expect(verdicts.filter((verdict) => verdict === 'helped')).toHaveLength(4);
    expect(verdicts.filter((verdict) => verdict === 'coming')).toHaveLength(2);
  });

  it('balanced groups share what each of them may be asked for', () => {
    const plan = ramped({
      groups: [group('a'), group('b'), group('c')],
      pods: pods(9),
      state: asked(4, 1),
      policy: { balanceSimilarGroups: true },
    });
    expect(growth(plan)).toEqual(['b 0->4', 'c 0->4']);
  });

  it('the minimum size is reached step by step; a group of use only as a whole at once', () => {
    const policy = { enforceMinSize: true };
    expect(growth(ramped({ groups: [group('a', { minSize: 9 })], policy }))).toEqual(['a 0->4']);
    expect(growth(ramped({ groups: [group('a', { maxSize: 9, options: { zeroOrMax: true } })], pods: pods(1) }))).toEqual(['a 0->9']);
  });

  it('0 is no limit, and the maximum is still one', () => {
    expect(growth(ramped({ groups: [group('a')], pods: pods(6) }, 0))).toEqual(['a 0->6']);
    expect(growth(ramped({ groups: [group('a', { maxSize: 2 })], pods: pods(6) }))).toEqual(['a 0->2']);
  });

  it('whatever comes when, no minute sees more than the limit', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 5 }),
        fc.array(fc.record({ waitMs: fc.integer({ max: 40_000, min: 0 }), pods: fc.nat(9) }), { maxLength: 12 }),
        (most, loops) => {
          const policy = aPolicy({ maxNodesPerGroupPerMinute: most });
          const wrote: { atMs: number; nodes: number }[] = [];
          let state: LoopState = aState();
          let nowMs = START_MS;
          let target = 0;
          for (const loop of loops) {
            nowMs += loop.waitMs;
            const groups = [group('a', { target, maxSize: 1000, instances: [] })];
            const observation = { ...anObservation(groups, aCluster({ pods: pods(loop.pods) })), nowMs };
            state = reduceObservation(state, observation, policy);
            // Nodes on their way would take the pods: each loop's are new ones.
            const plan = planFor({
              groups,
              pods: pods(loop.pods),
              state: { asked: shifted(requestedLastMinute(state, nowMs), START_MS - nowMs) },
              policy: { maxNodesPerGroupPerMinute: most },
            });
            for (const increase of plan.increases) {
              const outcome = { kind: 'accepted', group: A, target: increase.to } as const;
              state = reduceIncrease(state, { increase, outcome, group: undefined, followed: undefined }, nowMs, policy);
              wrote.push({ atMs: nowMs, nodes: increase.to - increase.from });
              target = increase.to;
            }
          }
          for (const { atMs } of wrote) {
            const within = wrote.filter((other) => other.atMs >= atMs && other.atMs < atMs + 60_000);
            expect(within.reduce((sum, { nodes }) => sum + nodes, 0)).toBeLessThanOrEqual(most);
          }
        },
      ),
      { numRuns: 100, seed: 4 },
    );
  });
});

/** The plans of these tests are made at the start of time. */
function shifted(asks: RequestsByGroup, byMs: number): RequestsByGroup {
  return new Map([...asks].map(([id, list]) => [id, list.map(({ atMs, nodes }) => ({ atMs: atMs + byMs, nodes }))]));
}
