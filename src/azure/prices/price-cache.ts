/**
 * The list prices of the sizes in use: read now and then, one size at a time, and kept. What was read well once stays until
 * it is read anew; that it is old is told. Never in the way of anything.
 */
import type { CachingAgent, CommitSummary, Loaded } from '../../cache/agents/agent.ts';
import type { KeptText, PriceTableReader, PriceTableView } from '../../domain/ports/stored-text.ts';
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

// List prices as text, for keeping them longer than a process lives.

/** Grows when the meaning of a field changes; what has another number is not read. */
const SCHEMA = 1;
const KINDS: ReadonlySet<string> = new Set<PriceKind>(['linux', 'windows', 'linux/spot', 'windows/spot']);

/** Prices hold for one region and in one currency. */
export interface PriceScope {
  readonly location: string;
  readonly currency: string;
}

/** Expected: a file of an older program, of another region or currency, or half written. */
export type PriceReading = { readonly ok: true; readonly table: PriceTable } | { readonly ok: false; readonly reason: string };

export function writePriceText(table: PriceTable, scope: PriceScope): string {
  const sizes = Object.entries(table).sort(compareBy(([key]) => key));
  return `${JSON.stringify({ schema: SCHEMA, ...fold(scope), sizes: Object.fromEntries(sizes) }, undefined, 1)}\n`;
}

export function readPriceText(text: string, scope: PriceScope): PriceReading {
  const raw = jsonOf(text);
  const bad = (reason: string): PriceReading => ({ ok: false, reason });
  if (!isRecord(raw)) return bad('it is not a JSON object');
  if (raw['schema'] !== SCHEMA) return bad(`its schema is ${JSON.stringify(raw['schema'])}, not ${SCHEMA}`);
  const { location, currency } = fold(scope);
  if (raw['location'] !== location) return bad(`it is of region ${JSON.stringify(raw['location'])}, not ${location}`);
  if (raw['currency'] !== currency) return bad(`it is in ${JSON.stringify(raw['currency'])}, not ${currency}`);
  if (!isRecord(raw['sizes'])) return bad('it lists no sizes');
  const sizes = Object.entries(raw['sizes']);
  const readable = sizes.flatMap(([name, value]) => (isSizePrices(value) ? [[name, value] as const] : []));
  return readable.length === sizes.length ? { ok: true, table: Object.fromEntries(readable) } : bad('a price in it is none');
}

function isSizePrices(value: unknown): value is SizePrices {
  if (!isRecord(value) || typeof value['readAtMs'] !== 'number' || !isRecord(value['perHour'])) return false;
  return Object.entries(value['perHour']).every(([kind, price]) => KINDS.has(kind) && typeof price === 'number' && price > 0);
}

function fold({ location, currency }: PriceScope): PriceScope {
  return { location: location.replaceAll(' ', '').toLowerCase(), currency };
}

const MINUTE = 60_000;
/** A look costs no call while every size was read in time. */
const LOOK_EVERY_MS = 5 * MINUTE;
/** Prices change about once a month; older than so many refreshes they are told to be old. */
const OLD_AFTER_REFRESHES = 3;

export interface PriceBookParts {
  readonly scope: PriceScope;
  readonly refreshMs: number;
  readonly clock: { now(): number };
  readonly log: Log;
  readonly read: (vmSize: string, signal: AbortSignal) => Promise<SizePrices>;
  /** The sizes of the groups, spelled as Azure does. */
  readonly sizes: () => readonly string[];
  /** Where the last answer outlives the process; undefined: nowhere. */
  readonly kept: KeptText | undefined;
}

export class PriceBook implements PriceTableReader {
  readonly #parts: PriceBookParts;
  #table: PriceTable = {};
  #problem: string | undefined;

  constructor(parts: PriceBookParts) {
    this.#parts = parts;
  }

