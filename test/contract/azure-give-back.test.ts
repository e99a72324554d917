/** Capacity that Azure accepted and could not fill, given back: the one write of the adapter that lowers a capacity. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AzureOptions } from '../../src/azure/arm/options.ts';
import type { ArmLatencies } from '../../world/simulator/arm/state/latencies.ts';
import type { PoolSpec, WorldSpec } from '../../world/simulator/base/world-spec.ts';
import { meet, SPEC, type Meeting } from '../azure/meeting.ts';
import { casesOf } from '../support/property-runs.ts';

const MINUTE = 60_000;
const SIZE = 'Standard_E4s_v5';
const UNLISTED: Partial<ArmLatencies> = { listFailedInstances: false };

interface Change {
  readonly options?: Partial<AzureOptions>;
  readonly pool?: Partial<PoolSpec>;
  readonly left?: number;
  readonly knobs?: Partial<ArmLatencies>;
}

/** One pool of two machines, up to ten, of a size of which so many are left; what cannot be had is in no list. */
function met({ options = {}, pool = {}, left = 0, knobs = UNLISTED }: Change = {}): Promise<Meeting> {
  const pools = [{ name: 'general', vmSize: SIZE, count: 2, min: 1, max: 10, ...pool }];
  const spec: WorldSpec = { ...SPEC, pools, stock: { [`${SIZE}/0`]: left } };
  return meet(options, spec, { knobs });
}

const stateOf = ({ arm }: Meeting) => {
  const [set] = arm.control.state().sets;
  if (set === undefined) throw new Error('no set');
  return set;
};
const capacity = (meeting: Meeting): number => stateOf(meeting).capacity;
const living = (meeting: Meeting): readonly string[] =>
  stateOf(meeting)
    .instances.filter(({ provisioningState }) => provisioningState !== 'Deleting')
    .map(({ id }) => id);
/** Capacities that the adapter wrote. */
const written = ({ arm }: Meeting) =>
  arm.control
    .journal()
    .filter(({ method, principal, status }) => method === 'PUT' && principal === 'autoscaler' && status === 200)
    .map(({ capacityAfter }) => capacityAfter);

