/**
 * Reads the VM sizes of the region from Azure or, if processes share them, from what another process has read. One of many
 * processes calls Azure; the others wait for it for a limited time.
 */
import { replacedRows, type CachingAgent, type CommitSummary, type Loaded } from '../../cache/agents/agent.ts';
import { loadTogether, type SharedLoadDeps, type SharingProblem } from '../../cache/agents/shared-load.ts';
import type { SharedText } from '../../domain/ports/shared-text.ts';
import { AutoscalerError } from '../../lib/errors.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import { cachingAgent } from './agents.ts';
import { addSharedSizes, type SkuCatalog } from '../sizes/sku-catalog.ts';
import { readCatalog, writeCatalog, type CatalogKey } from '../sizes/sku-text.ts';
import { SKUS_AGENT } from '../rows/tables.ts';

export interface SkuAgentDeps {
  readonly scope: CatalogKey;
  readonly clock: Pick<Clock, 'now' | 'sleep'>;
  readonly log: Log;
  readonly ttlMs: number;
  /** Reads the whole list. Rejects if any part fails. */
  readonly list: (signal: AbortSignal) => Promise<SkuCatalog>;
  readonly share: SharedText | undefined;
  /** Replaces the catalogue. */
  readonly keep: (catalog: SkuCatalog) => void;
  /** Whether a restriction keeps one of our groups from growing; then the sizes are read more often. If absent, never. */
  readonly isRestricted?: () => boolean;
  /** The catalogue in use. */
  readonly current: () => SkuCatalog | undefined;
  /** Whether a size that another process published matters now, so that this one reads the list itself. If absent, never. */
  readonly isDoubted?: () => boolean;
}

const MINUTE = 60_000;
/** How old a restriction that keeps a group from growing may be. */
const RESTRICTED_TTL_MS = 30 * MINUTE;
/** How often the age of a long-lived catalogue is checked, which needs no call. */
const CHECK_EVERY_MS = 10 * MINUTE;
/** How often a shared catalogue is checked within its life, which needs no call. */
const LOOKS = 4;
/** After a failed read, the next process tries after this. */
const REST_AFTER_FAILURE_MS = 20_000;
/** A process goes on with sizes that are old by up to this many lives while another one has the turn to read them. */
const LIVES = 2;

export function skusAgent(deps: SkuAgentDeps): CachingAgent {
  const { ttlMs, share } = deps;
  const policy = {
    intervalMs: isLongLived(deps) ? CHECK_EVERY_MS : share === undefined ? ttlMs : ttlMs / LOOKS,
    jitter: { kind: 'spread', fraction: 0.1 } as const,
    errorIntervalMs: MINUTE,
    maxErrorIntervalMs: 120 * MINUTE,
    timeoutMs: 120_000,
    requestedRate: undefined,
  };
  const load = async ({ signal }: { readonly signal: AbortSignal }): Promise<Loaded> => {
    if (share !== undefined) return readTogether(deps, share, signal);
    const catalog = deps.current();
    const isGood = catalog !== undefined && isLongLived(deps) && deps.clock.now() - catalog.observedAtMs < lifeMs(deps);
    return loaded(deps, isGood ? catalog : await readList(deps, signal));
  };
  return cachingAgent({ id: SKUS_AGENT, kind: 'skus', order: 0, operation: 'listSkus', policy }, load);
}

async function readList(deps: SkuAgentDeps, signal: AbortSignal): Promise<SkuCatalog> {
  const catalog = await deps.list(signal);
  // Every region has VM sizes, so an empty answer does not replace the known ones.
  if (catalog.byName.size > 0) return catalog;
  throw new AutoscalerError({ kind: 'unavailable', effect: 'none' }, `Azure listed no VM size for ${deps.scope.location}.`);
}

async function readTogether(deps: SkuAgentDeps, share: SharedText, signal: AbortSignal): Promise<Loaded> {
  const { scope, clock, log, ttlMs } = deps;
  if (deps.isDoubted?.() === true) return loaded(deps, await readList(deps, signal));
  const current = deps.current();
  const together: SharedLoadDeps<SkuCatalog> = {
    share,
    clock,
    decode: (text) => readCatalog(text, scope, clock.now()),
    encode: (catalog) => writeCatalog(catalog, scope),
    isFresh: (catalog) => Math.abs(clock.now() - catalog.observedAtMs) < lifeMs(deps),
    read: (own) => readList(deps, own),
    onProblem: (problem) => logProblem(log, problem),
    current,
    mayGoOn: current !== undefined && clock.now() - current.observedAtMs < LIVES * ttlMs,
    rest: { successMs: 0.9 * Math.min(RESTRICTED_TTL_MS, ttlMs), failureMs: REST_AFTER_FAILURE_MS },
  };
  const { value, origin, error, by } = await loadTogether(together, signal);
  // Another process may have fewer rights, or publish a list that lacks sizes. Only a list of Azure itself shows that a size is gone.
  const catalog = origin === 'shared' ? addSharedSizes(current, value) : value;
  return { ...loaded(deps, catalog, by), error };
}

function logProblem(log: Log, problem: SharingProblem): void {
  if (problem.kind === 'unusable') log.warn({ epoch: problem.epoch, reason: problem.reason }, 'Shared VM sizes ignored');
  else if (problem.kind === 'outrun') log.info({ epoch: problem.epoch }, 'Another process has published newer VM sizes');
  // The place reports its own trouble once; a run may meet it many times.
  else log.debug({ err: problem.error }, 'Could not use the shared VM sizes');
}

function isLongLived({ ttlMs }: SkuAgentDeps): boolean {
  return ttlMs > RESTRICTED_TTL_MS;
}

function lifeMs({ ttlMs, isRestricted }: SkuAgentDeps): number {
  return isRestricted?.() === true ? Math.min(RESTRICTED_TTL_MS, ttlMs) : ttlMs;
}

function loaded({ keep }: SkuAgentDeps, catalog: SkuCatalog, readBy?: string): Loaded {
  const commit = (): CommitSummary => {
    keep(catalog);
    return { ...replacedRows(catalog.byName.size), readBy };
  };
  return { commit, error: undefined };
}
