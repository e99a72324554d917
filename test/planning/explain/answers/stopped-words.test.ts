import { describe, expect, it } from 'vitest';
import { describeStopped } from '../../../../src/planning/explain/answers/stopped-words.ts';
import { keyOf, START_MS } from '../../../support/builders.ts';

const instance = (node: string, sinceMs: number) => ({ key: keyOf(node), node, sinceMs });
const stops = { kind: 'stops', instances: [], max: 10, diskGib: 128, diskTier: 'Premium_LRS', startsClosed: undefined } as const;
const since = new Date(START_MS).toISOString();

describe('what becomes of removed nodes', () => {
  it.each([
    ['nothing, where they are deleted as usual', undefined, undefined],
    [
      'why, where they are deleted nevertheless',
      { kind: 'deletes', why: 'its agent pool has scaleDownMode Delete' } as const,
      'nodes are deleted, although azure.deallocate is on: its agent pool has scaleDownMode Delete',
    ],
    ['how many may be stopped', stops, '0 of at most 10 instances stopped'],
    [
      'since when one is stopped, and what is billed',
      { ...stops, instances: [instance('a', START_MS)] },
      `1 of at most 10 instances stopped; the oldest since ${since} or before; Azure bills its OS disk of 128 GiB (Premium_LRS) and no VM; the next increase starts them first`,
    ],
    [
      'why none is started for a while',
      {
        ...stops,
        diskGib: undefined,
        diskTier: undefined,
        instances: [instance('a', START_MS + 1), instance('b', START_MS)],
        startsClosed: { untilMs: START_MS, message: 'AllocationFailed: no' },
      },
      `2 of at most 10 instances stopped; the oldest since ${since} or before; Azure bills 2 OS disks and no VM; new instances are created until ${since}, since a start failed: AllocationFailed: no`,
    ],
  ])('says %s', (_what, stopped, expected) => {
    expect(describeStopped({ stopped })).toBe(expected);
  });
});
