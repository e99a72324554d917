/**
 * The address of the API server, how it is trusted, and our credential. Everything shares one pool of connections, and
 * the lease has its own connection. The client package opens a TLS connection per request, which would add a whole
 * handshake to each lease renewal.
 */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { Socket } from 'node:net';
import { delimiter, join } from 'node:path';
import { createSecureContext } from 'node:tls';
import { Agent, buildConnector, type Dispatcher } from 'undici';
import type { Clock } from '../../lib/clock.ts';
import { AutoscalerError, messageOf } from '../../lib/errors.ts';
import type { KubeConfig } from './kube-config.ts';
import type { KubernetesOptions } from './options.ts';
import { endWhenDead, LIVENESS, type Liveness } from './dead-connections.ts';
import { tunnelThrough, type OpenTunnel } from './proxy.ts';
import { defined } from '../../lib/defined.ts';

/**
 * Reads the file, or every file of the list that exists. For entries of the same name the first counts, and so does the
 * first current context. Throws like the client package if nothing can be read.
 */
function loadKubeconfig(config: KubeConfig, path: string, another: () => KubeConfig): void {
  const listed = path.split(delimiter).filter((file) => file !== '');
  const present = existsSync(path) ? [path] : listed.filter((file) => existsSync(file));
  const [first = path, ...more] = present;
  config.loadFromFile(first);
  for (const file of more) {
    const next = another();
    next.loadFromFile(file);
    next.clusters = without(next.clusters, config.clusters);
    next.users = without(next.users, config.users);
    next.contexts = without(next.contexts, config.contexts);
    // Typed as a text, but undefined for a file without a current context.
    config.mergeConfig(next, Boolean(config.currentContext));
  }
}

function without<Named extends { readonly name: string }>(named: readonly Named[], known: readonly Named[]): Named[] {
  return named.filter(({ name }) => !known.some((each) => each.name === name));
}

const SERVICE_ACCOUNT_DIR = '/var/run/secrets/kubernetes.io/serviceaccount';
const IN_CLUSTER_SERVER = 'https://kubernetes.default.svc';
/** How often a credential is read again. A kubelet replaces a bound token well before it expires. */
const CREDENTIAL_AGE_MS = 60_000;

type Headers = Readonly<Record<string, string>>;

/** TLS settings in the form that Node's connectors take. */
interface TlsOptions {
  readonly ca?: string | Buffer;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  readonly servername?: string;
}

interface Account {
  readonly server: string;
  readonly tls: TlsOptions;
  /** If absent, the server is reached directly. */
  readonly tunnel?: OpenTunnel;
  /** Reads the credential again. */
  readonly authorization: () => Promise<Headers>;
}

export interface Connection {
  /** Without a trailing slash. */
  readonly server: string;
  readonly shared: Dispatcher;
  readonly lease: Dispatcher;
  authorization(): Promise<Headers>;
  /** To be called after a 401: the next call reads the credential again. */
  forgetAuthorization(): void;
  close(): Promise<void>;
}

/**
 * Reads the kubeconfig or the service account. Opens no connection yet. With an API server that speaks HTTP/2, one connection serves all
 * watches and calls. @throws AutoscalerError `config`, `auth`
 */
export async function openConnection(options: KubernetesOptions, clock: Clock, liveness: Liveness = LIVENESS): Promise<Connection> {
  const account =
    options.kubeconfigPath === undefined
      ? await inClusterAccount(options)
      : await kubeconfigAccount(options.kubeconfigPath, options.context);
  const { connect, giveUp } = opening(account, liveness);
  const pooled = { connect, keepAliveTimeout: 60_000, h2Options: { pingInterval: liveness.pingMs } };
  const shared = new Agent(pooled);
  const lease = new Agent({ ...pooled, connections: 1 });
  let known: { readonly headers: Headers; readonly atMs: number } | undefined;
  return {
    server: account.server.replace(/\/+$/, ''),
    shared,
    lease,
    authorization: async () => {
      if (known === undefined || clock.monotonic() - known.atMs > CREDENTIAL_AGE_MS) {
        known = { headers: await account.authorization(), atMs: clock.monotonic() };
      }
      return known.headers;
    },
    forgetAuthorization: () => {
      known = undefined;
    },
    close: async () => {
      giveUp();
      await Promise.all([shared.destroy(), lease.destroy()]);
    },
  };
}

/**
 * Opens sockets and keeps track of those that are not open yet. The agents forget these when they are destroyed, and a
 * silent server would keep the process alive until they time out.
 */
function opening(
  { tls, tunnel }: Pick<Account, 'tls' | 'tunnel'>,
  liveness: Liveness,
): {
  readonly connect: buildConnector.connector;
  readonly giveUp: () => void;
} {
  const direct = connectorOf(tls);
  const tunnels = new Set<() => void>();
  const open: buildConnector.connector = tunnel === undefined ? direct : inTunnel(direct, tunnel, tunnels);
  const waiting = new Set<Socket>();
  const connect: buildConnector.connector = (options, callback) => {
    // Typed as void, but it returns the socket.
    const socket: unknown = open(options, (...outcome) => {
      if (socket instanceof Socket) waiting.delete(socket);
      endWhenDead(outcome[1], liveness);
      callback(...outcome);
    });
    if (socket instanceof Socket) waiting.add(socket);
  };
  const giveUp = (): void => {
    for (const stop of tunnels) stop();
    for (const socket of waiting) socket.destroy();
  };
  return { connect, giveUp };
}

