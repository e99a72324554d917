/**
 * Time as the program sees it. Reading and waiting are injected together: code that reads one clock but waits on
 * another cannot be tested. Pure code gets a number instead of a Clock. Must not know what the time is used for.
 */
export interface Clock {
  /** Wall-clock time in milliseconds since the Unix epoch. */
  now(): number;
  /** Milliseconds that never jump; only differences mean anything. */
  monotonic(): number;
  /** Resolves after `ms`, or rejects with an AutoscalerError of kind `cancelled` when the signal fires. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}
