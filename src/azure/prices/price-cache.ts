/**
 * Caches the list prices of the sizes in use. They are read now and then, one size at a time, and one process reads for all that share
 * them. A good reading is kept until it is replaced, and reported if it is old. Nothing waits for prices. Must not know node groups.
 */
import type { CachingAgent, CommitSummary, Loaded } from '../../cache/agents/agent.ts';
import { loadTogether, type SharingProblem } from '../../cache/agents/shared-load.ts';
import type { SharedText, SharedTexts } from '../../domain/ports/shared-text.ts';
import type { StoredText, PriceTableReader, PriceTableView } from '../../domain/ports/stored-text.ts';
import type { PriceTable, SizePrices } from '../../domain/quotas-and-prices.ts';
import type { Clock } from '../../lib/clock.ts';
import { asAutoscalerError, type AutoscalerError } from '../../lib/errors.ts';
import type { Log } from '../../telemetry/log.ts';
import type { AzureOptions } from '../arm/options.ts';
import { PRICES_AGENT } from '../rows/tables.ts';
import { readPriceText, writePriceText, type PriceListKey } from './price-text.ts';
import { RetailPriceClient } from './retail-prices-api.ts';
import { defined } from '../../lib/defined.ts';

const MINUTE = 60_000;
/** The agent makes no call while all prices are recent. */
const CHECK_EVERY_MS = 5 * MINUTE;
/** Prices change about once a month. After this many missed refreshes they are reported as old. */
const OLD_AFTER_REFRESHES = 3;

interface PriceCacheDeps {
  readonly scope: PriceListKey;
  readonly refreshMs: number;
  readonly clock: Pick<Clock, 'now' | 'sleep'>;
  readonly log: Log;
  readonly read: (vmSize: string, signal: AbortSignal) => Promise<SizePrices>;
  /** The sizes of the groups, in Azure's spelling. */
  readonly sizes: () => readonly string[];
  /** Storage across processes; undefined: none. */
  readonly stored: StoredText | undefined;
  /** Where processes share their prices; undefined: nowhere. */
  readonly share?: SharedText | undefined;
}

export class PriceCache implements PriceTableReader {
  readonly #deps: PriceCacheDeps;
  #table: PriceTable = {};
  #problem: string | undefined;

  constructor(deps: PriceCacheDeps) {
    this.#deps = deps;
  }

  current(nowMs: number): PriceTableView {
    const old = nowMs - OLD_AFTER_REFRESHES * this.#deps.refreshMs;
    const stale = Object.values(this.#table)
      .map(({ readAtMs }) => readAtMs)
      .filter((readAtMs) => readAtMs < old);
    const [oldest] = stale.sort((left, right) => left - right);
    if (oldest !== undefined) return { table: this.#table, remarks: [this.#oldRemark(stale.length, oldest)] };
    return { table: this.#table, remarks: Object.keys(this.#table).length === 0 && this.#problem !== undefined ? [this.#problem] : [] };
  }

  #oldRemark(count: number, oldest: number): string {
    const why = this.#problem === undefined ? '' : ` (${this.#problem.replace(/\.$/, '')})`;
    return `The list prices of ${count} VM sizes are old: they were last read on ${new Date(oldest).toISOString().slice(0, 10)}${why}.`;
  }

  /** Restores the prices that an earlier process stored. Unusable prices are logged and ignored. Never throws. */
  async restore(signal: AbortSignal): Promise<void> {
    const { stored, log, scope, clock } = this.#deps;
    try {
      const text = await stored?.read(signal);
      const reading = text === undefined ? undefined : readPriceText(text, scope, clock.now());
      if (reading?.ok === true) this.#table = reading.value;
      else if (reading !== undefined) log.warn({ reason: reading.reason }, 'Stored prices ignored');
    } catch (thrown) {
      log.warn({ error: asAutoscalerError(thrown).message }, 'Reading stored prices failed');
    }
  }

  /** The agent that refreshes the prices. Nothing waits for it. */
  agent(): CachingAgent {
    const policy = {
      intervalMs: CHECK_EVERY_MS,
      jitter: { kind: 'spread', fraction: 0.1 } as const,
      errorIntervalMs: 5 * MINUTE,
      maxErrorIntervalMs: 120 * MINUTE,
      timeoutMs: 5 * MINUTE,
    };
    const load = ({ signal }: { readonly signal: AbortSignal }): Promise<Loaded> => this.#load(signal);
    return { id: PRICES_AGENT, kind: 'prices', required: false, order: 9, bucket: 'retail-prices', policy, load };
  }

  async #load(signal: AbortSignal): Promise<Loaded> {
    const before = this.#table;
    const next = new Map(Object.entries(before));
    try {
      if (this.#missing(next).length > 0) await this.#complete(next, signal);
      return this.#loaded(before, Object.fromEntries(next), undefined);
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      if (error.kind === 'cancelled') throw error;
      return this.#loaded(before, Object.fromEntries(next), error);
    }
  }

  /** The sizes in use whose price is unknown or due. */
  #missing(table: ReadonlyMap<string, SizePrices>): readonly string[] {
    const { sizes, clock, refreshMs } = this.#deps;
    return [...new Set(sizes())].filter((vmSize) => {
      const known = table.get(vmSize.toLowerCase());
      // The absolute difference: after a clock correction, a price must not stay fresh for ever.
      return known === undefined || Math.abs(clock.now() - known.readAtMs) >= refreshMs;
    });
  }

  /** Adds to the table what others published, and what has to be read. @throws AutoscalerError at the first size that cannot be read. */
  async #complete(table: Map<string, SizePrices>, signal: AbortSignal): Promise<void> {
    const { share, clock, scope, log } = this.#deps;
    if (share === undefined) return this.#readMissing(table, signal);
    await loadTogether(
      {
        share,
        clock,
        decode: (text) => {
          const reading = readPriceText(text, scope, clock.now());
          return reading.ok ? { ok: true, value: addNewer(table, reading.value) } : reading;
        },
        encode: (all) => writePriceText(Object.fromEntries(all), scope),
        isFresh: (all) => this.#missing(all).length === 0,
        read: async (own) => {
          await this.#readMissing(table, own);
          return table;
        },
        onProblem: (problem) => logProblem(log, problem),
        // Nothing waits for prices, so the turn of another process can be waited for.
        current: table,
      },
      signal,
    );
  }

