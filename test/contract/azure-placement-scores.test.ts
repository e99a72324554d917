/** Azure's placement scores of Spot pools: when they are asked for, and what fails. Over HTTPS with the real clients. */
import { describe, expect, it } from 'vitest';
import type { WorldSpec } from '../../world/simulator/base/world-spec.ts';
import { meet, SPEC, type Meeting } from '../azure/meeting.ts';
import { aCluster } from '../support/builders.ts';

const MINUTE = 60_000;
const D4 = 'Standard_D4s_v5';
const spot = { vmSize: D4, count: 0, min: 0, max: 10, priority: 'Spot' as const };
const PLACE: WorldSpec = {
  ...SPEC,
  quota: {},
  stock: { [`${D4}/1`]: 3, [`${D4}/2`]: 12, [`${D4}/3`]: 90 },
  pools: [
    { name: 'one', ...spot, zones: ['1'] },
    { name: 'two', ...spot, zones: ['2'] },
    { name: 'wide', ...spot, zones: ['1', '2', '3'] },
    { name: 'regional', ...spot },
    { name: 'regular', vmSize: D4, count: 0, min: 0, max: 10, zones: ['1'] },
  ],
};
const ON = { placementScores: true };
const questions = (m: Meeting) => m.arm.control.journal().filter(({ path }) => /placementScores/i.test(path)).length;
const scores = (m: Meeting) =>
  Object.fromEntries(
    m.azure.observe(aCluster(), m.clock.now()).groups.map(({ id, placementScore }) => [id.split('-')[1] ?? id, placementScore]),
  );
const KNOWN = { one: 'Low', two: 'Medium', wide: 'High', regional: 'High', regular: undefined };

describe('placement scores', () => {
  it('are asked for the places of Spot pools alone, twice an hour, and follow the stock', async () => {
    const m = await meet(ON, PLACE);
    await m.pass(2_000);
    expect(scores(m)).toEqual(KNOWN);
    expect(questions(m)).toBe(2);
    await m.pass(60 * MINUTE, MINUTE);
    expect(questions(m)).toBeLessThanOrEqual(2 * 4);
  });

  it.each([
    { what: 'without the setting', options: {}, place: PLACE },
    { what: 'without a Spot pool', options: ON, place: { ...PLACE, pools: PLACE.pools.slice(-1) } },
  ])('are not asked for $what', async ({ options, place }) => {
    const m = await meet(options, place);
    await m.pass(31 * MINUTE, MINUTE);
    expect(questions(m)).toBe(0);
  });

  it('that may not be asked for are unknown, hold nothing up, and are asked for seldom', async () => {
    const roleActions = ['Microsoft.Compute/virtualMachine*', 'Microsoft.Compute/skus/*', 'Microsoft.ContainerService/*'];
    const m = await meet(ON, { ...PLACE, roleActions });
    await m.pass(2_000);
    expect(scores(m)).toEqual({ one: undefined, two: undefined, wide: undefined, regional: undefined, regular: undefined });
    expect((await m.increase(m.group('one'), 1)).kind).toBe('accepted');
    const early = questions(m);
    await m.pass(3 * 60 * MINUTE, MINUTE);
    // Each wait is drawn from up to two hours.
    expect(questions(m) - early).toBeLessThanOrEqual(8);
  });

  it('hold for an hour while Azure fails', async () => {
    const m = await meet(ON, PLACE);
    await m.pass(2_000);
    m.arm.control.addFault({
      id: 'down',
      match: { method: 'POST', pathGlob: '**/placementScores/**' },
      effect: { kind: 'answer', status: 503 },
    });
    await m.pass(50 * MINUTE, MINUTE);
    expect(scores(m)).toEqual(KNOWN);
    await m.pass(15 * MINUTE, MINUTE);
    expect(scores(m)['one']).toBeUndefined();
  });
});
