/** Leadership of the cluster. */
export interface LeaderLease {
  /** Resolves when this process leads; rejects with `cancelled` when the signal fires first. */
  acquire(signal: AbortSignal): Promise<void>;
  /** Fires when leadership is lost or given up. Every write is bound to it. */
  readonly lost: AbortSignal;
  /** Gives the lease up so that another can take it at once. */
  release(signal: AbortSignal): Promise<void>;
}
