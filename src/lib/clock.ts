/**
 * Time as the program sees it. Reading and waiting are injected together: code that can read the time but waits on
 * another clock cannot be tested. Pure code never gets a Clock; it gets the number.
 */
export interface Clock {
  /** Wall-clock time in milliseconds since the Unix epoch. */
  now(): number;
  /** Milliseconds that never jump; only differences mean anything. */
  monotonic(): number;
  /** Resolves after `ms`, or rejects with an AutoscalerError of kind `cancelled` when the signal fires. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}
