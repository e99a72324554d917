/** Hints in memory: what the processes of one test tell each other, in virtual time. A look is taken when told to. */
import type { Hint, HintCount, HintKind, SharedHints } from '../../src/domain/ports/shared-hints.ts';

const TRY_MS = 60_000;

export class MemoryHintServer {
  readonly #now: () => number;
  readonly #hints = new Map<string, Hint>();
  readonly #tries = new Map<string, { readonly by: string; readonly untilMs: number }>();
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
    return {
      report: (kind: HintKind, key, untilMs, count?: HintCount) => {
        this.reports += 1;
        this.#hints.set(`${kind}|${key}`, { kind, key, by: process, atMs: this.#now(), untilMs, count });
      },
      reported: (kind) =>
        [...this.#hints.values()].filter((hint) => hint.kind === kind && hint.by !== process && hint.untilMs > this.#now()),
      requestTry: (key) => {
        if ((this.#tries.get(key)?.untilMs ?? 0) <= this.#now()) this.#tries.set(key, { by: process, untilMs: this.#now() + TRY_MS });
      },
      mayTry: (key) => {
        const right = this.#tries.get(key);
        return right?.by === process && right.untilMs > this.#now();
      },
      onLook: (listener) => void this.#listeners.push(listener),
    };
  }
}
