/** A text in Redis that processes share: {@link SharedText} with locks that carry a token and end by themselves. */
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { SharedText } from '../../domain/ports/shared-text.ts';
import { AutoscalerError } from '../../lib/errors.ts';
import type { RedisConnection } from './redis-connection.ts';

const pack = promisify(gzip);
const unpack = promisify(gunzip);

/** Version of the records; part of each key, so that programs of different versions do not meet. */
const FORMAT = 1;
/** The list of all VM sizes of a region is 0.5 MiB. */
const MOST_TEXT_BYTES = 16 * 1024 * 1024;
const MOST_PACKED_CHARACTERS = 4 * 1024 * 1024;
/** Epochs grow by one; a larger one is a lie. */
const MOST_EPOCH = 1_000_000_000_000;

/** Returns 1 if the text was written. KEYS: record, claim. ARGV: token, epoch, text, life in ms. */
const PUBLISH = `
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
if tonumber(redis.call('HGET', KEYS[1], 'epoch') or '0') >= tonumber(ARGV[2]) then return 0 end
redis.call('HSET', KEYS[1], 'epoch', ARGV[2], 'text', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
redis.call('DEL', KEYS[2])
return 1`;
/** KEYS: claim. ARGV: token. */
const RELEASE = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`;

export interface RedisTextOptions {
  /** Begins every key. */
  readonly prefix: string;
  /** What the text is: `skus`, `usage`. */
  readonly kind: string;
  /** For whom it is valid, such as a subscription and a region. No secret. */
  readonly scope: readonly string[];
  /** When a published text disappears, ms. */
  readonly lifeMs: number;
  /** When a claim ends whose process died, ms. Longer than the claim's work may take. */
  readonly claimMs: number;
}

export class RedisSharedText implements SharedText {
  readonly #connection: RedisConnection;
  readonly #options: RedisTextOptions;
  /** The braces keep a record and its claims on one server of a Redis cluster. */
  readonly #record: string;
  /** A token per claim and not per process, so that a slow run cannot pass for its successor. */
  readonly #tokens = new Map<number, string>();

  constructor(connection: RedisConnection, options: RedisTextOptions) {
    this.#connection = connection;
    this.#options = options;
    const name = [options.kind, ...options.scope].map(plain).join(':');
    this.#record = `${options.prefix}:v${FORMAT}:{${name}}`;
  }

  async latest(): Promise<{ readonly epoch: number; readonly text: string } | undefined> {
    const { epoch, text } = await this.#connection.command('read', (client) => client.hGetAll(this.#record));
    if (epoch === undefined || text === undefined) return undefined;
    const number = Number(epoch);
    if (!Number.isInteger(number) || number < 1 || number > MOST_EPOCH || text.length > MOST_PACKED_CHARACTERS)
      throw unusable(`${this.#record} is no record of ours`);
    return { epoch: number, text: await unpackText(text, this.#record) };
  }

  async claim(epoch: number): Promise<boolean> {
    const token = randomUUID();
    const set = await this.#connection.command('write', (client) =>
      client.set(this.#claimKey(epoch), token, { condition: 'NX', expiration: { type: 'PX', value: this.#options.claimMs } }),
    );
    if (set !== 'OK') return false;
    this.#tokens.set(epoch, token);
    return true;
  }

  async release(epoch: number): Promise<void> {
    const token = this.#takeToken(epoch);
    if (token === undefined) return;
    await this.#connection.command('write', (client) => client.eval(RELEASE, { keys: [this.#claimKey(epoch)], arguments: [token] }));
  }

  async publish(epoch: number, text: string): Promise<boolean> {
    const token = this.#takeToken(epoch);
    if (token === undefined) return false;
    const packed = (await pack(text)).toString('base64');
    const keys = [this.#record, this.#claimKey(epoch)];
    const args = [token, String(epoch), packed, String(this.#options.lifeMs)];
    return (await this.#connection.command('write', (client) => client.eval(PUBLISH, { keys, arguments: args }))) === 1;
  }

  #claimKey(epoch: number): string {
    return `${this.#record}:claim:${epoch}`;
  }

  #takeToken(epoch: number): string | undefined {
    const token = this.#tokens.get(epoch);
    this.#tokens.delete(epoch);
    return token;
  }
}

async function unpackText(packed: string, record: string): Promise<string> {
  try {
    return (await unpack(Buffer.from(packed, 'base64'), { maxOutputLength: MOST_TEXT_BYTES })).toString('utf8');
  } catch {
    throw unusable(`${record} cannot be unpacked`);
  }
}

function unusable(what: string): AutoscalerError {
  return new AutoscalerError({ kind: 'unavailable', effect: 'none' }, `The shared store cannot be used: ${what}.`);
}

/** Nothing that has a meaning in a key. */
function plain(text: string): string {
  return text.toLowerCase().replaceAll(/[^a-z0-9-]/g, '');
}
