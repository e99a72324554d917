/**
 * Moves a virtual clock event by event, with the world at rest before each event. Every wait in virtual time goes through here and has a
 * name, so a wait that nothing can end becomes an error with that name and the time at which it stands. Must not know what runs in the world.
 */
import type { VirtualSimClock } from '../simulator/base/sim-clock.ts';
import { machineSpeed, Patience, type SpeedMeter } from './patience.ts';
import type { ProcessState } from './process-clock.ts';
import { untilQuiet } from './quiet.ts';

/** Virtual milliseconds after which work that lets time pass counts as endless. A start may take ten minutes, a stop less. */
const LONGEST_WORK_MS = 60 * 60_000;
/** Milliseconds of an idle computer after which work that neither ends nor waits for time counts as stuck. */
const STUCK_AFTER_MS = 40_000;

export class VirtualTime {
  readonly #clock: VirtualSimClock;
  readonly #isBusy: () => string | undefined;
  readonly #meter: SpeedMeter;

  /** `isBusy` returns what has to end at this instant before time may pass. `meter` measures this computer unless a test has its own. */
  constructor(clock: VirtualSimClock, isBusy: () => string | undefined, meter: SpeedMeter = machineSpeed) {
    this.#clock = clock;
    this.#isBusy = isBusy;
    this.#meter = meter;
  }

  /** Waits until the world has nothing left to do at this instant. @throws Error with what stays busy. */
  rest(): Promise<void> {
    return untilQuiet(this.#isBusy);
  }

  /** Lets `ms` of virtual time pass. Stops early, at rest, if `stop` returns true. */
  async advance(ms: number, stop: () => boolean = () => false): Promise<void> {
    const end = this.#clock.now() + ms;
    await this.rest();
    for (let next = this.#clock.nextDueAt(); next !== undefined && next <= end; next = this.#clock.nextDueAt()) {
      if (stop()) return;
      await this.#passUntil(next);
    }
    if (stop()) return;
    this.#clock.advance(Math.max(0, end - this.#clock.now()));
  }

  /** Lets time pass until the condition holds. @throws Error if it does not hold after `limitMs` of virtual time. */
  async until(what: string, condition: () => boolean, limitMs: number): Promise<void> {
    const end = this.#clock.now() + limitMs;
    await this.rest();
    while (!condition()) {
      const next = this.#clock.nextDueAt();
      if (next === undefined || next > end) throw new Error(`after ${limitMs / 1000} s of virtual time this is still not true: ${what}`);
      await this.#passUntil(next);
    }
  }

  /**
   * Waits for work of a process. Time passes only while the process waits for it: modules and files are read in real time. Returns
   * undefined if the process dies before the work ends.
   * @throws what the work throws; Error if the work waits although no timer is due, or for more than an hour of virtual time, or if neither
   * time nor the process moves.
   */
  async drive<T>(what: string, work: Promise<T>, state: Pick<ProcessState, 'dead' | 'waits'>): Promise<T | undefined> {
    const beganMs = this.#clock.now();
    const ended = { yet: false };
    const watched = work.finally(() => {
      ended.yet = true;
    });
    watched.catch(() => undefined);
    let patience = new Patience(STUCK_AFTER_MS, this.#meter);
    for (await this.rest(); !ended.yet; await this.rest()) {
      if (state.dead) return undefined;
      // guard: virtual time passes only while the process waits for it
      if ((state.waits ?? 0) === 0) {
        if (patience.isOver()) throw new Error(`${what} does not end, and does not wait for time (${this.#place()})`);
        continue;
      }
      const next = this.#clock.nextDueAt();
      if (next === undefined) throw new Error(`${what} waits, but no timer is due (${this.#place()})`);
      if (next - beganMs > LONGEST_WORK_MS) throw new Error(`${what} has not ended after an hour of virtual time (${this.#place()})`);
      this.#clock.advance(Math.max(0, next - this.#clock.now()));
      patience = new Patience(STUCK_AFTER_MS, this.#meter);
    }
    return watched;
  }

  async #passUntil(next: number): Promise<void> {
    this.#clock.advance(Math.max(0, next - this.#clock.now()));
    await this.rest();
  }

  #place(): string {
    const next = this.#clock.nextDueAt();
    const due = next === undefined ? 'no timer is due' : `the next timer is due in ${next - this.#clock.now()} ms`;
    return `at ${new Date(this.#clock.now()).toISOString()}, ${due}; ${this.#isBusy() ?? 'the world is at rest'}`;
  }
}
