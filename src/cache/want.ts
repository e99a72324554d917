/**
 * A want: a read that begins later than now, and those who wait for its end. Who wants the same read before it begins shares the want. Who
 * wants it while it runs needs the next one, since the running one began too early. Must not know what is read, or when.
 * Idea: want.
 */
import { withAbort } from '../lib/abort.ts';
import type { AutoscalerError } from '../lib/errors.ts';

interface Waiting {
  readonly resolve: () => void;
  readonly reject: (error: AutoscalerError) => void;
}

export class Want {
  #waiting: Waiting[] = [];
  #end: { readonly error: AutoscalerError | undefined } | undefined;

  /** The want of a read that will not begin. */
  static refused(error: AutoscalerError): Want {
    const want = new Want();
    want.settle(error);
    return want;
  }

  /** Waits for the end of the read, and rejects with its failure. The signal ends the wait, not the read. */
  served(signal: AbortSignal): Promise<void> {
    const ended = new Promise<void>((resolve, reject) => {
      if (this.#end === undefined) this.#waiting.push({ resolve, reject });
      else end({ resolve, reject }, this.#end.error);
    });
    return withAbort(ended, signal);
  }

  /** The read ended, or will not begin. */
  settle(error: AutoscalerError | undefined): void {
    this.#end = { error };
    for (const waiting of this.#waiting.splice(0)) end(waiting, error);
  }

  /** The other read serves this want, too. */
  joinTo(other: Want): void {
    other.#waiting.push(...this.#waiting);
    this.#waiting = other.#waiting;
  }
}

function end({ resolve, reject }: Waiting, error: AutoscalerError | undefined): void {
  if (error === undefined) resolve();
  else reject(error);
}
