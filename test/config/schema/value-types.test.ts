import { describe, expect, it } from 'vitest';
import { duration, flag, number, text, wholeNumber } from '../../../src/config/schema/value-types.ts';

describe('values of settings', () => {
  it('of the same kind are one part of the schema: hundreds of settings take time before the first line of the log', () => {
    expect(wholeNumber(1, 5)).toBe(wholeNumber(1, 5));
    expect(flag(true)).toBe(flag(true));
    expect(text('a label')).toBe(text('a label'));
  });

  it.each([
    { name: 'limits', kind: wholeNumber(1, 5), given: 6, wider: wholeNumber(1, 10) },
    { name: 'least durations', kind: duration(0, { leastMs: 1000 }), given: '500ms', wider: duration(0) },
    { name: 'a maximum', kind: number(1, 0, 2), given: 3, wider: number(1, 0) },
  ])('of other $name are not', ({ kind, given, wider }) => {
    expect([kind.safeParse(given).success, wider.safeParse(given).success]).toEqual([false, true]);
  });

  it('keep their own defaults', () => {
    expect([duration(1), duration(2), number(3, 0), number(4, 0), flag(true), flag(false)].map((kind) => kind.parse(undefined))).toEqual([
      1,
      2,
      3,
      4,
      true,
      false,
    ]);
  });
});
