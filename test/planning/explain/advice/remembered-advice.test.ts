import { describe, expect, it } from 'vitest';
import { RememberedAdvice } from '../../../../src/planning/explain/advice/remembered-advice.ts';
import { finishAtOnce, Turns } from '../../../../src/lib/slices.ts';
import { planScaleUp } from '../../../../src/planning/scale-up/plan.ts';
import { aGroup, aPod } from '../../../support/builders.ts';
import { inputFor, type World } from '../../scale-up/world.ts';

/** A clock that a simulation moves: each look at it costs `costMs`. */
function aClock(costMs = 0) {
  const clock = { nowMs: 0, monotonic: () => (clock.nowMs += costMs) };
  return clock;
}

const world = (classes: number, maxSize = 0): World => ({
  groups: [aGroup({ id: 'full', target: 0, maxSize })],
  pods: Array.from({ length: classes }, (_, at) => aPod({ name: `p-${at}`, cpu: `${at + 1}00m` })),
});

function adviceOn(remembered: RememberedAdvice, of: World, planMs = 0) {
  const input = inputFor(of);
  const plan = planScaleUp(input);
  return [...finishAtOnce(remembered.adviseAll(input, plan, planMs)).values()].map(({ fix }) => fix?.text);
}

describe('advice from loop to loop', () => {
  it('is simulated once for pods that wait for the same reason, and again after its time', () => {
    const clock = aClock();
    const remembered = new RememberedAdvice(clock, { keepMs: 1000 });
    const first = inputFor(world(1));
    const plan = planScaleUp(first);
    const adviseAll = () => [...finishAtOnce(remembered.adviseAll(first, plan, 0)).values()];
    const [before] = adviseAll();
    expect(before?.fix?.text).toBe('raise the maximum of full from 0 to 1');
    clock.nowMs = 999;
    expect(adviseAll()[0]).toBe(before);
    clock.nowMs = 1000;
    const [after] = adviseAll();
    expect(after).toEqual(before);
    expect(after).not.toBe(before);
  });

  it('is simulated again when the reason changes', () => {
    const remembered = new RememberedAdvice(aClock());
    adviceOn(remembered, world(1));
    const busier: World = { ...world(1, 2), groups: [aGroup({ id: 'full', target: 2, maxSize: 2, instances: [] })] };
    expect(adviceOn(remembered, busier)).toEqual(['raise the maximum of full from 2 to 3']);
  });

  it('stops for this loop when its time is up, and goes on with the next classes in the next one', () => {
    const remembered = new RememberedAdvice(aClock(30), { perLoopMs: 100 });
    const counts = Array.from({ length: 3 }, () => adviceOn(remembered, world(5)).length);
    expect(counts[0]).toBeLessThan(5);
    expect(counts[1]).toBeGreaterThan(counts[0] ?? 0);
    expect(counts[2]).toBe(5);
  });

  it('is not simulated where one plan alone takes too long, but known advice is used', () => {
    const remembered = new RememberedAdvice(aClock(), { mostPlanMs: 100 });
    expect(adviceOn(remembered, world(1), 101)).toEqual([]);
    expect(adviceOn(remembered, world(1), 100)).toHaveLength(1);
    expect(adviceOn(remembered, world(1), 101)).toHaveLength(1);
  });

  it('forgets what nothing asked for longest', () => {
    const remembered = new RememberedAdvice(aClock(), { remembered: 2, perLoopMs: Number.POSITIVE_INFINITY });
    adviceOn(remembered, world(3));
    const kept = adviceOn(remembered, world(3), Number.POSITIVE_INFINITY);
    expect(kept).toHaveLength(2);
  });

  it('lets other work have its turn within one simulation, and gives the same advice', async () => {
    const input = inputFor(world(5));
    const plan = planScaleUp(input);
    let turns = 0;
    const pacing = { clock: aClock(1), sliceMs: 1, pause: async () => void (turns += 1) };
    const sliced = await new Turns(pacing).finish(new RememberedAdvice(aClock()).adviseAll(input, plan, 0));
    const [, first] = [...(sliced ?? [])][0] ?? [];
    expect(turns).toBeGreaterThan(5 * (first?.tried ?? 0));
    expect(sliced).toEqual(finishAtOnce(new RememberedAdvice(aClock()).adviseAll(input, plan, 0)));
  });

  it('is known for an equal plan without a simulation', () => {
    const remembered = new RememberedAdvice(aClock());
    expect(remembered.knownFor(planScaleUp(inputFor(world(1)))).size).toBe(0);
    adviceOn(remembered, world(1));
    const again = planScaleUp(inputFor(world(1)));
    expect([...remembered.knownFor(again).values()].map(({ fix }) => fix?.text)).toEqual(['raise the maximum of full from 0 to 1']);
  });
});
