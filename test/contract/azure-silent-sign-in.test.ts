/** A sign-in service that never answers must not hold what is being cancelled or stopped. */
import { describe, expect, it } from 'vitest';
import { connectAzure } from '../../src/azure/azure.ts';
import { asAutoscalerError } from '../../src/lib/errors.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { resourceNames, START_MS } from '../support/builders.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { options, USER_POOL } from '../azure/rig.ts';
import { ScriptedArm } from '../azure/scripted-arm.ts';

const silence = (): Promise<never> => new Promise(() => undefined);

describe('a silent sign-in', () => {
  it.each(['the caller cancels', 'the adapter closes'] as const)('ends at once when %s, and no request leaves', async (how) => {
    const arm = await ScriptedArm.start();
    arm.addSet(USER_POOL, 1);
    const asked = Promise.withResolvers<void>();
    const clock = new FakeClock(START_MS);
    const getToken = (): Promise<never> => {
      asked.resolve();
      return silence();
    };
    const azure = connectAzure({
      options: options(arm),
      clock,
      random: seededRandom(7),
      log: createLog('silent'),
      metrics: createMetrics(),
      names: resourceNames,
      credential: { getToken },
    });
    const caller = new AbortController();
    const started = azure.start(caller.signal).catch((thrown: unknown) => asAutoscalerError(thrown).kind);
    await asked.promise;
    if (how === 'the caller cancels') caller.abort();
    else await azure.close();
    expect(await started).toBe('cancelled');
    expect(azure.inFlightCalls()).toBe(0);
    expect(arm.requests).toEqual([]);
  });

  it('of a running adapter ends when it closes, and a request whose token comes later does not leave', async () => {
    const arm = await ScriptedArm.start();
    arm.addSet(USER_POOL, 1);
    let isSilent = false;
    const late = Promise.withResolvers<void>();
    const clock = new FakeClock(START_MS);
    const azure = connectAzure({
      options: options(arm),
      clock,
      random: seededRandom(7),
      log: createLog('silent'),
      metrics: createMetrics(),
      names: resourceNames,
      credential: {
        getToken: async () => {
          if (isSilent) await late.promise;
          return { token: 'local', expiresOnTimestamp: 0 };
        },
      },
    });
    await azure.start(new AbortController().signal);
    isSilent = true;
    const before = arm.requests.length;
    await clock.advance(70_000);
    expect(azure.inFlightCalls()).toBeGreaterThan(0);
    await azure.close();
    expect(azure.inFlightCalls()).toBe(0);
    late.resolve();
    for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(arm.requests).toHaveLength(before);
  });
});
