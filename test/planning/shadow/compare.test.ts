import { describe, expect, it } from 'vitest';
import { compareShadow } from '../../../src/planning/shadow/compare.ts';
import type { ShadowLine } from '../../../src/planning/shadow/record.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const A = 'small';
const B = 'large';

const POOLS: ShadowLine = {
  kind: 'pools',
  atMs: 0,
  started: true,
  pools: [
    { pool: A, min: 0, max: 9, vmSize: 'Standard_D4s_v5', perHour: 1 },
    { pool: B, min: 0, max: 9, vmSize: 'Standard_D8s_v5', perHour: 3 },
  ],
};

const wish = (minute: number, pool: string, nodes: number, pods = nodes): ShadowLine => ({
  kind: 'wish',
  atMs: minute * MINUTE,
  pool,
  nodes,
  pods,
  why: 'pods fit',
});
const wishEnd = (minute: number, pool: string, nodes: number, pods = nodes): ShadowLine => ({
  kind: 'wish-end',
  atMs: minute * MINUTE,
  pool,
  nodes,
  pods,
});
const size = (minute: number, pool: string, from: number, to: number, more: object = {}): ShadowLine => ({
  kind: 'size',
  atMs: minute * MINUTE,
  pool,
  from,
  to,
  ...more,
});
const free = (minute: number, node: string): ShadowLine => ({ kind: 'free', atMs: minute * MINUTE, pool: A, node, why: 'empty' });
const freeEnd = (minute: number, node: string, how: 'removed' | 'needed', pods = 0): ShadowLine => ({
  kind: 'free-end',
  atMs: minute * MINUTE,
  pool: A,
  node,
  how,
  pods,
});
const gone = (minute: number, node: string): ShadowLine => ({ kind: 'gone', atMs: minute * MINUTE, pool: A, node, ours: 'BlockedByPod' });
const goneFirst = (minute: number, node: string, dueMinute: number): ShadowLine =>
  ({ ...gone(minute, node), ours: 'unneeded for 5 min', dueMs: dueMinute * MINUTE }) as ShadowLine;
const sample = (minute: number, cost: number, waitedMinutes: number): ShadowLine => ({
  kind: 'sample',
  atMs: minute * MINUTE,
  forMs: 5 * MINUTE,
  waitedMs: waitedMinutes * MINUTE,
  longestMs: MINUTE,
  cost,
});

const compared = (lines: readonly ShadowLine[], nowMinute = 120) =>
  compareShadow({ lines: [POOLS, ...lines], sinceMs: 0, nowMs: nowMinute * MINUTE });

describe('what both sides decide alike is no disagreement', () => {
  it.each<[string, readonly ShadowLine[]]>([
    ['the same increase within a minute', [wish(1, A, 2), size(1.9, A, 0, 2), wishEnd(2, A, 2)]],
    ['an increase that the last plan counts on', [size(1, A, 0, 2, { agreed: true })]],
    ['the same removal within a minute', [free(10, 'n1'), freeEnd(10.5, 'n1', 'removed')]],
    ['a removal for which our timer had less than a minute left', [goneFirst(10, 'n1', 10.5)]],
    ['a wish that no plan repeats after a minute', [wish(1, A, 2), wishEnd(1.5, A, 2)]],
  ])('%s', (_what, lines) => {
    expect(compared(lines).disagreements).toEqual([]);
  });
});

