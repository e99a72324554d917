/**
 * The record of a dry run beside another autoscaler: one line per fact, so that what would have been done can be compared later
 * with what was done. Times are in milliseconds since the epoch, money is in the currency of the prices.
 */

/** A pool as it is configured and paid for. */
export interface RecordedPool {
  readonly pool: string;
  readonly min: number;
  readonly max: number;
  readonly vmSize: string;
  /** Of one node. If absent, the size has no price. */
  readonly perHour?: number;
}

export interface RecordedSavings {
  readonly atMs: number;
  /** `41 nodes, 29 would do: 480 EUR a week less`. */
  readonly text: string;
  readonly nodes: number;
  readonly needed: number;
  /** Saved money. Absent unless each node has a price. */
  readonly perHour?: number;
  /** What keeps the other nodes, a sentence each, the largest unused part first. */
  readonly leftOut: readonly string[];
}

/** A size that was changed by the other autoscaler, or by anyone else. */
export interface SizeLine {
  readonly kind: 'size';
  readonly atMs: number;
  readonly pool: string;
  readonly from: number;
  readonly to: number;
  /** Why this autoscaler did not increase the pool in its last plan. Absent if the size fell, or if it would have. */
  readonly ours?: string;
  /** In its last plan, pending pods wait for the new nodes: it would have requested some, too. */
  readonly agreed?: true;
}

/** An increase that was withheld, from its first plan on. */
interface WishLine {
  readonly kind: 'wish';
  readonly atMs: number;
  readonly pool: string;
  readonly nodes: number;
  readonly pods: number;
  readonly why: string;
}

export type ShadowLine =
  /** At the start of a process, and when a pool changes. */
  | {
      readonly kind: 'pools';
      readonly atMs: number;
      readonly pools: readonly RecordedPool[];
      readonly started?: true;
      /** Of the prices. If absent, they are the user's own, or there are none. */
      readonly currency?: string;
    }
  | SizeLine
  | WishLine
  /** No plan wants the increase any more. `nodes` and `pods` are the most that a plan wanted. */
  | { readonly kind: 'wish-end'; readonly atMs: number; readonly pool: string; readonly nodes: number; readonly pods: number }
  /** A node that would have been removed. */
  | { readonly kind: 'free'; readonly atMs: number; readonly pool: string; readonly node: string; readonly why: string }
  /** `removed`: by the other autoscaler. `needed`: it has pods again that fit nowhere else; `pods` of them came later. */
  | {
      readonly kind: 'free-end';
      readonly atMs: number;
      readonly pool: string;
      readonly node: string;
      readonly how: 'removed' | 'needed';
      readonly pods: number;
    }
  /** A node that the other autoscaler removed first. `dueMs`: when this one would have. If absent, it would have kept the node. */
  | {
      readonly kind: 'gone';
      readonly atMs: number;
      readonly pool: string;
      readonly node: string;
      readonly ours: string;
      readonly dueMs?: number;
    }
  /** What repacking would save in every pool, by the search that would act, as `plan` and the page say it. */
  | ({ readonly kind: 'repacking' } & RecordedSavings)
  /** What the other autoscaler says in its events. */
  | { readonly kind: 'said'; readonly atMs: number; readonly about: string; readonly reason: string; readonly message: string }
  /** What was real in a span of time that ended at `atMs`. */
  | {
      readonly kind: 'sample';
      readonly atMs: number;
      readonly forMs: number;
      /** The sum over pods of the time that they waited for a node. */
      readonly waitedMs: number;
      /** The longest wait of a pod so far that waited in this span. */
      readonly longestMs: number;
      /** What the nodes cost. Absent if no size has a price. */
      readonly cost?: number;
    };

/** An event of the other autoscaler. */
export interface ForeignStatement {
  readonly atMs: number;
  /** `Pod NAMESPACE/NAME`, `Node NAME`. */
  readonly about: string;
  readonly reason: string;
  readonly message: string;
}
