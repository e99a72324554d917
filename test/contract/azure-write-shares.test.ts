/** Deletions and increases of one cluster while Azure accepts few writes from all clusters of its subscription. */
import { describe, expect, it } from 'vitest';
import { rig, USER_POOL, type Rig } from '../azure/rig.ts';
import { nodeGroupId } from '../../src/domain/ids.ts';
import type { SharedClusters } from '../../src/domain/ports/shared-clusters.ts';
import { asAutoscalerError } from '../../src/lib/errors.ts';
import { START_MS } from '../support/builders.ts';
import { MemoryHintServer } from '../support/memory-hints.ts';

function clustersOf(count: number): SharedClusters {
  const each = (at: number) => ({ cluster: `c${at}`, process: 'p', version: '1', atMs: START_MS });
  return { present: () => Array.from({ length: count }, (_, at) => each(at)) };
}

/** A cluster that has just sent four writes, while another one reports that none is left. */
async function afterFourWrites(clusters: SharedClusters | undefined): Promise<Rig> {
  const server = new MemoryHintServer(() => START_MS);
  server.of('other').report('remaining', 'subscription-global-writes', START_MS + 600_000, { left: 0, of: 3_000 });
  const one = await rig({}, { sharedHints: server.of('one'), sharedClusters: clusters });
  one.arm.addSet(USER_POOL, 3);
  await one.azure.start(one.signal);
  for (const to of [4, 5, 6, 7]) expect(await one.increase(USER_POOL, to)).toMatchObject({ kind: 'accepted' });
  return one;
}

/** A deletion that begins to wait for its turn. The end of the rig may end its wait. */
function beginDeletion(azure: Rig): { readonly turn: boolean } {
  const state = { turn: false };
  const cancelled = (thrown: unknown): void => {
    if (asAutoscalerError(thrown).kind !== 'cancelled') throw thrown;
  };
  void azure.azure.untilRemovable(nodeGroupId(USER_POOL), azure.signal).then(() => (state.turn = true), cancelled);
  return state;
}

async function waitOfDeletion(azure: Rig): Promise<number> {
  const state = beginDeletion(azure);
  await azure.quiet();
  for (let second = 0; second < 120; second++) {
    if (state.turn) return second;
    await azure.clock.advance(1_000);
  }
  return Number.POSITIVE_INFINITY;
}

describe('a cluster that has had its share of writes', () => {
  it('postpones a deletion by a minute at most, and says why', async () => {
    const azure = await afterFourWrites(clustersOf(10_000));
    const wait = waitOfDeletion(azure);
    await azure.quiet();
    expect(azure.group(USER_POOL).deletionsWait).toContain('this cluster and 9999 other clusters of the subscription');
    const seconds = await wait;
    expect(seconds).toBeGreaterThanOrEqual(30);
    expect(seconds).toBeLessThanOrEqual(60);
    expect(azure.group(USER_POOL).deletionsWait).toBeUndefined();
    expect(azure.logLines.filter((line) => line.includes('Write postponed'))).toHaveLength(1);
    expect(await azure.count('arm_writes_postponed_total', { operation: 'deleteInstances' })).toBe(1);
  });

  it('sends an increase at once, even while a deletion of the same pool waits', async () => {
    const azure = await afterFourWrites(clustersOf(10_000));
    const deletion = beginDeletion(azure);
    await azure.quiet();
    expect(await azure.increase(USER_POOL, 8)).toMatchObject({ kind: 'accepted' });
    expect(deletion.turn).toBe(false);
    expect(azure.clock.now()).toBe(START_MS);
  });

  it.each([
    ['without a store', undefined],
    ['alone in its store', clustersOf(1)],
  ])('deletes at once %s', async (_where, clusters) => {
    expect(await waitOfDeletion(await afterFourWrites(clusters))).toBe(0);
  });
});
