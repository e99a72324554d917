/**
 * Reads the VM sizes of the region from Azure or, if processes share them, from what another process has read. One of many
 * processes calls Azure; the others wait for it for a limited time.
 */
import type { CachingAgent, CommitSummary, Loaded } from '../../cache/agents/agent.ts';
import { asAutoscalerError, AutoscalerError } from '../../lib/errors.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import { OPERATIONS } from '../arm/call-list.ts';
import { readCatalog, writeCatalog, type CatalogKey, type SkuCatalog } from '../sizes/sku-catalog.ts';
import { SKUS_AGENT } from '../rows/tables.ts';

/**
 * Where processes share a catalogue. Each published text has an epoch, a number that only grows; an older epoch is refused.
 * Rejects if the place cannot be used.
 */
export interface SkuShare {
  /** The text with the highest epoch. */
  latest(): Promise<{ readonly epoch: number; readonly text: string } | undefined>;
  /** Whether this process may publish under this epoch. The first claim succeeds. */
  claim(epoch: number): Promise<boolean>;
  /** Releases a claim without publishing. */
  release(epoch: number): Promise<void>;
  /** False: a newer epoch has been published in the meantime, and nothing was written. */
  publish(epoch: number, text: string): Promise<boolean>;
}

export interface SkuAgentDeps {
  readonly scope: CatalogKey;
  readonly clock: Pick<Clock, 'now' | 'sleep'>;
  readonly log: Log;
  readonly ttlMs: number;
  /** Reads the whole list. Rejects if any part fails. */
  readonly list: (signal: AbortSignal) => Promise<SkuCatalog>;
  readonly share: SkuShare | undefined;
  /** Replaces the catalogue. */
  readonly keep: (catalog: SkuCatalog) => void;
  /** Whether a restriction keeps one of our groups from growing; then the sizes are read more often. If absent, never. */
  readonly isRestricted?: () => boolean;
  /** The catalogue in use. */
  readonly current: () => SkuCatalog | undefined;
}

const MINUTE = 60_000;
/** How old a restriction that keeps a group from growing may be. */
const RESTRICTED_TTL_MS = 30 * MINUTE;
/** How often the age of a long-lived catalogue is checked, which needs no call. */
const CHECK_EVERY_MS = 10 * MINUTE;
/** How often a shared catalogue is checked within its life, which needs no call. */
const LOOKS = 4;
/** How long to wait for the process that has the turn, and how often to check. */
const WAIT_MS = 30_000;
const LOOK_EVERY_MS = 1_000;
/** After waiting for this many turns, the process calls Azure without one: the others have died. */
const TURNS = 2;

export function skusAgent(deps: SkuAgentDeps): CachingAgent {
  const { ttlMs, share } = deps;
  const { family } = OPERATIONS.listSkus;
  const policy = {
    intervalMs: isLongLived(deps) ? CHECK_EVERY_MS : share === undefined ? ttlMs : ttlMs / LOOKS,
    jitter: { kind: 'spread', fraction: 0.1 } as const,
    errorIntervalMs: MINUTE,
    maxErrorIntervalMs: 120 * MINUTE,
    timeoutMs: 120_000,
  };
  const load = async ({ signal }: { readonly signal: AbortSignal }): Promise<Loaded> => {
    if (share !== undefined) return readTogether(deps, share, signal);
    const catalog = deps.current();
    const isGood = catalog !== undefined && isLongLived(deps) && deps.clock.now() - catalog.observedAtMs < lifeMs(deps);
    return loaded(deps, isGood ? catalog : await readList(deps, signal));
  };
  return { id: SKUS_AGENT, kind: 'skus', required: true, order: 0, bucket: family, policy, load };
}

async function readList(deps: SkuAgentDeps, signal: AbortSignal): Promise<SkuCatalog> {
  const catalog = await deps.list(signal);
  // Every region has VM sizes, so an empty answer does not replace the known ones.
  if (catalog.byName.size > 0) return catalog;
  throw new AutoscalerError({ kind: 'unavailable', effect: 'none' }, `Azure listed no VM size for ${deps.scope.location}.`);
}

