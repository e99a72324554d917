/** Where processes of one subscription share what they read: a Redis server, else a folder, else nowhere. */
import type { CatalogKey } from '../../azure/sizes/sku-catalog.ts';
import type { Config } from '../../config/types/config.ts';
import type { SharedHints } from '../../domain/ports/shared-hints.ts';
import type { SharedTexts } from '../../domain/ports/shared-text.ts';
import type { Clock } from '../../lib/clock.ts';
import { RedisSharedHints } from '../../store/redis/redis-shared-hints.ts';
import { RedisConnection } from '../../store/redis/redis-connection.ts';
import { RedisSharedText } from '../../store/redis/redis-shared-text.ts';
import type { Log } from '../../telemetry/log.ts';
import { skuFolder } from './shared-files.ts';

/** No step of the loop waits for it, so this is about agents that hang. */
const COMMAND_MS = 1_000;
const MINUTE = 60_000;
/** Longer than a read of the whole list may take. */
const CLAIM_MS = 3 * MINUTE;
const USAGE_LIFE_MS = 15 * MINUTE;

interface SharedTextsDeps {
  readonly config: Config;
  readonly scope: CatalogKey;
  readonly clock: Clock;
  readonly log: Log;
}

interface ConnectedStore {
  readonly texts: SharedTexts;
  /** undefined: only a server carries hints. */
  readonly hints: SharedHints | undefined;
  /** Call it when nothing reads any more. */
  close(): void;
}

export function connectSharedTexts({ config, scope, clock, log }: SharedTextsDeps): ConnectedStore {
  const { redis, skuFolder: folder, skuCacheTtlMs, caPem, retailPrices } = config.azure;
  if (redis === undefined) {
    const skus =
      folder === undefined
        ? undefined
        : skuFolder({ folder, scope, identity: `${config.azure.nodeResourceGroup}/${config.kubernetes.identity}` });
    return { texts: { skus }, hints: undefined, close: () => undefined };
  }
  const { keyPrefix: prefix, ...server } = redis;
  const connection = new RedisConnection({ options: { ...server, caPem, commandMs: COMMAND_MS }, clock, log });
  connection.start();
  const textOf = (kind: string, lifeMs: number, more: readonly string[] = []): RedisSharedText =>
    new RedisSharedText(connection, { prefix, kind, scope: [scope.subscriptionId, scope.location, ...more], lifeMs, claimMs: CLAIM_MS });
  const prices = retailPrices === undefined ? undefined : textOf('prices', 2 * retailPrices.refreshMs, [retailPrices.currency]);
  const texts = { skus: textOf('skus', 2 * skuCacheTtlMs), usage: textOf('usage', USAGE_LIFE_MS), prices };
  const life = new AbortController();
  const hints = new RedisSharedHints({
    connection,
    clock,
    prefix,
    scope: [scope.subscriptionId, scope.location],
    identity: config.kubernetes.identity,
  });
  void hints.run(life.signal);
  const close = (): void => {
    life.abort();
    connection.stop();
  };
  return { texts, hints, close };
}
