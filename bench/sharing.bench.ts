/**
 * What one process does for all clusters that share a store, and each of them for itself: processor time of one step, with a real server.
 * For 30 clusters of 100 pools, each pool of another size.
 */
import { buildCatalog, type SkuCatalog } from '../src/azure/sizes/sku-catalog.ts';
import { readCatalog, writeCatalog } from '../src/azure/sizes/sku-text.ts';
import { readUsageText, writeUsageText } from '../src/azure/sizes/usage-list.ts';
import { RedisConnection } from '../src/store/redis/redis-connection.ts';
import { RedisSharedHints } from '../src/store/redis/redis-shared-hints.ts';
import { RedisSharedText } from '../src/store/redis/redis-shared-text.ts';
import { createLog } from '../src/telemetry/log.ts';
import { freePort } from '../world/simulator/real-control-plane/free-ports.ts';
import { hasRedis, RedisServer } from '../test/support/redis-server.ts';
import { SystemClock } from './real-clock.ts';
import type { BenchRow } from './row.ts';

const CLUSTERS = 30;
const POOLS = 100;
/** As many as a large region has. */
const SIZES = 1_100;
const USAGES = 150;
const RUNS = 20;
const WARM_UP = 3;
const SCOPE = { subscriptionId: 'sub', location: 'westeurope' };
const MINUTE = 60_000;
const clock = new SystemClock();

/** Without `redis-server` there are no rows. */
export async function sharingBench(): Promise<BenchRow[]> {
  if (!hasRedis) return [];
  const server = new RedisServer(await freePort());
  await server.start();
  const connection = new RedisConnection({ options: { url: server.url, commandMs: MINUTE }, clock: clock, log: createLog('silent') });
  connection.start();
  try {
    await connection.command('read', (client) => client.ping(), MINUTE);
    return [...(await listRows(connection)), await hintsRow(connection)];
  } finally {
    connection.stop();
    await server.stop();
  }
}

async function listRows(connection: RedisConnection): Promise<readonly BenchRow[]> {
  const textOf = (kind: string): RedisSharedText =>
    new RedisSharedText(connection, { keys: { prefix: 'bench', ...SCOPE }, kind, identity: 'one', lifeMs: MINUTE, claimMs: MINUTE });
  const [skus, usage] = [textOf('skus'), textOf('usage')];
  const raw = Array.from({ length: SIZES }, (_, at) => rawSize(at));
  const rows = Array.from({ length: USAGES }, (_, at) => ({ name: `family${at}`, used: at, limit: 1_000 }));
  let epoch = 0;
  const publish = async (share: RedisSharedText, text: string): Promise<void> => {
    await share.claim(++epoch);
    await share.publish(epoch, text);
  };
  const catalog = (): SkuCatalog => buildCatalog(raw, SCOPE.location, Date.now());
  return [
    await measured(`sharing: the list of ${SIZES} sizes is published, once a day for all`, () =>
      publish(skus, writeCatalog(catalog(), SCOPE)),
    ),
    await measured('sharing: it is taken, once a day in each cluster', async () => {
      readCatalog((await skus.latest())?.text ?? '', SCOPE, Date.now());
    }),
    await measured('sharing: usages are published, every five minutes for all', () =>
      publish(usage, writeUsageText({ atMs: Date.now(), rows }, SCOPE)),
    ),
    await measured('sharing: they are taken, four times as often in each cluster', async () => {
      readUsageText((await usage.latest())?.text ?? '', SCOPE, Date.now());
    }),
  ];
}

async function hintsRow(connection: RedisConnection): Promise<BenchRow> {
  const keys = { prefix: 'bench', ...SCOPE };
  for (let at = 0; at < CLUSTERS; at++) {
    const hints = new RedisSharedHints({ connection, clock: clock, keys, identity: `c${at}` });
    for (let pool = at; pool < POOLS; pool += CLUSTERS) hints.report('stockout', `size-${pool}/regular/*`, Date.now() + MINUTE);
    // Reports wait in a queue of limited length.
    await connection.command('read', (client) => client.ping(), MINUTE);
  }
  const reader = new RedisSharedHints({ connection, clock: clock, keys, identity: 'reader' });
  return measured(`sharing: ${POOLS} stockouts are looked at, every five seconds in each cluster`, () => reader.look());
}

/** Processor time of this process. */
async function measured(name: string, run: () => Promise<void>): Promise<BenchRow> {
  const samples: number[] = [];
  for (let at = 0; at < WARM_UP + RUNS; at++) {
    const before = process.cpuUsage();
    await run();
    const { user, system } = process.cpuUsage(before);
    if (at >= WARM_UP) samples.push((user + system) / 1_000);
  }
  return { name, unit: 'ms', samples, note: 'processor time' };
}

function rawSize(at: number) {
  const capabilities = [
    'MaxResourceVolumeMB',
    'OSVhdSizeMB',
    'MaxDataDiskCount',
    'EncryptionAtHostSupported',
    'AcceleratedNetworkingEnabled',
  ];
  return {
    resourceType: 'virtualMachines',
    name: `Standard_D${2 + (at % 96)}s_v${1 + Math.floor(at / 96)}`,
    family: `family${at % USAGES}`,
    locationInfo: [{ location: SCOPE.location, zones: ['1', '2', '3'] }],
    capabilities: [
      { name: 'vCPUs', value: String(2 + (at % 96)) },
      { name: 'MemoryGB', value: '16' },
      ...capabilities.map((name) => ({ name, value: 'True' })),
    ],
    restrictions: [],
  };
}
