/** What becomes of a node's timer, and of all removals, over several loops. */
import { describe, expect, it } from 'vitest';
import { dumpRecord, readDump } from '../../../src/loop/replay/dump.ts';
import { replayDump } from '../../../src/loop/replay/replay.ts';
import { aNode, resourceNames, START_MS } from '../../support/builders.ts';
import { aPolicy } from '../../support/policy.ts';
import { keptReasons, MINUTE, observe, plan, pool, sinceMinutes, type World } from './world.ts';
import { NOTHING_DECIDED } from '../../../src/domain/ports/records.ts';
import { aState } from '../../support/state.ts';

const names = ['p-0', 'p-1', 'p-2', 'p-3'];
const WORLD: World = {
  groups: [pool('p', 4)],
  nodes: names.map((name) => aNode({ name })),
  state: { unneededSince: sinceMinutes(30, names) },
};
const removed = (result: ReturnType<typeof plan>) => result.removals.map(({ node }) => node);
const unready = { ready: false, sinceMs: START_MS - MINUTE, reason: 'Ready=Unknown' };

describe('a node that flips readiness keeps since when it is unneeded, and changes for how long it must be', () => {
  it.each([
    { name: 'ready after 15 min: 10 are enough', minutes: 15, readiness: { ...unready, ready: true }, goes: true },
    { name: 'not ready after 15 min: it is 20 now', minutes: 15, readiness: unready, goes: false },
    { name: 'not ready after 21 min', minutes: 21, readiness: unready, goes: true },
  ])('$name: $goes', ({ minutes, readiness, goes }) => {
    const node = aNode({ name: 'p-0', readiness });
    const result = plan({ groups: [pool('p', 1)], nodes: [node], state: { unneededSince: sinceMinutes(minutes, ['p-0']) } });
    expect(removed(result)).toEqual(goes ? ['p-0'] : []);
    expect(result.unneeded.get('p-0')).toBe(START_MS - minutes * MINUTE);
  });
});

describe('what was not seen does not count as unneeded', () => {
  const policy = aPolicy({ scaleDown: { maxClusterStalenessMs: 3 * MINUTE } });

  it.each([
    { name: 'on a view within its limit the timers go on', stalenessMs: 3 * MINUTE, minutes: 30 },
    { name: 'on an older one they start again', stalenessMs: 3 * MINUTE + 1, minutes: 0 },
  ])('$name', ({ stalenessMs, minutes }) => {
    const result = plan({ ...WORLD, policy, stalenessMs });
    expect([...result.unneeded]).toEqual([...sinceMinutes(minutes, names)]);
  });

  it('nor does a node that this loop had no time for keep its timer then', () => {
    const result = plan({ ...WORLD, policy, stalenessMs: 4 * MINUTE, isLate: (made) => made >= 2 });
    expect([...result.unneeded.keys()]).toEqual(['p-0', 'p-1']);
  });
});

describe('all removals rest', () => {
  const waits = (minutes: number) => aPolicy({ scaleDown: { delayAfterDeleteMs: 2 * MINUTE, delayAfterAddMs: minutes * MINUTE } });
  it.each([
    { name: 'after a removal', state: { lastScaleDownMs: START_MS - MINUTE }, rests: 'cooling down after a removal for another 60 s' },
    { name: 'no longer after a removal', state: { lastScaleDownMs: START_MS - 2 * MINUTE }, rests: undefined },
    { name: 'after a scale-up', state: { lastScaleUpMs: START_MS - MINUTE }, rests: 'cooling down after a scale-up for another 9 min' },
    {
      name: 'after a failure',
      state: { lastScaleDownFailureMs: START_MS - MINUTE },
      rests: 'cooling down after a failed removal for another 2 min',
    },
  ])('$name: $rests', ({ state, rests }) => {
    const result = plan({ ...WORLD, policy: waits(10), state: { ...WORLD.state, ...state } });
    expect(result.inhibited).toBe(rests);
    expect(removed(result)).toEqual(rests === undefined ? names : []);
    expect(result.unneeded.size).toBe(4);
  });
});

describe('a loop without the time to look at all nodes', () => {
  const cut = (after: number): World => ({ ...WORLD, isLate: (made) => made >= after });

  it('does what it knows, keeps the timers of the others and says why they stay', () => {
    const result = plan(cut(2));
    expect(removed(result)).toEqual(['p-0', 'p-1']);
    expect(keptReasons(result)).toEqual({ 'p-2': 'RemovalBudgetSpent', 'p-3': 'RemovalBudgetSpent' });
    expect(result.kept[0]?.detail).toBe('not checked in this loop: the time limit was reached');
    expect([...result.unneeded.values()]).toEqual(names.map(() => START_MS - 30 * MINUTE));
    expect(result.cutShortAfter).toBe(2);
  });

  it('begins no timer of a node that it has not looked at', () => {
    expect([...plan({ ...cut(1), state: {} }).unneeded.keys()]).toEqual(['p-0']);
  });

  it('looks at one node at least, and says nothing where the time was enough', () => {
    expect(removed(plan(cut(0)))).toEqual(['p-0']);
    expect(plan(cut(4)).cutShortAfter).toBeUndefined();
  });

  it('is replayed to where it was cut', () => {
    const observation = observe(WORLD);
    const state = aState(WORLD.state);
    const record = {
      ...NOTHING_DECIDED,
      observation,
      stateBefore: state,
      scaleUp: [],
      scaleDown: plan(cut(2)),
      policy: aPolicy(),
      scaleUpPlanned: false,
    };
    const again = replayDump(readDump(dumpRecord(record, resourceNames), resourceNames), resourceNames);
    expect(again.equal).toBe(true);
    expect(again.scaleDown?.cutShortAfter).toBe(2);
  });
});
