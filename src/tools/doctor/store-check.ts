/**
 * Whether the shared store can be used: its address, its certificate, the sign-in, and each command that the daemon sends. The one key
 * that is written is removed again, and expires by itself.
 */
import type { Config } from '../../config/types/config.ts';
import type { Clock } from '../../lib/clock.ts';
import { asAutoscalerError } from '../../lib/errors.ts';
import { RedisConnection } from '../../store/redis/redis-connection.ts';
import { subscriptionPrefix } from '../../store/redis/redis-keys.ts';
import { createLog } from '../../telemetry/log.ts';
import { ok, warning, type Check } from './check.ts';
import { storeFix } from './store-fixes.ts';

type Store = NonNullable<Config['azure']['redis']>;

/** For one command, and for the connection, milliseconds. */
const COMMAND_MS = 5_000;
const CONNECT_POLLS = 50;
const POLL_MS = 100;
const KEY_LIFE_MS = 10_000;

/** The commands of the daemon, in an order in which each can succeed. */
function commandsOn(key: string): readonly (readonly [string, ...string[]])[] {
  return [
    ['SET', key, '1', 'PX', String(KEY_LIFE_MS)],
    ['GET', key],
    ['DEL', key],
    ['HSET', key, 'field', '1'],
    ['PEXPIRE', key, String(KEY_LIFE_MS)],
    ['HGET', key, 'field'],
    ['HGETALL', key],
    ['HDEL', key, 'field'],
    ['EVAL', 'return redis.call("GET", KEYS[1])', '1', key],
    ['DEL', key],
  ];
}

/** No check if no store is configured. A store that cannot be used is a warning: the daemon then reads for itself. */
export async function storeChecks({ azure, kubernetes }: Config, clock: Clock, signal: AbortSignal): Promise<readonly Check[]> {
  if (azure.redis === undefined) return [];
  const { keyPrefix, ...server } = azure.redis;
  const connection = new RedisConnection({
    options: { ...server, caPem: azure.caPem, commandMs: COMMAND_MS },
    clock,
    log: createLog('silent'),
  });
  connection.start();
  try {
    await connected(connection, clock, signal);
    return await commandChecks(connection, `${keyOfDoctor(keyPrefix, azure.subscriptionId)}doctor:${kubernetes.identity}`, azure.redis);
  } catch (thrown) {
    const error = asAutoscalerError(thrown);
    if (error.kind === 'cancelled') throw error;
    return [warning('store', `${server.url}: ${error.message}`, storeFix(azure.redis, error.message))];
  } finally {
    connection.stop();
  }
}

/** Where the daemon's keys are; if the subscription is found only at run time, beside them. */
function keyOfDoctor(prefix: string, subscriptionId: string | undefined): string {
  return subscriptionId === undefined ? `${prefix}:` : subscriptionPrefix({ prefix, subscriptionId });
}

/** @throws AutoscalerError with the reason, if there is no connection within five seconds. */
async function connected(connection: RedisConnection, clock: Clock, signal: AbortSignal): Promise<void> {
  for (let polls = 1; ; polls++) {
    try {
      await connection.command('read', (client) => client.ping());
      return;
    } catch (thrown) {
      if (connection.trouble !== undefined || polls === CONNECT_POLLS) throw thrown;
      await clock.sleep(POLL_MS, signal);
    }
  }
}

async function commandChecks(connection: RedisConnection, key: string, store: Store): Promise<readonly Check[]> {
  const refused: string[] = [];
  for (const command of commandsOn(key)) {
    const reason = await refusalOf(connection, command);
    if (reason !== undefined) refused.push(`${command[0]} (${reason})`);
  }
  if (refused.length > 0) return [warning('store', `${store.url} refuses ${refused.join(', ')}`, storeFix(store, refused.join(' ')))];
  return [ok('store', `${store.url} can be used${store.url.startsWith('rediss:') ? '' : ', without TLS'}`)];
}

async function refusalOf(connection: RedisConnection, command: readonly string[]): Promise<string | undefined> {
  try {
    await connection.command('write', (client) => client.sendCommand([...command]));
    return undefined;
  } catch (thrown) {
    return asAutoscalerError(thrown).message.replace(/^The shared store cannot be used: /, '');
  }
}
