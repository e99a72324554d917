/** Our own changes, from before the request is sent until its outcome is known. */

export type MutationOp =
  /** The fenced number becomes `target`. */
  | { readonly kind: 'set-target'; readonly key: string; readonly target: number }
  /** The fenced number grows by `count` from whatever it is, as while removals run that it does not show yet. */
  | { readonly kind: 'add'; readonly key: string; readonly count: number }
  /** The fenced number falls by `count`. */
  | { readonly kind: 'remove'; readonly key: string; readonly count: number }
  /** These rows are removed. */
  | { readonly kind: 'remove-rows'; readonly keys: readonly string[] };

/**
 * `failed`: the operation failed; part of it may have happened. `refused`: the answer says that nothing was done (412,
 * 409, a 4xx). Then the change leaves no trace, but the row is known to be stale. `unknown`: poll lost, timed out,
 * connection dropped.
 */
export type MutationOutcome = 'succeeded' | 'failed' | 'refused' | 'unknown';

export type MutationState = 'sent' | 'accepted' | MutationOutcome;

/** The content of the immediate 2xx answer. */
export interface Acceptance {
  /**
   * Adopted by the row at once. If undefined, the tag known before is dropped, since the change made it invalid.
   */
  readonly etag: string | undefined;
  /** The fenced number in the answer's body, if it has the whole model. */
  readonly expect: number | undefined;
  /**
   * True if the model shows the change from the answer on. A capacity PUT does: its body has the new capacity while the
   * instances are still being created. A later GET with a new tag is then believed although the operation still runs,
   * so that a 412 can be planned again in the same loop.
   */
  readonly modelled: boolean;
}

/** An accepted change whose answer has nothing of the row. */
export const NO_CONTENT: Acceptance = { etag: undefined, expect: undefined, modelled: false };

/**
 * The result of the ended operation. Its tag is adopted only if the number is the expected one and no other change of
 * ours is in flight. A tag newer than the number that a plan starts from would defeat If-Match.
 */
export interface FinalAnswer {
  readonly etag: string;
  readonly amount: number;
}

/** One change in flight. Settle it exactly once; later calls do nothing and return false. */
export interface Mutation {
  readonly seq: number;
  /** Azure accepted the request (200, 201, 202). */
  accepted(answer: Acceptance): void;
  /** The outcome is known, or known to be lost. Requests a refresh of every row that it touched. */
  settle(outcome: MutationOutcome, final?: FinalAnswer): boolean;
}
