/** Leadership of the cluster. */
export interface LeaderLease {
  /** Resolves when this process leads; rejects with `cancelled` when the signal fires first. */
  acquire(signal: AbortSignal): Promise<void>;
  /** Fires when leadership is lost or given up. Every write is bound to it. */
  readonly lost: AbortSignal;
  /**
   * Looks at the clock, and fires `lost` if leadership ended while this process did not run. Asked right before a write:
   * what waited for a process that was frozen is not done in the order of its times when it goes on.
   */
  verify(): void;
  /** Gives the lease up so that another can take it at once. */
  release(signal: AbortSignal): Promise<void>;
}

/** A lock by which other components of the platform ask that nobody changes the cluster's machines for a while. Advisory. */
export interface ForeignLock {
  /** Who holds it, as the reason not to write; undefined: nobody does, as far as is known. Never waits for the network. */
  heldBecause(): string | undefined;
}
