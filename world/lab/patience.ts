/**
 * Time limits that follow the speed of this computer. A limit is given in milliseconds of an idle computer and lasts longer on a
 * busy one, so load alone ends no wait. Program decisions must not depend on it.
 */

/** Rounds of the fixed work, and how long they take on an idle core, in milliseconds. */
const ROUNDS = 4_000_000;
const IDLE_MS = 4.5;
/** The speed is measured again after this much time, in milliseconds. */
const MEASURE_EVERY_MS = 1000;
/** A computer that seems slower than this is stuck rather than busy. */
const MAX_SLOWDOWN = 20;

/** Measures the current speed of this computer. */
export interface SpeedMeter {
  /** Monotonic milliseconds. */
  now(): number;
  /** How many times longer a fixed piece of work takes than on an idle computer; at least 1. */
  slowdown(): number;
}

/** Measures this computer by a few milliseconds of work. */
export const machineSpeed: SpeedMeter = {
  now: () => performance.now(),
  slowdown: () => {
    const began = performance.now();
    let value = 1;
    for (let round = 0; round < ROUNDS; round++) value = (Math.imul(value, 1_103_515_245) + 12_345) | 0;
    // Using the result keeps the work from being optimised away.
    const tookMs = performance.now() - began + (value === 0 ? 1 : 0);
    return Math.min(MAX_SLOWDOWN, Math.max(1, tookMs / IDLE_MS));
  },
};

/** Owns the rest of a limit. Time counts less while the computer is slow. */
export class Patience {
  readonly #meter: SpeedMeter;
  #leftMs: number;
  #lookedAtMs: number;
  /** Starts without a measurement: most waits end sooner than a measurement takes. */
  #measuredAtMs: number;
  #slowdown = 1;

  /** `limitMs`: milliseconds of an idle computer. */
  constructor(limitMs: number, meter: SpeedMeter = machineSpeed) {
    this.#leftMs = limitMs;
    this.#meter = meter;
    this.#lookedAtMs = meter.now();
    this.#measuredAtMs = this.#lookedAtMs;
  }

  /** Whether the limit is used up. Each call counts the time since the last one. */
  isOver(): boolean {
    const nowMs = this.#meter.now();
    if (nowMs - this.#measuredAtMs >= MEASURE_EVERY_MS) {
      this.#slowdown = this.#meter.slowdown();
      this.#measuredAtMs = nowMs;
    }
    this.#leftMs -= (nowMs - this.#lookedAtMs) / this.#slowdown;
    this.#lookedAtMs = nowMs;
    // The divisions may leave a rounding error.
    return this.#leftMs < 0.001;
  }
}
