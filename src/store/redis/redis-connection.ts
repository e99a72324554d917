/**
 * The connection to a Redis or Valkey server, which may be absent, slow, silent, full or wiped at any time. A command is answered within
 * its limit or rejects; it never waits for a connection. A server that owes an answer for long is connected to again. Must not know what
 * is stored.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ErrorReply, MultiErrorReply } from '@redis/client';
import type { Clock } from '../../lib/clock.ts';
import { AutoscalerError } from '../../lib/errors.ts';
import { redactText } from '../../lib/shown-text.ts';
import type { Log } from '../../telemetry/log.ts';
import { oneLookUpAtATime, redisClient, type RedisClient, type RedisOptions } from './redis-client.ts';
import { StoreTroubles } from './store-troubles.ts';

export interface RedisConnectionDeps {
  readonly options: RedisOptions;
  readonly clock: Pick<Clock, 'sleep' | 'monotonic'>;
  readonly log: Log;
  /** Called after each command, for metrics. */
  readonly onCommand?: (outcome: 'answered' | 'failed') => void;
}

/** A connection may be dead without a sign, and the server behind the same address a new one. */
const SILENT_MS = 15_000;
/** Longer from time to time, if connecting again does not help. */
const LONGEST_SILENT_MS = 4 * 60_000;

/** A server that is full, or whose rules forbid a user to write, still answers reads. */
export type RedisCommandKind = 'read' | 'write';

export class RedisConnection {
  readonly #deps: RedisConnectionDeps;
  readonly #lookUp = oneLookUpAtATime();
  readonly #troubles: StoreTroubles;
  #client: RedisClient;
  #inFlight = 0;
  #isStopped = false;
  /** Since when the server owes an answer (monotonic). undefined: it owes none. */
  #owesSinceMs: number | undefined;
  #silentMs = SILENT_MS;
  #wasReady = false;

  constructor(deps: RedisConnectionDeps) {
    this.#deps = deps;
    this.#troubles = new StoreTroubles(deps.clock, deps.log);
    this.#client = this.#newClient();
  }

  /** Connects in the background, again and again. Never rejects. */
  start(): void {
    const client = this.#client;
    client.connect().catch((thrown: unknown) => {
      if (client === this.#client && !this.#isStopped) this.#failed('connection', thrown);
    });
  }

  /** Commands without an answer yet; a harness in virtual time holds its clock while there are any. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Why the server cannot be used. undefined: it answered last time, or was never asked. */
  get trouble(): string | undefined {
    return this.#troubles.reason;
  }

  /**
   * `limitMs`: a caller that has less time; then a connection that is being made is waited for within it. @throws AutoscalerError
   * `unavailable` if the server does not answer in time, or refuses. What was sent may still have happened.
   */
  async command<Result>(kind: RedisCommandKind, work: (client: RedisClient) => Promise<Result>, limitMs?: number): Promise<Result> {
    this.#inFlight += 1;
    try {
      this.#renewIfSilent();
      if (!this.#client.isReady && limitMs !== undefined && this.trouble === undefined) await this.#connected(limitMs);
      // The failure to connect was reported when it happened.
      if (!this.#client.isReady) throw this.#refused(this.trouble ?? 'not connected yet');
      return await this.#answered(kind, this.#sent(work), limitMs ?? this.#deps.options.commandMs);
    } finally {
      this.#inFlight -= 1;
    }
  }

  stop(): void {
    this.#isStopped = true;
    this.#client.destroy();
  }

  #newClient(): RedisClient {
    const client = redisClient(this.#deps.options, this.#lookUp);
    const whileUsed =
      <Args extends readonly unknown[]>(listener: (...args: Args) => void) =>
      (...args: Args): void => {
        if (client === this.#client) listener(...args);
      };
    client.on(
      'connect',
      whileUsed(() => this.#owes()),
    );
    client.on(
      'error',
      whileUsed((thrown: unknown) => this.#lost(thrown)),
    );
    client.on(
      'ready',
      whileUsed(() => this.#recovered()),
    );
    return client;
  }

  #owes(): void {
    this.#owesSinceMs ??= this.#deps.clock.monotonic();
  }

  /** The client connects again by itself, unless the server answers in another protocol: then it would wait for ever. */
  #lost(thrown: unknown): void {
    if (!isOtherProtocol(thrown)) this.#owesSinceMs = undefined;
    // Why a connection ended is known when the next one fails. If it does not, all is well.
    if (this.#wasReady) this.#troubles.suspected('connection', describe(thrown));
    else this.#failed('connection', thrown);
    this.#wasReady = false;
  }

  #recovered(): void {
    this.#owesSinceMs = undefined;
    this.#wasReady = true;
    this.#troubles.recovered('connection');
  }

  /** Any answer, also a late one or a refusal, shows that the server is there. */
  async #sent<Result>(work: (client: RedisClient) => Promise<Result>): Promise<Result> {
    const client = this.#client;
    const heard = (): void => {
      if (client !== this.#client) return;
      this.#owesSinceMs = undefined;
      this.#silentMs = SILENT_MS;
    };
    this.#owes();
    try {
      const result = await work(client);
      heard();
      return result;
    } catch (thrown) {
      if (thrown instanceof ErrorReply) heard();
      throw thrown;
    }
  }

  #renewIfSilent(): void {
    const { clock, options } = this.#deps;
    if (this.#owesSinceMs === undefined) return;
    const silentMs = clock.monotonic() - this.#owesSinceMs;
    if (silentMs < options.commandMs) return;
    if (!this.#client.isReady && this.trouble === undefined)
      this.#failed('connection', new Error('it accepts connections and does not answer'));
    // guard: a server that owes an answer for long is connected to again
    if (silentMs < this.#silentMs) return;
    this.#silentMs = Math.min(LONGEST_SILENT_MS, 2 * this.#silentMs);
    this.#owesSinceMs = undefined;
    this.#wasReady = false;
    const silent = this.#client;
    this.#client = this.#newClient();
    silent.destroy();
    this.start();
  }

  async #answered<Result>(kind: RedisCommandKind, answer: Promise<Result>, limitMs: number): Promise<Result> {
    try {
      const result = await this.#within(limitMs, answer);
      this.#troubles.recovered(kind);
      this.#deps.onCommand?.('answered');
      return result;
    } catch (thrown) {
      this.#failed(kind, thrown);
      throw this.#refused(describe(thrown), thrown);
    }
  }

  async #connected(limitMs: number): Promise<void> {
    const client = this.#client;
    let listener: (() => void) | undefined;
    const ready = new Promise<void>((resolve) => client.once('ready', (listener = resolve)));
    await this.#within(limitMs, ready).catch(() => undefined);
    if (listener !== undefined) client.off('ready', listener);
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

  #refused(reason: string, cause?: unknown): AutoscalerError {
    this.#deps.onCommand?.('failed');
    return new AutoscalerError({ kind: 'unavailable', effect: 'unknown' }, `The shared store cannot be used: ${reason}.`, { cause });
  }

  #failed(what: RedisCommandKind | 'connection', thrown: unknown): void {
    this.#troubles.failed(what, describe(thrown));
  }
}

function isOtherProtocol(thrown: unknown): boolean {
  return thrown instanceof Error && thrown.message.includes('RESP');
}

function describe(thrown: unknown): string {
  const { message, errors } = thrown as { readonly message?: string; readonly errors?: readonly Error[] };
  // The message of commands that were sent together only counts their errors.
  const [refusal] = thrown instanceof MultiErrorReply ? thrown.errors() : [];
  return redactText(refusal?.message || message || errors?.[0]?.message || String(thrown)).replace(/\.$/, '');
}
