/**
 * Patience that follows the speed of the machine: a limit in milliseconds of an idle machine lasts longer on a busy one, so
 * that load alone ends no wait. Must not be used for anything that a program decides by.
 */

/** Rounds of the fixed work, and how long they take on an idle core, in milliseconds. */
const ROUNDS = 4_000_000;
const IDLE_MS = 4.5;
/** The speed is measured again after this much time, in milliseconds. */
const MEASURE_EVERY_MS = 1000;
/** A machine that seems slower than this is stuck rather than busy. */
const MOST = 20;

/** How fast the machine is now. */
export interface SpeedMeter {
  /** Monotonic milliseconds. */
  now(): number;
  /** How many times longer a fixed piece of work takes than on an idle machine; at least 1. */
  slowdown(): number;
}

/** Measures this machine by a few milliseconds of work. */
export const machineSpeed: SpeedMeter = {
  now: () => performance.now(),
  slowdown: () => {
    const began = performance.now();
    let value = 1;
    for (let round = 0; round < ROUNDS; round++) value = (Math.imul(value, 1_103_515_245) + 12_345) | 0;
    // The result is used, so that the work cannot be optimised away.
    const tookMs = performance.now() - began + (value === 0 ? 1 : 0);
    return Math.min(MOST, Math.max(1, tookMs / IDLE_MS));
  },
};

/** Owns how much of a limit is left. Time counts less while the machine is slow. */
export class Patience {
  readonly #meter: SpeedMeter;
  #leftMs: number;
  #lookedAtMs: number;
  /** Most waits are over before the first measurement, which takes as long as many of them. */
  #measuredAtMs: number;
  #slowdown = 1;

  /** `limitMs`: milliseconds of an idle machine. */
  constructor(limitMs: number, meter: SpeedMeter = machineSpeed) {
    this.#leftMs = limitMs;
    this.#meter = meter;
    this.#lookedAtMs = meter.now();
    this.#measuredAtMs = this.#lookedAtMs;
  }

  /** Whether the limit is used up. Call it at each look: the time since the last one is what counts. */
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