async function readTogether(deps: SkuAgentDeps, share: SkuShare, signal: AbortSignal): Promise<Loaded> {
  let known: Shared | undefined;
  try {
    known = await readShared(deps, share, true);
    if (isFresh(deps, known)) return loaded(deps, known.catalog);
    const turn = await takeTurn(deps, share, known?.epoch ?? 0, signal);
    if (typeof turn === 'object') return loaded(deps, turn.catalog);
    return loaded(deps, await (turn === undefined ? readList(deps, signal) : readAndPublish(deps, share, turn, signal)));
  } catch (thrown) {
    const error = asAutoscalerError(thrown);
    // An old catalogue is used only if there is none in use.
    if (error.kind === 'cancelled' || known?.catalog === undefined || deps.current() !== undefined) throw error;
    return { ...loaded(deps, known.catalog), error };
  }
}

interface Shared {
  readonly epoch: number;
  /** undefined: the published text is unusable. */
  readonly catalog: SkuCatalog | undefined;
}

async function readShared({ scope, log }: SkuAgentDeps, share: SkuShare, warns: boolean): Promise<Shared | undefined> {
  const found = await tryShare(log, () => share.latest());
  if (found === undefined) return undefined;
  const reading = readCatalog(found.text, scope);
  if (reading.ok) return { epoch: found.epoch, catalog: reading.catalog };
  if (warns) log.warn({ epoch: found.epoch, reason: reading.reason }, 'Shared VM sizes ignored');
  return { epoch: found.epoch, catalog: undefined };
}

function isLongLived({ ttlMs }: SkuAgentDeps): boolean {
  return ttlMs > RESTRICTED_TTL_MS;
}

function lifeMs({ ttlMs, isRestricted }: SkuAgentDeps): number {
  return isRestricted?.() === true ? Math.min(RESTRICTED_TTL_MS, ttlMs) : ttlMs;
}

function isFresh(deps: SkuAgentDeps, known: Shared | undefined): known is Shared & { readonly catalog: SkuCatalog } {
  return known?.catalog !== undefined && deps.clock.now() - known.catalog.observedAtMs < lifeMs(deps);
}

type Turn = number | (Shared & { readonly catalog: SkuCatalog }) | undefined;

/** The epoch to publish under, or what another process published while we waited. undefined: neither. */
async function takeTurn(deps: SkuAgentDeps, share: SkuShare, after: number, signal: AbortSignal): Promise<Turn> {
  for (let epoch = after + 1; epoch <= after + TURNS; epoch++) {
    const ours = await tryShare(deps.log, () => share.claim(epoch));
    if (ours === undefined) return undefined;
    // If another process published between our check and our claim, the claim is not needed.
    const found = ours ? await readShared(deps, share, false) : await waitFor(deps, share, signal);
    if (isFresh(deps, found)) return found;
    if (ours) return epoch;
  }
  return undefined;
}

async function waitFor(deps: SkuAgentDeps, share: SkuShare, signal: AbortSignal): Promise<Shared | undefined> {
  for (let waitedMs = 0; waitedMs < WAIT_MS; waitedMs += LOOK_EVERY_MS) {
    await deps.clock.sleep(LOOK_EVERY_MS, signal);
    const found = await readShared(deps, share, false);
    if (isFresh(deps, found)) return found;
  }
  return undefined;
}

/** Reads from Azure and publishes. After a failure the claim is released, so that the next process need not wait. */
async function readAndPublish(deps: SkuAgentDeps, share: SkuShare, epoch: number, signal: AbortSignal): Promise<SkuCatalog> {
  try {
    const catalog = await readList(deps, signal);
    const written = await tryShare(deps.log, () => share.publish(epoch, writeCatalog(catalog, deps.scope)));
    if (written === false) deps.log.info({ epoch }, 'Another process has published newer VM sizes');
    return catalog;
  } catch (thrown) {
    await tryShare(deps.log, () => share.release(epoch));
    throw thrown;
  }
}

/** If the share cannot be used, the sizes are read from Azure. */
async function tryShare<T>(log: Log, work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (thrown) {
    log.warn({ err: asAutoscalerError(thrown) }, 'Could not use the shared VM sizes');
    return undefined;
  }
}

function loaded({ keep }: SkuAgentDeps, catalog: SkuCatalog): Loaded {
  const commit = (): CommitSummary => {
    keep(catalog);
    const rows = catalog.byName.size;
    return { rows, added: 0, changed: rows, evicted: 0, rejected: 0, runAgain: false };
  };
  return { commit };
}
