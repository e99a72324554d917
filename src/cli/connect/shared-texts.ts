/** What processes of one subscription share, as the daemon holds it. Must not know where it is kept. */
import type { CatalogKey } from '../../azure/sizes/sku-text.ts';
import type { Config } from '../../config/types/config.ts';
import type { SharedClusters, SharingCluster } from '../../domain/ports/shared-clusters.ts';
import { HINT_KINDS, type Hint, type SharedHints } from '../../domain/ports/shared-hints.ts';
import { NOTHING_SHARED, type SharedTexts } from '../../domain/ports/shared-text.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';

/** No step of the loop waits for it, so this is about agents that hang. */
export const COMMAND_MS = 1_000;

export interface SharedTextsDeps {
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
  texts: NOTHING_SHARED,
  hints: undefined,
  clusters: undefined,
  trouble: () => undefined,
  inFlight: () => 0,
  close: () => undefined,
};

/** Pods of different clusters may have the same name. */
export function identityOf(config: Config): string {
  return `${clusterOf(config)}/${config.kubernetes.identity}`;
}

export function clusterOf({ azure: { nodeResourceGroup, clusterName } }: Config): string {
  return nodeResourceGroup ?? clusterName ?? 'unknown';
}
