import { describe, expect, it } from 'vitest';
import { WeakValues } from '../../src/lib/collections.ts';

interface Item {
  readonly name: string;
}

/** References that the test clears itself. */
function clearable(): { readonly refer: (value: Item) => { deref: () => Item | undefined }; readonly gone: Set<string> } {
  const gone = new Set<string>();
  return { gone, refer: (value) => ({ deref: () => (gone.has(value.name) ? undefined : value) }) };
}

describe('values that are held elsewhere', () => {
  it('are found by their keys until nothing else holds them', () => {
    const { refer, gone } = clearable();
    const values = new WeakValues<Item>(refer);
    values.set('a', { name: 'a' });
    expect(values.get('a')).toEqual({ name: 'a' });
    gone.add('a');
    expect(values.get('a')).toBeUndefined();
  });

  it.each([
    { living: 0, most: 1_000 },
    { living: 400, most: 1_000 },
    { living: 3_000, most: 6_000 },
  ])('with $living living values, a hundred thousand former ones leave at most $most entries', ({ living, most }) => {
    const { refer, gone } = clearable();
    const values = new WeakValues<Item>(refer);
    for (let index = 0; index < living; index++) values.set(`lasting-${index}`, { name: `lasting-${index}` });
    for (let index = 0; index < 100_000; index++) {
      values.set(`job-${index}`, { name: `job-${index}` });
      gone.add(`job-${index}`);
    }
    expect(values.size).toBeLessThanOrEqual(most);
    for (let index = 0; index < living; index++) expect(values.get(`lasting-${index}`)).toBeDefined();
  });
});
