/** No number below the size just read leaves the process: a row for each place where a size is sent. */
import { afterEach, describe, expect, it } from 'vitest';
import { nodeGroupId } from '../../../src/domain/ids.ts';
import type { RegisteredGroup } from '../../../src/azure/groups/registry.ts';
import { readAgentPool } from '../../../src/azure/rows/agent-pool.ts';
import { wireAzure, type AzureRooms } from '../../../src/azure/wiring.ts';
import { putPoolCount } from '../../../src/azure/writes/increase-agent-pool.ts';
import { scaleSetIncrease } from '../../../src/azure/writes/increase-scale-set.ts';
import { aksIncrease } from '../../../src/azure/writes/increase-through-aks.ts';
import { vmsPoolIncrease } from '../../../src/azure/writes/increase-vms-pool.ts';
import type { AzureOptions } from '../../../src/azure/arm/options.ts';
import { seededRandom } from '../../../src/lib/random.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { resourceNames, START_MS } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { options, USER_POOL } from '../rig.ts';
import { ScriptedArm } from '../scripted-arm.ts';

const open: ScriptedArm[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((arm) => arm.close()));
});

const SIZE = 'Standard_D4s_v5';
const { signal } = new AbortController();

/** The rooms of the adapter over an Azure that would accept any write. */
async function rooms(rest: Partial<AzureOptions> = {}): Promise<{ arm: ScriptedArm; azure: AzureRooms; group: RegisteredGroup }> {
  const arm = await ScriptedArm.start();
  open.push(arm);
  arm.addSet(USER_POOL, 6);
  const pool = {
    name: 'user1',
    properties: { type: 'VirtualMachines', virtualMachinesProfile: { scale: { manual: [{ size: SIZE, count: 6 }] } } },
  };
  arm.intercept = ({ path }) => (path.includes('/agentpools') ? { status: 200, body: pool } : undefined);
  const azure = wireAzure({
    options: options(arm, { clusterName: 'aks', clusterResourceGroup: 'rg', ...rest }),
    clock: new FakeClock(START_MS),
    random: seededRandom(7),
    log: createLog('debug', { write: () => undefined }),
    metrics: createMetrics(),
    names: resourceNames,
    credential: { getToken: () => Promise.resolve({ token: 'local', expiresOnTimestamp: Date.now() + 3_600_000 }) },
  });
  await azure.inventory.load(signal);
  const group = { id: nodeGroupId(USER_POOL), key: USER_POOL, kind: 'scale-set', min: 0, max: 10, explicit: true } as const;
  return { arm, azure, group };
}

const writes = ({ requests }: ScriptedArm): number =>
  requests.filter(({ method, path }) => method !== 'GET' && !path.includes('oauth2')).length;
const refused = { kind: 'bug', message: expect.stringContaining('was not sent') as unknown };

describe('a number below the size just read', () => {
  it.each([
    ['under an entity tag', true],
    ['without a condition', false],
  ])('is not written to a scale set %s', async (_how, enableVmssEtag) => {
    const { arm, azure, group } = await rooms({ enableVmssEtag });
    const backend = scaleSetIncrease(azure.writes, group);
    const read = await backend.read(signal);
    if (read === undefined) throw new Error('the scale set is there');
    await expect(backend.put(5, { ...read, shown: 6 }, signal)).rejects.toMatchObject(refused);
    expect(writes(arm)).toBe(0);
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
    const { arm, azure, group } = await rooms();
    const backend = aksIncrease(azure.writes, group, 'user1');
    await expect(backend.put(5, { ...pool(3), shown: 6 }, signal)).rejects.toMatchObject(refused);
    expect(writes(arm)).toBe(0);
    await backend.put(7, { ...pool(3), shown: 6 }, signal);
    expect(writes(arm)).toBe(1);
  });

  it("of AKS's own count is not written as that count", async () => {
    const { arm, azure, group } = await rooms();
    const backend = aksIncrease(azure.writes, group, 'user1');
    await expect(backend.put(5, { ...pool(6), shown: 4 }, signal)).rejects.toMatchObject(refused);
    expect(writes(arm)).toBe(0);
  });

  it('is not written to one size of a VMs pool', async () => {
    const { arm, azure } = await rooms({ nodeGroups: [{ name: `user1/${SIZE}`, min: 0, max: 10 }] });
    const key = `user1/${SIZE}`.toLowerCase();
    const group = { id: nodeGroupId(`user1/${SIZE}`), key, kind: 'vms-pool', min: 0, max: 10, explicit: true } as const;
    const backend = vmsPoolIncrease(azure.writes, group);
    const read = await backend.read(signal);
    if (read === undefined) throw new Error('the pool is there');
    expect(read.shown).toBe(6);
    await expect(backend.put(5, { ...read, shown: 4, etag: 'e' }, signal)).rejects.toMatchObject(refused);
    expect(writes(arm)).toBe(0);
  });

  it('is not written where the size is unknown', async () => {
    const { arm, azure } = await rooms();
    const count = { bodyWith: (raw: unknown) => raw, countIn: () => undefined, modelled: false };
    const write = { document: { ...pool(6), shown: undefined }, to: 9 };
    await expect(putPoolCount(azure.writes, count, write, signal)).rejects.toMatchObject(refused);
    expect(writes(arm)).toBe(0);
  });
});