  current(nowMs: number): PriceTableView {
    const old = nowMs - OLD_AFTER_REFRESHES * this.#parts.refreshMs;
    const stale = Object.values(this.#table)
      .map(({ readAtMs }) => readAtMs)
      .filter((readAtMs) => readAtMs < old);
    const [oldest] = stale.sort((left, right) => left - right);
    if (oldest !== undefined) return { table: this.#table, remarks: [this.#oldRemark(stale.length, oldest)] };
    return { table: this.#table, remarks: Object.keys(this.#table).length === 0 && this.#problem !== undefined ? [this.#problem] : [] };
  }

  #oldRemark(count: number, oldest: number): string {
    const why = this.#problem === undefined ? '' : ` (${this.#problem.replace(/\.$/, '')})`;
    return `The list prices of ${count} VM sizes are old: the last good answer is of ${new Date(oldest).toISOString().slice(0, 10)}${why}.`;
  }

  /** Takes over what an earlier process kept; what cannot be used is told and done without. Never throws. */
  async restore(signal: AbortSignal): Promise<void> {
    const { kept, log, scope } = this.#parts;
    try {
      const text = await kept?.read(signal);
      const reading = text === undefined ? undefined : readPriceText(text, scope);
      if (reading?.ok === true) this.#table = reading.table;
      else if (reading !== undefined) log.warn({ reason: reading.reason }, 'kept prices are ignored');
    } catch (thrown) {
      log.warn({ error: asAutoscalerError(thrown).message }, 'kept prices could not be read');
    }
  }

  /** The agent that keeps the book. Nothing waits for it. */
  agent(): CachingAgent {
    const policy = {
      intervalMs: LOOK_EVERY_MS,
      jitter: { kind: 'spread', fraction: 0.1 } as const,
      errorIntervalMs: 5 * MINUTE,
      maxErrorIntervalMs: 120 * MINUTE,
      timeoutMs: 5 * MINUTE,
    };
    const load = ({ signal }: { readonly signal: AbortSignal }): Promise<Loaded> => this.#load(signal);
    return { id: PRICES_AGENT, kind: 'prices', required: false, order: 9, bucket: 'retail-prices', policy, load };
  }

  async #load(signal: AbortSignal): Promise<Loaded> {
    const { clock, refreshMs, sizes, read } = this.#parts;
    const before = this.#table;
    const next: Record<string, SizePrices> = { ...before };
    let error: AutoscalerError | undefined;
    for (const vmSize of new Set(sizes())) {
      const known = before[vmSize.toLowerCase()];
      // A clock that was set back must not keep a price for ever.
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

  /** What was read before a failure is kept; the rest stays as it was. */
  #loaded(before: PriceTable, next: PriceTable, error: AutoscalerError | undefined): Loaded {
    const changed = Object.entries(next).filter(([name, prices]) => before[name] !== prices).length;
    const commit = (): CommitSummary => {
      this.#table = next;
      this.#problem = error?.message;
      if (changed > 0) this.#keep(next);
      return { rows: Object.keys(next).length, added: 0, changed, evicted: 0, rejected: 0, runAgain: false };
    };
    return { commit, ...defined({ error }) };
  }

  #keep(table: PriceTable): void {
    const { kept, log, scope } = this.#parts;
    kept?.write(writePriceText(table, scope), AbortSignal.timeout(MINUTE)).catch((thrown: unknown) => {
      log.warn({ error: asAutoscalerError(thrown).message }, 'prices could not be kept');
    });
  }
}

// The public price list as this adapter reads it: a client of its own, and the book that keeps what it answers.

export interface ListPricesParts {
  readonly options: AzureOptions;
  readonly clock: Clock;
  readonly log: Log;
  /** undefined: list prices are forgotten with the process. */
  readonly keptPrices?: KeptText | undefined;
}

export interface ListPrices {
  readonly book: PriceBook;
  /** Reads of prices under way. */
  readonly inFlight: () => number;
}

/** undefined: prices are not read. `sizes`: those in use, spelled as Azure does. */
export function listPrices(parts: ListPricesParts, sizes: () => readonly string[]): ListPrices | undefined {
  const { options, clock, log, keptPrices: kept } = parts;
  const { retailPrices, location, caPem, requestTimeoutMs: timeoutMs } = options;
  if (retailPrices === undefined) return undefined;
  const client = new RetailPriceClient({ options: retailPrices, location, caPem, timeoutMs, clock });
  const { currency, refreshMs } = retailPrices;
  const book = new PriceBook({
    scope: { location, currency },
    refreshMs,
    clock,
    log,
    read: (vmSize, signal) => client.read(vmSize, signal),
    sizes,
    kept,
  });
  return { book, inFlight: () => client.inFlight };
}
