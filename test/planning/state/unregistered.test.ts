/** Instances without a node: since when, when they go, and when a replacement comes first. */
import { describe, expect, it } from 'vitest';
import { nodeGroupId } from '../../../src/domain/ids.ts';
import type { LoopState } from '../../../src/domain/loop-state.ts';
import type { Observation } from '../../../src/domain/observation.ts';
import { planScaleDown } from '../../../src/planning/scale-down/plan.ts';
import { planScaleUp } from '../../../src/planning/scale-up/plan.ts';
import { findUpcomingNodes, indexUpcomingNodes } from '../../../src/planning/scale-up/groups/upcoming-nodes.ts';
import { reduceObservation } from '../../../src/planning/state/loop-state.ts';
import { ClusterSnapshot } from '../../../src/scheduling/snapshot/cluster-snapshot.ts';
import { aCluster, aGroup, aNode, anInstance, anObservation, keyOf, resourceNames, START_MS } from '../../support/builders.ts';
import { aPolicy } from '../../support/policy.ts';
import { aState } from '../../support/state.ts';
import { FIRST_PLAN } from '../../../src/planning/scale-up/plan-input.ts';
import { REMOVALS_ALONE } from '../../../src/planning/scale-down/plan-context.ts';
import { inFlightByGroup } from '../../../src/planning/state/increases/increase-records.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const POLICY = aPolicy();

/** Two instances that run since yesterday; these of them have nodes. */
function observed(nodes: readonly string[], atMs: number, minSize = 0): Observation {
  const instances = ['p-0', 'p-1'].map((node) => anInstance({ node, firstSeenMs: START_MS - DAY }));
  const cluster = aCluster({ nodes: nodes.map((name) => aNode({ name })) });
  return { ...anObservation([aGroup({ id: 'p', target: 2, minSize, instances })], cluster), nowMs: atMs };
}

function decide(seen: readonly Observation[]) {
  let state = aState();
  for (const observation of seen) state = reduceObservation(state, observation, POLICY);
  const observation = seen.at(-1) ?? observed([], START_MS);
  const snapshot = new ClusterSnapshot({ names: resourceNames });
  snapshot.sync(observation.cluster);
  const input = { ...FIRST_PLAN, observation, state, policy: POLICY, names: resourceNames, snapshot };
  const { increases } = planScaleUp(input);
  const { instanceRemovals } = planScaleDown({ ...REMOVALS_ALONE, ...input, scaleUpPlanned: increases.length > 0 });
  return {
    grown: increases.map(({ from, to, cause }) => ({ from, to, cause })),
    removed: instanceRemovals.map(({ instance }) => instance),
  };
}

const BOTH = ['p-0', 'p-1'];
const at = (minutes: number): number => START_MS + minutes * MINUTE;

describe('an instance whose node disappeared', () => {
  it.each([
    { name: 'is not deleted at once, however old it is', last: at(11), removed: [] },
    { name: 'has as long to come back as a new one', last: at(24), removed: [] },
    { name: 'goes after that', last: at(26), removed: [keyOf('p-1')] },
  ])('$name', ({ last, removed }) => {
    expect(decide([observed(BOTH, START_MS), observed(['p-0'], at(10)), observed(['p-0'], last)]).removed).toEqual(removed);
  });

  it('starts again if it came back in between', () => {
    const seen = [observed(['p-0'], at(0)), observed(BOTH, at(10)), observed(['p-0'], at(12)), observed(['p-0'], at(20))];
    expect(decide(seen).removed).toEqual([]);
  });

  it('does not apply if no node at all matches an instance', () => {
    expect(decide([observed(['x'], at(0)), observed(['x'], at(30))])).toEqual({ grown: [], removed: [] });
  });
});

