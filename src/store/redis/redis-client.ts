/** A client of the library for one connection, and what it may do by itself. Must not know when it is replaced. */
import { lookup, type LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { createClient, type RedisClientType } from '@redis/client';
import { durationAfterMs } from '../../lib/closure.ts';
import { stableHash } from '../../lib/random.ts';

export interface RedisOptions {
  /** `redis://HOST:PORT[/DB]` or, with TLS, `rediss://HOST:PORT[/DB]`. Holds no password. */
  readonly url: string;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  /** Certificates of further authorities, PEM. If absent, those of Node apply. */
  readonly caPem?: string | undefined;
  /** The longest time for one command, ms. */
  readonly commandMs: number;
  /** Unique per process: processes that lost the same server do not return in the same moment. */
  readonly identity?: string | undefined;
}

export type RedisClient = RedisClientType;

/** A wait between two tries to connect grows up to about this. */
const RECONNECT_WAITS = { firstMs: 500, longestMs: 30_000 };
/** More waiting commands than this, and the server does not keep up. */
const MAX_QUEUED = 100;

/**
 * Commands are not kept for a later connection: what they say would be old by then. Nothing is sent that the documented rights do not
 * allow, and a server cannot send the client elsewhere.
 */
export function redisClient(options: RedisOptions, lookUp: LookupFunction): RedisClient {
  const { url, username, password, caPem, commandMs, identity = '' } = options;
  const tls = url.startsWith('rediss:') ? { tls: true as const, ...(caPem === undefined ? {} : { ca: caPem }) } : {};
  return createClient({
    url,
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    disableOfflineQueue: true,
    disableClientInfo: true,
    maintNotifications: 'disabled',
    commandsQueueMaxLength: MAX_QUEUED,
    socket: {
      ...tls,
      lookup: lookUp,
      connectTimeout: Math.max(commandMs, 5_000),
      reconnectStrategy: (retries: number) => reconnectWaitMs(retries, identity),
    },
  });
}

/** From half to one and a half of a time that doubles. */
export function reconnectWaitMs(retries: number, identity: string): number {
  const phase = stableHash(`${identity}/${retries}`) / 2 ** 32;
  return durationAfterMs(RECONNECT_WAITS, retries + 1) * (0.5 + phase);
}

type LookUpName = (
  hostname: string,
  options: object,
  done: (error: Error | null, address: string | LookupAddress[], family?: number) => void,
) => void;

/**
 * Finds addresses of names. While one search has no answer no other begins: each would occupy one of the few threads that Node has for
 * files and names.
 */
export function oneLookUpAtATime(lookUp: LookUpName = lookup): LookupFunction {
  let hanging: string | undefined;
  return (hostname, options, done) => {
    if (hanging !== undefined) {
      done(new Error(`the address of ${hanging} is still being looked up`), '');
      return;
    }
    hanging = hostname;
    lookUp(hostname, options, (error, address, family) => {
      hanging = undefined;
      done(error, address, family);
    });
  };
}
