import { describe, expect, it } from 'vitest';
import { checkRequest } from '../../../src/azure/writes/increase.ts';

type Arguments = Parameters<typeof checkRequest>;

/** Only what the check reads of a group. */
const group = { id: 'a', max: 10 } as Arguments[0];

describe('an increase over the number that it was planned from', () => {
  it.each<[string, number, number, number | undefined, object | undefined]>([
    ['up to the maximum is written', 3, 10, 3, undefined],
    ['above the maximum is refused', 3, 11, 3, { kind: 'refused', reason: '11 is above its maximum of 10' }],
    ['that is none is refused', 3, 3, 3, { kind: 'refused' }],
    ['that another writer changed is a conflict', 3, 5, 4, { kind: 'conflict', observed: 4 }],
    ['over an unknown size is refused', 3, 5, undefined, { kind: 'refused', reason: 'its size is unknown' }],
  ])('%s', (_what, from, to, target, expected) => {
    const request = { group: group.id, from, to, version: '' } as Arguments[1];
    const answer = checkRequest(group, request, target);
    if (expected === undefined) expect(answer).toBeUndefined();
    else expect(answer).toMatchObject(expected);
  });
});
