import { describe, expect, it } from 'vitest';
import { NO_PRICES } from '../../../../src/domain/policy.ts';
import { describeStopped } from '../../../../src/planning/explain/answers/stopped-words.ts';
import { keyOf, START_MS } from '../../../support/builders.ts';

const instance = (node: string, sinceMs: number) => ({ key: keyOf(node), node, sinceMs });
const stops = {
  kind: 'stops',
  instances: [],
  max: 10,
  diskGib: 128,
  diskTier: 'Premium_LRS',
  diskSku: 'P10 LRS',
  startsClosed: undefined,
} as const;
const prices = { ...NO_PRICES, prices: { 'p10 lrs': 0.027 } };
const since = new Date(START_MS).toISOString();

const created = { count: 1, p50Ms: 180_000, p90Ms: 180_000 };

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
      `1 of at most 10 instances stopped; the oldest since ${since} or before; Azure bills its OS disk of 128 GiB (Premium_LRS) and no VM: 0.027 per hour; the next increase starts them first`,
    ],
    [
      'how a VMs pool counts them, and that nodes stay at the maximum',
      { ...stops, max: 1, counts: { how: 'left-out', sinceMs: START_MS } as const, instances: [instance('a', START_MS)] },
      `1 of at most 1 instance stopped; the oldest since ${since} or before; Azure bills its OS disk of 128 GiB (Premium_LRS) and no VM: 0.027 per hour; further nodes stay, since AKS could only stop them; AKS's count leaves stopped ones out, and AKS starts them, as seen since ${since}; the next increase starts them first`,
    ],
    [
      'that the count of a VMs pool includes them',
      { ...stops, counts: { how: 'included', sinceMs: START_MS } as const },
      `0 of at most 10 instances stopped; AKS's count includes stopped ones, and they are started by name, as seen since ${since}`,
    ],
    [
      'which price is missing',
      { ...stops, diskSku: 'P15 LRS', instances: [instance('a', START_MS), instance('b', START_MS)] },
      `2 of at most 10 instances stopped; the oldest since ${since} or before; Azure bills 2 OS disks of 128 GiB (Premium_LRS) and no VM, at a price that is not known (P15 LRS); the next increase starts them first`,
    ],
    [
      'why none is started for a while',
      {
        ...stops,
        diskGib: undefined,
        diskTier: undefined,
        diskSku: undefined,
        instances: [instance('a', START_MS + 1), instance('b', START_MS)],
        startsClosed: { untilMs: START_MS, message: 'AllocationFailed: no' },
      },
      `2 of at most 10 instances stopped; the oldest since ${since} or before; Azure bills 2 OS disks and no VM; new instances are created until ${since}, since a start failed: AllocationFailed: no`,
    ],
  ])('says %s', (_what, stopped, expected) => {
    expect(describeStopped({ stopped }, { prices, created })).toBe(expected);
  });

  it('says how long a start took, beside a creation', () => {
    const started = { count: 3, p50Ms: 42_000, p90Ms: 50_000 };
    const said = '0 of at most 10 instances stopped; a start takes 42 s, a new node 3 min';
    expect(describeStopped({ stopped: stops }, { prices, created, started })).toBe(said);
  });
});
