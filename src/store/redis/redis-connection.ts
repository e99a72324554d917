/**
 * One connection to a Redis or Valkey server, which may be absent, slow, full or wiped at any time. A command is answered within its limit
 * or rejects; it never waits for a connection. Trouble is logged once until it is over. Must not know what is stored.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createClient, type RedisClientType } from '@redis/client';
import type { Clock } from '../../lib/clock.ts';
import { AutoscalerError } from '../../lib/errors.ts';
import { redactText } from '../../lib/shown-text.ts';
import type { Log } from '../../telemetry/log.ts';

interface RedisOptions {
  /** `redis://HOST:PORT[/DB]` or, with TLS, `rediss://HOST:PORT[/DB]`. Holds no password. */
  readonly url: string;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  /** Certificates of further authorities, PEM. If absent, those of Node apply. */
  readonly caPem?: string | undefined;
  /** The longest time for one command, ms. */
  readonly commandMs: number;
}

export interface RedisConnectionDeps {
  readonly options: RedisOptions;
  readonly clock: Pick<Clock, 'sleep'>;
  readonly log: Log;
  /** Called after each command, for metrics. */
  readonly onCommand?: (outcome: 'answered' | 'failed') => void;
}

/** A wait between two tries to connect grows up to this. */
const LONGEST_RECONNECT_MS = 30_000;
const FIRST_RECONNECT_MS = 500;
/** More waiting commands than this, and the server does not keep up. */
const MAX_QUEUED = 100;

export type RedisClient = RedisClientType;

/** A server that is full, or whose rules forbid a user to write, still answers reads. */
export type RedisCommandKind = 'read' | 'write';

export class RedisConnection {
  readonly #deps: RedisConnectionDeps;
  readonly #client: RedisClient;
  /** Empty while all is well. Reads that work do not end the trouble of writes: the log would report both in turns. */
  readonly #troubles = new Map<RedisCommandKind | 'connection', string>();

  #inFlight = 0;

  constructor(deps: RedisConnectionDeps) {
    this.#deps = deps;
    this.#client = clientOf(deps.options);
    this.#client.on('error', (thrown: unknown) => this.#failed('connection', thrown));
    this.#client.on('ready', () => this.#recovered('connection'));
  }

  /** Connects in the background, again and again. Never rejects. */
  start(): void {
    this.#client.connect().catch((thrown: unknown) => this.#failed('connection', thrown));
  }

  /** Commands without an answer yet; a harness in virtual time holds its clock while there are any. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Why the server cannot be used. undefined: it answered last time, or was never asked. */
  get trouble(): string | undefined {
    return this.#troubles.values().next().value;
  }

  /**
   * `limitMs`: a caller that has less time; then a connection that is being made is waited for within it. @throws AutoscalerError
   * `unavailable` if the server does not answer in time, or refuses. What was sent may still have happened.
   */
  async command<Result>(kind: RedisCommandKind, work: (client: RedisClient) => Promise<Result>, limitMs?: number): Promise<Result> {
    this.#inFlight += 1;
    try {
      if (!this.#client.isReady && limitMs !== undefined && this.trouble === undefined) await this.#connected(limitMs);
      // The failure to connect was reported when it happened.
      if (!this.#client.isReady) throw this.#refused(this.trouble ?? 'not connected yet');
      return await this.#answered(kind, work(this.#client), limitMs ?? this.#deps.options.commandMs);
    } finally {
      this.#inFlight -= 1;
    }
  }

  async #answered<Result>(kind: RedisCommandKind, answer: Promise<Result>, limitMs: number): Promise<Result> {
    try {
      const result = await this.#within(limitMs, answer);
      this.#recovered(kind);
      this.#deps.onCommand?.('answered');
      return result;
    } catch (thrown) {
      this.#failed(kind, thrown);
      throw this.#refused(describe(thrown), thrown);
    }
  }

  async #connected(limitMs: number): Promise<void> {
    const ready = new Promise<void>((resolve) => this.#client.once('ready', () => resolve()));
    await this.#within(limitMs, ready).catch(() => undefined);
  }

  async #within<Result>(limitMs: number, answer: Promise<Result>): Promise<Result> {
    const over = new AbortController();
    const limit = this.#deps.clock.sleep(limitMs, over.signal).then(async () => {
      // After a long turn of this process, the answer may be here and only wait to be read.
      await nextTurn();
      throw new Error(`no answer within ${limitMs} ms`);
    });
    try {
      return await Promise.race([answer, limit]);
    } finally {
      over.abort();
    }
  }

  stop(): void {
    if (this.#client.isOpen) this.#client.destroy();
  }

  #refused(reason: string, cause?: unknown): AutoscalerError {
    this.#deps.onCommand?.('failed');
    return new AutoscalerError({ kind: 'unavailable', effect: 'unknown' }, `The shared store cannot be used: ${reason}.`, { cause });
  }

  #failed(what: RedisCommandKind | 'connection', thrown: unknown): void {
    const reason = describe(thrown);
    if (this.#troubles.size === 0) this.#deps.log.warn({ what, reason }, 'Shared store cannot be used; this process reads for itself');
    this.#troubles.set(what, reason);
  }

  #recovered(what: RedisCommandKind | 'connection'): void {
    const was = this.#troubles.get(what);
    if (this.#troubles.delete(what) && this.#troubles.size === 0) this.#deps.log.info({ what, was }, 'Shared store can be used again');
  }
}

/** Commands are not kept for a later connection: what they say would be old by then. */
function clientOf({ url, username, password, caPem, commandMs }: RedisOptions): RedisClient {
  const tls = url.startsWith('rediss:') ? { tls: true as const, ...(caPem === undefined ? {} : { ca: caPem }) } : {};
  return createClient({
    url,
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    disableOfflineQueue: true,
    commandsQueueMaxLength: MAX_QUEUED,
    socket: {
      ...tls,
      connectTimeout: Math.max(commandMs, 5_000),
      reconnectStrategy: (retries: number) => Math.min(LONGEST_RECONNECT_MS, FIRST_RECONNECT_MS * 2 ** Math.min(retries, 10)),
    },
  });
}

function describe(thrown: unknown): string {
  const { message, errors } = thrown as { readonly message?: string; readonly errors?: readonly Error[] };
  return redactText(message || errors?.[0]?.message || String(thrown)).replace(/\.$/, '');
}
