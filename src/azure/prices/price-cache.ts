/**
 * Caches the list prices of the sizes in use. They are read now and then, one size at a time. What another process has read is used only
 * as far as readings of this process confirm it. A good reading is kept until it is replaced, and reported if it is old. Nothing waits for
 * prices. Must not know node groups.
 */
import { replacedRows, type CachingAgent, type CommitSummary, type Loaded } from '../../cache/agents/agent.ts';
import { loadTogether, type SharingProblem } from '../../cache/agents/shared-load.ts';
import type { SharedText, SharedTexts } from '../../domain/ports/shared-text.ts';
import type { StoredText, PriceTableReader } from '../../domain/ports/stored-text.ts';
import type { PriceTable, PriceTableView, SizePrices } from '../../domain/quotas-and-prices.ts';
import type { Clock } from '../../lib/clock.ts';
import { asAutoscalerError, type AutoscalerError } from '../../lib/errors.ts';
import type { Log } from '../../telemetry/log.ts';
import type { AzureOptions } from '../arm/options.ts';
import { PRICES_AGENT } from '../rows/tables.ts';
import { readPriceText, writePriceText, type PriceListKey } from './price-text.ts';
import { contradicts, usableHints, type PriceHint } from './price-hints.ts';
import { RetailPriceClient } from './retail-prices-api.ts';
import { defined } from '../../lib/defined.ts';

const MINUTE = 60_000;
/** The agent makes no call while all prices are recent. */
const CHECK_EVERY_MS = 5 * MINUTE;
const HOUR = 60 * MINUTE;
/** After failures. A list that is read by default may never be reachable, so that it is tried rarely. */
const RETRIES = { errorIntervalMs: 5 * MINUTE, maxErrorIntervalMs: 2 * HOUR };
const RARE_RETRIES = { errorIntervalMs: HOUR, maxErrorIntervalMs: 24 * HOUR };
/** Prices change about once a month. After this many missed refreshes they are reported as old. */
const OLD_AFTER_REFRESHES = 3;

interface PriceCacheDeps {
  readonly scope: PriceListKey;
  readonly refreshMs: number;
  readonly clock: Pick<Clock, 'now' | 'sleep'>;
  readonly log: Log;
  readonly read: (vmSize: string, signal: AbortSignal) => Promise<SizePrices>;
  /** Whether prices are only shown. If absent, decisions use them. */
  readonly onlyShown?: true | undefined;
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
  /** What this process read itself, by size in lower case. Only this is stored: a word of another process must not outlive it here. */
  #own: PriceTable = {};
  #problem: string | undefined;
  #unreachableSinceMs: number | undefined;

  constructor(deps: PriceCacheDeps) {
    this.#deps = deps;
  }

