import { describe, expect, it } from 'vitest';
import { OwnWrites } from '../../../src/azure/groups/own-writes.ts';
import type { ScaleSetReading } from '../../../src/azure/inventory/single-reads.ts';
import { readAgentPool } from '../../../src/azure/rows/agent-pool.ts';
import { projectScaleSet } from '../../../src/azure/rows/scale-set.ts';
import { AgentPoolCountSync, reasonAgainstSync } from '../../../src/azure/writes/sync-agent-pool-count.ts';
import { aGroup, anInstance } from '../../support/builders.ts';
import { USER_POOL } from '../rig.ts';
import { sentWrites, writingRooms } from './writing-rooms.ts';

const REST = { aksCount: 1, size: 10 };

function pool(change: object = {}) {
  const properties = {
    type: 'VirtualMachineScaleSets',
    eTag: 'e',
    count: 1,
    provisioningState: 'Succeeded',
    enableAutoScaling: false,
    ...change,
  };
  return readAgentPool({ name: 'user1', properties });
}

function reading(capacity: number | undefined, provisioningState = 'Succeeded'): ScaleSetReading {
  const set = projectScaleSet({
    name: 's',
    location: 'l',
    sku: { name: 'x', ...(capacity === undefined ? {} : { capacity }) },
    provisioningState,
  });
  if (set === undefined) throw new Error('it has a name');
  return { set, etag: '"1"' };
}

describe('a count of AKS that may be brought in step', () => {
  it('is one that both reads show as it rested', () => {
    expect(reasonAgainstSync({ row: pool(), reading: reading(10) }, REST)).toBeUndefined();
  });

  it.each<[string, object, ScaleSetReading | undefined, string]>([
    ['no entity tag', { eTag: null }, reading(10), 'no entity tag'],
    ['an operation of AKS', { provisioningState: 'Upgrading' }, reading(10), 'state Upgrading'],
    ['a failed pool, which any write of it repairs', { provisioningState: 'Failed' }, reading(10), 'state Failed'],
    ["AKS's own autoscaler", { enableAutoScaling: true }, reading(10), 'own autoscaler'],
    ['a stopped pool', { powerState: { code: 'Stopped' } }, reading(10), 'stopped'],
    ['deallocated instances', { scaleDownMode: 'Deallocate' }, reading(10), 'deallocated'],
    ['a count that another writer changed', { count: 2 }, reading(10), 'count of AKS has changed'],
    ['no count', { count: null }, reading(10), 'count of AKS has changed'],
    ['a capacity that another writer raised', {}, reading(12), 'another writer'],
    ['a capacity that another writer lowered', {}, reading(9), 'another writer'],
    ['no capacity', {}, reading(undefined), 'another writer'],
    ['no scale set', {}, undefined, 'another writer'],
    ['an operation in the scale set', {}, reading(10, 'Updating'), 'scale set is in state Updating'],
  ])('is not one with %s', (_what, change, read, reason) => {
    expect(reasonAgainstSync({ row: pool(change), reading: read }, REST)).toContain(reason);
  });

  it('is not one of a pool that AKS does not return', () => {
    expect(reasonAgainstSync({ row: undefined, reading: reading(10) }, REST)).toContain('no agent pool');
  });
});

describe('a pool whose count is being brought in step', () => {
  it('is written through AKS until the operation has ended, and for a minute after that', () => {
    const syncs = new OwnWrites();
    expect(syncs.isThroughAks('user1', 0)).toBe(false);
    syncs.beginCountSync('user1');
    expect([syncs.isThroughAks('user1', 10_000_000), syncs.isThroughAks('user2', 0)]).toEqual([true, false]);
    syncs.endCountSync('user1', 100_000);
    expect([159_999, 160_000].map((nowMs) => syncs.isThroughAks('user1', nowMs))).toEqual([true, false]);
  });

  it('is written as before if AKS refused the count', () => {
    const syncs = new OwnWrites();
    syncs.beginCountSync('user1');
    syncs.cancelCountSync('user1');
    expect(syncs.isThroughAks('user1', 0)).toBe(false);
  });
});

describe('a pool at rest', () => {
  const properties = { type: 'VirtualMachineScaleSets', eTag: 'e', count: 1, provisioningState: 'Succeeded', enableAutoScaling: false };
  const minute = 60_000;

  /** Six instances, of which AKS counts one, seen at rest for so long. */
  async function rested(minutes: number, writable?: string) {
    const rooms = await writingRooms({}, properties);
    const { azure, clock, group } = rooms;
    const sync = new AgentPoolCountSync({ writes: azure.writes, writable: () => writable ?? group });
    const instances = Array.from({ length: 6 }, (_, index) => anInstance({ node: `n-${index}`, state: 'running' }));
    const seen = { ...aGroup({ id: USER_POOL, target: 6, instances }), aksCount: 1 };
    sync.observe([seen]);
    await clock.advance(minutes * minute);
    sync.observe([seen]);
    const run = (): Promise<void> => sync.syncOne(new Set(), new AbortController().signal);
    return { ...rooms, sync, seen, run };
  }

  it.each([
    [10, 1],
    [9, 0],
  ])('for %i minutes gets %i writes of its count', async (minutes, count) => {
    const { arm, run } = await rested(minutes);
    await run();
    expect(sentWrites(arm)).toBe(count);
    expect(arm.sent('PUT', '/agentpools/user1').map(({ body, headers }) => [body['properties'], headers['if-match']])).toEqual(
      Array.from({ length: count }, () => [{ ...properties, count: 6 }, 'e']),
    );
  });

  it('is not written where the gate is closed', async () => {
    const { arm, run } = await rested(10, 'another autoscaler holds the lock');
    await run();
    expect(sentWrites(arm)).toBe(0);
  });

  it('is not written while another change of ours is in progress', async () => {
    const { arm, azure, run } = await rested(10);
    azure.inventory.scaleSets.beginMutation({ kind: 'remove', key: USER_POOL, count: 1 });
    await run();
    expect(sentWrites(arm)).toBe(0);
  });

  it('is not written during another operation of ours in its pool', async () => {
    const { arm, azure, run } = await rested(10);
    azure.inventory.vmsPools.operationBegan('user1');
    await run();
    expect(sentWrites(arm)).toBe(0);
  });

  it.each<[string, object]>([
    ['whose instances are not all there', { instances: [] }],
    ['one of whose instances starts', { instances: Array.from({ length: 6 }, () => anInstance({ node: 'n', state: 'creating' })) }],
    ['that is frozen', { blocks: { change: { code: 'pool-state', state: 'Upgrading' } } }],
    ['whose count agrees', { aksCount: undefined }],
    ['with another size', { target: { known: true, value: 5, version: '"1"', confirmed: true, observedAtMs: 0 } }],
    ['with an unconfirmed size', { target: { known: true, value: 6, version: '"1"', confirmed: false, observedAtMs: 0 } }],
  ])('begins to rest again after it was one %s', async (_what, change) => {
    const { arm, clock, sync, seen, run } = await rested(9);
    sync.observe([{ ...seen, ...change }]);
    await clock.advance(2 * minute);
    sync.observe([seen]);
    await run();
    expect(sentWrites(arm)).toBe(0);
    await clock.advance(10 * minute);
    sync.observe([seen]);
    await run();
    expect(sentWrites(arm)).toBe(1);
  });
});
