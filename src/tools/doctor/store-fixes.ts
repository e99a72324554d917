/** What to do about a shared store that cannot be used, from the words of the server or of the connection. Pure. */
import type { Config } from '../../config/types/config.ts';
import { shell } from '../../lib/shown-text.ts';

type Store = NonNullable<Config['azure']['redis']>;

/** The commands of the daemon. */
const RIGHTS = '+hello +ping +multi +exec +get +set +del +hget +hset +hgetall +hdel +pexpire +eval';

interface Fix {
  readonly reason: RegExp;
  readonly fix: (store: Store) => string;
}

/** The first that matches. */
const FIXES: readonly Fix[] = [
  { reason: /NOPERM|ACL failure/, fix: aclFix },
  { reason: /WRONGPASS|NOAUTH|invalid username/i, fix: () => 'set AZURE_CACHE_REDIS_USERNAME and AZURE_CACHE_REDIS_PASSWORD' },
  { reason: /OOM/, fix: (store) => `${cli(store)} CONFIG SET maxmemory-policy volatile-ttl` },
  {
    reason: /MOVED|CLUSTERDOWN|CROSSSLOT/,
    fix: () => 'set azure.cache.redis.url to a server that is no Redis cluster, or to a proxy that shows the cluster as one server',
  },
  { reason: /READONLY|MASTERDOWN/, fix: () => 'set azure.cache.redis.url to the primary server; this one is a replica' },
  { reason: /unknown command.*HELLO/i, fix: () => 'use Redis 6 or newer, or Valkey' },
  { reason: /altname/i, fix: () => 'set azure.cache.redis.url to the name that the certificate of the server has' },
  { reason: /expired/i, fix: () => 'renew the certificate of the server' },
  {
    reason: /certificate/i,
    fix: () => 'set azure.caFile to the certificate of the authority that signed the certificate of the server',
  },
  { reason: /does not answer|closed unexpectedly|RESP|ECONNRESET|EPROTO|wrong version number|packet length/i, fix: otherScheme },
];

/** The one thing to try. @param reason as the server or the connection gave it. */
export function storeFix(store: Store, reason: string): string {
  return (FIXES.find((each) => each.reason.test(reason))?.fix ?? reach)(store);
}

/** With TLS, a server without it accepts the connection and is silent. */
function reach({ url }: Store): string {
  const { hostname, port, protocol } = new URL(url);
  const at = port || '6379';
  return protocol === 'rediss:' ? shell`openssl s_client -connect ${`${hostname}:${at}`}` : shell`nc -vz ${hostname} ${at}`;
}

function aclFix(store: Store): string {
  const account = shell`ACL SETUSER ${store.username ?? 'default'} resetchannels ${`~${store.keyPrefix}:*`}`;
  return `${cli(store)} ${account} ${rightsOf(store)}`;
}

/** A database has a number at the end of the address, and selecting it is a right of its own. */
function rightsOf({ url }: Store): string {
  return /^\/\d/.test(new URL(url).pathname) ? `${RIGHTS} +select` : RIGHTS;
}

function cli({ url }: Store): string {
  return shell`redis-cli -u ${url}`;
}

function otherScheme({ url }: Store): string {
  const { host, protocol } = new URL(url);
  const other = protocol === 'rediss:' ? 'redis:' : 'rediss:';
  return `set azure.cache.redis.url to ${other}//${host}, if the server ${other === 'rediss:' ? 'expects' : 'has no'} TLS there`;
}
