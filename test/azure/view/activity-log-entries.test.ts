import { describe, expect, it } from 'vitest';
import { callersOf } from '../../../src/azure/view/activity-log-entries.ts';
import { START_MS } from '../../support/builders.ts';

const MINUTE = 60_000;
const OWN = ['11111111-aaaa', '22222222-bbbb'];

const entry = (minutes: number, caller: string, rest: object = {}): object => ({
  caller,
  eventTimestamp: new Date(START_MS + minutes * MINUTE).toISOString(),
  operationName: { value: 'Microsoft.Compute/virtualMachineScaleSets/write' },
  status: { value: 'Started' },
  claims: {},
  ...rest,
});

const operation = (value: string): object => ({ operationName: { value } });
const BY_OBJECT = { claims: { 'http://schemas.microsoft.com/identity/claims/objectidentifier': '22222222-bbbb' } };

describe('whose write explains a change that was noticed at minute 0', () => {
  it.each<[string, readonly unknown[], readonly string[]]>([
    ['a write shortly before', [entry(-1, 'ci@example.com')], ['ci@example.com']],
    ['each writer of those minutes, the last one first', [entry(-2, 'a'), entry(-1, 'b'), entry(-2.5, 'a')], ['b', 'a']],
    ['at most three of them', [-0.1, -0.2, -0.3, -0.4].map((at) => entry(at, `w${at}`)), ['w-0.1', 'w-0.2', 'w-0.3']],
    ['without any, the last one before', [entry(-9, 'late'), entry(-12, 'earlier')], ['late']],
    ['a clock that is ahead', [entry(0.4, 'a')], ['a']],
    ['none: the write came after', [entry(1, 'a')], []],
    ['none: our own application', [entry(-1, '11111111-aaaa')], []],
    ['none: our own application by its object id', [entry(-1, 'x', BY_OBJECT)], []],
    ['none: our own application by the claim', [entry(-1, 'x', { claims: { appid: '11111111-aaaa' } })], []],
    ['none: it failed', [entry(-1, 'a', { status: { value: 'Failed' } })], []],
    ['none: a tag was read', [entry(-1, 'a', operation('Microsoft.Compute/virtualMachineScaleSets/read'))], []],
    ['instances deleted', [entry(-1, 'a', operation('MICROSOFT.COMPUTE/VIRTUALMACHINESCALESETS/DELETE/ACTION'))], ['a']],
    ['none: entries of no known form', [null, 'x', {}, entry(-1, '', {}), { ...entry(-1, 'a'), eventTimestamp: 'soon' }], []],
  ])('%s', (_what, entries, names) => {
    expect(callersOf(entries, { atMs: START_MS }, OWN)).toEqual(names);
  });
});
