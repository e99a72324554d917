/** What is shared through a Redis server. Loaded only if one is configured: in a small cluster most of the memory is modules. */
import type { Config } from '../../config/types/config.ts';
import { VERSION } from '../../lib/version.ts';
import { RedisConnection } from '../../store/redis/redis-connection.ts';
import { RedisSharedClusters } from '../../store/redis/redis-shared-clusters.ts';
import { RedisSharedHints } from '../../store/redis/redis-shared-hints.ts';
import { RedisSharedText } from '../../store/redis/redis-shared-text.ts';
import { clusterOf, COMMAND_MS, identityOf, type ConnectedStore, type SharedTextsDeps } from './shared-texts.ts';

type Redis = NonNullable<Config['azure']['redis']>;

const MINUTE = 60_000;
/** Longer than a read of the whole list may take. */
const CLAIM_MS = 3 * MINUTE;
const USAGE_LIFE_MS = 15 * MINUTE;

export function connectRedis({ config, scope, clock, log, metrics }: SharedTextsDeps, redis: Redis): ConnectedStore {
  const { keyPrefix: prefix, ...server } = redis;
  const { caPem, retailPrices, skuCacheTtlMs } = config.azure;
  const onCommand = (outcome: 'answered' | 'failed'): void => metrics.cache.storeCommands.inc({ outcome });
  const identity = identityOf(config);
  const connection = new RedisConnection({ options: { ...server, caPem, commandMs: COMMAND_MS, identity }, clock, log, onCommand });
  connection.start();
  const keys = { prefix, ...scope };
  const textOf = (kind: string, lifeMs: number, more: readonly string[] = []): RedisSharedText =>
    new RedisSharedText(connection, { keys, kind, scope: more, lifeMs, claimMs: CLAIM_MS, identity });
  const prices = retailPrices === undefined ? undefined : textOf('prices', 2 * retailPrices.refreshMs, [retailPrices.currency]);
  const life = new AbortController();
  const hints = new RedisSharedHints({ connection, clock, keys, identity });
  const self = { cluster: clusterOf(config), process: config.kubernetes.identity, version: VERSION };
  const clusters = new RedisSharedClusters({ connection, clock, keys, self });
  void hints.run(life.signal);
  void clusters.run(life.signal);
  return {
    texts: { skus: textOf('skus', 2 * skuCacheTtlMs), usage: textOf('usage', USAGE_LIFE_MS), prices },
    hints,
    clusters,
    trouble: () => connection.trouble,
    inFlight: () => connection.inFlight,
    close: () => {
      life.abort();
      connection.stop();
    },
  };
}