  async #readMissing(table: Map<string, SizePrices>, signal: AbortSignal): Promise<void> {
    for (const vmSize of this.#missing(table)) table.set(vmSize.toLowerCase(), await this.#deps.read(vmSize, signal));
  }

  /** Prices read before a failure are kept; the others stay unchanged. */
  #loaded(before: PriceTable, next: PriceTable, error: AutoscalerError | undefined): Loaded {
    const changed = Object.entries(next).filter(([name, prices]) => before[name] !== prices).length;
    const commit = (): CommitSummary => {
      this.#table = next;
      this.#problem = error?.message;
      if (changed > 0) this.#store(next);
      return { rows: Object.keys(next).length, added: 0, changed, evicted: 0, rejected: 0, runAgain: false };
    };
    return { commit, ...defined({ error }) };
  }

  #store(table: PriceTable): void {
    const { stored, log, scope } = this.#deps;
    stored?.write(writePriceText(table, scope), AbortSignal.timeout(MINUTE)).catch((thrown: unknown) => {
      log.warn({ error: asAutoscalerError(thrown).message }, 'Storing prices failed');
    });
  }
}

/** Adds in place, and returns the same table. */
function addNewer(table: Map<string, SizePrices>, others: PriceTable): Map<string, SizePrices> {
  for (const [name, prices] of Object.entries(others))
    if (prices.readAtMs > (table.get(name)?.readAtMs ?? Number.NEGATIVE_INFINITY)) table.set(name, prices);
  return table;
}

/** A store that is away is reported by its connection. */
function logProblem(log: Log, problem: SharingProblem): void {
  if (problem.kind === 'unusable') log.warn({ epoch: problem.epoch, reason: problem.reason }, 'Shared prices ignored');
}

interface RetailPricesDeps {
  readonly options: AzureOptions;
  readonly clock: Clock;
  readonly log: Log;
  /** Storage across processes. If undefined, list prices are lost with the process. */
  readonly keptPrices?: StoredText | undefined;
  readonly shared?: SharedTexts | undefined;
}

export interface RetailPrices {
  readonly cache: PriceCache;
  /** Price reads in flight. */
  readonly inFlight: () => number;
}

/**
 * The client and cache of the public price list. undefined: prices are not configured. `sizes` are those in use, in Azure's
 * spelling.
 */
export function createRetailPrices(deps: RetailPricesDeps, sizes: () => readonly string[]): RetailPrices | undefined {
  const { options, clock, log, keptPrices, shared } = deps;
  const { retailPrices, location, caPem, requestTimeoutMs: timeoutMs } = options;
  if (retailPrices === undefined) return undefined;
  const client = new RetailPriceClient({ options: retailPrices, location, caPem, timeoutMs, clock });
  const { currency, refreshMs } = retailPrices;
  const cache = new PriceCache({
    scope: { location, currency },
    refreshMs,
    clock,
    log,
    read: (vmSize, signal) => client.read(vmSize, signal),
    sizes,
    stored: keptPrices,
    share: shared?.prices,
  });
  return { cache, inFlight: () => client.inFlight };
}
