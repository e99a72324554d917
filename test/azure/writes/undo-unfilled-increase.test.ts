import { describe, expect, it } from 'vitest';
import type { OwnIncrease } from '../../../src/azure/groups/own-writes.ts';
import { projectScaleSet, type ScaleSetRow } from '../../../src/azure/rows/scale-set.ts';
import { decideUndo, type UndoInput } from '../../../src/azure/writes/undo-unfilled-increase.ts';

function aSet(capacity: number, provisioningState: string): ScaleSetRow {
  const row = projectScaleSet({ name: 'a', location: 'westeurope', sku: { name: 'Standard_D4s_v5', capacity }, provisioningState });
  if (row === undefined) throw new Error('no row');
  return row;
}

describe('the part of an increase that is undone', () => {
  const increase: OwnIncrease = { before: 3, to: 6, etag: '"2"' };
  const running = (count: number): string[] => Array.from({ length: count }, () => 'running');
  const input: UndoInput = { set: aSet(6, 'Failed'), etag: '"2"', confirmed: true, states: running(3), counted: undefined };
  it.each<{ readonly what: string; readonly facts: Partial<UndoInput>; readonly verdict: Readonly<Record<string, unknown>> }>([
    { what: 'all of the increase when none of it was filled', facts: {}, verdict: { kind: 'write', to: 3, listed: 3 } },
    { what: 'the part that was not filled', facts: { states: running(5) }, verdict: { kind: 'write', to: 5 } },
    {
      what: 'nothing below the capacity before the increase, although it is not filled',
      facts: { states: running(1) },
      verdict: { kind: 'write', to: 3, listed: 1 },
    },
    {
      what: 'no capacity of a failed instance: that one is deleted by its id',
      facts: { states: [...running(3), 'failed'] },
      verdict: { kind: 'write', to: 4 },
    },
    { what: 'no capacity of a deallocated instance', facts: { states: [...running(3), 'deallocated'] }, verdict: { kind: 'write', to: 4 } },
    { what: 'nothing when all of it was filled', facts: { states: running(6) }, verdict: { kind: 'over' } },
    { what: 'nothing while an instance is being created', facts: { states: [...running(3), 'creating'] }, verdict: { kind: 'again' } },
    { what: 'nothing while an instance is being deleted', facts: { states: [...running(3), 'deleting'] }, verdict: { kind: 'again' } },
    {
      what: 'nothing while the state of an instance is unknown',
      facts: { states: [...running(3), 'unknown'] },
      verdict: { kind: 'again' },
    },
    { what: 'the part that neither the list nor the count of the set shows', facts: { counted: 3 }, verdict: { kind: 'write', to: 3 } },
    { what: 'nothing while the set counts instances that are not listed', facts: { counted: 4 }, verdict: { kind: 'again' } },
    {
      what: 'the part above the list, although the set counts fewer',
      facts: { states: running(5), counted: 4 },
      verdict: { kind: 'write', to: 5 },
    },
    { what: 'nothing while an operation is in progress', facts: { set: aSet(6, 'Updating') }, verdict: { kind: 'again' } },
    {
      what: 'nothing when its failed instances were deleted together with their capacity',
      facts: { set: aSet(3, 'Succeeded'), etag: '"3"' },
      verdict: { kind: 'over', reason: 'nothing is left to remove: the capacity is 3' },
    },
    {
      what: 'nothing when another writer lowered it to what is listed',
      facts: { set: aSet(5, 'Succeeded'), etag: '"3"', states: running(5) },
      verdict: { kind: 'over', reason: expect.stringContaining('nothing is left') },
    },
    {
      what: 'nothing when another writer lowered it by a part',
      facts: { set: aSet(5, 'Succeeded'), etag: '"3"' },
      verdict: { kind: 'over', reason: 'another writer has changed the scale set since' },
    },
    { what: 'nothing when another writer wrote since', facts: { etag: '"3"' }, verdict: { kind: 'over' } },
    { what: 'nothing when the tag is unknown', facts: { etag: undefined }, verdict: { kind: 'over' } },
    { what: 'nothing when the capacity is another', facts: { set: aSet(7, 'Failed') }, verdict: { kind: 'over' } },
    { what: 'nothing when the set is gone', facts: { set: undefined }, verdict: { kind: 'over' } },
    { what: 'nothing while a change of ours has not been read back', facts: { confirmed: false }, verdict: { kind: 'again' } },
  ])('$what', ({ facts: change, verdict }) => {
    expect(decideUndo({ ...input, ...change }, increase)).toMatchObject(verdict);
  });
});
