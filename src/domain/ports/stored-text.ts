import type { PriorityLevel } from '../policy.ts';
import type { PriceTableView } from '../quotas-and-prices.ts';

/** One text that outlives the process. */
export interface StoredText {
  /** undefined: nothing is stored yet. @throws AutoscalerError */
  read(signal: AbortSignal): Promise<string | undefined>;
  /**
   * Replaces the text, unless another writer changed it since our last read or write.
   * @throws AutoscalerError `conflict` in that case. Read again before the next write.
   */
  write(text: string, signal: AbortSignal): Promise<void>;
}

/** List prices of the VM sizes in use. Answers from memory and never throws. */
export interface PriceTableReader {
  current(nowMs: number): PriceTableView;
}

/** The rules in the ConfigMap where users edit the order of node groups at run time. */
export interface PriorityRulesView {
  /** The last valid rules. undefined: there have been none. */
  readonly levels: readonly PriorityLevel[] | undefined;
  /** Why the present rules are invalid. undefined: they are valid. */
  readonly problem: string | undefined;
}

/** Rules of the priority expander that override those of the configuration. Answers from memory and never throws. */
export interface PriorityRulesReader {
  current(): PriorityRulesView;
}
