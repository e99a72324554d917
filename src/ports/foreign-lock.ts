/** A lock by which other components of the platform ask that nobody changes the cluster's machines for a while. Advisory. */
export interface ForeignLock {
  /** Who holds it, as the reason not to write; undefined: nobody does, as far as is known. Never waits for the network. */
  heldBecause(): string | undefined;
}
