/** Writes one stored text in the background of the loop: one write at a time, and not too often. */
import type { StoredText } from '../../domain/ports/stored-text.ts';
import type { Clock } from '../../lib/clock.ts';
import { asAutoscalerError } from '../../lib/errors.ts';
import type { Log } from '../../telemetry/log.ts';

export interface PacedTextDeps {
  readonly kept: StoredText;
  readonly clock: Clock;
  readonly log: Log;
}

export interface PacedTextOptions {
  /** Minimum time between two writes, milliseconds. A failed write counts. */
  readonly intervalMs: number;
  /** The log message after a write that failed. */
  readonly onFailure: string;
}

/** Owns the time and the end of the last write. */
export class PacedText {
  readonly #deps: PacedTextDeps;
  readonly #options: PacedTextOptions;
  #triedAtMs = Number.NEGATIVE_INFINITY;
  #writing: Promise<void> = Promise.resolve();
  #busy = false;

  constructor(deps: PacedTextDeps, options: PacedTextOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  /** Whether a write may begin now. */
  get isDue(): boolean {
    return !this.#busy && this.sinceLastMs >= this.#options.intervalMs;
  }

  /** Since the last write began, milliseconds; infinite if there was none. */
  get sinceLastMs(): number {
    return this.#deps.clock.monotonic() - this.#triedAtMs;
  }

  /** Begins a write. Call it only if it is due, or if no write is under way. `onWritten` is not called after a failure. */
  begin(text: string, onWritten: () => void, signal: AbortSignal): void {
    this.#busy = true;
    this.#triedAtMs = this.#deps.clock.monotonic();
    this.#writing = this.#write(text, signal).then((written) => {
      this.#busy = false;
      if (written) onWritten();
    });
  }

  /** Resolves when the write under way has ended. Never rejects. */
  settled(): Promise<void> {
    return this.#writing;
  }

  async #write(text: string, signal: AbortSignal): Promise<boolean> {
    try {
      await this.#deps.kept.write(text, signal);
      return true;
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      if (error.kind !== 'cancelled') this.#deps.log.warn({ error: error.message }, this.#options.onFailure);
      return false;
    }
  }
}
