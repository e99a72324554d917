/**
 * Stores the learned node templates from one process to the next, in the background of the loop. Must not know the content
 * of the text, nor where it is stored.
 */
import type { Clock } from '../../lib/clock.ts';
import { asAutoscalerError } from '../../lib/errors.ts';
import type { StoredText } from '../../domain/ports/stored-text.ts';
import type { Log } from '../../telemetry/log.ts';

/** Minimum time between two writes. A little below a minute, since the loop's timers may fire early. */
const WRITE_INTERVAL_MS = 59_000;

/** The source of the templates. `revision` grows with each change of the text. */
interface TemplateLearner {
  learnedTemplates(): { readonly revision: number; readonly text: () => string };
  restoreTemplates(text: string): string | undefined;
}

export interface TemplateStoreDeps {
  readonly learner: TemplateLearner;
  readonly kept: StoredText;
  readonly clock: Clock;
  readonly log: Log;
}

/** Owns the time and revision of the last write. Only the leader uses it. */
export class TemplateStore {
  readonly #deps: TemplateStoreDeps;
  #written = 0;
  #triedAtMs = Number.NEGATIVE_INFINITY;
  #writing: Promise<void> = Promise.resolve();
  #busy = false;

  constructor(deps: TemplateStoreDeps) {
    this.#deps = deps;
  }

  /** Restores the templates of an earlier process. A failure is logged and ignored. Throws only `cancelled`. */
  async restore(signal: AbortSignal): Promise<void> {
    const { learner, kept, log } = this.#deps;
    try {
      const text = await kept.read(signal);
      const reason = text === undefined ? undefined : learner.restoreTemplates(text);
      if (reason !== undefined) log.warn({ reason }, 'Stored node templates not accepted; they will be learned again');
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      if (error.kind === 'cancelled') throw error;
      log.warn({ error: error.message }, 'Stored node templates could not be read; they will be learned again');
    }
  }

  /** Writes a new revision, at most once a minute. */
  loopEnded(signal: AbortSignal): void {
    const { clock, learner } = this.#deps;
    const { revision, text } = learner.learnedTemplates();
    const nowMs = clock.monotonic();
    if (this.#busy || signal.aborted || revision === this.#written || nowMs - this.#triedAtMs < WRITE_INTERVAL_MS) return;
    this.#busy = true;
    this.#triedAtMs = nowMs;
    this.#writing = this.#write(text(), signal).then((written) => {
      this.#busy = false;
      if (written) this.#written = revision;
    });
  }

  /** Resolves when the write under way has ended. */
  settled(): Promise<void> {
    return this.#writing;
  }

  async #write(text: string, signal: AbortSignal): Promise<boolean> {
    try {
      await this.#deps.kept.write(text, signal);
      return true;
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      if (error.kind !== 'cancelled') this.#deps.log.warn({ error: error.message }, 'Learned node templates could not be stored');
      return false;
    }
  }
}
