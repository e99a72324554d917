/**
 * What processes of one subscription report to each other, for a few minutes. A hint is never a reason to write, and never one against a write
 * for longer than the time until one process may try again. Nothing here throws or waits.
 */

/**
 * `throttled`: Azure refuses reads of a family. `remaining`: how many calls of a family Azure still accepts. `stockout`: Azure has no
 * capacity of a size in a zone. `wanted`: a process has pods and would try what a stockout speaks against. `tried`: a process got the
 * right to try it.
 */
export type HintKind = (typeof HINT_KINDS)[number];
export const HINT_KINDS = ['stockout', 'throttled', 'remaining', 'wanted', 'tried'] as const;

/** Calls that Azure still accepts, of the most it ever reported. */
export interface HintCount {
  readonly left: number;
  readonly of: number;
}

export interface Hint {
  readonly kind: HintKind;
  readonly key: string;
  /** The process that reported it. */
  readonly by: string;
  /** When it was reported, and until when it holds, ms since the epoch. */
  readonly atMs: number;
  readonly untilMs: number;
  /** Of kind `remaining` only. */
  readonly count: HintCount | undefined;
}

export interface SharedHints {
  /** Reports to the others. May be lost. */
  report(kind: HintKind, key: string, untilMs: number, count?: HintCount): void;
  /** What others reported and still holds, from memory. */
  reported(kind: HintKind): readonly Hint[];
  /**
   * Asks for the right to try what a hint speaks against. One process gets it, for one key and a minute, of all processes in the region and
   * for all keys together; the others see `tried`.
   */
  requestTry(key: string): void;
  /** Whether this process has that right now. */
  mayTry(key: string): boolean;
  /** Called after each read of what others reported. */
  onLook(listener: () => void): void;
}
