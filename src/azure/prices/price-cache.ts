/**
 * Caches the list prices of the sizes in use. They are read now and then, one size at a time. A good reading is kept until it
 * is replaced, and reported if it is old. Nothing waits for prices. Must not know node groups.
 */
import type { CachingAgent, CommitSummary, Loaded } from '../../cache/agents/agent.ts';
import type { StoredText, PriceTableReader, PriceTableView } from '../../domain/ports/stored-text.ts';
import type { PriceKind, PriceTable, SizePrices } from '../../domain/quotas-and-prices.ts';
import type { Clock } from '../../lib/clock.ts';
import { asAutoscalerError, type AutoscalerError } from '../../lib/errors.ts';
import type { Log } from '../../telemetry/log.ts';
import { isRecord, jsonOf } from '../arm/error-bodies.ts';
import type { AzureOptions } from '../arm/options.ts';
import { PRICES_AGENT } from '../rows/tables.ts';
import { RetailPriceClient } from './retail-prices-api.ts';
import { compareBy } from '../../lib/comparison.ts';
import { defined } from '../../lib/defined.ts';

/** Version of the text format. It grows when the meaning of a field changes; other versions are not read. */
const SCHEMA = 1;
const KINDS: ReadonlySet<string> = new Set<PriceKind>(['linux', 'windows', 'linux/spot', 'windows/spot']);

/** Prices are valid for one region and one currency. */
interface PriceListKey {
  readonly location: string;
  readonly currency: string;
}

/** A failure is expected: a file of an older program, of another region or currency, or half written. */
type PriceReading = { readonly ok: true; readonly table: PriceTable } | { readonly ok: false; readonly reason: string };

/** The prices as text, for keeping them across processes. */
function writePriceText(table: PriceTable, scope: PriceListKey): string {
  const sizes = Object.entries(table).sort(compareBy(([key]) => key));
  return `${JSON.stringify({ schema: SCHEMA, ...foldKey(scope), sizes: Object.fromEntries(sizes) }, undefined, 1)}\n`;
}

export function readPriceText(text: string, scope: PriceListKey): PriceReading {
  const raw = jsonOf(text);
  const bad = (reason: string): PriceReading => ({ ok: false, reason });
  if (!isRecord(raw)) return bad('it is not a JSON object');
  if (raw['schema'] !== SCHEMA) return bad(`its schema is ${JSON.stringify(raw['schema'])}, not ${SCHEMA}`);
  const { location, currency } = foldKey(scope);
  if (raw['location'] !== location) return bad(`it is for region ${JSON.stringify(raw['location'])}, not ${location}`);
  if (raw['currency'] !== currency) return bad(`it is in ${JSON.stringify(raw['currency'])}, not ${currency}`);
  if (!isRecord(raw['sizes'])) return bad('it lists no sizes');
  const sizes = Object.entries(raw['sizes']);
  const readable = sizes.flatMap(([name, value]) => (isSizePrices(value) ? [[name, value] as const] : []));
  return readable.length === sizes.length ? { ok: true, table: Object.fromEntries(readable) } : bad('one of its prices is not valid');
}

function isSizePrices(value: unknown): value is SizePrices {
  if (!isRecord(value) || typeof value['readAtMs'] !== 'number' || !isRecord(value['perHour'])) return false;
  return Object.entries(value['perHour']).every(([kind, price]) => KINDS.has(kind) && typeof price === 'number' && price > 0);
}

function foldKey({ location, currency }: PriceListKey): PriceListKey {
  return { location: location.replaceAll(' ', '').toLowerCase(), currency };
}

const MINUTE = 60_000;
/** The agent makes no call while all prices are recent. */
const CHECK_EVERY_MS = 5 * MINUTE;
/** Prices change about once a month. After this many missed refreshes they are reported as old. */
const OLD_AFTER_REFRESHES = 3;

interface PriceCacheDeps {
  readonly scope: PriceListKey;
  readonly refreshMs: number;
  readonly clock: { now(): number };
  readonly log: Log;
  readonly read: (vmSize: string, signal: AbortSignal) => Promise<SizePrices>;
  /** The sizes of the groups, in Azure's spelling. */
  readonly sizes: () => readonly string[];
  /** Storage across processes; undefined: none. */
  readonly stored: StoredText | undefined;
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
    const { stored, log, scope } = this.#deps;
    try {
      const text = await stored?.read(signal);
      const reading = text === undefined ? undefined : readPriceText(text, scope);
      if (reading?.ok === true) this.#table = reading.table;
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
    const { clock, refreshMs, sizes, read } = this.#deps;
    const before = this.#table;
    const next: Record<string, SizePrices> = { ...before };
    let error: AutoscalerError | undefined;
    for (const vmSize of new Set(sizes())) {
      const known = before[vmSize.toLowerCase()];
      // The absolute difference: after a clock correction, a price must not stay fresh for ever.
      const isFresh = known !== undefined && Math.abs(clock.now() - known.readAtMs) < refreshMs;
      if (isFresh || error !== undefined) continue;
      try {
        next[vmSize.toLowerCase()] = await read(vmSize, signal);
      } catch (thrown) {
        error = asAutoscalerError(thrown);
        if (error.kind === 'cancelled') throw error;
      }
    }
    return this.#loaded(before, next, error);
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

interface RetailPricesDeps {
  readonly options: AzureOptions;
  readonly clock: Clock;
  readonly log: Log;
  /** Storage across processes. If undefined, list prices are lost with the process. */
  readonly keptPrices?: StoredText | undefined;
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
  const { options, clock, log, keptPrices } = deps;
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
  });
  return { cache, inFlight: () => client.inFlight };
}
