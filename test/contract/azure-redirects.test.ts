/** A redirect that is not followed is a failure of known words, and the token goes nowhere else. */
import { describe, expect, it } from 'vitest';
import { getAgentPool, postDeleteMachines, putAgentPool } from '../../src/azure/arm/agent-pool-api.ts';
import { ArmCalls } from '../../src/azure/arm/arm-client.ts';
import { RateLimits } from '../../src/azure/arm/rate-limits.ts';
import { createClients } from '../../src/azure/arm/sdk-clients.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { options } from '../azure/rig.ts';
import { ScriptedArm } from '../azure/scripted-arm.ts';
import { START_MS } from '../support/builders.ts';
import { FakeClock } from '../support/fake-clock.ts';

async function started(): Promise<ScriptedArm> {
  const arm = await ScriptedArm.start();
  return arm;
}

/** A call through each client of the adapter. */
async function caller() {
  const [arm, elsewhere] = [await started(), await started()];
  const clock = new FakeClock(START_MS);
  const metrics = createMetrics().arm;
  const settings = options(arm, { caPem: `${arm.caPem}\n${elsewhere.caPem}`, clusterName: 'aks', clusterResourceGroup: 'rg' });
  const rateLimits = new RateLimits(clock, metrics);
  const calls = new ArmCalls({
    clock,
    metrics,
    rateLimits,
    endpoint: settings.armEndpoint,
    timeoutMs: 30_000,
    maxConcurrent: 8,
    random: () => 0,
  });
  const credential = { getToken: () => Promise.resolve({ token: 'local', expiresOnTimestamp: START_MS * 2 }) };
  const clients = createClients(settings, credential, calls);
  const { signal } = new AbortController();
  const deps = { options: settings, clients, calls, clock };
  const send: Readonly<Record<string, () => Promise<unknown>>> = {
    'PUT of an agent pool': () => putAgentPool(deps, 'user1', { body: { properties: { count: 2 } }, etag: '1' }, signal),
    'GET of an agent pool': () => getAgentPool(deps, 'user1', signal),
    'delete of machines': () => postDeleteMachines(deps, 'user1', { machineNames: ['m'], beforeSend: () => Promise.resolve() }, signal),
    'GET of a scale set': () =>
      calls.run({ operation: 'getScaleSet', resource: 's' }, signal, () => clients.compute.virtualMachineScaleSets.get('rg', 's')),
    'PUT of a scale set': () =>
      calls.run({ operation: 'putScaleSet', resource: 's' }, signal, () =>
        clients.compute.virtualMachineScaleSets.createOrUpdate('rg', 's', { location: 'here', sku: { capacity: 2 } }).submitted(),
      ),
    'GET of an operation': () =>
      calls.run({ operation: 'getOperation', resource: 's' }, signal, () => clients.getRaw(`${arm.url}/operations/1`)),
  };
  return { arm, elsewhere, send };
}

const CALLS = [
  'PUT of an agent pool',
  'GET of an agent pool',
  'delete of machines',
  'GET of a scale set',
  'PUT of a scale set',
  'GET of an operation',
];

describe('a redirect', () => {
  it.each(CALLS)('of a %s to another origin is a failure without effect', async (what) => {
    const { arm, elsewhere, send } = await caller();
    arm.intercept = () => ({ status: 307, headers: { location: `${elsewhere.url}/there` } });
    await expect(send[what]?.()).rejects.toMatchObject({
      kind: 'unavailable',
      detail: { effect: 'none' },
      code: 'RedirectNotFollowed',
      message: expect.stringMatching(
        /redirected to https:\/\/127\.0\.0\.1:\d+ \(HTTP 307\) and had no effect: the token belongs to/,
      ) as string,
    });
    expect(elsewhere.requests).toEqual([]);
  });

  it.each([
    ['302 of a write', 302, '/there'],
    ['308', 308, '/there'],
    ['307 without an address', 307, undefined],
  ])('%s is a failure too', async (_what, status, location) => {
    const { arm, send } = await caller();
    arm.intercept = () => ({ status, headers: location === undefined ? {} : { location } });
    await expect(send['PUT of an agent pool']?.()).rejects.toMatchObject({ kind: 'unavailable', code: 'RedirectNotFollowed' });
    expect(arm.requests).toHaveLength(1);
  });

  it('to the same origin is followed', async () => {
    const { arm, send } = await caller();
    arm.intercept = ({ path }) =>
      path === '/there' ? { body: { properties: { eTag: '2', count: 2 } } } : { status: 307, headers: { location: '/there' } };
    await expect(send['PUT of an agent pool']?.()).resolves.toMatchObject({ etag: '2' });
    expect(arm.requests.map(({ method }) => method)).toEqual(['PUT', 'PUT']);
  });
});
