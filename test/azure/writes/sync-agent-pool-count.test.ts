import { describe, expect, it } from 'vitest';
import { CountSyncs } from '../../../src/azure/groups/own-writes.ts';
import type { ScaleSetReading } from '../../../src/azure/inventory/single-reads.ts';
import { readAgentPool } from '../../../src/azure/rows/agent-pool.ts';
import { projectScaleSet } from '../../../src/azure/rows/scale-set.ts';
import { reasonAgainstSync } from '../../../src/azure/writes/sync-agent-pool-count.ts';

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
    const syncs = new CountSyncs();
    expect(syncs.isThroughAks('user1', 0)).toBe(false);
    syncs.begin('user1');
    expect([syncs.isThroughAks('user1', 10_000_000), syncs.isThroughAks('user2', 0)]).toEqual([true, false]);
    syncs.end('user1', 100_000);
    expect([159_999, 160_000].map((nowMs) => syncs.isThroughAks('user1', nowMs))).toEqual([true, false]);
  });

  it('is written as before if AKS refused the count', () => {
    const syncs = new CountSyncs();
    syncs.begin('user1');
    syncs.cancel('user1');
    expect(syncs.isThroughAks('user1', 0)).toBe(false);
  });
});
