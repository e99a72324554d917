/** A value that any notation can hold. */
export type StatusValue = string | number | boolean | readonly StatusValue[] | { readonly [key: string]: StatusValue };

export interface AutoscalerStatus {
  /** Milliseconds since the epoch at which this was true. */
  readonly atMs: number;
  /** In the structure that readers of the Cluster Autoscaler's status know. */
  readonly document: { readonly [key: string]: StatusValue };
}

/** Publishes the autoscaler's state where people and tools look for it. */
export interface StatusWriter {
  /** Replaces what is published. @throws AutoscalerError */
  write(status: AutoscalerStatus, signal: AbortSignal): Promise<void>;
  /** Takes away what is published: nobody is at work. @throws AutoscalerError */
  remove(signal: AbortSignal): Promise<void>;
}
