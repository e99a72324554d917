/** A text in Redis that processes share: {@link SharedText} with locks that carry a token and end by themselves. */
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { PublishedText, SharedText } from '../../domain/ports/shared-text.ts';
import { readHash } from './read-hash.ts';
import type { RedisClient } from './redis-client.ts';
import type { RedisConnection } from './redis-connection.ts';
import { keyOf, type KeyScope } from './redis-keys.ts';

const pack = promisify(gzip);
const unpack = promisify(gunzip);

/** The list of all VM sizes of a region is 0.5 MiB. */
const MOST_TEXT_BYTES = 16 * 1024 * 1024;
const MOST_PACKED_CHARACTERS = 4 * 1024 * 1024;
/** Epochs grow by one; a larger one is a lie. */
const MOST_EPOCH = 1_000_000_000_000;
const MOST_NAME_CHARACTERS = 200;

/** A lock with less time left than this is deleted. */
const LEAST_REST_MS = 500;

// guard: the lock of a shared text stays closed until the next run is due
/** Ends the lock, or keeps it closed until the next run is due. */
const REST = `
if tonumber(ARGV[2]) >= ${LEAST_REST_MS} then redis.call('PEXPIRE', KEYS[1], ARGV[2]) else redis.call('DEL', KEYS[1]) end`;
// guard: a shared text is written only by the process that has the claim
// guard: a shared text is not replaced by an older one
/** Returns 1 if the text was written. KEYS: lock, record. ARGV: token, rest of the lock in ms, epoch, text, life in ms, process. */
const PUBLISH = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
local known = tonumber(redis.call('HGET', KEYS[2], 'epoch') or '0') or 0
if known <= ${MOST_EPOCH} and known >= tonumber(ARGV[3]) then return 0 end
redis.call('HSET', KEYS[2], 'epoch', ARGV[3], 'text', ARGV[4], 'by', ARGV[6])
redis.call('PEXPIRE', KEYS[2], ARGV[5])${REST}
return 1`;
// guard: a release gives back no claim of another process
/** KEYS: lock. ARGV: token, rest of the lock in ms. */
const RELEASE = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end${REST}
return 1`;

export interface RedisTextOptions {
  readonly keys: KeyScope;
  /** What the text is: `skus`, `usage`. */
  readonly kind: string;
  /** For what it is valid beside a subscription and a region, such as a currency. No secret. */
  readonly scope?: readonly string[];
  /** How this process calls itself. */
  readonly identity: string;
  /** When a published text disappears, ms. */
  readonly lifeMs: number;
  /** When the lock ends whose process died, ms. Longer than the work under it may take. */
  readonly claimMs: number;
}

export class RedisSharedText implements SharedText {
  readonly #connection: RedisConnection;
  readonly #options: RedisTextOptions;
  readonly #record: string;
  readonly #lock: string;
  /** A token per claim and not per process, so that a slow run cannot pass for its successor. */
  readonly #tokens = new Map<number, string>();

  constructor(connection: RedisConnection, options: RedisTextOptions) {
    this.#connection = connection;
    this.#options = options;
    this.#record = keyOf(options.keys, options.kind, options.scope);
    this.#lock = `${this.#record}:lock`;
  }

  async latest(limitMs?: number): Promise<PublishedText | undefined> {
    const limits = { mostCharacters: MOST_PACKED_CHARACTERS, limitMs };
    const { epoch, text, by } = await readHash(this.#connection, this.#record, limits);
    if (epoch === undefined || text === undefined) return undefined;
    const number = Number(epoch);
    const isOurs = Number.isInteger(number) && number >= 1 && number < MOST_EPOCH;
    // What is no record of ours has no epoch, so that the next one replaces it.
    if (!isOurs) return { epoch: 0, text: '', by: undefined };
    const other = by === this.#options.identity ? undefined : by?.slice(0, MOST_NAME_CHARACTERS);
    return { epoch: number, text: await unpackText(text), by: other };
  }

  async claim(epoch: number, limitMs?: number): Promise<boolean> {
    const token = randomUUID();
    if (!(await this.#lockWith(token, limitMs))) return false;
    this.#tokens.set(epoch, token);
    return true;
  }

  /** A lock that is taken after the limit belongs to no run, and is opened again. */
  async #lockWith(token: string, limitMs: number | undefined): Promise<boolean> {
    const expiration = { type: 'PX', value: this.#options.claimMs } as const;
    let answer: Promise<string | null> = Promise.resolve(null);
    const isTaken = (client: RedisClient): Promise<string | null> =>
      (answer = client.set(this.#lock, token, { condition: 'NX', expiration }));
    try {
      return (await this.#connection.command('write', isTaken, limitMs)) === 'OK';
    } catch (thrown) {
      // guard: a lock that comes after its claim was given up is opened
      answer.then((late) => (late === 'OK' ? this.#open(token, 0) : undefined)).catch(() => undefined);
      throw thrown;
    }
  }

  async release(epoch: number, restMs = 0): Promise<void> {
    const token = this.#takeToken(epoch);
    if (token !== undefined) await this.#open(token, restMs);
  }

  async #open(token: string, restMs: number): Promise<void> {
    const args = [token, String(Math.round(restMs))];
    await this.#connection.command('write', (client) => client.eval(RELEASE, { keys: [this.#lock], arguments: args }));
  }

  async publish(epoch: number, text: string, restMs = 0): Promise<boolean> {
    const token = this.#takeToken(epoch);
    if (token === undefined) return false;
    const packed = (await pack(text)).toString('base64');
    const { lifeMs, identity } = this.#options;
    const args = [token, String(Math.round(restMs)), String(epoch), packed, String(lifeMs), identity];
    const keys = [this.#lock, this.#record];
    return (await this.#connection.command('write', (client) => client.eval(PUBLISH, { keys, arguments: args }))) === 1;
  }

  #takeToken(epoch: number): string | undefined {
    const token = this.#tokens.get(epoch);
    this.#tokens.delete(epoch);
    return token;
  }
}

/** Empty: it cannot be unpacked. */
async function unpackText(packed: string): Promise<string> {
  try {
    // guard: a shared text cannot expand without end
    return (await unpack(Buffer.from(packed, 'base64'), { maxOutputLength: MOST_TEXT_BYTES })).toString('utf8');
  } catch {
    return '';
  }
}
