/** A token that Azure no longer accepts, though it has not expired: it was revoked, or the identity was made anew. */
import { expect, it, onTestFinished } from 'vitest';
import { connectAzure } from '../../src/azure/azure.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { aCluster, resourceNames, START_MS } from '../support/builders.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { options, USER_POOL } from '../azure/rig.ts';
import { ScriptedArm } from '../azure/scripted-arm.ts';

it('is replaced by one of a new sign-in after two refusals, without a restart', async () => {
  const arm = await ScriptedArm.start();
  arm.addSet(USER_POOL, 1);
  let accepted = 'Bearer token-1';
  arm.intercept = ({ headers }) =>
    headers['authorization'] === accepted
      ? undefined
      : { status: 401, body: { error: { code: 'InvalidAuthenticationToken', message: 'm' } } };
  const clock = new FakeClock(START_MS);
  let signIns = 0;
  const getToken = () => Promise.resolve({ token: `token-${++signIns}`, expiresOnTimestamp: START_MS + 86_400_000 });
  const deps = { clock, random: seededRandom(7), log: createLog('silent'), metrics: createMetrics(), names: resourceNames };
  const azure = connectAzure({ ...deps, options: options(arm), credential: { getToken } });
  onTestFinished(() => azure.close());
  const { signal } = new AbortController();
  await azure.start(signal);
  const [group] = azure.observe(aCluster(), clock.now()).groups;
  if (group === undefined) throw new Error('the pool is a group');
  const read = () =>
    azure.refresh(group.id, signal).then(
      () => 'read',
      () => 'refused',
    );
  expect([await read(), signIns]).toEqual(['read', 1]);
  accepted = 'Bearer token-2';
  expect(await read()).toBe('refused');
  await read();
  expect([await read(), signIns]).toEqual(['read', 2]);
});
