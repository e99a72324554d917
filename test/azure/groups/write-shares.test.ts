/** When writes on which no pod waits are postponed, for how long, and what a store that lies makes of it. */
import { describeBlock } from '../../../src/domain/group-blocks.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import { WriteShares, type PostponableWrite } from '../../../src/azure/groups/write-shares.ts';
import type { HintCount } from '../../../src/domain/ports/shared-hints.ts';
import { START_MS } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const DELETES = 'VMScaleSetActions';
const ALL_WRITES = 'subscription-global-writes';
const LOW = { left: 40, of: 1_500 };

let clock = new FakeClock(START_MS);
let clusters = 1;
/** Of every resource. */
let phase = 1;
let reported = new Map<string, HintCount>();
let postponed: string[] = [];
let shares: WriteShares;
beforeEach(() => {
  clock = new FakeClock(START_MS);
  clusters = 1;
  phase = 1;
  reported = new Map();
  postponed = [];
  shares = new WriteShares({
    clock,
    clusters: () => clusters,
    phase: () => phase,
    reported: (limit) => reported.get(limit),
    onPostponed: ({ resource }) => void postponed.push(resource),
  });
});

function deletion(resource: string): PostponableWrite {
  return { operation: 'deleteInstances', resource };
}

/** Writes of other scale sets that were sent just now. */
function send(count: number, operation: PostponableWrite['operation'] = 'deleteInstances'): void {
  for (let at = 0; at < count; at++) shares.noteWrite({ operation, resource: `sent-${at}` });
}

/** How long the write waits, seconds. */
async function waitOf(write: PostponableWrite, meanwhile: () => void = () => undefined): Promise<number> {
  const sinceMs = clock.now();
  const went: number[] = [];
  void shares.untilGranted(write, new AbortController().signal).then(() => went.push(clock.now()));
  for (let second = 0; second <= 120 && went.length === 0; second++) {
    await clock.advance(second === 0 ? 0 : 1_000);
    meanwhile();
  }
  return ((went[0] ?? Number.POSITIVE_INFINITY) - sinceMs) / 1_000;
}

