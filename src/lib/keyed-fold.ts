/** Keeps trouble that lasts from filling the log. Knows time and lines, nothing of who writes them. */
import type { Clock } from './clock.ts';

/** More causes than this at once are told one by one rather than remembered. */
const REMEMBERED = 2_000;

/** Facts that tell one cause from another. Texts of errors do not: they carry times and ids of requests. */
const TELLING = [
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

interface Told {
  readonly atMs: number;
  repeats: number;
}

/** Answers whether a line is due, and how often its like was left out since the last: once in `foldMs` for each cause. */
export class Fold {
  readonly #foldMs: number;
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** In the order in which they were last told, so that the oldest are first. */
  readonly #told = new Map<string, Told>();

  constructor(clock: Pick<Clock, 'monotonic'>, foldMs: number) {
    this.#clock = clock;
    this.#foldMs = foldMs;
  }

  /** undefined: leave the line out. */
  take(level: number, message: string, facts: object | undefined): { readonly repeated: number } | undefined {
    const nowMs = this.#clock.monotonic();
    const key = keyOf(level, message, facts);
    const told = this.#told.get(key);
    if (told !== undefined && nowMs - told.atMs < this.#foldMs) {
      told.repeats += 1;
      return undefined;
    }
    this.#told.delete(key);
    this.#told.set(key, { atMs: nowMs, repeats: 0 });
    const oldest = this.#told.keys().next().value;
    if (this.#told.size > REMEMBERED && oldest !== undefined) this.#told.delete(oldest);
    return { repeated: told?.repeats ?? 0 };
  }
}

function keyOf(level: number, message: string, facts: object | undefined): string {
  const values = new Map<string, unknown>(Object.entries(facts ?? {}));
  return JSON.stringify([level, message, ...TELLING.map((name) => plainly(values.get(name)))]);
}

function plainly(value: unknown): string | number | null {
  return typeof value === 'string' || typeof value === 'number' ? value : null;
}
