import { AutoscalerError } from '../domain/errors.ts';

interface Waiter {
  readonly afterSeq: number;
  readonly resolve: () => void;
}

/** Those who wait for a row to be read again. */
export class Waiters {
  readonly #byKey = new Map<string, Set<Waiter>>();

  /** Resolves when the key is confirmed by a read begun after `afterSeq`; rejects `cancelled` with the signal. */
  wait(key: string, afterSeq: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        afterSeq,
        resolve: () => {
          signal.removeEventListener('abort', cancel);
          this.#drop(key, waiter);
          resolve();
        },
      };
      const cancel = (): void => {
        this.#drop(key, waiter);
        reject(new AutoscalerError({ kind: 'cancelled' }, 'The wait for a fresh read was cancelled.'));
      };
      if (signal.aborted) {
        cancel();
        return;
      }
      signal.addEventListener('abort', cancel, { once: true });
      const waiting = this.#byKey.get(key) ?? new Set();
      this.#byKey.set(key, waiting.add(waiter));
    });
  }

  /** A read of the key begun at `seq` was accepted. */
  confirm(key: string, seq: number): void {
    const waiting = this.#byKey.get(key);
    if (waiting === undefined) return;
    for (const waiter of waiting) if (seq > waiter.afterSeq) waiter.resolve();
  }

  #drop(key: string, waiter: Waiter): void {
    const waiting = this.#byKey.get(key);
    waiting?.delete(waiter);
    if (waiting?.size === 0) this.#byKey.delete(key);
  }
}