describe('capacity of a failed scale-up', () => {
  it('is given back, and the next increase makes what it asks for', async () => {
    const meeting = await met();
    await meeting.increase(meeting.group('general'), 3);
    await meeting.pass(5 * MINUTE);
    expect(meeting.events).toContainEqual(expect.objectContaining({ kind: 'increase-failed', requested: 3 }));
    expect(meeting.group('general').target).toMatchObject({ known: true, value: 2, confirmed: true });
    meeting.arm.control.setStock(SIZE, '0', 10);
    expect(await meeting.increase(meeting.group('general'), 1)).toMatchObject({ kind: 'accepted', target: 3 });
    await meeting.pass(5 * MINUTE);
    expect(living(meeting)).toHaveLength(3);
    expect(written(meeting)).toEqual([5, 2, 3]);
    expect(meeting.violations.list()).toEqual([]);
    const line = meeting.logLines.find((text) => text.includes('could not fill was removed'));
    expect(JSON.parse(line ?? '{}')).toMatchObject({ from: 5, to: 2, listed: 2, before: 2 });
    expect(await meeting.metrics.registry.getSingleMetricAsString('aks_autoscaler_scale_up_given_back_nodes_total')).toMatch(/ 3$/);
  });

  it('what came of it stays', async () => {
    const meeting = await met({ left: 1 });
    await meeting.increase(meeting.group('general'), 3);
    await meeting.pass(6 * MINUTE);
    expect([capacity(meeting), living(meeting).length]).toEqual([3, 3]);
    expect(meeting.violations.list()).toEqual([]);
  });

  it('two increases in a row that both failed are given back together', async () => {
    const meeting = await met();
    await meeting.increase(meeting.group('general'), 2);
    await meeting.pass(3_000);
    await meeting.increase(meeting.group('general'), 1);
    await meeting.pass(6 * MINUTE);
    expect(written(meeting)).toEqual([4, 5, 2]);
    expect(meeting.violations.list()).toEqual([]);
  });

  it('an operation that Azure forgot is judged by the set and its machines alone', async () => {
    const meeting = await met();
    const body = { error: { code: 'NotFound', message: 'The entity was not found in this Azure location.' } };
    const forgotten = { kind: 'answer', status: 404, body } as const;
    meeting.arm.control.addFault({ id: 'forgotten', match: { method: 'GET', pathGlob: '**/operations/*' }, effect: forgotten });
    await meeting.increase(meeting.group('general'), 3);
    await meeting.pass(8 * MINUTE);
    expect(written(meeting)).toEqual([5, 2]);
    expect(meeting.violations.list()).toEqual([]);
  });

  it.each<{ readonly what: string; readonly change?: Change; readonly meanwhile?: (meeting: Meeting) => void; readonly ends: number }>([
    { what: 'conditional writes are off', change: { options: { enableVmssEtag: false } }, ends: 5 },
    {
      what: 'somebody raised it since',
      meanwhile: ({ arm }) => void arm.control.raise({ foreignScale: { pool: 'general', to: 6 } }),
      ends: 6,
    },
    {
      what: 'somebody raises it in the moment of the write',
      meanwhile: ({ arm }) => void arm.control.raise({ foreignScale: { pool: 'general', to: 6, when: 'before-next-write' } }),
      ends: 6,
    },
    {
      what: 'somebody lowered it and raised it again to the same number',
      meanwhile: ({ arm }) => {
        arm.control.raise({ foreignScale: { pool: 'general', to: 4 } });
        arm.control.raise({ foreignScale: { pool: 'general', to: 5 } });
      },
      ends: 5,
    },
    { what: 'Azure gives it back itself', change: { knobs: { rollbackOnFail: true } }, ends: 2 },
  ])('stays as it is when $what', async ({ change = {}, meanwhile = () => undefined, ends }) => {
    const meeting = await met(change);
    await meeting.increase(meeting.group('general'), 3);
    await untilFailed(meeting);
    meanwhile(meeting);
    await meeting.pass(10 * MINUTE);
    expect(capacity(meeting)).toBe(ends);
    expect(written(meeting)).toEqual([5]);
    expect(meeting.violations.list()).toEqual([]);
  });

  it('waits for a list that was read to its end', async () => {
    const meeting = await met();
    await meeting.increase(meeting.group('general'), 3);
    await untilFailed(meeting);
    const broken = {
      kind: 'answer',
      status: 500,
      body: { error: { code: 'InternalServerError', message: 'An error occurred.' } },
    } as const;
    meeting.arm.control.addFault({ id: 'lists', match: { method: 'GET', pathGlob: '**/virtualMachines' }, effect: broken });
    await meeting.pass(2 * MINUTE);
    expect(capacity(meeting)).toBe(5);
    meeting.arm.control.removeFault('lists');
    await meeting.pass(3 * MINUTE);
    expect(capacity(meeting)).toBe(2);
    expect(meeting.violations.list()).toEqual([]);
  });

  it.each([
    { what: 'one that is old', effect: { kind: 'stale-list' } },
    { what: 'one that is empty', effect: { kind: 'empty-list' } },
    { what: 'one that lacks a machine', effect: { kind: 'page-shift', by: 1 } },
  ] as const)('is not given back on the word of a list alone: $what', async ({ effect }) => {
    const meeting = await met({ knobs: {}, pool: { count: 1 } });
    meeting.arm.control.addFault({
      id: 'list',
      match: { method: 'GET', pathGlob: '**/virtualMachineScaleSets/*/virtualMachines' },
      effect,
    });
    await meeting.increase(meeting.group('general'), 3);
    await meeting.pass(10 * MINUTE);
    expect([capacity(meeting), living(meeting).length, written(meeting)]).toEqual([4, 4, [4]]);
    expect(meeting.violations.list()).toEqual([]);
  });

  it('is looked at again when the write was carried out and its answer lost', async () => {
    const meeting = await met();
    await meeting.increase(meeting.group('general'), 3);
    await untilFailed(meeting);
    meeting.arm.control.addFault({ id: 'lost', match: { method: 'PUT', times: 1 }, effect: { kind: 'reset', afterEffect: true } });
    await meeting.pass(6 * MINUTE);
    expect(capacity(meeting)).toBe(2);
    expect(meeting.group('general').target).toMatchObject({ known: true, value: 2, confirmed: true });
    expect(meeting.violations.list()).toEqual([]);
  });
});

