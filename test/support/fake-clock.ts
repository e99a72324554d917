import { waitCancelled } from '../../src/lib/abort.ts';
import type { Clock } from '../../src/lib/clock.ts';

/** A clock that moves only when told to. Sleepers wake in order of time, then of going to sleep. */
export class FakeClock implements Clock {
  #now: number;
  #sequence = 0;
  #sleepers: { readonly at: number; readonly sequence: number; readonly wake: () => void }[] = [];

  constructor(startMs: number) {
    this.#now = startMs;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const cancelled = (): void => {
        this.#sleepers = this.#sleepers.filter((other) => other !== entry);
        reject(waitCancelled(signal));
      };
      const entry = {
        at: this.#now + ms,
        sequence: this.#sequence++,
        wake: () => {
          signal?.removeEventListener('abort', cancelled);
          resolve();
        },
      };
      if (signal?.aborted === true) {
        cancelled();
        return;
      }
      signal?.addEventListener('abort', cancelled, { once: true });
      this.#sleepers.push(entry);
    });
  }

  get sleeping(): number {
    return this.#sleepers.length;
  }

  /** Time of the next sleeper, or undefined. */
  nextDueAt(): number | undefined {
    return this.#sleepers.reduce<number | undefined>(
      (least, entry) => (least === undefined || entry.at < least ? entry.at : least),
      undefined,
    );
  }

  /** Moves time forward, waking sleepers on the way and letting the work they do settle before going on. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await settle();
    for (;;) {
      const next = this.#sleepers
        .filter((entry) => entry.at <= end)
        .sort((left, right) => left.at - right.at || left.sequence - right.sequence)[0];
      if (next === undefined) break;
      this.#sleepers = this.#sleepers.filter((entry) => entry !== next);
      this.#now = Math.max(this.#now, next.at);
      next.wake();
      await settle();
    }
    this.#now = end;
    await settle();
  }
}

/** Lets promise chains and immediates run until nothing in-process is waiting. Network work is not covered. */
export async function settle(): Promise<void> {
  for (let round = 0; round < 10; round++) await new Promise<void>((resolve) => setImmediate(resolve));
}
