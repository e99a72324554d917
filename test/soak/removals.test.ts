import { describe, expect, it } from 'vitest';
import type { JournalEntry } from '../../world/simulator/arm/http/journal.ts';
import { deletedTwice } from './removals.ts';

const entry = (at: number, change: Partial<JournalEntry> = {}): JournalEntry => ({
  seq: at,
  at,
  method: 'POST',
  route: 'POST virtualMachineScaleSets/{name}/delete',
  path: '/a/virtualMachineScaleSets/one/delete',
  status: 202,
  principal: 'x',
  pool: 'p',
  charge: 2,
  capacityBefore: 5,
  capacityAfter: 3,
  ...change,
});
const again = entry(20, { capacityBefore: 3 });

describe('the judge of machines that are deleted twice', () => {
  it.each([
    { what: 'two deletes of other machines', writes: [entry(10), entry(20, { capacityBefore: 3, capacityAfter: 1 })], found: 0 },
    { what: 'the same machines again', writes: [entry(10), again], found: 1 },
    { what: 'again, by a process that started between', writes: [entry(10), again], starts: [15], found: 0 },
    { what: 'again, after an answer that a fault spoilt', writes: [entry(10, { faultId: '1' }), again], found: 0 },
    { what: 'again, of a pool that others took machines from', writes: [entry(10), again], takenFrom: ['p'], found: 0 },
    { what: 'again, of another set', writes: [entry(10), { ...again, path: '/a/virtualMachineScaleSets/two/delete' }], found: 0 },
    { what: 'again, and refused', writes: [entry(10), { ...again, status: 409 }], found: 0 },
  ])('$what: $found', ({ writes, starts = [], takenFrom = [], found }) =>
    expect(deletedTwice(writes, starts, new Set(takenFrom))).toHaveLength(found),
  );
});