/** Until the adapter has told that the operation failed. */
async function untilFailed(meeting: Meeting): Promise<void> {
  for (let second = 0; second < 180 && !meeting.events.some(({ kind }) => kind === 'increase-failed'); second++) await meeting.pass(1_000);
}

type Step =
  | { readonly kind: 'raise' | 'foreign'; readonly by: number }
  | { readonly kind: 'ambush'; readonly by: number }
  | { readonly kind: 'stock'; readonly left: number }
  | { readonly kind: 'repair' }
  | { readonly kind: 'pass'; readonly seconds: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('raise' as const), by: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('foreign' as const), by: fc.constantFrom(-1, 1, 2) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('ambush' as const), by: fc.constantFrom(-1, 1, 2) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('stock' as const), left: fc.integer({ min: 0, max: 2 }) }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'repair' as const }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('pass' as const), seconds: fc.constantFrom(3, 10, 25, 40, 90) }) },
);

describe('giving capacity back', () => {
  it('destroys no machine and undoes no foreign change, whatever happens beside', async () => {
    let given = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 3, maxLength: 10 }),
        fc.integer({ min: 20, max: 90 }),
        late,
        async (steps, wait, late) => {
          const meeting = await met({ left: 0, knobs: { ...UNLISTED, ...late } });
          await meeting.increase(meeting.group('general'), 3);
          // With the refusals behind it, and mostly before the first look.
          await meeting.pass(wait * 1_000);
          for (const each of steps) await take(meeting, each);
          await meeting.pass(8 * MINUTE);
          expect(meeting.violations.list()).toEqual([]);
          given += lowered(meeting);
          await meeting.end();
        },
      ),
      casesOf(20_251_121, 8),
    );
    // Otherwise nothing was shown.
    expect(given).toBeGreaterThan(1);
  });
});

/** Machines are in lists soon after they were made, or late. */
const late = fc.constantFrom<Partial<ArmLatencies>>({}, { instanceVisible: { p50: 25_000, p95: 30_000 } });

/** Writes of ours that lowered the capacity; each directly after one of ours, or somebody else's wish was undone. */
function lowered({ arm }: Meeting): number {
  const changes = arm.control
    .journal()
    .filter(({ capacityBefore, capacityAfter, status }) => status === 200 && capacityBefore !== capacityAfter);
  const ours = changes.flatMap(({ principal, capacityBefore = 0, capacityAfter = 0 }, index) =>
    principal === 'autoscaler' && capacityAfter < capacityBefore ? [index] : [],
  );
  for (const index of ours) expect(changes[index - 1]?.principal).toBe('autoscaler');
  return ours.length;
}

async function take(meeting: Meeting, each: Step): Promise<void> {
  const { control } = meeting.arm;
  switch (each.kind) {
    case 'raise': {
      const group = meeting.group('general');
      if (group.target.known) await meeting.drive(meeting.increase(group, each.by));
      return;
    }
    case 'foreign':
      return void control.raise({ foreignScale: { pool: 'general', delta: each.by } });
    case 'ambush':
      return void control.raise({ foreignScale: { pool: 'general', delta: each.by, when: 'before-next-write' } });
    case 'stock':
      return control.setStock(SIZE, '0', each.left);
    case 'repair':
      return void control.raise({ repair: { pool: 'general' } });
    case 'pass':
      return meeting.pass(each.seconds * 1_000);
  }
}
