/** The store as a daemon connects it, with a real server: what is in it, under which keys, and what is counted. */
import { gunzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { connectSharedTexts } from '../../../src/cli/connect/connect-shared-texts.ts';
import type { ConnectedStore } from '../../../src/cli/connect/shared-texts.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { isConfigErrors, type Config } from '../../../src/config/types/config.ts';
import { RedisConnection } from '../../../src/store/redis/redis-connection.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { START_MS } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { freePort } from '../../../world/simulator/real-control-plane/free-ports.ts';
import { hasRedis, RedisServer } from '../../support/redis-server.ts';

const SECRETS = { ARM_CLIENT_SECRET: 'secret-of-azure', AZURE_CACHE_REDIS_PASSWORD: 'secret-of-redis' };
const SCOPE = { subscriptionId: 'Sub-1', location: 'westeurope' };
const OWN = 'aks-autoscaler:sub-1:';

function configOf(url: string, cluster: string): Config {
  const azure = { ARM_SUBSCRIPTION_ID: 'Sub-1', ARM_TENANT_ID: 't', ARM_RESOURCE_GROUP: `MC_${cluster}`, LOCATION: 'westeurope' };
  const env = { ...azure, ARM_CLIENT_ID: 'c', AZURE_CACHE_REDIS_URL: url, ...SECRETS };
  const config = loadConfig({ argv: ['--nodes=0:3:pool', '--retail-prices'], env, readFile: () => '', hostname: 'same-name' });
  if (isConfigErrors(config)) throw new Error(config.errors.join('\n'));
  return config;
}

describe.skipIf(!hasRedis)('the store of a daemon', () => {
  let server: RedisServer;
  const clock = new FakeClock(START_MS);
  const stores: ConnectedStore[] = [];
  beforeAll(async () => {
    server = new RedisServer(await freePort(), ['--requirepass', SECRETS.AZURE_CACHE_REDIS_PASSWORD]);
    await server.start();
  });
  afterEach(() => {
    for (const store of stores.splice(0)) store.close();
  });
  afterAll(() => server.stop());

  async function aStore(cluster: string): Promise<{ readonly store: ConnectedStore; readonly counted: () => Promise<readonly unknown[]> }> {
    const metrics = createMetrics();
    const store = await connectSharedTexts({
      config: configOf(server.url, cluster),
      scope: SCOPE,
      clock,
      log: createLog('silent'),
      metrics,
    });
    stores.push(store);
    await expect.poll(() => store.texts.skus?.latest().then(() => 'here')).toBe('here');
    const counted = async (): Promise<readonly unknown[]> =>
      (await metrics.registry.getSingleMetric('aks_autoscaler_shared_store_commands_total')?.get())?.values ?? [];
    return { store, counted };
  }

  /** One look of every store, and all of its answers. */
  async function looked(): Promise<void> {
    await clock.advance(5_000);
    await expect.poll(() => stores.reduce((sum, store) => sum + store.inFlight(), 0)).toBe(0);
  }

  /** Every key with all that it holds, unpacked. */
  async function everything(): Promise<ReadonlyMap<string, string>> {
    const options = { url: server.url, password: SECRETS.AZURE_CACHE_REDIS_PASSWORD, commandMs: 60_000 };
    const connection = new RedisConnection({ options, clock, log: createLog('silent') });
    connection.start();
    try {
      return await connection.command(
        'read',
        async (client) => {
          const found = new Map<string, string>();
          for (const key of await client.keys('*')) {
            const isHash = (await client.type(key)) === 'hash';
            const text = isHash ? JSON.stringify(await client.hGetAll(key)) : ((await client.get(key)) ?? '');
            found.set(
              key,
              text.replace(/"text":"([^"]*)"/, (_all, packed: string) => gunzipSync(Buffer.from(packed, 'base64')).toString()),
            );
          }
          return found;
        },
        60_000,
      );
    } finally {
      connection.stop();
    }
  }

  it('is under the keys of its subscription, expires, and holds no secret', async () => {
    const { store } = await aStore('one');
    const { skus, usage, prices } = store.texts;
    for (const text of [skus, usage, prices]) {
      await text?.claim(1);
      await text?.publish(1, '{"a":1}', 60_000);
    }
    store.hints?.report('stockout', 'standard_d4s_v5/regular/*', clock.now() + 60_000);
    store.hints?.requestTry('standard_d4s_v5/regular/*');
    await expect.poll(async () => (await everything()).size).toBe(9);
    const found = await everything();
    expect([...found.keys()].filter((key) => !key.startsWith(OWN))).toEqual([]);
    const all = [...found].join('\n');
    expect(all).toContain('"a":1');
    for (const secret of Object.values(SECRETS)) expect(all).not.toContain(secret);
  });

  it('is known to other clusters by its resource group, although their pods have the same name', async () => {
    const [one, two] = [await aStore('one'), await aStore('two')];
    one.store.hints?.report('stockout', 'a', clock.now() + 300_000);
    // Long enough for both to report themselves, and to look after that.
    for (let look = 0; look < 14; look++) await looked();
    expect(two.store.hints?.reported('stockout').find(({ key }) => key === 'a')?.by).toBe('MC_one/same-name');
    expect(two.store.clusters?.present().map(({ cluster }) => cluster)).toEqual(['MC_one', 'MC_two']);
  });

  it('counts its commands by what became of them', async () => {
    const { store, counted } = await aStore('one');
    await server.stop();
    await expect(store.texts.skus?.latest()).rejects.toThrow('The shared store cannot be used');
    const outcomes = (await counted()).map((each) => (each as { readonly labels: { readonly outcome: string } }).labels.outcome);
    expect(outcomes.sort()).toEqual(['answered', 'failed']);
    expect(store.trouble()).toBeDefined();
    await server.start();
  });
});
