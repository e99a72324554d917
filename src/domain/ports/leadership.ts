/** Leadership of the cluster. */
export interface LeaderLease {
  /**
   * This process's name while it leads, for what it must recognise as its own work later (domain/deletion-owner.ts). Another
   * process, and the same one after others have led, has another name. Call it after `acquire`.
   */
  owner(): string;
  /** The identity of the process that led when this one looked last; undefined: none is known. */
  leader(): string | undefined;
  /** Resolves when this process leads. Rejects with `cancelled` if the signal fires first. */
  acquire(signal: AbortSignal): Promise<void>;
  /** Fires when leadership is lost or released. Every write is bound to it. */
  readonly lost: AbortSignal;
  /**
   * Checks the clock, and fires `lost` if leadership ended while this process was suspended. Call it right before a write: after a
   * suspension, timers and writes may run in any order. A process that never led may write.
   * @throws AutoscalerError `cancelled` once the lease was held and is not any more, whatever the signal of the call says.
   */
  verify(): void;
  /** Releases the lease so that another process can take it at once. */
  release(signal: AbortSignal): Promise<void>;
}

/** An advisory lock by which other components of the platform ask for a pause of changes to the cluster's instances. */
export interface ForeignLock {
  /** The holder, as the reason not to write. undefined if no holder is known. Never waits for the network. */
  heldBecause(): string | undefined;
}
