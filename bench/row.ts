/** One line of a benchmark's table. Samples are single measurements, warm-up left out. */
export interface BenchRow {
  readonly name: string;
  readonly samples: readonly number[];
  readonly unit: 'ms' | 'us' | 'MB' | 'ops/s' | 'calls/min' | 'pods' | 'nodes' | 'calls' | '%';
  readonly note?: string;
  /** Printed by `--json` in place of the summary. */
  readonly facts?: Readonly<Record<string, unknown>>;
}