describe('an instance that never becomes a node, in a group at its minimum', () => {
  it('is replaced before it goes, once the rest after the failed growth is over', () => {
    const seen = [at(0), at(14), at(16), at(22)].map((atMs) => observed(['p-0'], atMs, 2));
    const replaced = { grown: [{ from: 2, to: 3, cause: 'min-size' }], removed: [] };
    const nothing = { grown: [], removed: [] };
    expect([2, 3, 4].map((count) => decide(seen.slice(0, count)))).toEqual([nothing, nothing, replaced]);
  });

  it('is replaced at once when it had a node before: no growth of ours failed', () => {
    const seen = [observed(BOTH, at(0), 2), observed(['p-0'], at(1), 2), observed(['p-0'], at(15), 2), observed(['p-0'], at(17), 2)];
    expect(decide(seen.slice(0, 3))).toEqual({ grown: [], removed: [] });
    expect(decide(seen)).toEqual({ grown: [{ from: 2, to: 3, cause: 'min-size' }], removed: [] });
  });
});

describe('a process that begins while machines are awaited', () => {
  /** Fifteen minutes are allowed; `p-1` never becomes a node, and this process saw it first at the start. */
  const born = (minutesAgo: number | undefined, atMs = START_MS): Observation => {
    const createdAtMs = minutesAgo === undefined ? {} : { createdAtMs: START_MS - minutesAgo * MINUTE };
    const instances = [anInstance({ node: 'p-0' }), anInstance({ node: 'p-1', firstSeenMs: START_MS, ...createdAtMs })];
    const observation = anObservation(
      [aGroup({ id: 'p', target: 2, minSize: 0, instances })],
      aCluster({ nodes: [aNode({ name: 'p-0' })] }),
    );
    return { ...observation, nowMs: atMs };
  };

  it.each([
    { name: 'that was born 5 minutes ago has 10 more', minutesAgo: 5, goesAfter: 10 },
    { name: 'whose time is all but over has a minute', minutesAgo: 14.9, goesAfter: 1 },
    { name: 'whose time was over has a minute', minutesAgo: 29, goesAfter: 1 },
    { name: 'that may have been a node long ago has the whole time', minutesAgo: 31, goesAfter: 15 },
    { name: 'of the future has the whole time', minutesAgo: -3, goesAfter: 15 },
    { name: 'that says nothing has the whole time', minutesAgo: undefined, goesAfter: 15 },
  ])('one $name', ({ minutesAgo, goesAfter }) => {
    const last = (minutes: number) => decide([born(minutesAgo), born(minutesAgo, at(minutes))]).removed;
    expect(last(goesAfter)).toEqual([]);
    expect(last(goesAfter + 0.01)).toEqual([keyOf('p-1')]);
  });

  it('what is awaited fails at its own time, not at that of the process', () => {
    const rests = (minutes: number): string | undefined => {
      const state = reduceObservation(reduceObservation(aState(), born(5), POLICY), born(5, at(minutes)), POLICY);
      return [...state.backoffs.values()][0]?.cause;
    };
    expect([rests(10), rests(10.01)]).toEqual([undefined, 'timeout']);
  });

  it('what has been coming for too long is no room to come, but as long as the order is believed in', () => {
    const coming = (minutesAgo: number, state = aState()): number => {
      const observation = born(minutesAgo);
      const [group] = observation.cloud.groups;
      return findUpcomingNodes(group!, indexUpcomingNodes({ observation, state, policy: POLICY })).unregistered.length;
    };
    expect([coming(14), coming(15), coming(31)]).toEqual([1, 0, 1]);
    const group = nodeGroupId('p');
    const ordered = (expectedByMs: number): LoopState =>
      aState({ awaited: new Map([[group, { group, nodes: 1, requestedAtMs: at(-15), expectedByMs }]]) });
    expect([coming(15, ordered(START_MS)), coming(15, ordered(START_MS - 1))]).toEqual([1, 0]);
  });
});

describe('nodes of another writer on top of ours', () => {
  it('give all of them their time again', () => {
    const seen = (target: number, atMs: number): Observation => ({
      ...anObservation(
        [aGroup({ id: 'p', target, instances: [anInstance({ node: 'p-0' })] })],
        aCluster({ nodes: [aNode({ name: 'p-0' })] }),
      ),
      nowMs: atMs,
    });
    const looks = [seen(2, at(0)), seen(3, at(10)), seen(3, at(20))];
    const state = looks.reduce((next, look) => reduceObservation(next, look, POLICY), aState());
    expect([...inFlightByGroup(state).values()]).toMatchObject([{ nodes: 2, expectedByMs: at(25) }]);
  });
});
