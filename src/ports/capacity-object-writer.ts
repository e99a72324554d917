import type { CapacityObjectRef, CapacityStatus } from '../domain/capacity-objects.ts';

/** Writes to objects by which people ask for capacity; each conditional on the state that was read. */
export interface CapacityObjectWriter {
  /**
   * Makes the object's status say `after` where it says `before`; what neither speaks of stays.
   * @throws AutoscalerError `conflict` when the object is not as it was read any more, `not-found` when it is gone.
   */
  writeStatus(
    ref: CapacityObjectRef,
    change: { readonly before: CapacityStatus; readonly after: CapacityStatus },
    signal: AbortSignal,
  ): Promise<void>;
  /** Deletes the object that was read. Gone already is success. @throws AutoscalerError `conflict` when it is another by now. */
  remove(ref: CapacityObjectRef, signal: AbortSignal): Promise<void>;
}
