/** A hash that other processes wrote, of limited size. Must not know what is in it. */
import type { RedisConnection } from './redis-connection.ts';

// guard: the server does not send more than programs of ours write
/** What is no hash, or holds more than a program of ours writes, is removed: it would be in the way of those that share. */
const READ = `
local found = redis.pcall('HGETALL', KEYS[1])
local size = 0
if found.err and not string.find(found.err, 'WRONGTYPE') then return found end
for _, each in ipairs(found) do size = size + #each end
if not found.err and size <= tonumber(ARGV[1]) then return found end
redis.call('DEL', KEYS[1])
return {}`;

interface HashLimits {
  /** Of all fields and values together. */
  readonly mostCharacters: number;
  readonly limitMs?: number | undefined;
}

/** Its fields; none if there is no hash. @throws AutoscalerError `unavailable` as a command does. */
export async function readHash(
  connection: RedisConnection,
  key: string,
  { mostCharacters, limitMs }: HashLimits,
): Promise<Readonly<Record<string, string>>> {
  const options = { keys: [key], arguments: [String(mostCharacters)] };
  const found: unknown = await connection.command('read', (client) => client.eval(READ, options), limitMs);
  const texts = Array.isArray(found) ? found.map(String) : [];
  return Object.fromEntries(texts.flatMap((field, at) => (at % 2 === 0 ? [[field, texts[at + 1] ?? '']] : [])));
}
