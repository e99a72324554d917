/**
 * A text that the processes of one subscription share, so that one of them reads Azure for all. Each published text has an epoch, a
 * number that only grows; an older epoch is refused. Every method rejects if the place cannot be used: the caller then reads for itself.
 */
export interface SharedText {
  /** The text with the highest epoch. undefined: none was published, or it has expired. */
  latest(): Promise<{ readonly epoch: number; readonly text: string } | undefined>;
  /** Whether this process may publish under this epoch. The first claim succeeds. */
  claim(epoch: number): Promise<boolean>;
  /** Releases a claim without publishing. */
  release(epoch: number): Promise<void>;
  /** False: the claim was lost, or a newer epoch has been published in the meantime. Nothing was written. */
  publish(epoch: number, text: string): Promise<boolean>;
}

/** What processes of one subscription share. If one is absent, this process reads that for itself. */
export interface SharedTexts {
  readonly skus?: SharedText | undefined;
  readonly usage?: SharedText | undefined;
  readonly prices?: SharedText | undefined;
}
