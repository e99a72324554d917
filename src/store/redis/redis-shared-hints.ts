/** Hints in Redis: one hash, read every few seconds. Entries of others are bounded and believed for ten minutes at most. */
import { HINT_KINDS, type Hint, type HintCount, type HintKind, type SharedHints } from '../../domain/ports/shared-hints.ts';
import type { Clock } from '../../lib/clock.ts';
import { defined } from '../../lib/defined.ts';
import type { RedisConnection } from './redis-connection.ts';
import { readHash } from './read-hash.ts';
import { isNear, recordOf } from './record-of.ts';
import { keyOf, type KeyScope } from './redis-keys.ts';

const LOOK_EVERY_MS = 5_000;
/** Nothing waits for a look, and the first one may wait for the connection. */
const LOOK_MS = 1_000;
const TRY_MS = 60_000;
/** No hint counts for longer, whatever its own time. */
const LONGEST_MS = 10 * 60_000;
/** A clock may be ahead by this much. */
const CLOCK_SKEW_MS = 60_000;
const MOST_HINTS = 1_000;
const MOST_CHARACTERS = 300;
const MOST_CALLS = 1_000_000;
const KINDS: ReadonlySet<string> = new Set(HINT_KINDS);

interface RedisHintsDeps {
  readonly connection: RedisConnection;
  readonly clock: Clock;
  readonly keys: KeyScope;
  /** Unique per process. */
  readonly identity: string;
}

export class RedisSharedHints implements SharedHints {
  readonly #deps: RedisHintsDeps;
  readonly #name: string;
  readonly #listeners: (() => void)[] = [];
  /** Until when this process may try, by key. */
  readonly #tries = new Map<string, number>();
  #reported: readonly Hint[] = [];

  constructor(deps: RedisHintsDeps) {
    this.#deps = deps;
    this.#name = keyOf(deps.keys, 'hints');
  }

  report(kind: HintKind, key: string, untilMs: number, count?: HintCount): void {
    const { clock, identity } = this.#deps;
    const value = JSON.stringify({ by: identity, atMs: clock.now(), untilMs, ...defined({ count }) });
    this.#quietly(async () => {
      await this.#deps.connection.command('write', (client) =>
        client.multi().hSet(this.#name, `${kind}|${key}`, value).pExpire(this.#name, LONGEST_MS).exec(),
      );
    });
  }

  reported(kind: HintKind): readonly Hint[] {
    const nowMs = this.#deps.clock.now();
    return this.#reported.filter((hint) => hint.kind === kind && hint.untilMs > nowMs);
  }

  requestTry(key: string): void {
    if (this.mayTry(key)) return;
    this.#quietly(async () => {
      const startMs = this.#deps.clock.now();
      // guard: one size a minute is tried in all of the region
      const set = await this.#deps.connection.command('write', (client) =>
        client.set(`${this.#name}:try`, this.#deps.identity, { condition: 'NX', expiration: { type: 'PX', value: TRY_MS } }),
      );
      // guard: only one process has the right to try
      if (set !== 'OK') return;
      this.#tries.set(key, startMs + TRY_MS);
      this.report('tried', key, startMs + LONGEST_MS);
    });
  }

  mayTry(key: string): boolean {
    return (this.#tries.get(key) ?? 0) > this.#deps.clock.now();
  }

  onLook(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Looks until the signal fires. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.look();
      await this.#deps.clock.sleep(LOOK_EVERY_MS, signal).catch(() => undefined);
    }
  }

  /** Without an answer, what was reported before holds for its time. */
  async look(): Promise<void> {
    const limits = { mostCharacters: MOST_HINTS * MOST_CHARACTERS, limitMs: LOOK_MS };
    const found = await readHash(this.#deps.connection, this.#name, limits).catch(() => undefined);
    if (found === undefined) return;
    const entries = Object.entries(found);
    // guard: more hints than a subscription has are not believed
    this.#reported = entries.length > MOST_HINTS ? [] : entries.flatMap(([field, value]) => this.#read(field, value));
    this.#removeOver(entries);
    for (const [key, untilMs] of this.#tries) if (untilMs <= this.#deps.clock.now()) this.#tries.delete(key);
    for (const listener of this.#listeners) listener();
  }

  /** Empty: it is over, our own, or a lie. */
  #read(field: string, value: string): readonly Hint[] {
    const [kind = '', ...rest] = field.split('|');
    const key = rest.join('|');
    if (!KINDS.has(kind) || key === '' || field.length + value.length > MOST_CHARACTERS) return [];
    const { by, atMs, untilMs, count } = recordOf(value);
    const nowMs = this.#deps.clock.now();
    if (typeof by !== 'string' || typeof atMs !== 'number' || typeof untilMs !== 'number') return [];
    const isBelievable = Math.abs(nowMs - atMs) <= LONGEST_MS && atMs <= nowMs + CLOCK_SKEW_MS && untilMs <= nowMs + LONGEST_MS;
    // guard: hints with impossible times are not believed
    if (by === this.#deps.identity || !isBelievable || untilMs <= nowMs) return [];
    return [{ kind: kind as HintKind, key, by, atMs, untilMs, count: isCount(count) ? count : undefined }];
  }

  /** A field of a hash cannot expire by itself. What only seems to be over, because a clock is wrong, is left to the others. */
  #removeOver(entries: readonly (readonly [field: string, value: string])[]): void {
    const nowMs = this.#deps.clock.now();
    const over = entries.flatMap(([field, value]) => (isNear(recordOf(value)['untilMs'], nowMs) ? [] : [field]));
    if (over.length > 0)
      this.#quietly(async () => void (await this.#deps.connection.command('write', (client) => client.hDel(this.#name, over))));
  }

  #quietly(work: () => Promise<void>): void {
    work().catch(() => undefined);
  }
}

function isCount(value: unknown): value is HintCount {
  const { left, of } = (value ?? {}) as Readonly<Record<string, unknown>>;
  return typeof left === 'number' && typeof of === 'number' && left >= 0 && of >= left && of <= MOST_CALLS;
}
