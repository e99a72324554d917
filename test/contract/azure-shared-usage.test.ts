/** Usages that the clusters of a subscription share: one of them asks Azure, and no number of another decides. */
import { afterEach, describe, expect, it } from 'vitest';
import { writeUsageText } from '../../src/azure/sizes/usage-list.ts';
import { rig, USER_POOL, type Rig } from '../azure/rig.ts';
import { MemoryTextServer } from '../support/memory-shared-text.ts';
import { START_MS } from '../support/builders.ts';

const MINUTE = 60_000;
const FAMILY = 'standardDSv5Family';
const rigs: Rig[] = [];
afterEach(async () => {
  for (const each of rigs.splice(0)) await each.stop();
});

let nowMs = START_MS;

async function clusters(count: number, server: MemoryTextServer): Promise<readonly Rig[]> {
  const made: Rig[] = [];
  for (let at = 0; at < count; at++) {
    const one = await rig({}, { sharedTexts: { usage: server.of(`cluster-${at}`) } });
    one.arm.addSet(USER_POOL, 3);
    one.arm.usages = [[FAMILY, 20, 100]];
    rigs.push(one);
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
    ['full of nonsense', (server: MemoryTextServer) => server.put({ epoch: 3, text: '{"schema":1}' })],
    [
      'full of another region',
      (server: MemoryTextServer) =>
        server.put({
          epoch: 3,
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
});
