/** The request that moves a capacity, whatever the checks before it let pass. */
import { describe, expect, it } from 'vitest';
import { projectScaleSet } from '../../src/azure/rows/scale-set.ts';
import { wireAzure } from '../../src/azure/wiring.ts';
import { putCapacity } from '../../src/azure/writes/increase-scale-set.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { options, USER_POOL } from '../azure/rig.ts';
import { ScriptedArm } from '../azure/scripted-arm.ts';
import { resourceNames, START_MS } from '../support/builders.ts';
import { FakeClock } from '../support/fake-clock.ts';

describe('the request that moves a capacity', () => {
  it.each([
    { what: 'a number below the one just read', to: 4, shown: 5, puts: 0 },
    { what: 'a number over an unknown one', to: 6, shown: undefined, puts: 0 },
    { what: 'a larger number', to: 6, shown: 5, puts: 1 },
    { what: 'a proven give-back', to: 4, shown: 'give-back', puts: 1 },
  ] as const)('$what: $puts requests', async ({ to, shown, puts }) => {
    const arm = await ScriptedArm.start();
    arm.addSet(USER_POOL, 5);
    const { writes } = wireAzure({
      options: options(arm),
      clock: new FakeClock(START_MS),
      random: seededRandom(7),
      log: createLog('silent'),
      metrics: createMetrics(),
      names: resourceNames,
      credential: { getToken: () => Promise.resolve({ token: 'local', expiresOnTimestamp: Number.MAX_SAFE_INTEGER }) },
    });
    const set = projectScaleSet({ name: USER_POOL, location: 'westeurope', sku: { name: 'Standard_D4s_v5', capacity: 5 } });
    if (set === undefined) throw new Error('no row');
    const sent = putCapacity(writes, { set, to, etag: undefined, shown }, new AbortController().signal);
    if (puts === 0) await expect(sent).rejects.toMatchObject({ kind: 'bug' });
    else await sent;
    expect(arm.sent('PUT', USER_POOL)).toHaveLength(puts);
  });
});
