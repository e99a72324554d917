import type { Owner, OwnerStates } from '../domain/workload.ts';

/** Asks after the controllers of pods that are about to move. There are too many of them, and they change too often, to watch. */
export interface OwnerReader {
  /** What was lately learned. Asks nothing. */
  known(): OwnerStates;
  /**
   * Learns of each owner of which nothing is known lately; afterwards `known` has them all.
   * @throws AutoscalerError when one could not be read: nothing is known of it then.
   */
  read(owners: readonly Owner[], signal: AbortSignal): Promise<void>;
}
