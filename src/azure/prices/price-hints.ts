/**
 * Which prices of another process this one uses. They are hints: they spare a read, and never replace a reading of this process that is
 * not due. The reference is always what this process read itself, so that hints cannot lead a price away step by step. Pure.
 */
import type { PriceKind, PriceTable, SizePrices } from '../../domain/quotas-and-prices.ts';

/** List prices change by a few percent. A price that differs from the own reading by more than this factor is read before it is used. */
const MOST_CHANGE = 2;

/** Whether the two cannot be prices of one size: one has a kind that the other lacks, or differs by more than a factor of two. */
export function contradicts(own: SizePrices, other: SizePrices): boolean {
  const kinds = new Set([...Object.keys(own.perHour), ...Object.keys(other.perHour)] as PriceKind[]);
  return [...kinds].some((kind) => {
    const [left, right] = [own.perHour[kind], other.perHour[kind]];
    return left === undefined || right === undefined || left > right * MOST_CHANGE || right > left * MOST_CHANGE;
  });
}

/** A published price of one size, in Azure's spelling. */
export type PriceHint = readonly [vmSize: string, prices: SizePrices];

interface HintInput {
  /** The sizes whose price is unknown or due. */
  readonly due: readonly string[];
  /** What this process read itself, by size in lower case. */
  readonly own: ReadonlyMap<string, SizePrices>;
  readonly published: PriceTable;
}

/**
 * The published prices of due sizes that may be used, the one whose own reading is the oldest first. A size that this process has never
 * read is not among them: nothing shows whether its price is true.
 */
export function usableHints({ due, own, published }: HintInput): readonly PriceHint[] {
  const found = due.flatMap((vmSize) => {
    const [reading, prices] = [own.get(vmSize.toLowerCase()), published[vmSize.toLowerCase()]];
    // guard: a price of another process is used only for a size that this process has read itself
    // guard: a price of another process that differs by more than a factor of two is read first
    if (reading === undefined || prices === undefined || prices.readAtMs <= reading.readAtMs || contradicts(reading, prices)) return [];
    return [{ vmSize, prices, ownAtMs: reading.readAtMs }];
  });
  return found.sort((left, right) => left.ownAtMs - right.ownAtMs).map(({ vmSize, prices }) => [vmSize, prices]);
}
