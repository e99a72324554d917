/**
 * Reads the VM sizes of the region: from Azure or, where processes share them, from what another has read. Of many
 * processes one asks Azure; the others wait for it a little and never on it.
 */
import type { CachingAgent, CommitSummary, Loaded } from '../../cache/agents/agent.ts';
import { asAutoscalerError, AutoscalerError } from '../../lib/errors.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import { OPERATIONS } from '../arm/call-list.ts';
import { readCatalog, writeCatalog, type CatalogKey, type SkuCatalog } from '../sizes/sku-catalog.ts';
import { SKUS_AGENT } from '../rows/tables.ts';

/**
 * Where processes keep a catalogue for each other. Each published text has an epoch, a number that only grows; who comes
 * with an older one is refused. Rejects when the place cannot be used.
 */
export interface SkuShare {
  /** What was published under the highest epoch. */
  latest(): Promise<{ readonly epoch: number; readonly text: string } | undefined>;
  /** Whether it is ours to publish under this epoch: the first who asks gets it. */
  claim(epoch: number): Promise<boolean>;
  /** Gives a claim back that came to nothing. */
  release(epoch: number): Promise<void>;
  /** False: a newer epoch was published meanwhile, and nothing was written. */
  publish(epoch: number, text: string): Promise<boolean>;
}

export interface SkuAgentDeps {
  readonly scope: CatalogKey;
  readonly clock: Pick<Clock, 'now' | 'sleep'>;
  readonly log: Log;
  readonly ttlMs: number;
  /** The whole list, or it rejects. */
  readonly list: (signal: AbortSignal) => Promise<SkuCatalog>;
  readonly share: SkuShare | undefined;
  /** Replaces the catalogue. */
  readonly keep: (catalog: SkuCatalog) => void;
  /** Whether a restriction holds one of our groups: then it matters soon whether it still stands. Absent: never. */
  readonly isRestricted?: () => boolean;
  /** The catalogue in use. */
  readonly current: () => SkuCatalog | undefined;
}

const MINUTE = 60_000;
/** How long a restriction that holds a group is believed. */
const RESTRICTED_TTL_MS = 30 * MINUTE;
/** How often a long-lived catalogue is asked whether it is still good; that costs no call. */
const CHECK_EVERY_MS = 10 * MINUTE;
/** A shared catalogue is looked at so many times within its life; a look costs no call. */
const LOOKS = 4;
/** How long the process that has the turn is waited for, and how often is looked. */
const WAIT_MS = 30_000;
const LOOK_EVERY_MS = 1_000;
/** Turns waited for before Azure is asked without one: whoever had them died. */
const TURNS = 2;

export function skusAgent(parts: SkuAgentDeps): CachingAgent {
  const { ttlMs, share } = parts;
  const { family } = OPERATIONS.listSkus;
  const policy = {
    intervalMs: isLongLived(parts) ? CHECK_EVERY_MS : share === undefined ? ttlMs : ttlMs / LOOKS,
    jitter: { kind: 'spread', fraction: 0.1 } as const,
    errorIntervalMs: MINUTE,
    maxErrorIntervalMs: 120 * MINUTE,
    timeoutMs: 120_000,
  };
  const load = async ({ signal }: { readonly signal: AbortSignal }): Promise<Loaded> => {
    if (share !== undefined) return readTogether(parts, share, signal);
    const catalog = parts.current();
    const isGood = catalog !== undefined && isLongLived(parts) && parts.clock.now() - catalog.observedAtMs < lifeMs(parts);
    return loaded(parts, isGood ? catalog : await readList(parts, signal));
  };
  return { id: SKUS_AGENT, kind: 'skus', required: true, order: 0, bucket: family, policy, load };
}

async function readList(parts: SkuAgentDeps, signal: AbortSignal): Promise<SkuCatalog> {
  const catalog = await parts.list(signal);
  // No region is without sizes: such an answer is no reason to forget those that are known.
  if (catalog.byName.size > 0) return catalog;
  throw new AutoscalerError({ kind: 'unavailable', effect: 'none' }, `Azure listed no VM size for ${parts.scope.location}.`);
}

