import { describe, expect, it } from 'vitest';
import { withSameParts } from '../../src/page/parts/same-parts.ts';

const pool = (name: string, ready: number) => ({ name, ready, zones: ['1', '2'], tokens: { left: 9, of: 10 } });

describe('a newer document', () => {
  it('keeps the objects of rows that did not change, found by name wherever they moved', () => {
    const older = { loop: 1, pools: [pool('a', 1), pool('b', 2), pool('c', 3)] };
    const newer = structuredClone({ loop: 2, pools: [pool('c', 3), pool('a', 5), pool('b', 2)] });
    const merged = withSameParts(older, newer);
    expect(merged).toEqual(newer);
    expect(merged.pools[0]).toBe(older.pools[2]);
    expect(merged.pools[2]).toBe(older.pools[1]);
    expect(merged.pools[1]).not.toBe(older.pools[0]);
    expect(merged.pools[1]?.tokens).toBe(older.pools[0]?.tokens);
  });

  it.each([
    ['equal documents', { a: [{ id: 'x', n: 1 }] }, { a: [{ id: 'x', n: 1 }] }, true],
    ['a field that is gone', { a: 1, b: 2 }, { a: 1 }, false],
    ['a row that is gone', { a: [1, 2] }, { a: [1] }, false],
    ['rows in another order', { a: [{ id: 'x' }, { id: 'y' }] }, { a: [{ id: 'y' }, { id: 'x' }] }, false],
    ['a list instead of fields', { a: {} }, { a: [] }, false],
    ['nothing before', undefined, { a: 1 }, false],
  ])('%s', (_what, older, newer, isSame) => {
    const merged = withSameParts(older, newer);
    expect(merged).toEqual(newer);
    expect(Object.is(merged, older)).toBe(isSame);
  });
});
