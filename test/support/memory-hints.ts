/** Hints in memory: what the processes of one test tell each other, in virtual time. A look is taken when told to. */
import type { Hint, HintCount, HintKind, SharedHints } from '../../src/domain/ports/shared-hints.ts';

const TRY_MS = 60_000;
const TRIED_MS = 10 * 60_000;

export class MemoryHintServer {
  readonly #now: () => number;
  readonly #hints = new Map<string, Hint>();
  /** Who may try what: one process and one key at a time. */
  #right: { readonly by: string; readonly key: string; readonly untilMs: number } | undefined;
  readonly #listeners: (() => void)[] = [];

  /** Number of reports so far. */
  reports = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  look(): void {
    for (const listener of this.#listeners) listener();
  }

  of(process: string): SharedHints {
    const report = (kind: HintKind, key: string, untilMs: number, count?: HintCount): void => {
      this.reports += 1;
      this.#hints.set(`${kind}|${key}`, { kind, key, by: process, atMs: this.#now(), untilMs, count });
    };
    return {
      report,
      reported: (kind) =>
        [...this.#hints.values()].filter((hint) => hint.kind === kind && hint.by !== process && hint.untilMs > this.#now()),
      requestTry: (key) => {
        if ((this.#right?.untilMs ?? 0) > this.#now()) return;
        this.#right = { by: process, key, untilMs: this.#now() + TRY_MS };
        report('tried', key, this.#now() + TRIED_MS);
      },
      mayTry: (key) => this.#right?.by === process && this.#right.key === key && this.#right.untilMs > this.#now(),
      onLook: (listener) => void this.#listeners.push(listener),
    };
  }
}
