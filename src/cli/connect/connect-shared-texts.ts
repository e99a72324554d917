/** Where processes of one subscription share what they read: a Redis server, else a folder, else nowhere. */
import { NOTHING_SHARED } from '../../domain/ports/shared-text.ts';
import { BoundedPlace, boundedText } from './bounded-place.ts';
import { skuFolder } from './shared-files.ts';
import { COMMAND_MS, identityOf, NO_STORE, type ConnectedStore, type SharedTextsDeps } from './shared-texts.ts';

export async function connectSharedTexts(deps: SharedTextsDeps): Promise<ConnectedStore> {
  const { redis, skuFolder: folder } = deps.config.azure;
  if (redis !== undefined) return (await import('./redis-store.ts')).connectRedis(deps, redis);
  return folder === undefined ? NO_STORE : connectFolder(deps, folder);
}

function connectFolder({ config, scope, clock, log, metrics }: SharedTextsDeps, folder: string): ConnectedStore {
  const place = new BoundedPlace({ clock, log, limitMs: COMMAND_MS, onCall: (outcome) => metrics.cache.storeCommands.inc({ outcome }) });
  const skus = boundedText(skuFolder({ folder, scope, identity: identityOf(config) }), place);
  return { ...NO_STORE, texts: { ...NOTHING_SHARED, skus }, trouble: () => place.trouble };
}