  current(nowMs: number): PriceTableView {
    const { onlyShown } = this.#deps;
    const facts = defined({ onlyShown, unreachableSinceMs: this.#unreachableSinceMs });
    return { table: this.#table, remarks: this.#remarks(nowMs), ...facts };
  }

  #remarks(nowMs: number): readonly string[] {
    const old = nowMs - OLD_AFTER_REFRESHES * this.#deps.refreshMs;
    const stale = Object.values(this.#table)
      .map(({ readAtMs }) => readAtMs)
      .filter((readAtMs) => readAtMs < old);
    const [oldest] = stale.sort((left, right) => left - right);
    if (oldest !== undefined) return [this.#oldRemark(stale.length, oldest)];
    return Object.keys(this.#table).length === 0 && this.#problem !== undefined ? [this.#problem] : [];
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
      if (reading?.ok === true) this.#table = this.#own = reading.value;
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
      // guard: a price list that is read by default is tried again only rarely
      ...(this.#deps.onlyShown === true ? RARE_RETRIES : RETRIES),
      timeoutMs: 5 * MINUTE,
      requestedRate: undefined,
    };
    const load = ({ signal }: { readonly signal: AbortSignal }): Promise<Loaded> => this.#load(signal);
    return {
      id: PRICES_AGENT,
      kind: 'prices',
      required: false,
      warm: false,
      order: 9,
      bucket: 'retail-prices',
      policy,
      rest: undefined,
      load,
    };
  }

  async #load(signal: AbortSignal): Promise<Loaded> {
    const readings: Readings = { inUse: new Map(Object.entries(this.#table)), own: new Map(Object.entries(this.#own)) };
    try {
      if (this.#due(readings).length > 0) await this.#complete(readings, signal);
      return this.#loaded(readings, undefined);
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      if (error.kind === 'cancelled') throw error;
      return this.#loaded(readings, error);
    }
  }

  /** The sizes in use whose price is unknown or due. */
  #due({ inUse }: Readings): readonly string[] {
    return [...new Set(this.#deps.sizes())].filter((vmSize) => {
      const known = inUse.get(vmSize.toLowerCase());
      return known === undefined || !this.#isRecent(known);
    });
  }

  /** The absolute difference: after a clock correction, a price must not stay fresh for ever. */
  #isRecent({ readAtMs }: SizePrices): boolean {
    return Math.abs(this.#deps.clock.now() - readAtMs) < this.#deps.refreshMs;
  }

  /** Completes the readings with what others published and with own reads. @throws AutoscalerError at the first size that cannot be read. */
  async #complete(readings: Readings, signal: AbortSignal): Promise<void> {
    const { share, clock, scope, log } = this.#deps;
    if (share === undefined) return void (await this.#readDue(readings, {}, signal));
    let published: PriceTable = {};
    const { value, origin } = await loadTogether<PriceTable>(
      {
        share,
        clock,
        decode: (text) => {
          const reading = readPriceText(text, scope, clock.now());
          if (reading.ok) published = reading.value;
          return reading;
        },
        encode: (all) => writePriceText(all, scope),
        isFresh: (others) => this.#areEnough(readings, others),
        read: async (own) => {
          const isTrue = await this.#readDue(readings, published, own);
          // Sizes of other clusters stay published, except those of a process whose prices are wrong.
          return { ...(isTrue ? published : {}), ...Object.fromEntries(readings.inUse) };
        },
        onProblem: (problem) => logProblem(log, problem),
        // Nothing waits for prices, so the turn of another process can be waited for.
        current: Object.fromEntries(readings.inUse),
        mayGoOn: false,
        rest: { successMs: 0, failureMs: 0 },
      },
      signal,
    );
    if (origin === 'shared') await this.#readDue(readings, value, signal);
  }

  /** Whether hints replace every read that is due, but for the sample. */
  #areEnough(readings: Readings, published: PriceTable): boolean {
    return this.#hints(readings, published).length === this.#due(readings).length;
  }

  #hints(readings: Readings, published: PriceTable): readonly PriceHint[] {
    // guard: a price of another process replaces no reading of our own that is not due
    return usableHints({ due: this.#due(readings), own: readings.own, published }).filter(([, prices]) => this.#isRecent(prices));
  }

  /**
   * Uses hints for what is due, and reads the others and one of the hints itself: the size that it has not read itself for the longest. If
   * a reading contradicts what was published, all hints are dropped and read as well. Returns false in that case.
   * @throws AutoscalerError at the first size that cannot be read
   */
  async #readDue(readings: Readings, published: PriceTable, signal: AbortSignal): Promise<boolean> {
    const { inUse, own } = readings;
    const hints = this.#hints(readings, published);
    for (const [vmSize, prices] of hints) inUse.set(vmSize.toLowerCase(), prices);
    const sample = hints.slice(0, 1).map(([vmSize]) => vmSize);
    // guard: a sample of the prices of another process is read again
    const wrong = await this.#read(readings, [...this.#due(readings), ...sample], { published, signal });
    // guard: a process that published one wrong price is believed in no other
    if (wrong === undefined) return true;
    this.#deps.log.warn({ vmSize: wrong }, 'Shared prices contradict the price list; they are not used');
    for (const [vmSize] of hints) {
      const reading = own.get(vmSize.toLowerCase());
      if (reading !== undefined) inUse.set(vmSize.toLowerCase(), reading);
    }
    await this.#read(readings, this.#due(readings), { published: {}, signal });
    return false;
  }

  /** Reads sizes. Returns one of them whose reading contradicts a recent published price. */
  async #read(
    { inUse, own }: Readings,
    vmSizes: readonly string[],
    { published, signal }: { readonly published: PriceTable; readonly signal: AbortSignal },
  ): Promise<string | undefined> {
    let wrong: string | undefined;
    for (const vmSize of vmSizes) {
      const name = vmSize.toLowerCase();
      const prices = await this.#deps.read(vmSize, signal);
      inUse.set(name, prices);
      own.set(name, prices);
      const other = published[name];
      if (other !== undefined && this.#isRecent(other) && contradicts(prices, other)) wrong ??= vmSize;
    }
    return wrong;
  }

  /** Prices read before a failure are kept; the others stay unchanged. */
  #loaded({ inUse, own }: Readings, error: AutoscalerError | undefined): Loaded {
    const changed = [...inUse].filter(([name, prices]) => this.#table[name] !== prices).length;
    const hasRead = [...own].some(([name, prices]) => this.#own[name] !== prices);
    const commit = (): CommitSummary => {
      this.#table = Object.fromEntries(inUse);
      this.#own = Object.fromEntries(own);
      this.#problem = error?.message;
      this.#unreachableSinceMs = error === undefined ? undefined : (this.#unreachableSinceMs ?? this.#deps.clock.now());
      // guard: a price of another process does not outlive the shared store in our own file
      if (hasRead) this.#store(this.#own);
      return replacedRows(inUse.size, changed);
    };
    return { commit, error };
  }

  #store(table: PriceTable): void {
    const { stored, log, scope } = this.#deps;
    stored?.write(writePriceText(table, scope), AbortSignal.timeout(MINUTE)).catch((thrown: unknown) => {
      log.warn({ error: asAutoscalerError(thrown).message }, 'Storing prices failed');
    });
  }
}

interface Readings {
  /** By VM size in lower case. */
  readonly inUse: Map<string, SizePrices>;
  /** What this process read itself. */
  readonly own: Map<string, SizePrices>;
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
    onlyShown: retailPrices.byDefault,
  });
  return { cache, inFlight: () => client.inFlight };
}
