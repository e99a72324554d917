/**
 * The number of pods that was wanted, from the number that was there. A count that returns within a short time was not wanted: evicted
 * pods come again, and a rollout has more pods for a while. Must not know pods.
 */

interface Sample {
  readonly atMs: number;
  readonly count: number;
}

export interface LevelChange {
  readonly atMs: number;
  readonly count: number;
}

/** Each change is known only when it has lasted for `settleMs`; it then has the time when it began. */
export class SustainedLevel {
  readonly #settleMs: number;
  #level: number;
  /** In order of time. The first is the count before the oldest undecided change. */
  #samples: Sample[];

  constructor(settleMs: number, start: LevelChange) {
    this.#settleMs = settleMs;
    this.#level = start.count;
    this.#samples = [start];
  }

  get level(): number {
    return this.#level;
  }

  /** Whether a change waits for its time. */
  get isOpen(): boolean {
    return this.#samples.length > 1 || this.#samples[0]?.count !== this.#level;
  }

  /** Takes a count as the present level at once. */
  restart({ atMs, count }: LevelChange): void {
    this.#level = count;
    this.#samples = [{ atMs, count }];
  }

  /** Times must not decrease. */
  add(atMs: number, count: number): void {
    const last = this.#samples.at(-1);
    if (last?.count === count) return;
    if (last?.atMs === atMs) this.#samples.pop();
    this.#samples.push({ atMs, count });
  }

  /** The changes that have lasted long enough by now. */
  settle(nowMs: number): readonly LevelChange[] {
    const changes: LevelChange[] = [];
    for (;;) {
      const [first] = this.#samples;
      if (first === undefined || nowMs - first.atMs < this.#settleMs || !this.isOpen) return changes;
      const level = this.#levelFrom(first);
      if (level !== this.#level) changes.push({ atMs: first.atMs, count: level });
      this.#level = level;
      if (this.#samples.length === 1) return changes;
      this.#samples.shift();
    }
  }

  /** What held throughout the time after the sample, as close to the present level as possible. */
  #levelFrom(first: Sample): number {
    const untilMs = first.atMs + this.#settleMs;
    const counts = this.#samples.filter(({ atMs }) => atMs < untilMs).map(({ count }) => count);
    const low = Math.min(...counts);
    const high = Math.max(...counts);
    if (low > this.#level) return low;
    return high < this.#level ? high : this.#level;
  }
}
