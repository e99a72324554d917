/** Suppresses repeated log lines. Must not know what the lines report. */
import type { Clock } from '../lib/clock.ts';

/** Beyond this many distinct causes, the oldest are forgotten and their lines appear again. */
const MAX_CAUSES = 2_000;

/** Facts that distinguish causes. Error texts are not among them: they contain times and request ids. */
const KEY_FACTS = [
  'kind',
  'code',
  'nodeGroup',
  'node',
  'resource',
  'step',
  'agent',
  'table',
  'what',
  'warning',
  'scaleSet',
  'from',
  'to',
  'cause',
  'write',
  'subject',
  'detail',
  'note',
  'problem',
  'pool',
  'namespace',
  'name',
  'where',
] as const;

interface LoggedLine {
  readonly atMs: number;
  repeats: number;
}

/** Allows one line per cause and period, and counts the suppressed lines in between. */
export class KeyedFold {
  readonly #foldMs: number;
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** In the order in which they were last logged, so that the oldest come first. */
  readonly #logged = new Map<string, LoggedLine>();

  constructor(clock: Pick<Clock, 'monotonic'>, foldMs: number) {
    this.#foldMs = foldMs;
    this.#clock = clock;
  }

  /** Returns undefined if the line must be suppressed, else how many such lines were suppressed since the last one. */
  admitLine(level: number, message: string, facts: object | undefined): { readonly repeated: number } | undefined {
    const nowMs = this.#clock.monotonic();
    const key = keyOf(level, message, facts);
    const logged = this.#logged.get(key);
    if (logged !== undefined && nowMs - logged.atMs < this.#foldMs) {
      logged.repeats += 1;
      return undefined;
    }
    this.#logged.delete(key);
    this.#logged.set(key, { atMs: nowMs, repeats: 0 });
    const oldest = this.#logged.keys().next().value;
    if (this.#logged.size > MAX_CAUSES && oldest !== undefined) this.#logged.delete(oldest);
    return { repeated: logged?.repeats ?? 0 };
  }
}

function keyOf(level: number, message: string, facts: object | undefined): string {
  const values = new Map<string, unknown>(Object.entries(facts ?? {}));
  return JSON.stringify([level, message, ...KEY_FACTS.map((name) => simpleValue(values.get(name)))]);
}

function simpleValue(value: unknown): string | number | null {
  return typeof value === 'string' || typeof value === 'number' ? value : null;
}
