import type { PriorityLevel } from '../policy.ts';
import type { PriceTable } from '../quotas-and-prices.ts';

/** One text that outlives the process. */
export interface StoredText {
  /** undefined: nothing is kept yet. @throws AutoscalerError */
  read(signal: AbortSignal): Promise<string | undefined>;
  /**
   * Replaces the text, unless somebody else has written since our last read or write.
   * @throws AutoscalerError `conflict` then; the next write follows a new read.
   */
  write(text: string, signal: AbortSignal): Promise<void>;
}

/** The list prices as far as they are known. */
export interface PriceTableView {
  readonly table: PriceTable;
  /** What a person should know of them, a sentence each: that they are old, or that they could not be read. */
  readonly remarks: readonly string[];
}

/** List prices of the VM sizes in use. Answers from memory; never throws. */
export interface PriceTableReader {
  current(nowMs: number): PriceTableView;
}

/** What stands where the user edits the order of node groups while the daemon runs. */
export interface PriorityRulesView {
  /** The last good rules; undefined: there are none, or there never were good ones. */
  readonly levels: readonly PriorityLevel[] | undefined;
  /** What is wrong with what stands there now; undefined: nothing. */
  readonly problem: string | undefined;
}

/** Rules of the priority expander that go before those of the configuration. Answers from memory; never throws. */
export interface PriorityRulesReader {
  current(): PriorityRulesView;
}
