import { describe, expect, it } from 'vitest';
import { withoutNulls } from '../../src/lib/json.ts';

describe('withoutNulls', () => {
  const date = new Date(0);
  it.each<[string, unknown, unknown, unknown]>([
    ['a field', { a: null, b: 1 }, { b: 1 }, { b: 1 }],
    ['a field at depth', { a: { b: [{ c: null }] } }, { a: { b: [{}] } }, { a: { b: [{}] } }],
    ['a list entry', { a: [1, null, 2] }, { a: [1, 2] }, { a: [1, null, 2] }],
    ['beside a date', { a: null, at: date }, { at: date }, { at: date }],
    ['as the whole value', null, null, null],
  ])('removes null as %s', (_, value, plain, kept) => {
    expect(withoutNulls(value)).toEqual(plain);
    expect(withoutNulls(value, { keepInLists: true })).toEqual(kept);
  });

  it('returns the same value if it has no null, and never changes its input', () => {
    const whole = { a: [1], at: date };
    const holed = { a: [null], b: null };
    expect(withoutNulls(whole)).toBe(whole);
    withoutNulls(holed);
    expect(holed).toEqual({ a: [null], b: null });
  });

  it('does not exhaust the stack on a document nested a hundred thousand deep', () => {
    const deep: unknown = JSON.parse(`${'{"a":'.repeat(100_000)}null${'}'.repeat(100_000)}`);
    expect(withoutNulls({ a: null, deep })).toEqual({ deep });
  });
});
