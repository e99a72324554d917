/**
 * Named random draws. Each draw is a function of the seed and its purpose, never of the number of earlier draws. So reads and
 * retries of a client cannot change what happens to a VM.
 */
import { seededRandom, stableHash } from '../../../../src/lib/random.ts';
import type { ArmRequest } from '../http/messages.ts';

/** A lognormal duration by its median and its 95th percentile, in milliseconds. Equal values make it constant. */
export interface Latency {
  readonly p50: number;
  readonly p95: number;
}

export interface SeededRandom {
  /** A number in [0, 1). */
  unit(purpose: string): number;
  /** Milliseconds, rounded. */
  latency(purpose: string, latency: Latency): number;
  guid(purpose: string): string;
  /** `length` lower-case hexadecimal digits. */
  hex(purpose: string, length: number): string;
}

const DIGITS = '0123456789abcdef';
/** The standard normal deviate at the 95th percentile. */
const Z95 = 1.6449;

export function seededRandomOf(seed: number): SeededRandom {
  const stream = (purpose: string) => seededRandom(stableHash(`${seed}|${purpose}`));
  const hex = (purpose: string, length: number): string => {
    const random = stream(purpose);
    let digits = '';
    while (digits.length < length) digits += DIGITS[Math.floor(random() * DIGITS.length)] ?? '';
    return digits;
  };
  return {
    unit: (purpose) => stream(purpose)(),
    latency: (purpose, { p50, p95 }) => {
      if (p50 <= 0 || p95 <= p50) return Math.round(p50);
      const random = stream(purpose);
      const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
      return Math.round(p50 * Math.exp((Math.log(p95 / p50) / Z95) * normal));
    },
    guid: (purpose) => {
      const digits = hex(purpose, 32);
      return [digits.slice(0, 8), digits.slice(8, 12), `4${digits.slice(13, 16)}`, `a${digits.slice(17, 20)}`, digits.slice(20)].join('-');
    },
    hex,
  };
}

interface RequestCount {
  count: number;
  /** Milliseconds of the world's clock. */
  lastMs: number;
  /** Distinguishes this count from an earlier one of the same request that was forgotten. Empty for the first. */
  readonly epoch: string;
}

/** Counts of requests that were not repeated for so long are forgotten: ids of operations and VMs never come again. */
const FORGOTTEN_AFTER_MS = 2 * 3_600_000;

/** Counts repetitions of each request, so that draws for one request do not depend on others. */
export class RequestCounts {
  readonly #counts = new Map<string, RequestCount>();
  readonly #startMs: number;
  #sweptMs: number;

  /** Times are milliseconds of the world's clock. */
  constructor(startMs: number) {
    this.#startMs = startMs;
    this.#sweptMs = startMs;
  }

  get size(): number {
    return this.#counts.size;
  }

  /** The name of this request and its repetition. It is the same in every run, whatever other requests were sent. */
  next({ method, path }: Pick<ArmRequest, 'method' | 'path'>, nowMs: number): string {
    this.#sweep(nowMs);
    const key = `${method} ${path.toLowerCase()}`;
    const known = this.#counts.get(key) ?? { count: 0, lastMs: nowMs, epoch: this.#epochAt(nowMs) };
    known.count++;
    known.lastMs = nowMs;
    this.#counts.set(key, known);
    return `${key}|${known.epoch}${known.count}`;
  }

  /** Nothing was forgotten in the first period. */
  #epochAt(nowMs: number): string {
    return nowMs - this.#startMs < FORGOTTEN_AFTER_MS ? '' : `${nowMs - this.#startMs}|`;
  }

  #sweep(nowMs: number): void {
    if (nowMs - this.#sweptMs < FORGOTTEN_AFTER_MS) return;
    this.#sweptMs = nowMs;
    for (const [key, { lastMs }] of this.#counts) if (nowMs - lastMs >= FORGOTTEN_AFTER_MS) this.#counts.delete(key);
  }
}
