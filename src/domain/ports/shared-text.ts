/**
 * A text that the processes of one subscription share, so that one of them reads Azure for all. Each published text has an epoch, a
 * number that only grows; an older epoch is refused. Every method rejects if the place cannot be used: the caller then reads for itself.
 * `limitMs` is how long the caller can wait for the place; if absent, the place has a limit of its own.
 */
export interface SharedText {
  /** The text with the highest epoch. undefined: none was published, or it has expired. */
  latest(limitMs?: number): Promise<PublishedText | undefined>;
  /** Whether this process may publish under this epoch. The first claim succeeds, and no other does until it ends. */
  claim(epoch: number, limitMs?: number): Promise<boolean>;
  /** Ends a claim without publishing. No process gets the next one for `restMs`, if the place can count time. */
  release(epoch: number, restMs?: number): Promise<void>;
  /** False: the claim was lost, or a newer epoch has been published in the meantime. Nothing was written. Rests as a release does. */
  publish(epoch: number, text: string, restMs?: number): Promise<boolean>;
}

export interface PublishedText {
  readonly epoch: number;
  readonly text: string;
  /** The other process that read it from Azure, as it calls itself. undefined: this one, or the place does not record it. */
  readonly by: string | undefined;
}

/** What processes of one subscription share. If one is undefined, this process reads that for itself. */
export interface SharedTexts {
  readonly skus: SharedText | undefined;
  readonly usage: SharedText | undefined;
  readonly prices: SharedText | undefined;
}

/** Each process reads for itself. */
export const NOTHING_SHARED: SharedTexts = { skus: undefined, usage: undefined, prices: undefined };