/** The certificates are parsed once, by the first socket, and not by each: there is one for every watch. */
function connectorOf({ servername, ...certificates }: TlsOptions): buildConnector.connector {
  let connect: buildConnector.connector | undefined;
  return (...call) => {
    connect ??= buildConnector({ secureContext: createSecureContext(certificates), timeout: 10_000, ...defined({ servername }) });
    return connect(...call);
  };
}

/** Opens a tunnel first, and the TLS connection inside. `tunnels`: ways to give up those that are being opened. */
function inTunnel(direct: buildConnector.connector, tunnel: OpenTunnel, tunnels: Set<() => void>): buildConnector.connector {
  return (options, callback) => {
    const port = options.port === '' ? '443' : options.port;
    const stop = tunnel(`${options.hostname}:${port}`, (error, socket) => {
      tunnels.delete(stop);
      if (socket === null) callback(error ?? new Error('no tunnel'), null);
      else direct({ ...options, httpSocket: socket }, callback);
    });
    tunnels.add(stop);
  };
}

/** The client package is not loaded on this path: it takes 90 MB of memory. */
async function inClusterAccount(options: KubernetesOptions): Promise<Account> {
  const dir = options.serviceAccountDir ?? SERVICE_ACCOUNT_DIR;
  const read = async (name: string): Promise<string> => {
    try {
      return await readFile(join(dir, name), 'utf8');
    } catch (cause) {
      throw new AutoscalerError(
        { kind: 'config' },
        `No kubeconfig is given, and the service account cannot be read from ${join(dir, name)}. Give a kubeconfig, or run in a pod with a service account.`,
        { cause },
      );
    }
  };
  await read('token');
  return {
    server: options.apiServer ?? IN_CLUSTER_SERVER,
    tls: { ca: await read('ca.crt') },
    authorization: async () => ({ authorization: `Bearer ${(await read('token')).trim()}` }),
  };
}

/**
 * Supports everything that a kubeconfig can hold: tokens, client certificates, exec plug-ins (kubelogin), basic
 * credentials.
 */
async function kubeconfigAccount(path: string, context: string | undefined): Promise<Account> {
  const { KubeConfig } = await import('./kube-config.ts');
  const config = new KubeConfig();
  try {
    loadKubeconfig(config, path, () => new KubeConfig());
  } catch (cause) {
    throw new AutoscalerError({ kind: 'config' }, `The kubeconfig "${path}" cannot be read: ${messageOf(cause)}.`, { cause });
  }
  if (context !== undefined) config.setCurrentContext(context);
  const cluster = config.getCurrentCluster();
  if (cluster === null) {
    const known = config.getContexts().map(({ name }) => name);
    throw new AutoscalerError(
      { kind: 'config' },
      `The kubeconfig "${path}" has no usable context "${config.getCurrentContext()}"; it has: ${known.join(', ') || 'none'}.`,
    );
  }
  if (cluster.skipTLSVerify) {
    throw new AutoscalerError(
      { kind: 'config' },
      `The kubeconfig "${path}" turns off verification of the server (insecure-skip-tls-verify), which is not accepted; give the server's certificate authority instead (certificate-authority).`,
    );
  }
  const tunnel = cluster.proxyUrl === undefined ? undefined : tunnelThrough(cluster.proxyUrl, path);
  type Applied = Parameters<typeof config.applyToHTTPSOptions>[0];
  const apply = async (): Promise<Applied> => {
    const applied: Applied = {};
    try {
      await config.applyToHTTPSOptions(applied);
    } catch (cause) {
      throw new AutoscalerError({ kind: 'auth' }, `The credential of the kubeconfig "${path}" cannot be used: ${messageOf(cause)}.`, {
        cause,
      });
    }
    return applied;
  };
  return { server: cluster.server, tls: tlsOf(await apply()), ...defined({ tunnel }), authorization: async () => headersOf(await apply()) };
}

interface AppliedOptions {
  readonly ca?: unknown;
  readonly cert?: unknown;
  readonly key?: unknown;
  readonly servername?: string | undefined;
  readonly headers?: unknown;
  readonly auth?: string | null | undefined;
}

function tlsOf(applied: AppliedOptions): TlsOptions {
  const text = (value: unknown): value is string | Buffer => typeof value === 'string' || Buffer.isBuffer(value);
  return {
    ...(text(applied.ca) ? { ca: applied.ca } : {}),
    ...(text(applied.cert) ? { cert: applied.cert } : {}),
    ...(text(applied.key) ? { key: applied.key } : {}),
    ...defined({ servername: applied.servername }),
  };
}

function headersOf(applied: AppliedOptions): Headers {
  const headers: Record<string, string> = {};
  if (typeof applied.auth === 'string') headers['authorization'] = `Basic ${Buffer.from(applied.auth).toString('base64')}`;
  if (typeof applied.headers === 'object' && applied.headers !== null) {
    for (const [name, value] of Object.entries(applied.headers)) headers[name.toLowerCase()] = String(value);
  }
  return headers;
}
