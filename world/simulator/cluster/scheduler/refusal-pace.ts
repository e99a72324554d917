/**
 * How soon the refusal of a pod is written again. kube-scheduler tries a refused pod again after a second, then after twice as long each
 * time, up to ten seconds (podInitialBackoffSeconds, podMaxBackoffSeconds). Here a pod is bound as soon as it fits; only its refusals are as
 * rare. Without this, each node of a burst would change every waiting pod. Must not know nodes.
 */
import type { Timers } from '../store/timers.ts';

const INITIAL_BACKOFF_MS = 1_000;
const MAX_BACKOFF_MS = 10_000;

export class RefusalPace {
  readonly #timers: Timers;
  readonly #next = new Map<string, { readonly waitMs: number; readonly at: number }>();

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /** Simulated milliseconds until the pod's refusal may be written again. */
  waitMs(uid: string): number {
    const { speed } = this.#timers;
    return Math.max(0, ((this.#next.get(uid)?.at ?? 0) - this.#timers.now()) * speed);
  }

  written(uid: string): void {
    const waitMs = Math.min(MAX_BACKOFF_MS, 2 * (this.#next.get(uid)?.waitMs ?? INITIAL_BACKOFF_MS / 2));
    this.#next.set(uid, { waitMs, at: this.#timers.now() + waitMs / this.#timers.speed });
  }

  forget(uid: string): void {
    this.#next.delete(uid);
  }
}
