/**
 * Stores the learned node templates from one process to the next, in the background of the loop. Must not know the content
 * of the text, nor where it is stored.
 */
import { asAutoscalerError } from '../../lib/errors.ts';
import { PacedText, type PacedTextDeps } from './paced-text.ts';

/** Minimum time between two writes. A little below a minute, since the loop's timers may fire early. */
const WRITE_INTERVAL_MS = 59_000;

/** The source of the templates. `revision` grows with each change of the text. */
interface TemplateLearner {
  learnedTemplates(): { readonly revision: number; readonly text: () => string };
  restoreTemplates(text: string): string | undefined;
}

export interface TemplateStoreDeps extends PacedTextDeps {
  readonly learner: TemplateLearner;
}

/** Owns the revision of the last write. Only the leader uses it. */
export class TemplateStore {
  readonly #deps: TemplateStoreDeps;
  readonly #text: PacedText;
  #written = 0;

  constructor(deps: TemplateStoreDeps) {
    this.#deps = deps;
    this.#text = new PacedText(deps, { intervalMs: WRITE_INTERVAL_MS, onFailure: 'Learned node templates could not be stored' });
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
    const { revision, text } = this.#deps.learner.learnedTemplates();
    if (signal.aborted || revision === this.#written || !this.#text.isDue) return;
    this.#text.begin(text(), () => (this.#written = revision), signal);
  }

  /** Resolves when the write under way has ended. */
  settled(): Promise<void> {
    return this.#text.settled();
  }
}