async function readTogether(parts: SkuAgentDeps, share: SkuShare, signal: AbortSignal): Promise<Loaded> {
  let known: Shared | undefined;
  try {
    known = await readShared(parts, share, true);
    if (isFresh(parts, known)) return loaded(parts, known.catalog);
    const turn = await takeTurn(parts, share, known?.epoch ?? 0, signal);
    if (typeof turn === 'object') return loaded(parts, turn.catalog);
    return loaded(parts, await (turn === undefined ? readList(parts, signal) : readAndPublish(parts, share, turn, signal)));
  } catch (thrown) {
    const error = asAutoscalerError(thrown);
    // Sizes of yesterday are better than none, and worse than those in use.
    if (error.kind === 'cancelled' || known?.catalog === undefined || parts.current() !== undefined) throw error;
    return { ...loaded(parts, known.catalog), error };
  }
}

interface Shared {
  readonly epoch: number;
  /** undefined: published, and of no use to us. */
  readonly catalog: SkuCatalog | undefined;
}

async function readShared({ scope, log }: SkuAgentDeps, share: SkuShare, tell: boolean): Promise<Shared | undefined> {
  const found = await tryShare(log, () => share.latest());
  if (found === undefined) return undefined;
  const reading = readCatalog(found.text, scope);
  if (reading.ok) return { epoch: found.epoch, catalog: reading.catalog };
  if (tell) log.warn({ epoch: found.epoch, reason: reading.reason }, 'a snapshot of VM sizes is ignored');
  return { epoch: found.epoch, catalog: undefined };
}

function isLongLived({ ttlMs }: SkuAgentDeps): boolean {
  return ttlMs > RESTRICTED_TTL_MS;
}

function lifeMs({ ttlMs, isRestricted }: SkuAgentDeps): number {
  return isRestricted?.() === true ? Math.min(RESTRICTED_TTL_MS, ttlMs) : ttlMs;
}

function isFresh(parts: SkuAgentDeps, known: Shared | undefined): known is Shared & { readonly catalog: SkuCatalog } {
  return known?.catalog !== undefined && parts.clock.now() - known.catalog.observedAtMs < lifeMs(parts);
}

type Turn = number | (Shared & { readonly catalog: SkuCatalog }) | undefined;

/** The epoch to publish under, what another published while we waited, or neither. */
async function takeTurn(parts: SkuAgentDeps, share: SkuShare, after: number, signal: AbortSignal): Promise<Turn> {
  for (let epoch = after + 1; epoch <= after + TURNS; epoch++) {
    const ours = await tryShare(parts.log, () => share.claim(epoch));
    if (ours === undefined) return undefined;
    // Published between our look and our claim: the claim is not needed.
    const found = ours ? await readShared(parts, share, false) : await waitFor(parts, share, signal);
    if (isFresh(parts, found)) return found;
    if (ours) return epoch;
  }
  return undefined;
}

async function waitFor(parts: SkuAgentDeps, share: SkuShare, signal: AbortSignal): Promise<Shared | undefined> {
  for (let waitedMs = 0; waitedMs < WAIT_MS; waitedMs += LOOK_EVERY_MS) {
    await parts.clock.sleep(LOOK_EVERY_MS, signal);
    const found = await readShared(parts, share, false);
    if (isFresh(parts, found)) return found;
  }
  return undefined;
}

/** Asks Azure for all. A claim that comes to nothing is given back, so that the next one need not wait for it. */
async function readAndPublish(parts: SkuAgentDeps, share: SkuShare, epoch: number, signal: AbortSignal): Promise<SkuCatalog> {
  try {
    const catalog = await readList(parts, signal);
    const written = await tryShare(parts.log, () => share.publish(epoch, writeCatalog(catalog, parts.scope)));
    if (written === false) parts.log.info({ epoch }, 'another process has published newer VM sizes');
    return catalog;
  } catch (thrown) {
    await tryShare(parts.log, () => share.release(epoch));
    throw thrown;
  }
}

/** A folder that cannot be used costs one call to Azure, not the sizes. */
async function tryShare<T>(log: Log, work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (thrown) {
    log.warn({ err: asAutoscalerError(thrown) }, 'the shared VM sizes cannot be used');
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
