/** What is open while the lines of a record are compared: wishes, removals, and the facts that both sides' totals are made from. */
import type { RecordedPool, RecordedSavings, ShadowLine, SizeLine } from './record.ts';
import type { Disagreement } from './report.ts';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

export interface CompareInput {
  /** In order of time. */
  readonly lines: readonly ShadowLine[];
  readonly sinceMs: number;
  readonly nowMs: number;
}

export interface Wish {
  readonly atMs: number;
  readonly why: string;
  nodes: number;
  pods: number;
  /** Nodes that the other autoscaler has not requested in any pool. */
  left: number;
}

/** Owns the facts of one comparison while its lines are read. */
export class Ledger {
  readonly input: CompareInput;
  readonly found: Disagreement[] = [];
  readonly pools = new Map<string, RecordedPool>();
  readonly wishes = new Map<string, Wish>();
  readonly frees = new Map<string, { readonly atMs: number; readonly pool: string; readonly why: string }>();
  currency: string | undefined;
  /** Of the last search. */
  repacking: RecordedSavings | undefined;
  readonly said: Extract<ShadowLine, { kind: 'said' }>[] = [];
  ours = { added: 0, removed: 0 };
  theirs = { added: 0, removed: 0, cost: undefined as number | undefined, waitedMs: 0, longestMs: 0, seenMs: 0 };

  readonly #sizes: ReadonlyMap<string, readonly SizeLine[]>;

  constructor(input: CompareInput) {
    this.input = input;
    const sizes = input.lines.flatMap((line) => (line.kind === 'size' ? [line] : []));
    this.#sizes = Map.groupBy(sizes, ({ pool }) => pool);
  }

  price(pool: string): number | undefined {
    return this.pools.get(pool)?.perHour;
  }

  /** Money of so many nodes for so long. */
  cost(pool: string, nodes: number, ms: number): number | undefined {
    const perHour = this.price(pool);
    return perHour === undefined ? undefined : (perHour * nodes * Math.max(0, ms)) / HOUR_MS;
  }

  /** What the other autoscaler said about this pool, its pods or its node near this time. */
  statement(about: string, atMs: number): string | undefined {
    const near = this.said.filter((line) => Math.abs(line.atMs - atMs) <= 2 * MINUTE_MS && `${line.about} ${line.message}`.includes(about));
    const last = near.at(-1);
    return last === undefined ? undefined : `${last.reason}: ${last.message}`;
  }

  /** When the pool next shrinks (or grows) after this time, or the end of the report. */
  next(pool: string, atMs: number, way: 'shrinks' | 'grows'): number {
    const isWay = ({ from, to }: SizeLine): boolean => (way === 'grows' ? to > from : to < from);
    const line = this.#sizes.get(pool)?.find((each) => each.atMs > atMs && isWay(each));
    return line?.atMs ?? this.input.nowMs;
  }
}
