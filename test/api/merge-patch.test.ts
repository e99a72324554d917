import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { applyMergePatch, mergePatch } from '../../src/api/documents/merge-patch.ts';
import { pageOf, PAGE_SIZE } from '../../src/api/documents/paging.ts';

const document = fc.object({ maxDepth: 3, key: fc.constantFrom('a', 'b', 'c', 'd'), values: [fc.integer(), fc.string(), fc.boolean()] });

it('makes the document after of the document before', () => {
  fc.assert(
    fc.property(document, document, (before, after) => {
      const [left, right] = [before, after] as Readonly<Record<string, unknown>>[];
      const patch = mergePatch(left ?? {}, right ?? {});
      expect(patch === undefined ? left : applyMergePatch(left, patch)).toEqual(right);
    }),
    { seed: 7, numRuns: 500 },
  );
});

it.each([
  [{ a: 1 }, { a: 1 }, undefined],
  [{ a: 1, b: 2 }, { a: 1 }, { b: null }],
  [{ a: { b: 1, c: 2 } }, { a: { b: 1, c: 3 } }, { a: { c: 3 } }],
  [{ a: [1, 2] }, { a: [1, 3] }, { a: [1, 3] }],
] as const)('says only what changed: %j, %j', (before, after, patch) => expect(mergePatch(before, after)).toEqual(patch));

it('pages a list once through, although items go in between', () => {
  const names = Array.from({ length: 250 }, (_, at) => `n${String(at).padStart(3, '0')}`);
  const first = pageOf(names, (name) => name, undefined);
  expect([first.items.length, first.total, first.next]).toEqual([PAGE_SIZE, 250, 'n099']);
  const without = names.filter((name) => name !== 'n099');
  const second = pageOf(without, (name) => name, first.next);
  expect(second.items[0]).toBe('n100');
  const third = pageOf(without, (name) => name, second.next);
  expect([third.items.at(-1), third.next]).toEqual(['n249', undefined]);
});