describe('a disagreement', () => {
  it.each<[string, readonly ShadowLine[], object]>([
    [
      'an increase that came 5 min later',
      [wish(1, A, 2, 4), size(6, A, 0, 2), wishEnd(6, A, 2)],
      { kind: 'increase earlier', nodes: 2, cost: (2 * 5) / 60, podMinutes: -20 },
    ],
    [
      'another pool, which costs more until it shrinks',
      [wish(0, A, 2), size(0, B, 0, 1), wishEnd(1, A, 2), size(60, B, 1, 0)],
      { kind: 'other pool, cheaper', pools: [A, B], cost: 2 - 3, podMinutes: -0 },
    ],
    [
      'another pool, whose capacity we know to be lacking',
      [wish(0, A, 2), size(0, B, 0, 1, { ours: 'out of capacity in Azure (AllocationFailed)' })],
      { kind: 'other pool, no capacity' },
    ],
    [
      'an increase that only we would have made',
      [wish(0, A, 1, 6), wishEnd(13, A, 1, 6)],
      { kind: 'increase only here', nodes: 1, cost: 13 / 60, podMinutes: -60 },
    ],
    [
      'an increase that we see no need for',
      [size(0, A, 1, 3, { ours: 'no pending pod needs it' }), size(30, A, 3, 1)],
      { kind: 'increase only there', nodes: 2, ours: 'no increase of small: no pending pod needs it', cost: -1 },
    ],
    [
      'a removal that came an hour later',
      [free(0, 'n1'), freeEnd(60, 'n1', 'removed')],
      { kind: 'removal earlier', cost: -1, podMinutes: 0 },
    ],
    [
      'a node that was needed again, by 2 pods',
      [free(0, 'n1'), freeEnd(30, 'n1', 'needed', 2)],
      { kind: 'removal only here', cost: -0.5, podMinutes: 6 },
    ],
    ['a node that is still kept', [free(60, 'n1')], { kind: 'removal only here', theirs: 'kept; its events give no reason', cost: -1 }],
    ['a node that we would have removed half an hour later', [goneFirst(10, 'n1', 40)], { kind: 'removal only there', cost: 0.5 }],
    [
      'a node that we would have kept until the pool grew',
      [gone(0, 'n1'), size(30, A, 1, 2, { agreed: true })],
      { kind: 'removal only there', ours: 'n1 kept: BlockedByPod', cost: 0.5 },
    ],
  ])('%s', (_what, lines, expected) => {
    const { disagreements } = compared(lines);
    expect(disagreements).toHaveLength(1);
    expect(disagreements[0]).toMatchObject(expected);
  });

  it('names what the other side said about the pod, the pool or the node at that time', () => {
    const said: ShadowLine = {
      kind: 'said',
      atMs: 6 * MINUTE,
      about: 'Pod default/web',
      reason: 'TriggeredScaleUp',
      message: `[{${A} 0->2 (max: 9)}]`,
    };
    expect(compared([wish(1, A, 2), said, size(6, A, 0, 2)]).disagreements[0]?.theirs).toBe('TriggeredScaleUp: [{small 0->2 (max: 9)}]');
    expect(compared([wish(1, A, 2), { ...said, atMs: HOUR }, size(6, A, 0, 2)]).disagreements[0]?.theirs).toBe('the same 5 min later');
  });

  it('of a size without a price has no money', () => {
    const lines: readonly ShadowLine[] = [
      { kind: 'pools', atMs: 0, pools: [{ pool: A, min: 0, max: 9, vmSize: 'Standard_X' }] },
      wish(1, A, 2),
      size(9, A, 0, 2),
    ];
    const report = compareShadow({ lines, sinceMs: 0, nowMs: HOUR });
    expect(report.disagreements[0]).not.toHaveProperty('cost');
    expect(report).toMatchObject({ sizesWithoutPrice: ['Standard_X'], theirs: { podMinutes: 0 } });
    expect(report.theirs).not.toHaveProperty('cost');
  });

  it('ends with the process that wished it', () => {
    const lines = [wish(0, A, 1), { ...POOLS, atMs: 10 * MINUTE }, size(20, A, 0, 1)];
    expect(compared(lines).disagreements.map(({ kind }) => kind)).toEqual(['increase only here', 'increase only there']);
  });
});

describe('the totals', () => {
  const lines = [
    sample(5, 10, 8),
    wish(6, A, 2, 4),
    sample(10, 10, 12),
    size(11, A, 0, 2),
    wishEnd(11, A, 2, 4),
    free(20, 'n1'),
    freeEnd(80, 'n1', 'removed'),
    size(80, A, 2, 1),
  ];

  it('of the other side are what was real, and ours add the disagreements', () => {
    const { theirs, ours } = compared(lines);
    expect(theirs).toEqual({ cost: 20, podMinutes: 20, nodesAdded: 2, nodesRemoved: 1, longestWaitMs: MINUTE });
    expect(ours).toMatchObject({ podMinutes: 0, nodesAdded: 2, nodesRemoved: 1 });
    expect(ours.cost).toBeCloseTo(20 + (2 * 5) / 60 - 1);
  });

  it('has the currency of its prices, and none if it is not known', () => {
    const priced: ShadowLine = { kind: 'pools', atMs: 0, pools: [], currency: 'EUR' };
    expect(compareShadow({ lines: [priced], sinceMs: 0, nowMs: HOUR }).currency).toBe('EUR');
    expect(compareShadow({ lines: [POOLS], sinceMs: 0, nowMs: HOUR })).not.toHaveProperty('currency');
  });

  it('have what the last search of a repack found, also from before the report, and nothing else changes', () => {
    const found = { kind: 'repacking', nodes: 3, needed: 2, leftOut: [] } as const;
    const searches: readonly ShadowLine[] = [
      { ...found, atMs: MINUTE, text: 'older' },
      { ...found, atMs: 2 * MINUTE, text: 'newer', perHour: 1 },
    ];
    const all = [POOLS, ...lines].toSorted((left, right) => left.atMs - right.atMs);
    const within = { sinceMs: 15 * MINUTE, nowMs: 2 * HOUR };
    expect(compareShadow({ lines: [...searches, ...all], ...within })).toEqual({
      ...compareShadow({ lines: all, ...within }),
      repacking: { atMs: 2 * MINUTE, text: 'newer', nodes: 3, needed: 2, perHour: 1, leftOut: [] },
    });
  });

  it('begin where the record begins, or at the time that was asked for', () => {
    expect(compared(lines)).toMatchObject({ fromMs: 0, isPartial: false, seenMs: 10 * MINUTE, pools: 2 });
    const later = compareShadow({ lines: [POOLS, ...lines], sinceMs: 15 * MINUTE, nowMs: 2 * HOUR });
    expect(later).toMatchObject({ fromMs: 15 * MINUTE, theirs: { podMinutes: 0, nodesRemoved: 1 } });
    expect(later.disagreements.map(({ kind }) => kind)).toEqual(['removal earlier']);
    expect(compareShadow({ lines: [POOLS], sinceMs: -HOUR, nowMs: HOUR })).toMatchObject({ isPartial: true, fromMs: 0 });
  });
});
