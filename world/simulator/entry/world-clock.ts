/** The time of a world as tests move it: real time divided by a speed, or virtual time. */
import { setImmediate } from 'node:timers/promises';
import { VirtualSimClock, type RealSimClock } from '../base/sim-clock.ts';
import type { World } from '../world.ts';

export interface WorldClock {
  /** Milliseconds since the epoch, as in every timestamp of the world. */
  now(): number;
  /** Milliseconds that passed for what takes time in the world: latencies, boots, timers. */
  simulatedMs(): number;
  /**
   * Lets that many milliseconds of the world pass. In virtual time the clock moves in steps, and requests that clients sent are answered
   * in between; timers of clients follow real time. In real time it waits for `ms` divided by the speed.
   */
  advance(ms: number): Promise<void>;
  /** @throws in virtual time. */
  setSpeed(speed: number): void;
}

/** The longest step of a virtual clock. */
const STEP_MS = 1000;

/** @internal */
export function createWorldClock(clock: VirtualSimClock | RealSimClock, world: Pick<World, 'arm' | 'cluster'>): WorldClock {
  return clock instanceof VirtualSimClock ? new VirtualWorldClock(clock, world) : new RealWorldClock(clock);
}

class RealWorldClock implements WorldClock {
  readonly #clock: RealSimClock;
  #since: { readonly realMs: number; readonly simulatedMs: number };

  constructor(clock: RealSimClock) {
    this.#clock = clock;
    this.#since = { realMs: clock.now(), simulatedMs: 0 };
  }

  now(): number {
    return this.#clock.now();
  }

  simulatedMs(): number {
    return this.#since.simulatedMs + (this.#clock.now() - this.#since.realMs) * this.#clock.speed;
  }

  async advance(ms: number): Promise<void> {
    await new Promise<void>((done) => void this.#clock.after(ms, done));
  }

  setSpeed(speed: number): void {
    this.#since = { realMs: this.#clock.now(), simulatedMs: this.simulatedMs() };
    this.#clock.setSpeed(speed);
  }
}

class VirtualWorldClock implements WorldClock {
  readonly #clock: VirtualSimClock;
  readonly #world: Pick<World, 'arm' | 'cluster'>;
  readonly #startMs: number;

  constructor(clock: VirtualSimClock, world: Pick<World, 'arm' | 'cluster'>) {
    this.#clock = clock;
    this.#world = world;
    this.#startMs = clock.now();
  }

  now(): number {
    return this.#clock.now();
  }

  simulatedMs(): number {
    return this.#clock.now() - this.#startMs;
  }

  async advance(ms: number): Promise<void> {
    const end = this.#clock.now() + ms;
    await this.#settle();
    while (this.#clock.now() < end) {
      const next = Math.min(end, this.#clock.nextDueAt() ?? end, this.#clock.now() + STEP_MS);
      this.#clock.advance(Math.max(1, next - this.#clock.now()));
      await this.#settle();
    }
  }

  setSpeed(): never {
    throw new Error('A world in virtual time has no speed: use clock.advance.');
  }

  /** Until no request is being answered, and no task of this process is due. */
  async #settle(): Promise<void> {
    do await setImmediate();
    while (this.#world.arm.pendingRequests() + this.#world.cluster.pendingRequests() > 0);
  }
}
