/** Where processes of one subscription share what they read: a Redis server, else a folder, else nowhere. */
import type { CatalogKey } from '../../azure/sizes/sku-text.ts';
import type { Config } from '../../config/types/config.ts';
import type { SharedClusters, SharingCluster } from '../../domain/ports/shared-clusters.ts';
import { HINT_KINDS, type Hint, type SharedHints } from '../../domain/ports/shared-hints.ts';
import type { SharedTexts } from '../../domain/ports/shared-text.ts';
import type { Clock } from '../../lib/clock.ts';
import { VERSION } from '../../lib/version.ts';
import { RedisSharedClusters } from '../../store/redis/redis-shared-clusters.ts';
import { RedisSharedHints } from '../../store/redis/redis-shared-hints.ts';
import { RedisConnection } from '../../store/redis/redis-connection.ts';
import { RedisSharedText } from '../../store/redis/redis-shared-text.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { BoundedPlace, boundedText } from './bounded-place.ts';
import { skuFolder } from './shared-files.ts';

/** No step of the loop waits for it, so this is about agents that hang. */
const COMMAND_MS = 1_000;
type Redis = NonNullable<Config['azure']['redis']>;

const MINUTE = 60_000;
/** Longer than a read of the whole list may take. */
const CLAIM_MS = 3 * MINUTE;
const USAGE_LIFE_MS = 15 * MINUTE;

interface SharedTextsDeps {
  readonly config: Config;
  readonly scope: CatalogKey;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'cache'>;
}

export interface ConnectedStore {
  readonly texts: SharedTexts;
  /** undefined: only a server carries hints. */
  readonly hints: SharedHints | undefined;
  /** undefined: only a server knows who shares. */
  readonly clusters: SharedClusters | undefined;
  /** Why the store cannot be used. undefined: it can, as far as this process knows. */
  trouble(): string | undefined;
  /** Commands without an answer yet. */
  inFlight(): number;
  /** Call it when nothing reads any more. */
  close(): void;
}

/** With whom this process shares, and what others reported, for people. undefined: with none. */
export function sharingOf({ clusters, hints, trouble }: Pick<ConnectedStore, 'clusters' | 'hints' | 'trouble'>): Sharing | undefined {
  if (clusters === undefined) return undefined;
  const reported = HINT_KINDS.flatMap((kind) => hints?.reported(kind) ?? []);
  return { trouble: trouble(), clusters: clusters.present(), hints: reported };
}

interface Sharing {
  readonly trouble: string | undefined;
  readonly clusters: readonly SharingCluster[];
  readonly hints: readonly Hint[];
}

/** Nothing is shared. */
export const NO_STORE: ConnectedStore = {
  texts: {},
  hints: undefined,
  clusters: undefined,
  trouble: () => undefined,
  inFlight: () => 0,
  close: () => undefined,
};

export function connectSharedTexts(deps: SharedTextsDeps): ConnectedStore {
  const { redis, skuFolder: folder } = deps.config.azure;
  if (redis !== undefined) return connectRedis(deps, redis);
  return folder === undefined ? NO_STORE : connectFolder(deps, folder);
}

function connectFolder({ config, scope, clock, log, metrics }: SharedTextsDeps, folder: string): ConnectedStore {
  const place = new BoundedPlace({ clock, log, limitMs: COMMAND_MS, onCall: (outcome) => metrics.cache.storeCommands.inc({ outcome }) });
  const skus = boundedText(skuFolder({ folder, scope, identity: identityOf(config) }), place);
  return { ...NO_STORE, texts: { skus }, trouble: () => place.trouble };
}

function connectRedis({ config, scope, clock, log, metrics }: SharedTextsDeps, redis: Redis): ConnectedStore {
  const { keyPrefix: prefix, ...server } = redis;
  const { caPem, retailPrices, skuCacheTtlMs } = config.azure;
  const onCommand = (outcome: 'answered' | 'failed'): void => metrics.cache.storeCommands.inc({ outcome });
  const connection = new RedisConnection({ options: { ...server, caPem, commandMs: COMMAND_MS }, clock, log, onCommand });
  connection.start();
  const keys = { prefix, ...scope };
  const identity = identityOf(config);
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

/** Pods of different clusters may have the same name. */
function identityOf(config: Config): string {
  return `${clusterOf(config)}/${config.kubernetes.identity}`;
}

function clusterOf({ azure: { nodeResourceGroup, clusterName } }: Config): string {
  return nodeResourceGroup ?? clusterName ?? 'unknown';
}
