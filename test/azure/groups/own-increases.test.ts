import { describe, expect, it } from 'vitest';
import { OwnIncreases, type OwnIncrease, type WrittenIncrease } from '../../../src/azure/groups/own-writes.ts';

const WRITTEN: WrittenIncrease = { read: 3, from: 3, to: 5, condition: '"1"', etag: '"2"', capacity: 5 };

describe('the increases that are ours', () => {
  it.each<{ readonly what: string; readonly written: Partial<WrittenIncrease>; readonly increase: OwnIncrease | undefined }>([
    { what: 'an increase over what was read', written: {}, increase: { before: 3, to: 5, etag: '"2"' } },
    { what: 'nothing without a condition', written: { condition: undefined }, increase: undefined },
    { what: 'nothing without a tag in the answer', written: { etag: undefined }, increase: undefined },
    { what: 'nothing when the answer has another capacity', written: { capacity: 6 }, increase: undefined },
    { what: 'nothing while other changes of ours are in progress', written: { read: undefined }, increase: undefined },
    { what: 'nothing when planned from another number than read', written: { read: 4 }, increase: undefined },
  ])('$what', ({ written, increase }) => {
    expect(new OwnIncreases().recordWritten('a', { ...WRITTEN, ...written })).toEqual(increase);
  });

  const second: WrittenIncrease = { read: undefined, from: 5, to: 6, condition: '"2"', etag: '"3"', capacity: 6 };
  it('an increase conditional on the tag of the last one continues it, although that one is still in progress', () => {
    const increases = new OwnIncreases();
    const first = increases.recordWritten('a', WRITTEN);
    expect(increases.recordWritten('a', second)).toEqual({ before: 3, to: 6, etag: '"3"' });
    expect(first !== undefined && increases.isLast('a', first)).toBe(false);
  });

  it.each([
    { what: 'after a foreign write', change: { condition: '"7"', read: 5 }, before: 5 },
    { what: 'in another set', group: 'b', change: { read: 5 }, before: 5 },
  ])('$what an increase starts again', ({ change, group = 'a', before }) => {
    const increases = new OwnIncreases();
    increases.recordWritten('a', WRITTEN);
    expect(increases.recordWritten(group, { ...second, ...change })?.before).toBe(before);
  });

  it('a filled increase is not undone together with a later one that fails', () => {
    const increases = new OwnIncreases();
    const first = increases.recordWritten('a', WRITTEN);
    if (first !== undefined) increases.forget('a', first);
    expect(increases.recordWritten('a', { ...second, read: 5 })?.before).toBe(5);
  });
});
