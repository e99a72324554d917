import type { PriceTable } from '../domain/retail-prices.ts';

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
