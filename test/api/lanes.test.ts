/** The time axis: pools that differ only by their zone share a lane. */
import { describe, expect, it } from 'vitest';
import { timelineOf } from '../../src/api/documents/timeline.ts';
import { familyName, sumOfSizes } from '../../src/api/documents/zone-lanes.ts';
import { nodeGroupId } from '../../src/domain/ids.ts';
import { aGroup } from '../support/builders.ts';
import { at, FROM, grew, withPast, withRules } from './past.ts';

const zonal = (id: string, zone: string, change: object = {}) => aGroup({ id, target: 3, maxSize: 5, zones: [zone], ...change });

describe('a lane', () => {
  it('is shared by siblings in several zones, with the sums of their sizes and the name of the one that changed', async () => {
    const input = await withPast([zonal('web1', '1'), zonal('web2', '2'), zonal('web3', '3'), zonal('other', '1')], {
      sizes: { web1: [at(0, 1), at(10, 3, 1), at(13, 3)], web2: [at(0, 1)], web3: [at(0, 2), at(20, 3, 2)], other: [at(0, 3)] },
      changes: [grew('web1', 10, 1, 3), grew('web3', 20, 2, 3)],
    });
    const { lanes, more } = timelineOf(input, { fromMs: FROM, pools: [] });
    expect(more).toBe(0);
    expect(lanes).toMatchObject([{ pool: 'web', siblings: ['web1', 'web2', 'web3'], max: 15, target: 9 }]);
    expect(lanes[0]?.steps.map(([, target, ready]) => [target, ready])).toEqual([
      [4, 4],
      [6, 4],
      [6, 6],
      [7, 6],
    ]);
    expect(lanes[0]?.marks.map(({ pool, from, to, level }) => [pool, from, to, level])).toEqual([
      ['web1', 1, 3, 6],
      ['web3', 2, 3, 7],
    ]);
  });

  it.each([
    ['the sizes differ', [zonal('web1', '1'), zonal('web2', '2', { vmSize: 'Standard_E8s_v5' })]],
    ['one is of Spot VMs', [zonal('web1', '1'), zonal('web2', '2', { priority: 'Spot' })]],
    ['they are in one zone', [zonal('web1', '1'), zonal('web2', '1')]],
    ['one spans zones', [zonal('web1', '1'), zonal('web2', '2', { zones: ['2', '3'] })]],
    ['the names do not belong together', [zonal('api2', '2'), zonal('web1', '1')]],
  ])('is its own where %s', async (_what, groups) => {
    const input = await withPast(groups, { sizes: {}, changes: groups.map(({ id }) => grew(id, 10, 1, 3)) });
    const { lanes } = timelineOf(input, { fromMs: FROM, pools: [] });
    expect(lanes.map(({ pool, siblings }) => [pool, siblings])).toEqual(groups.map(({ id }) => [id, undefined]));
  });

  it('is its own where a pool is asked for by name', async () => {
    const input = await withPast([zonal('web1', '1'), zonal('web2', '2')], { sizes: {}, changes: [grew('web1', 10, 1, 3)] });
    expect(timelineOf(input, { fromMs: FROM, pools: ['web2'] }).lanes.map(({ pool }) => pool)).toEqual(['web2']);
  });
});

it.each([
  ['web1', 'web'],
  ['web-2', 'web'],
  ['web-z3', 'web'],
  ['aks-web1-31774203-vmss', 'web'],
  ['general', undefined],
])('the family of %s is %s', (id, family) => {
  expect(familyName({ id: nodeGroupId(id), agentPool: undefined })).toBe(family);
});

it('a sum begins with what each pool had first', () => {
  expect(sumOfSizes([[at(0, 1)], [at(5, 2)], []])).toEqual([at(0, 3), at(5, 3)]);
});

describe('what schedules change in the next day', () => {
  const RULES =
    'zone: Europe/Berlin\nrules: [{from: "07:30", to: "19:30", min: 3}, {pools: [web1], from: "20:00", to: "06:00", scaleDown: only}]';
  const groups = ['web1', 'web2'].map((id) => aGroup({ id, minSize: 1, maxSize: 5, target: 1 }));

  it('is shared by the pools that it is about, in the order of time, and shown in the local time of the rule', async () => {
    // Midnight in UTC is one o'clock in Berlin.
    const input = withRules(await withPast(groups, { sizes: {}, changes: [] }), RULES);
    const { ahead } = timelineOf(input, { fromMs: FROM, pools: [] });
    expect(ahead?.map(({ local, pools, text }) => [local.slice(0, 16), pools.join(), text])).toEqual([
      ['2026-11-21 06:00', 'web1', 'no removals (rule 2)'],
      ['2026-11-21 07:25', 'web2', 'min 3 (rule 1, prepared for 07:30 Europe/Berlin)'],
      ['2026-11-21 07:25', 'web1', 'min 3 (rule 1, prepared for 07:30 Europe/Berlin), no removals (rule 2)'],
      ['2026-11-21 19:30', 'web1', 'no removals (rule 2)'],
      ['2026-11-21 19:30', 'web2', 'the limits of the pool'],
      ['2026-11-21 20:00', 'web1', 'the limits of the pool'],
    ]);
  });

  it('is absent without rules', async () => {
    expect(timelineOf(await withPast(groups, { sizes: {}, changes: [] }), { fromMs: FROM, pools: [] })).not.toHaveProperty('ahead');
  });
});
