export interface LeaseTiming {
  /** How long others wait after our last sign of life. */
  readonly durationMs: number;
  /** How long we go on without a successful renewal. Must be shorter. */
  readonly renewDeadlineMs: number;
  readonly retryMs: number;
}

export const LEASE_TIMING: LeaseTiming = { durationMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000 };
