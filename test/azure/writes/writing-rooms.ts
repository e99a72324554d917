/** The rooms of the adapter over an Azure that would accept any write, for tests of the last checks before one. */
import { nodeGroupId } from '../../../src/domain/ids.ts';
import type { AzureOptions } from '../../../src/azure/arm/options.ts';
import type { RegisteredGroup } from '../../../src/azure/groups/registry.ts';
import { wireAzure, type AzureRooms } from '../../../src/azure/wiring.ts';
import { seededRandom } from '../../../src/lib/random.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { resourceNames, START_MS } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { options, USER_POOL } from '../rig.ts';
import { ScriptedArm } from '../scripted-arm.ts';

export const SIZE = 'Standard_D4s_v5';

interface WritingRooms {
  readonly arm: ScriptedArm;
  readonly azure: AzureRooms;
  readonly clock: FakeClock;
  /** A scale set of six. */
  readonly group: RegisteredGroup;
}

/** `pool`: the properties of the one agent pool, `user1`. All ends with the test. */
export async function writingRooms(rest: Partial<AzureOptions> = {}, pool: object = VMS_POOL): Promise<WritingRooms> {
  const arm = await ScriptedArm.start();
  arm.addSet(USER_POOL, 6, { tags: { 'aks-managed-poolName': 'user1' } });
  const document = { name: 'user1', properties: pool };
  arm.intercept = ({ path }) => {
    if (path.endsWith('/agentpools')) return { status: 200, body: { value: [document] } };
    return path.includes('/agentpools') ? { status: 200, body: document } : undefined;
  };
  const clock = new FakeClock(START_MS);
  const azure = wireAzure({
    options: options(arm, { clusterName: 'aks', clusterResourceGroup: 'rg', ...rest }),
    clock,
    random: seededRandom(7),
    log: createLog('debug', { write: () => undefined }),
    metrics: createMetrics(),
    names: resourceNames,
    credential: { getToken: () => Promise.resolve({ token: 'local', expiresOnTimestamp: Date.now() + 3_600_000 }) },
  });
  await azure.inventory.load(new AbortController().signal);
  return { arm, azure, clock, group: { id: nodeGroupId(USER_POOL), key: USER_POOL, kind: 'scale-set', min: 0, max: 10, explicit: true } };
}

const VMS_POOL = { type: 'VirtualMachines', virtualMachinesProfile: { scale: { manual: [{ size: SIZE, count: 6 }] } } };

/** Writes that reached Azure. */
export function sentWrites({ requests }: ScriptedArm): number {
  return requests.filter(({ method, path }) => method !== 'GET' && !path.includes('oauth2')).length;
}
