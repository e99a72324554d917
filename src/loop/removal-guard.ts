/**
 * The last word on how much may be removed in a time: counts what was really begun, whatever the plan thought. A plan that
 * is right never meets it; one that is wrong, for whatever reason, cannot empty a cluster.
 */
import type { Clock } from '../domain/clock.ts';
import type { ScaleDownPolicy } from '../domain/policy.ts';

/** Owns the times of the removals begun within the window. */
export class RemovalGuard {
  readonly #clock: Clock;
  #policy: Pick<ScaleDownPolicy, 'maxRemovalsPerWindow' | 'removalWindowMs'>;
  #recalled: readonly number[] = [];
  #begun: number[] = [];

  constructor(clock: Clock, policy: Pick<ScaleDownPolicy, 'maxRemovalsPerWindow' | 'removalWindowMs'>) {
    this.#clock = clock;
    this.#policy = policy;
  }

  /** From now on counts by these limits. */
  reconfigure(policy: Pick<ScaleDownPolicy, 'maxRemovalsPerWindow' | 'removalWindowMs'>): void {
    this.#policy = policy;
  }

  /** Removals that somebody began before this process did. Replaces what was recalled before. */
  recall(begunMs: readonly number[]): void {
    this.#recalled = begunMs;
  }

  /** How many more may begin now. */
  left(): number {
    const windowStart = this.#clock.now() - this.#policy.removalWindowMs;
    this.#begun = this.#begun.filter((atMs) => atMs > windowStart);
    this.#recalled = this.#recalled.filter((atMs) => atMs > windowStart);
    return Math.max(0, this.#policy.maxRemovalsPerWindow - this.#begun.length - this.#recalled.length);
  }

  /** Counts so many as begun, if all of them may; answers whether they may. */
  admit(count: number): boolean {
    if (count > this.left()) return false;
    const now = this.#clock.now();
    for (let each = 0; each < count; each++) this.#begun.push(now);
    return true;
  }

  /** What was admitted last was not carried out after all. */
  takeBack(count: number): void {
    this.#begun.splice(Math.max(0, this.#begun.length - count), count);
  }
}
