/** Properties of the fences, over random interleavings of reads, our own changes and other writers. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KEYS, NumberWorld, type Step } from '../number-world.ts';
import { MachineWorld, type MachineStep } from '../machine-world.ts';

const RUNS = { seed: 20_261_121, numRuns: 400 } as const;
const key = fc.nat({ max: KEYS.length - 1 });
const which = fc.nat({ max: 5 });
const amount = fc.integer({ min: 0, max: 12 });
const outcome = fc.constantFrom('succeeded', 'succeeded', 'failed', 'unknown', 'refused');
const waitMs = fc.constantFrom(1000, 31_000, 60_000, 120_000);

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('get', 'list'), key }) },
  { weight: 9, arbitrary: fc.record({ kind: fc.constant('read-on'), which, fails: fc.constantFrom(false, false, false, false, true) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('mutate'), key, amount, removes: fc.boolean() }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom('accept', 'apply'), which }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('settle'), which, outcome }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('external'), key, amount }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('wait'), ms: waitMs }) },
);
const steps = fc.array(step, { minLength: 5, maxLength: 60 });

/** Few of the many, so that what happens to them overlaps; lists show them all. */
const machine = fc.nat({ max: 2 });
const machineKeys = fc.uniqueArray(machine, { minLength: 1, maxLength: 2 });
const machineStep: fc.Arbitrary<MachineStep> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom('get', 'get', 'list'), machine }) },
  {
    weight: 10,
    arbitrary: fc.record({ kind: fc.constant('read-on'), which, fails: fc.constantFrom(false, false, false, false, false, true) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('mutate'), machines: machineKeys }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('apply'), which }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('settle'), which, outcome }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('external'), machine, alive: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('wait'), ms: waitMs }) },
);
/** Nothing but reads and other writers, of one machine. */
const readStep: fc.Arbitrary<MachineStep> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('get', 'get', 'list'), machine: fc.constant(0) }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('read-on'), which, fails: fc.constant(false) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('external'), machine: fc.constant(0), alive: fc.boolean() }) },
);
const readSteps = fc.array(readStep, { minLength: 10, maxLength: 60 });
const machineSteps = fc.array(machineStep, { minLength: 5, maxLength: 60 });

async function numbersAfter(taken: readonly Step[]): Promise<NumberWorld> {
  const world = new NumberWorld();
  for (const one of taken) await world.take(one);
  return world;
}

async function machinesAfter(taken: readonly MachineStep[]): Promise<MachineWorld> {
  const world = new MachineWorld();
  for (const one of taken) await world.take(one);
  return world;
}

describe('numbers', () => {
  it('the base never goes back, and from begin to confirm the planner sees the overlay', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (taken) => {
        await numbersAfter(taken);
      }),
      RUNS,
    );
  });

  it('whatever the outcomes, one GET later the base is Azure’s and nothing is in doubt', async () => {
    await fc.assert(
      fc.asyncProperty(steps, outcome, async (taken, end) => {
        const world = await numbersAfter(taken);
        world.quiesce(end);
        world.getAll();
        for (const name of KEYS) {
          const capacity = world.capacity(name);
          expect(world.at.table.view(name)).toMatchObject({
            base: capacity,
            target: capacity,
            low: capacity,
            confirmed: true,
            inFlight: 0,
          });
        }
        expect(world.at.table.fences()).toEqual([]);
      }),
      RUNS,
    );
  });

  it('no fence is for ever: within the grace time and one interval a list alone puts every row right', async () => {
    await fc.assert(
      fc.asyncProperty(steps, outcome, async (taken, end) => {
        const world = await numbersAfter(taken);
        world.quiesce(end);
        await world.take({ kind: 'wait', ms: 120_000 });
        world.listAll();
        for (const name of KEYS) expect(world.at.table.view(name)?.target).toBe(world.capacity(name));
        expect(world.at.table.fences()).toEqual([]);
      }),
      RUNS,
    );
  });
});

describe('existence', () => {
  it('reads that overlap in any order never take a machine back to an older state', async () => {
    await fc.assert(
      fc.asyncProperty(readSteps, async (taken) => {
        await machinesAfter(taken);
      }),
      RUNS,
    );
  });

  it('no older read brings a machine back, what we remove is shown so, a broken list ends nothing', async () => {
    await fc.assert(
      fc.asyncProperty(machineSteps, async (taken) => {
        await machinesAfter(taken);
      }),
      RUNS,
    );
  });

  it('after a change that did not succeed, one GET of each shows what Azure has', async () => {
    await fc.assert(
      fc.asyncProperty(machineSteps, fc.constantFrom('failed', 'unknown', 'refused'), async (taken, end) => {
        const world = await machinesAfter(taken);
        // Successes from before are held for their grace time; what is settled now is not.
        await world.take({ kind: 'wait', ms: 120_000 });
        world.quiesce(end);
        world.getAll();
        expect(world.shown()).toEqual(world.alive());
        expect(world.at.table.fences()).toEqual([]);
      }),
      RUNS,
    );
  });

  it('within the grace time and two lists every row is right and no fence stands', async () => {
    await fc.assert(
      fc.asyncProperty(machineSteps, outcome, async (taken, end) => {
        const world = await machinesAfter(taken);
        world.quiesce(end);
        await world.take({ kind: 'wait', ms: 120_000 });
        world.listAll();
        world.listAll();
        expect(world.shown()).toEqual(world.alive());
        world.at.table.reap();
        expect(world.at.table.fences()).toEqual([]);
      }),
      RUNS,
    );
  });
});
