/** No number below the size just read leaves the process: a row for each place where a size is sent. */
import { describe, expect, it } from 'vitest';
import { nodeGroupId } from '../../../src/domain/ids.ts';
import { readAgentPool } from '../../../src/azure/rows/agent-pool.ts';
import { putPoolCount } from '../../../src/azure/writes/increase-agent-pool.ts';
import { scaleSetIncrease } from '../../../src/azure/writes/increase-scale-set.ts';
import { aksIncrease } from '../../../src/azure/writes/increase-through-aks.ts';
import { vmsPoolIncrease } from '../../../src/azure/writes/increase-vms-pool.ts';
import { USER_POOL } from '../rig.ts';
import { sentWrites, SIZE, writingRooms } from './writing-rooms.ts';

const { signal } = new AbortController();
const refused = { kind: 'bug', message: expect.stringContaining('was not sent') as unknown };

describe('a number below the size just read', () => {
  it.each([
    ['under an entity tag', true],
    ['without a condition', false],
  ])('is not written to a scale set %s', async (_how, enableVmssEtag) => {
    const { arm, azure, group } = await writingRooms({ enableVmssEtag });
    const backend = scaleSetIncrease(azure.writes, group);
    const read = await backend.read(signal);
    if (read === undefined) throw new Error('the scale set is there');
    await expect(backend.put(5, { ...read, shown: 6 }, signal)).rejects.toMatchObject(refused);
    expect(sentWrites(arm)).toBe(0);
    await backend.put(7, { ...read, shown: 6 }, signal);
    expect(arm.sent('PUT', USER_POOL)).toHaveLength(1);
  });

  /** An agent pool of a scale set whose count in AKS is this. */
  function pool(count: number) {
    const raw = { name: 'user1', properties: { count, eTag: 'e', provisioningState: 'Succeeded' } };
    const row = readAgentPool(raw);
    if (row === undefined) throw new Error('it is a pool');
    return { name: 'user1', raw, etag: 'e', row };
  }

  it('of the scale set is not written as the count of its agent pool', async () => {
    const { arm, azure, group } = await writingRooms();
    const backend = aksIncrease(azure.writes, group, 'user1');
    await expect(backend.put(5, { ...pool(3), shown: 6 }, signal)).rejects.toMatchObject(refused);
    expect(sentWrites(arm)).toBe(0);
    await backend.put(7, { ...pool(3), shown: 6 }, signal);
    expect(sentWrites(arm)).toBe(1);
  });

  it("of AKS's own count is not written as that count", async () => {
    const { arm, azure, group } = await writingRooms();
    const backend = aksIncrease(azure.writes, group, 'user1');
    await expect(backend.put(5, { ...pool(6), shown: 4 }, signal)).rejects.toMatchObject(refused);
    expect(sentWrites(arm)).toBe(0);
  });

  it('is not written to one size of a VMs pool', async () => {
    const { arm, azure } = await writingRooms({ nodeGroups: [{ name: `user1/${SIZE}`, min: 0, max: 10 }] });
    const key = `user1/${SIZE}`.toLowerCase();
    const group = { id: nodeGroupId(`user1/${SIZE}`), key, kind: 'vms-pool', min: 0, max: 10, explicit: true } as const;
    const backend = vmsPoolIncrease(azure.writes, group);
    const read = await backend.read(signal);
    if (read === undefined) throw new Error('the pool is there');
    expect(read.shown).toBe(6);
    await expect(backend.put(5, { ...read, shown: 4, etag: 'e' }, signal)).rejects.toMatchObject(refused);
    expect(sentWrites(arm)).toBe(0);
  });

  it('is not written where the size is unknown', async () => {
    const { arm, azure } = await writingRooms();
    const count = { bodyWith: (raw: unknown) => raw, countIn: () => undefined, modelled: false };
    const write = { document: { ...pool(6), shown: undefined }, to: 9 };
    await expect(putPoolCount(azure.writes, count, write, signal)).rejects.toMatchObject(refused);
    expect(sentWrites(arm)).toBe(0);
  });
});
