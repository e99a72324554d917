/** Usages that the clusters of a subscription share: one of them asks Azure, and no number of another decides. */
import { describe, expect, it } from 'vitest';
import { NOTHING_SHARED } from '../../src/domain/ports/shared-text.ts';
import { writeUsageText } from '../../src/azure/sizes/usage-list.ts';
import { rig, USER_POOL, type Rig } from '../azure/rig.ts';
import { SUBSCRIPTION } from '../azure/scripted-arm.ts';
import { MemoryTextServer } from '../support/memory-shared-text.ts';
import { aCluster, aPod, START_MS } from '../support/builders.ts';

const MINUTE = 60_000;
const FAMILY = 'standardDSv5Family';
const SCOPE = { subscriptionId: SUBSCRIPTION, location: 'westeurope' };

let nowMs = START_MS;

async function clusters(count: number, server: MemoryTextServer): Promise<readonly Rig[]> {
  const made: Rig[] = [];
  for (let at = 0; at < count; at++) {
    const one = await rig({}, { sharedTexts: { ...NOTHING_SHARED, usage: server.of(`cluster-${at}`) } });
    one.arm.addSet(USER_POOL, 3);
    one.arm.usages = [[FAMILY, 20, 100]];
    made.push(one);
  }
  return made;
}

function asked({ arm }: Rig): number {
  return arm.sent('GET', '/usages').length;
}

describe('usages that clusters share', () => {
  it('are read by one cluster for all', async () => {
    const server = new MemoryTextServer(() => nowMs);
    const [one, two] = (await clusters(2, server)) as readonly [Rig, Rig];
    await one.azure.start(one.signal);
    await two.azure.start(two.signal);
    expect([asked(one), asked(two)]).toEqual([1, 0]);
    expect(two.view().quotas).toMatchObject([{ used: 20, limit: 100 }]);
  });

  it('are read again by the cluster that would be decided by them: a quota is nearly used up', async () => {
    const server = new MemoryTextServer(() => nowMs);
    const [one, two] = (await clusters(2, server)) as readonly [Rig, Rig];
    one.arm.usages = [[FAMILY, 99, 100]];
    await one.azure.start(one.signal);
    await two.azure.start(two.signal);
    expect([asked(one), asked(two)]).toEqual([1, 1]);
    // What the own read says counts.
    expect(two.view().quotas).toMatchObject([{ used: 20, limit: 100 }]);
  });

  it.each([
    ['away', (server: MemoryTextServer) => (server.isAway = true)],
    ['wiped', (server: MemoryTextServer) => server.put(undefined)],
    ['full of nonsense', (server: MemoryTextServer) => server.put({ epoch: 3, text: '{"schema":1}', by: undefined })],
    [
      'full of another region',
      (server: MemoryTextServer) =>
        server.put({
          epoch: 3,
          by: undefined,
          text: writeUsageText({ atMs: START_MS, rows: [{ name: FAMILY, used: 0, limit: 9 }] }, { subscriptionId: 'x', location: 'mars' }),
        }),
    ],
  ])('are read by each cluster itself while the store is %s', async (_what, spoil) => {
    const server = new MemoryTextServer(() => nowMs);
    const [one] = (await clusters(1, server)) as readonly [Rig];
    spoil(server);
    await one.azure.start(one.signal);
    expect(asked(one)).toBe(1);
    expect(one.view().quotas).toMatchObject([{ used: 20, limit: 100 }]);
  });

  it('are read by the cluster itself after Azure refused an increase for lack of quota', async () => {
    const server = new MemoryTextServer(() => nowMs);
    const [one, two] = (await clusters(2, server)) as readonly [Rig, Rig];
    await one.azure.start(one.signal);
    await two.azure.start(two.signal);
    nowMs = START_MS + MINUTE;
    await two.pass(MINUTE);
    two.arm.intercept = (request) =>
      request.method === 'PUT' ? { status: 409, body: { error: { code: 'QuotaExceeded', message: 'Quota exceeded.' } } } : undefined;
    await two.increase(USER_POOL, 4);
    two.arm.intercept = () => undefined;
    await two.pass(MINUTE);
    expect([asked(one), asked(two)]).toEqual([1, 1]);
  });

  const waiting = (count: number) => ({ ...aCluster(), pendingPods: Array.from({ length: count }, (_, at) => aPod({ name: `p-${at}` })) });

  /** Two clusters; the second took from the first that 4 cores are left, where Azure says 80. */
  async function misled(server: MemoryTextServer): Promise<readonly [Rig, Rig]> {
    const [one, two] = (await clusters(2, server)) as readonly [Rig, Rig];
    one.arm.usages = [[FAMILY, 20, 24]];
    await one.azure.start(one.signal);
    await two.azure.start(two.signal);
    await two.pass(1_000);
    expect([two.view().quotas, asked(two)]).toMatchObject([[{ used: 20, limit: 24 }], 0]);
    return [one, two];
  }

  it('keep no pod from a node before the cluster has read them itself, and then its own list counts for five minutes', async () => {
    const server = new MemoryTextServer(() => nowMs);
    const [, two] = await misled(server);
    two.view(waiting(1));
    await two.quiet();
    expect(asked(two)).toBe(0);
    two.view(waiting(2));
    await two.pass(1_000);
    expect([asked(two), two.view().quotas]).toMatchObject([1, [{ used: 20, limit: 100 }]]);
    await two.pass(4 * MINUTE);
    expect([asked(two), two.view().quotas]).toMatchObject([1, [{ used: 20, limit: 100 }]]);
  });

  it('are not asked for in each loop by a cluster that may not read them', async () => {
    const server = new MemoryTextServer(() => nowMs);
    const [, two] = await misled(server);
    two.arm.intercept = ({ path }) =>
      path.includes('/usages') ? { status: 403, body: { error: { code: 'AuthorizationFailed' } } } : undefined;
    for (let loop = 0; loop < 6; loop++) {
      two.view(waiting(2));
      await two.pass(10_000);
    }
    // After a failure the reader tries again by itself.
    expect(asked(two)).toBeLessThanOrEqual(3);
  });

  it('of another cluster only add: what its list lacks is as this cluster read it, for a quarter of an hour', async () => {
    const server = new MemoryTextServer(() => nowMs);
    const [one, two] = (await clusters(2, server)) as readonly [Rig, Rig];
    await two.azure.start(two.signal);
    await one.azure.start(one.signal);
    expect([asked(one), asked(two)]).toEqual([0, 1]);
    const publish = (atMs: number): void =>
      server.put({ epoch: 9, text: writeUsageText({ atMs, rows: [{ name: 'cores', used: 1, limit: 9 }] }, SCOPE), by: 'liar' });
    for (let at = 1; at <= 20; at++) {
      publish(START_MS + at * MINUTE);
      await two.pass(MINUTE);
      const names = two.view().quotas?.map(({ name }) => name);
      if (at >= 7 && at <= 14) expect(names?.toSorted()).toEqual(['cores', FAMILY.toLowerCase()]);
      if (at >= 18) expect(names).toEqual(['cores']);
    }
    expect(asked(two)).toBe(1);
  });
});
