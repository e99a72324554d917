/**
 * The only clock of the world, for everything that takes time: latencies, token buckets, `Retry-After`, node boot. A speed of 20
 * makes a 60 s boot last 3 s while the time of day stays true. The daemon under test uses the real clock and must not see
 * timestamps of the future.
 */
export interface SimClock {
  /** Milliseconds since the epoch, as in every timestamp of the simulated world. */
  now(): number;
  /** Simulated milliseconds per millisecond of `now()`. Durations of the world are divided by it. */
  readonly speed: number;
  /** Runs `action` once after `ms` of simulated time. Returns a function that cancels it. */
  after(ms: number, action: () => void): () => void;
}

/** A clock whose speed can change while the world runs. Actions that are waiting keep the speed of their start. */
export interface RealSimClock extends SimClock {
  setSpeed(speed: number): void;
}

/** A clock on real time. */
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

interface TimedAction {
  readonly at: number;
  readonly sequence: number;
  readonly action: () => void;
  cancelled: boolean;
}

/** Fewer canceled actions than this are not worth a new heap. */
const MIN_DROPPED = 1_000;

/** A clock that moves only by `advance`. Due actions run in order of time, then of registration. */
export class VirtualSimClock implements SimClock {
  readonly speed = 1;
  #now: number;
  #sequence = 0;
  /** A binary heap, the next action first. Canceled actions stay until they are first or in the majority. */
  #heap: TimedAction[] = [];
  #canceled = 0;

  constructor(startMs: number) {
    this.#now = startMs;
  }

  now(): number {
    return this.#now;
  }

  after(ms: number, action: () => void): () => void {
    const entry: TimedAction = { at: this.#now + Math.max(0, ms), sequence: this.#sequence++, action, cancelled: false };
    this.#push(entry);
    return () => {
      if (entry.cancelled) return;
      entry.cancelled = true;
      this.#canceled++;
      this.#dropCanceled();
    };
  }

  /** Number of actions in memory, canceled ones included. */
  get size(): number {
    return this.#heap.length;
  }

  /** Time of the next action. undefined: no action is waiting. */
  nextDueAt(): number | undefined {
    return this.#next()?.at;
  }

  /** Moves time forward and runs every action that becomes due. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (let next = this.#next(); next !== undefined && next.at <= end; next = this.#next()) {
      this.#pop();
      this.#now = Math.max(this.#now, next.at);
      // It is no longer in the heap, so to cancel it has no effect.
      next.cancelled = true;
      next.action();
    }
    this.#now = end;
  }

  /** A sorted list is a heap. */
  #dropCanceled(): void {
    if (this.#canceled < MIN_DROPPED || 2 * this.#canceled < this.#heap.length) return;
    this.#heap = this.#heap.filter(({ cancelled }) => !cancelled).sort((left, right) => (isBefore(left, right) ? -1 : 1));
    this.#canceled = 0;
  }

  #next(): TimedAction | undefined {
    while (this.#heap[0]?.cancelled === true) {
      this.#pop();
      this.#canceled--;
    }
    return this.#heap[0];
  }

  #push(entry: TimedAction): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(entry);
    while (at > 0) {
      const up = (at - 1) >> 1;
      const parent = heap[up];
      if (parent === undefined || !isBefore(entry, parent)) break;
      heap[at] = parent;
      at = up;
    }
    heap[at] = entry;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let at = 0;
    for (;;) {
      const [left, right] = [heap[2 * at + 1], heap[2 * at + 2]];
      const child = left !== undefined && right !== undefined && isBefore(right, left) ? right : left;
      if (child === undefined || !isBefore(child, last)) break;
      heap[at] = child;
      at = child === right ? 2 * at + 2 : 2 * at + 1;
    }
    heap[at] = last;
  }
}

function isBefore(left: TimedAction, right: TimedAction): boolean {
  return left.at < right.at || (left.at === right.at && left.sequence < right.sequence);
}
