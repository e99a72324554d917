/**
 * The world's one clock. Everything in the simulator that takes time takes it from here: latencies, token buckets,
 * `Retry-After`, node boot. A speed of 20 makes a 60 s boot last 3 s while the time of day stays true, because the daemon
 * under observation lives by the real clock and must not see timestamps of the future.
 */
export interface SimClock {
  /** Milliseconds since the epoch, as every timestamp of the simulated world shows it. */
  now(): number;
  /** How many simulated milliseconds pass in one of `now()`. Durations of the world are divided by it. */
  readonly speed: number;
  /** Runs `action` after `ms` of simulated duration, once. Returns the way to cancel it. */
  after(ms: number, action: () => void): () => void;
}

/** A clock whose speed can be changed while the world runs; what is already waiting keeps the speed it was set with. */
export interface RealSimClock extends SimClock {
  setSpeed(speed: number): void;
}

/** A clock on the machine's time. */
export function realSimClock(speed: number): RealSimClock {
  let current = speed;
  return {
    now: () => Date.now(),
    get speed() {
      return current;
    },
    setSpeed(next) {
      current = next;
    },
    after(ms, action) {
      const timer = setTimeout(action, ms / current);
      return () => clearTimeout(timer);
    },
  };
}

/** A clock that moves only when told to; due actions run in order of time, then of registration. */
export class VirtualSimClock implements SimClock {
  readonly speed = 1;
  #now: number;
  #sequence = 0;
  #due: { readonly at: number; readonly sequence: number; readonly action: () => void }[] = [];

  constructor(startMs: number) {
    this.#now = startMs;
  }

  now(): number {
    return this.#now;
  }

  after(ms: number, action: () => void): () => void {
    const entry = { at: this.#now + Math.max(0, ms), sequence: this.#sequence++, action };
    this.#due.push(entry);
    return () => {
      this.#due = this.#due.filter((other) => other !== entry);
    };
  }

  /** Time of the next action, or undefined when nothing is waiting. */
  nextDueAt(): number | undefined {
    return this.#due.reduce<number | undefined>((least, entry) => (least === undefined || entry.at < least ? entry.at : least), undefined);
  }

  /** Moves time forward, running everything that falls due on the way. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const next = this.#due
        .filter((entry) => entry.at <= end)
        .sort((left, right) => left.at - right.at || left.sequence - right.sequence)[0];
      if (next === undefined) break;
      this.#due = this.#due.filter((entry) => entry !== next);
      this.#now = Math.max(this.#now, next.at);
      next.action();
    }
    this.#now = end;
  }
}
