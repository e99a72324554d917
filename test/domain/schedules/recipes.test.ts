/** The recipes of the documents: each goes through the schema, and says at stated times what its text promises. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { scheduleOf } from '../../../src/domain/schedules/schedules.ts';
import { configOf } from '../../config/support.ts';

const TEXT = readFileSync(new URL('../../../docs/schedules.md', import.meta.url), 'utf8');
const RECIPES = [...TEXT.slice(TEXT.indexOf('## Ten recipes')).matchAll(/^(\d+)\. [\s\S]*?```yaml\n([\s\S]*?)```/gm)].map(
  ([, number, yaml = '']) => ({
    number: Number(number),
    yaml,
  }),
);

interface Said {
  readonly min: number;
  readonly max: number;
  readonly is?: 'removals off' | 'paused' | 'headroom' | 'removals off, repack off';
}

/** The pool has 0 to 50 nodes, which are ready at once. */
function saysAt(yaml: string, pool: string, time: string): Said {
  const { schedules } = configOf({ argv: ['--config=c'], files: { c: yaml } }).azure;
  const found = scheduleOf(schedules, { names: [pool], min: 0, max: 50, bootMs: 0, maintenance: undefined }, Date.parse(time));
  const { min, max, scaleDown, pause, headroom, repack } = found ?? {};
  const is = [
    pause === undefined ? [] : ['paused'],
    scaleDown === undefined ? [] : ['removals off'],
    repack?.value === 'off' ? ['repack off'] : [],
    headroom === undefined ? [] : ['headroom'],
  ].flat();
  return { min: min?.value ?? 0, max: max?.value ?? 50, ...(is.length === 0 ? {} : { is: is.join(', ') as NonNullable<Said['is']> }) };
}

const usual = { min: 0, max: 50 };
const ROWS: readonly (readonly [number, string, string, Said])[] = [
  [1, 'general', '2026-11-27T07:27:59+01:00', usual],
  [1, 'general', '2026-11-27T07:28+01:00', { min: 6, max: 50 }],
  [1, 'general', '2026-11-27T19:29+01:00', { min: 6, max: 50 }],
  [1, 'general', '2026-11-27T19:30+01:00', usual],
  [1, 'general', '2026-11-28T12:00+01:00', usual],
  [1, 'general', '2026-07-03T07:30+02:00', { min: 6, max: 50 }],
  [1, 'gpu', '2026-11-27T12:00+01:00', usual],
  [2, 'dev', '2026-11-27T12:00+01:00', { min: 1, max: 10 }],
  [2, 'dev', '2026-11-27T21:00+01:00', { min: 0, max: 0 }],
  [2, 'dev', '2026-11-28T12:00+01:00', { min: 0, max: 0 }],
  [3, 'general', '2026-12-24T12:00+01:00', { min: 6, max: 50 }],
  [3, 'general', '2026-12-25T12:00+01:00', usual],
  [3, 'general', '2027-03-26T12:00+01:00', usual],
  [3, 'general', '2027-03-30T12:00+02:00', { min: 6, max: 50 }],
  [4, 'any', '2026-11-27T12:00+01:00', { ...usual, is: 'removals off' }],
  [4, 'any', '2026-11-27T20:00+01:00', usual],
  [4, 'any', '2026-11-28T05:59+01:00', usual],
  [4, 'any', '2026-11-28T06:00+01:00', { ...usual, is: 'removals off' }],
  [5, 'any', '2026-11-27T19:59+01:00', { ...usual, is: 'removals off' }],
  [6, 'shop-1', '2026-11-26T00:00-05:00', { min: 40, max: 50, is: 'removals off, repack off' }],
  [6, 'shop-1', '2026-11-30T23:59-05:00', { min: 40, max: 50, is: 'removals off, repack off' }],
  [6, 'shop-1', '2026-12-01T00:00-05:00', usual],
  [7, 'batch', '2026-11-29T01:30+05:30', { ...usual, is: 'paused' }],
  [7, 'batch', '2026-11-29T03:00+05:30', usual],
  [8, 'general', '2026-11-27T07:00+10:30', { ...usual, is: 'headroom' }],
  [8, 'general', '2026-07-03T07:00+09:30', { ...usual, is: 'headroom' }],
  [8, 'general', '2026-07-03T10:00+09:30', usual],
  [9, 'eu', '2026-11-27T08:00+01:00', { min: 4, max: 50 }],
  [9, 'us', '2026-11-27T08:00+01:00', usual],
  [9, 'us', '2026-11-27T08:00-05:00', { min: 4, max: 50 }],
  [10, 'reports', '2026-11-27T12:00Z', { min: 2, max: 50 }],
  [10, 'reports', '2027-01-30T12:00Z', { min: 12, max: 50 }],
  [10, 'reports', '2027-01-29T23:45Z', { min: 12, max: 50 }],
  [10, 'reports', '2027-02-03T23:00Z', usual],
];

it('there are ten, each with times', () => {
  expect(RECIPES.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  expect([...new Set(ROWS.map(([number]) => number))]).toEqual(RECIPES.map(({ number }) => number));
});

describe('recipe', () => {
  it.each(ROWS)('%s, pool %s at %s', (number, pool, time, expected) => {
    expect(saysAt(RECIPES.find((each) => each.number === number)?.yaml ?? '', pool, time)).toEqual(expected);
  });

  it('5 limits removals to two an hour', () => {
    const { scaleDown } = configOf({ argv: ['--config=c'], files: { c: RECIPES[4]?.yaml ?? '' } }).policy;
    expect(scaleDown).toMatchObject({ removalWindowMs: 3_600_000, budgets: [{ unit: 'nodes', amount: 2, per: 'cluster' }] });
  });
});