describe('a write on which no pod waits', () => {
  it.each([
    ['few writes are left for ten clusters, and this one has had its share', 10, LOW, 4, 60],
    ['this one has not had its share', 10, LOW, 3, 0],
    ['a larger share is left for two clusters', 2, LOW, 19, 0],
    ['and is used up', 2, LOW, 20, 60],
    ['many writes are left', 10, { left: 300, of: 1_500 }, 100, 0],
    ['few writes are left at the first report', 10, { left: 40, of: 40 }, 4, 60],
    ['Azure has reported nothing', 10, undefined, 100, 0],
    ['this cluster is the only one', 1, LOW, 100, 0],
    ['no cluster is known', 0, LOW, 100, 0],
  ])('waits as long as it must if %s', async (_when, among, count, sent, seconds) => {
    clusters = among;
    if (count !== undefined) shares.noteRemaining(DELETES, count);
    send(sent);
    // Within the minute after the writes were sent, and not a moment longer.
    expect(await waitOf(deletion('a'))).toBe(seconds);
    expect(postponed).toEqual(seconds === 0 ? [] : ['a']);
  });

  it.each([
    ['deletions use up the limit of deletions', 'deleteInstances', DELETES, 60],
    ['increases do not', 'putScaleSet', DELETES, 0],
    ['every write uses up the limit of all writes', 'putScaleSet', ALL_WRITES, 60],
    ['so does a count of AKS', 'putAgentPool', ALL_WRITES, 60],
  ] as const)('is counted for its own limits: %s', async (_what, operation, limit, seconds) => {
    clusters = 10;
    shares.noteRemaining(limit, LOW);
    send(5, operation);
    expect(await waitOf(deletion('a'))).toBe(seconds);
  });

  it.each([
    [0, 30],
    [0.5, 45],
    [1, 60],
  ])('waits for half a minute to a minute, other resources for another time', async (part, seconds) => {
    phase = part;
    clusters = 10;
    shares.noteRemaining(DELETES, LOW);
    send(5);
    expect(await waitOf(deletion('a'), () => send(1))).toBe(seconds);
  });

  it('goes as soon as Azure reports that more is left', async () => {
    clusters = 10;
    shares.noteRemaining(DELETES, LOW);
    send(5);
    const wait = waitOf(deletion('a'));
    await clock.advance(10_000);
    shares.noteRemaining(DELETES, { left: 500, of: 1_500 });
    expect(await wait).toBeLessThanOrEqual(12);
  });

  it('takes its place in the share before it is sent, once for all writes of its resource', () => {
    clusters = 10;
    shares.noteRemaining(DELETES, LOW);
    expect(['a', 'a', 'b', 'c', 'd', 'e'].map((resource) => shares.request(deletion(resource)))).toEqual([
      true,
      true,
      true,
      true,
      true,
      false,
    ]);
    // Sent: what follows of the same resource is a further write.
    shares.noteWrite(deletion('a'));
    expect(shares.request(deletion('a'))).toBe(false);
  });

  it('says why it waits, until it goes', async () => {
    clusters = 3;
    shares.noteRemaining(DELETES, { left: 9, of: 1_500 });
    send(4);
    expect(shares.request(deletion('a'))).toBe(false);
    const reason =
      'Azure accepts 9 more writes (VMScaleSetActions) from this cluster and 2 other clusters of the subscription, and this one sent 4 within a minute; it waits for a minute at most';
    expect([describeBlock(shares.waitingReason('a')), shares.waitingReason('b')]).toEqual([reason, undefined]);
    await clock.advance(20_000);
    expect(shares.request(deletion('a'))).toBe(false);
    await clock.advance(29_000);
    expect(describeBlock(shares.waitingReason('a'))).toBe(reason);
    await clock.advance(11_000);
    // The four writes are a minute old.
    expect(shares.request(deletion('a'))).toBe(true);
    expect(shares.waitingReason('a')).toBeUndefined();
    expect(postponed).toEqual(['a']);
  });

  it('has no reason to wait after it was given up', async () => {
    clusters = 3;
    shares.noteRemaining(DELETES, { left: 9, of: 1_500 });
    send(4);
    shares.request(deletion('a'));
    await clock.advance(30_000);
    expect(shares.waitingReason('a')).toBeUndefined();
  });
});

describe('a store that lies about clusters and about what is left', () => {
  beforeEach(() => {
    clusters = 10_000;
    reported = new Map([DELETES, ALL_WRITES].map((limit) => [limit, { left: 0, of: 1_000_000 }]));
  });

  it('delays nothing while Azure itself reports enough', async () => {
    shares.noteRemaining(DELETES, { left: 1_400, of: 1_500 });
    shares.noteRemaining(ALL_WRITES, { left: 2_900, of: 3_000 });
    send(50);
    expect(await waitOf(deletion('a'))).toBe(0);
  });

  it('delays a write by a minute at most, and never the first four of a minute', async () => {
    for (const resource of ['a', 'b', 'c', 'd']) expect(shares.request(deletion(resource))).toBe(true);
    expect(await waitOf(deletion('e'))).toBe(60);
    // However long it goes on, and however many writes leave meanwhile.
    for (let round = 0; round < 3; round++) {
      send(5);
      expect(await waitOf(deletion(`late-${round}`), () => send(1))).toBe(60);
    }
  });

  it('is contradicted by the first response of Azure', async () => {
    send(4);
    const wait = waitOf(deletion('e'));
    await clock.advance(2_000);
    shares.noteRemaining(DELETES, { left: 1_400, of: 1_500 });
    shares.noteRemaining(ALL_WRITES, { left: 2_900, of: 3_000 });
    expect(await wait).toBeLessThanOrEqual(4);
  });
});
