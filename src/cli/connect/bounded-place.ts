/**
 * A place in files that may hang, as a network file system does without its server. A call is answered within its limit or rejects.
 * While one has no answer no other begins: each would occupy one of the few threads that Node has for files and names. Must not know
 * what is stored.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { SharedText } from '../../domain/ports/shared-text.ts';
import type { StoredText } from '../../domain/ports/stored-text.ts';
import type { Clock } from '../../lib/clock.ts';
import { AutoscalerError, messageOf } from '../../lib/errors.ts';
import type { Log } from '../../telemetry/log.ts';

interface BoundedPlaceDeps {
  readonly clock: Pick<Clock, 'sleep'>;
  /** If absent, the caller reports trouble. */
  readonly log?: Log;
  /** The longest time for a call whose caller names none, ms. */
  readonly limitMs: number;
  /** Called after each call, for metrics. */
  readonly onCall?: (outcome: 'answered' | 'failed') => void;
}

export class BoundedPlace {
  readonly #deps: BoundedPlaceDeps;
  /** Calls that were given up and have not ended. */
  #hanging = 0;
  #trouble: string | undefined;

  constructor(deps: BoundedPlaceDeps) {
    this.#deps = deps;
  }

  /** Why the place cannot be used. undefined: it answered last time, or was never asked. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  /** `late`: gets an answer that comes after the limit. @throws AutoscalerError if there is no answer in time, or the work rejects. */
  async call<Result>(work: () => Promise<Result>, limitMs = this.#deps.limitMs, late?: (result: Result) => void): Promise<Result> {
    try {
      if (this.#hanging > 0) throw unusable('an earlier call has not been answered yet');
      const result = await this.#within(limitMs, work(), late);
      this.#ended(undefined);
      return result;
    } catch (thrown) {
      const error = thrown instanceof AutoscalerError ? thrown : unusable(messageOf(thrown).replace(/\.$/, ''));
      this.#ended(error.message);
      throw error;
    }
  }

  async #within<Result>(limitMs: number, answer: Promise<Result>, late: ((result: Result) => void) | undefined): Promise<Result> {
    const over = new AbortController();
    const limit = this.#deps.clock.sleep(limitMs, over.signal).then(async () => {
      // After a long turn of this process, the answer may be here and only wait to be read.
      await nextTurn();
      return 'late' as const;
    });
    const result = await Promise.race([answer.then((value) => ({ value })), limit]).finally(() => over.abort());
    if (result !== 'late') return result.value;
    this.#hanging += 1;
    answer.then(late, () => undefined).finally(() => (this.#hanging -= 1));
    throw unusable(`no answer within ${limitMs} ms`);
  }

  #ended(trouble: string | undefined): void {
    const { log, onCall } = this.#deps;
    onCall?.(trouble === undefined ? 'answered' : 'failed');
    if (trouble !== undefined && this.#trouble === undefined)
      log?.warn({ reason: trouble }, 'Shared store cannot be used; this process reads for itself');
    if (trouble === undefined && this.#trouble !== undefined) log?.info({ was: this.#trouble }, 'Shared store can be used again');
    this.#trouble = trouble;
  }
}

function unusable(reason: string): AutoscalerError {
  return new AutoscalerError({ kind: 'unavailable', effect: 'unknown' }, `The folder cannot be used: ${reason}.`);
}

/** The text with the limits of its callers. */
export function boundedText(share: SharedText, place: BoundedPlace): SharedText {
  return {
    latest: (limitMs) => place.call(() => share.latest(), limitMs),
    // A claim that succeeds too late belongs to no run.
    claim: (epoch, limitMs) =>
      place.call(
        () => share.claim(epoch),
        limitMs,
        (isOurs) => void (isOurs && share.release(epoch).catch(() => undefined)),
      ),
    release: (epoch, restMs) => place.call(() => share.release(epoch, restMs)),
    publish: (epoch, text, restMs) => place.call(() => share.publish(epoch, text, restMs)),
  };
}

/** The file with the limit of the place. */
export function boundedFile(file: StoredText, place: BoundedPlace): StoredText {
  return {
    read: (signal) => place.call(() => file.read(signal)),
    write: (text, signal) => place.call(() => file.write(text, signal)),
  };
}
