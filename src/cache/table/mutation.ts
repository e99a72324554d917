/** Our own changes, from before the request leaves until its outcome is known. */

export type MutationOp =
  /** The fenced number becomes `target`. */
  | { readonly kind: 'set-target'; readonly key: string; readonly target: number }
  /** The fenced number falls by `count`. */
  | { readonly kind: 'remove'; readonly key: string; readonly count: number }
  /** These rows go away. */
  | { readonly kind: 'remove-rows'; readonly keys: readonly string[] }
  /** These rows come to be: a list may lack them until the change is settled. */
  | { readonly kind: 'add-rows'; readonly keys: readonly string[] };

/**
 * `failed`: the operation ended badly; part of it may have happened. `refused`: the answer says that nothing was done (412,
 * 409, a 4xx): no trace is kept, but the row is known to be stale. `unknown`: poll lost, timed out, connection dropped.
 */
export type MutationOutcome = 'succeeded' | 'failed' | 'refused' | 'unknown';

export type MutationState = 'sent' | 'accepted' | MutationOutcome;

/** What the immediate 2xx answer told. */
export interface Acceptance {
  /** Adopted by the row at once. Absent or undefined: the tag known before is dropped, since the change made it untrue. */
  readonly etag?: string | undefined;
  /** The fenced number in the answer's body, when it has the whole model. */
  readonly expect?: number | undefined;
  /**
   * True when the model shows the change from the answer on (a capacity PUT does: its body has the new capacity while the
   * machines are still being made). A GET begun later that carries a new tag is then believed although the operation is
   * still under way, so that a 412 can be planned anew in the same loop.
   */
  readonly modelled?: boolean;
}

/**
 * What the ended operation showed. The tag is adopted only when the number is the one we expect and nothing else of ours is
 * under way: a tag newer than the number a plan starts from would defeat If-Match.
 */
export interface FinalAnswer {
  readonly etag: string;
  readonly amount: number;
}

/** One change under way. Settle it exactly once; later calls do nothing and return false. */
export interface Mutation {
  readonly seq: number;
  /** Azure took the request (200, 201, 202). */
  accepted(answer: Acceptance): void;
  /** The outcome is known, or known to be lost. A refresh of every row touched is asked for. */
  settle(outcome: MutationOutcome, final?: FinalAnswer): boolean;
}
