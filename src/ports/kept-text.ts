/** One text that outlives the process. */
export interface KeptText {
  /** undefined: nothing is kept yet. @throws AutoscalerError */
  read(signal: AbortSignal): Promise<string | undefined>;
  /**
   * Replaces the text, unless somebody else has written since our last read or write.
   * @throws AutoscalerError `conflict` then; the next write follows a new read.
   */
  write(text: string, signal: AbortSignal): Promise<void>;
}
