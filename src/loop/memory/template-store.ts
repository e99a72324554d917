/**
 * Keeps what was learned of the groups' nodes from one process to the next, beside the loop and never in its way. Must not
 * know what the text says, nor where it is kept.
 */
import type { Clock } from '../../lib/clock.ts';
import { asAutoscalerError } from '../../lib/errors.ts';
import type { KeptText } from '../../domain/ports/stored-text.ts';
import type { Log } from '../../telemetry/log.ts';

/** At most one write in this time. Loops follow each other by timers that may fire a little early. */
const LEAST_MS = 59_000;

/** What is to be kept. `revision` grows with each change of the text. */
export interface Learner {
  learnedTemplates(): { readonly revision: number; readonly text: () => string };
  restoreTemplates(text: string): string | undefined;
}

export interface TemplateKeeperDeps {
  readonly learner: Learner;
  readonly kept: KeptText;
  readonly clock: Clock;
  readonly log: Log;
}

/** Owns when the text was last written. Used by who leads, and by nobody else. */
export class TemplateKeeper {
  readonly #deps: TemplateKeeperDeps;
  #written = 0;
  #triedAtMs = Number.NEGATIVE_INFINITY;
  #writing: Promise<void> = Promise.resolve();
  #busy = false;

  constructor(deps: TemplateKeeperDeps) {
    this.#deps = deps;
  }

  /** Takes over what an earlier process kept. What cannot be read is told and done without; throws only `cancelled`. */
  async restore(signal: AbortSignal): Promise<void> {
    const { learner, kept, log } = this.#deps;
    try {
      const text = await kept.read(signal);
      const reason = text === undefined ? undefined : learner.restoreTemplates(text);
      if (reason !== undefined) log.warn({ reason }, 'what was kept of the learned templates is not believed; they are learned anew');
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      if (error.kind === 'cancelled') throw error;
      log.warn({ error: error.message }, 'the learned templates could not be read; they are learned anew');
    }
  }

  /** Writes what is new, at most once a minute. */
  loopEnded(signal: AbortSignal): void {
    const { clock, learner } = this.#deps;
    const { revision, text } = learner.learnedTemplates();
    const nowMs = clock.monotonic();
    if (this.#busy || signal.aborted || revision === this.#written || nowMs - this.#triedAtMs < LEAST_MS) return;
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
      if (error.kind !== 'cancelled') this.#deps.log.warn({ error: error.message }, 'the learned templates could not be written');
      return false;
    }
  }
}
