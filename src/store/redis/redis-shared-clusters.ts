/** The processes that share, in one hash: each reports itself every half minute and counts for three times as long. */
import type { SharedClusters, SharingCluster } from '../../domain/ports/shared-clusters.ts';
import type { Clock } from '../../lib/clock.ts';
import { compareBy } from '../../lib/comparison.ts';
import type { RedisConnection } from './redis-connection.ts';
import { readHash } from './read-hash.ts';
import { isNear, recordOf } from './record-of.ts';
import { keyOf, type KeyScope } from './redis-keys.ts';

const REPORT_EVERY_MS = 30_000;
const COUNTS_MS = 3 * REPORT_EVERY_MS;
/** Nothing waits for a look, and the first one may wait for the connection. */
const LOOK_MS = 1_000;
/** A clock may be ahead by this much. */
const CLOCK_SKEW_MS = 60_000;
const MOST_PROCESSES = 1_000;
const MOST_CHARACTERS = 300;

interface RedisClustersDeps {
  readonly connection: RedisConnection;
  readonly clock: Clock;
  readonly keys: KeyScope;
  readonly self: Omit<SharingCluster, 'atMs' | 'isThis'>;
}

export class RedisSharedClusters implements SharedClusters {
  readonly #deps: RedisClustersDeps;
  readonly #name: string;
  #others: readonly SharingCluster[] = [];

  constructor(deps: RedisClustersDeps) {
    this.#deps = deps;
    this.#name = keyOf(deps.keys, 'clusters');
  }

  present(): readonly SharingCluster[] {
    const nowMs = this.#deps.clock.now();
    const others = this.#others.filter(({ atMs }) => nowMs - atMs < COUNTS_MS);
    return [{ ...this.#deps.self, atMs: nowMs, isThis: true }, ...others].sort(compareBy((each) => fieldOf(each)));
  }

  /** Reports and reads until the signal fires. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.look();
      await this.#deps.clock.sleep(REPORT_EVERY_MS, signal).catch(() => undefined);
    }
  }

  /** Without an answer, what was known before counts for its time. */
  async look(): Promise<void> {
    const { connection, clock, self } = this.#deps;
    const value = JSON.stringify({ version: self.version, atMs: clock.now() });
    await connection
      .command('write', (client) => client.multi().hSet(this.#name, fieldOf(self), value).pExpire(this.#name, COUNTS_MS).exec(), LOOK_MS)
      .catch(() => undefined);
    const limits = { mostCharacters: MOST_PROCESSES * MOST_CHARACTERS };
    const found = await readHash(connection, this.#name, limits).catch(() => undefined);
    if (found === undefined) return;
    const entries = Object.entries(found);
    const known = entries.slice(0, MOST_PROCESSES).flatMap(([field, text]) => this.#read(field, text));
    this.#others = known.filter((each) => fieldOf(each) !== fieldOf(self));
    // What only seems to be over, because a clock is wrong, is left to the others.
    const over = entries.flatMap(([field, text]) => (isNear(recordOf(text)['atMs'], clock.now()) ? [] : [field]));
    if (over.length > 0) await connection.command('write', (client) => client.hDel(this.#name, over)).catch(() => undefined);
  }

  /** Empty: it is over, or a lie. */
  #read(field: string, text: string): readonly SharingCluster[] {
    const [cluster = '', process = '', ...rest] = field.split('|');
    if (cluster === '' || process === '' || rest.length > 0 || field.length + text.length > MOST_CHARACTERS) return [];
    const { version, atMs } = recordOf(text);
    const nowMs = this.#deps.clock.now();
    const isNow = typeof atMs === 'number' && nowMs - atMs < COUNTS_MS && atMs <= nowMs + CLOCK_SKEW_MS;
    return isNow && typeof version === 'string' ? [{ cluster, process, version, atMs }] : [];
  }
}

function fieldOf({ cluster, process }: Pick<SharingCluster, 'cluster' | 'process'>): string {
  return `${cluster}|${process}`;
}
