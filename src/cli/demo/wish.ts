/** What the daemon of a dry run would have done, as it serves it. */

/** One entry of the daemon's /debug/withheld. */
export interface Wish {
  readonly kind: string;
  readonly subject: string;
  readonly detail: string;
  readonly times: number;
}
