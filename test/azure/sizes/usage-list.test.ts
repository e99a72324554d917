/** The list of usages as a text that other processes wrote: which are believed, and which need a read of one's own. */
import { describe, expect, it } from 'vitest';
import { isNearlyUsed, readUsageText, writeUsageText } from '../../../src/azure/sizes/usage-list.ts';
import { START_MS } from '../../support/builders.ts';

const SCOPE = { subscriptionId: 'Sub-1', location: 'westeurope' };
const LIST = { atMs: START_MS, rows: [{ name: 'standardDSv5Family', used: 8, limit: 100 }] };
const TEXT = writeUsageText(LIST, SCOPE);

describe('a shared list of usages', () => {
  it('is the same after it was written and read', () => {
    expect(readUsageText(TEXT, { subscriptionId: 'SUB-1', location: 'West Europe' }, START_MS)).toEqual({ ok: true, value: LIST });
  });

  it.each([
    ['no JSON', 'x', 'it is not a JSON object'],
    ['another schema', TEXT.replace('"schema":1', '"schema":2'), 'its schema is 2, not 1'],
    ['another region', TEXT.replace('westeurope', 'northeurope'), 'it is for another region or subscription'],
    ['another subscription', TEXT.replace('sub-1', 'sub-2'), 'it is for another region or subscription'],
    ['a time in the future', TEXT.replace(String(START_MS), String(START_MS + 120_000)), 'its time is no time in the past'],
    ['a time that is no number', TEXT.replace(String(START_MS), '"now"'), 'its time is no time in the past'],
    ['no rows', TEXT.replace(/"rows":.*/, '"rows":[]}'), 'it has no rows, or too many'],
    [
      'rows without end',
      writeUsageText({ ...LIST, rows: Array.from({ length: 2_001 }, () => LIST.rows[0]!) }, SCOPE),
      'it has no rows, or too many',
    ],
    ['a negative use', TEXT.replace('"used":8', '"used":-8'), 'one of its rows is not valid'],
    ['a limit beyond all reason', TEXT.replace('"limit":100', '"limit":1e300'), 'one of its rows is not valid'],
    ['a row without a name', TEXT.replace('"standardDSv5Family"', 'null'), 'one of its rows is not valid'],
  ])('is ignored with %s', (_what, text, reason) => {
    expect(readUsageText(text, SCOPE, START_MS)).toEqual({ ok: false, reason });
  });

  it.each([
    [8, 100, false],
    [89, 100, false],
    [90, 100, true],
    [100, 100, true],
    // Families without a quota are no news.
    [0, 0, false],
    [0, 10, false],
  ])('with %i of %i cores used is nearly used up: %s', (used, limit, expected) => {
    expect(isNearlyUsed({ atMs: START_MS, rows: [{ name: 'a', used, limit }] })).toBe(expected);
  });
});
