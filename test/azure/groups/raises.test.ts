import { describe, expect, it } from 'vitest';
import { decideUndo, type UndoInput } from '../../../src/azure/writes/undo-unfilled-increase.ts';
import { OwnIncreases, type OwnIncrease, type WrittenIncrease } from '../../../src/azure/groups/own-writes.ts';
import { projectScaleSet, type ScaleSetRow } from '../../../src/azure/rows/scale-set.ts';

const WRITTEN: WrittenIncrease = { read: 3, from: 3, to: 5, condition: '"1"', etag: '"2"', capacity: 5 };

describe('what of a capacity is ours', () => {
  it.each<{ readonly what: string; readonly written: Partial<WrittenIncrease>; readonly raise: OwnIncrease | undefined }>([
    { what: 'a raise over what was read', written: {}, raise: { before: 3, to: 5, etag: '"2"' } },
    { what: 'nothing without a condition', written: { condition: undefined }, raise: undefined },
    { what: 'nothing without a tag in the answer', written: { etag: undefined }, raise: undefined },
    { what: 'nothing when the answer tells another capacity', written: { capacity: 6 }, raise: undefined },
    { what: 'nothing when changes of ours were under way beside', written: { read: undefined }, raise: undefined },
    { what: 'nothing when planned from another number than read', written: { read: 4 }, raise: undefined },
  ])('$what', ({ written, raise }) => {
    expect(new OwnIncreases().recordWritten('a', { ...WRITTEN, ...written })).toEqual(raise);
  });

  const second: WrittenIncrease = { read: undefined, from: 5, to: 6, condition: '"2"', etag: '"3"', capacity: 6 };
  it('a raise that names the tag of the last one continues it, although that one still runs', () => {
    const raises = new OwnIncreases();
    const first = raises.recordWritten('a', WRITTEN);
    expect(raises.recordWritten('a', second)).toEqual({ before: 3, to: 6, etag: '"3"' });
    expect(first !== undefined && raises.isLast('a', first)).toBe(false);
  });

  it.each([
    { what: 'after a foreign write', change: { condition: '"7"', read: 5 }, before: 5 },
    { what: 'in another set', group: 'b', change: { read: 5 }, before: 5 },
  ])('$what an increase starts again', ({ change, group = 'a', before }) => {
    const raises = new OwnIncreases();
    raises.recordWritten('a', WRITTEN);
    expect(raises.recordWritten(group, { ...second, ...change })?.before).toBe(before);
  });

  it('what came is not taken back with what does not come later', () => {
    const raises = new OwnIncreases();
    const first = raises.recordWritten('a', WRITTEN);
    if (first !== undefined) raises.forget('a', first);
    expect(raises.recordWritten('a', { ...second, read: 5 })?.before).toBe(5);
  });
});

function aSet(capacity: number, provisioningState: string): ScaleSetRow {
  const row = projectScaleSet({ name: 'a', location: 'westeurope', sku: { name: 'Standard_D4s_v5', capacity }, provisioningState });
  if (row === undefined) throw new Error('no row');
  return row;
}

describe('how much is given back', () => {
  const raise: OwnIncrease = { before: 3, to: 6, etag: '"2"' };
  const running = (count: number): string[] => Array.from({ length: count }, () => 'running');
  const facts: UndoInput = { set: aSet(6, 'Failed'), etag: '"2"', confirmed: true, states: running(3), counted: undefined };
  it.each<{ readonly what: string; readonly facts: Partial<UndoInput>; readonly verdict: Readonly<Record<string, unknown>> }>([
    { what: 'all of the raise when none of it came', facts: {}, verdict: { kind: 'write', to: 3, listed: 3 } },
    { what: 'what did not come of it', facts: { states: running(5) }, verdict: { kind: 'write', to: 5 } },
    {
      what: 'nothing that stood before, although nothing fills it',
      facts: { states: running(1) },
      verdict: { kind: 'write', to: 3, listed: 1 },
    },
    {
      what: 'no place of a failed machine: it goes by its id',
      facts: { states: [...running(3), 'failed'] },
      verdict: { kind: 'write', to: 4 },
    },
    { what: 'no place of a deallocated machine', facts: { states: [...running(3), 'deallocated'] }, verdict: { kind: 'write', to: 4 } },
    { what: 'nothing when all came', facts: { states: running(6) }, verdict: { kind: 'over' } },
    { what: 'nothing while a machine is being made', facts: { states: [...running(3), 'creating'] }, verdict: { kind: 'again' } },
    { what: 'nothing while a machine leaves', facts: { states: [...running(3), 'deleting'] }, verdict: { kind: 'again' } },
    {
      what: 'nothing while the state of a machine is not known',
      facts: { states: [...running(3), 'unknown'] },
      verdict: { kind: 'again' },
    },
    { what: 'what neither the list nor the count of the set shows', facts: { counted: 3 }, verdict: { kind: 'write', to: 3 } },
    { what: 'nothing while the set counts machines that are not listed', facts: { counted: 4 }, verdict: { kind: 'again' } },
    {
      what: 'what the list shows, although the set counts fewer',
      facts: { states: running(5), counted: 4 },
      verdict: { kind: 'write', to: 5 },
    },
    { what: 'nothing while an operation runs', facts: { set: aSet(6, 'Updating') }, verdict: { kind: 'again' } },
    {
      what: 'nothing when its failed machines went with their places',
      facts: { set: aSet(3, 'Succeeded'), etag: '"3"' },
      verdict: { kind: 'over', reason: 'nothing is left of it: the capacity is 3' },
    },
    {
      what: 'nothing when somebody lowered it to what is there',
      facts: { set: aSet(5, 'Succeeded'), etag: '"3"', states: running(5) },
      verdict: { kind: 'over', reason: expect.stringContaining('nothing is left') },
    },
    {
      what: 'nothing when somebody lowered it by a part',
      facts: { set: aSet(5, 'Succeeded'), etag: '"3"' },
      verdict: { kind: 'over', reason: 'somebody else has written the scale set since' },
    },
    { what: 'nothing when somebody wrote since', facts: { etag: '"3"' }, verdict: { kind: 'over' } },
    { what: 'nothing when the tag is not told', facts: { etag: undefined }, verdict: { kind: 'over' } },
    { what: 'nothing when the capacity is another', facts: { set: aSet(7, 'Failed') }, verdict: { kind: 'over' } },
    { what: 'nothing when the set is gone', facts: { set: undefined }, verdict: { kind: 'over' } },
    { what: 'nothing while a change of ours is unread', facts: { confirmed: false }, verdict: { kind: 'again' } },
  ])('$what', ({ facts: change, verdict }) => {
    expect(decideUndo({ ...facts, ...change }, raise)).toMatchObject(verdict);
  });
});
