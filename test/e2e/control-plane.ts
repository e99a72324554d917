/**
 * A real control plane on loopback: etcd, kube-apiserver with RBAC, kube-scheduler and kube-controller-manager, each a
 * process of its own, with throwaway keys. Knows nothing of Azure or of the autoscaler; nodes are somebody else's.
 *
 *     const plane = await startControlPlane({ binaries, dir });
 *     await plane.admin.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } });
 *     await plane.stop();
 */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServerTls } from '../../src/simulator/base/tls.ts';
import { ApiClient, type Json } from './api-client.ts';
import type { Binaries, Part } from './binaries.ts';
import { etcdArgs, apiServerArgs, auditPolicy, controllerArgs, schedulerArgs, schedulerConfig, kubeconfig } from './program-arguments.ts';
import { freePorts } from '../support/free-ports.ts';
import { Program } from './program.ts';
import { until } from './until.ts';

export interface ControlPlaneOptions {
  readonly binaries: Binaries;
  /**
   * Without them pods are neither bound nor made from workloads: enough for who asks single questions. Without the controllers
   * nobody makes service accounts: turn that admission off by `args`. Default: all.
   */
  readonly parts?: readonly ('kube-scheduler' | 'kube-controller-manager')[];
  /** Users whose requests are recorded. */
  readonly audited?: readonly string[];
  /** The scheduler's own configuration file, where its defaults will not do; how it reaches the API server is filled in. */
  readonly scheduler?: Json;
  /** Further arguments by program, after our own. */
  readonly args?: Readonly<Partial<Record<Part, readonly string[]>>>;
}

interface AuditEntry {
  readonly verb: string;
  readonly requestURI: string;
  readonly user: { readonly username: string };
  readonly responseStatus?: { readonly code?: number };
  readonly requestReceivedTimestamp: string;
}

export interface ControlPlane {
  readonly url: string;
  readonly caPem: string;
  /** Member of system:masters: everything is allowed. */
  readonly admin: ApiClient;
  /** kubeconfig file of the same user. */
  readonly adminKubeconfig: string;
  /** Where logs and keys are. */
  readonly dir: string;
  readonly kubectl: readonly [string, ...string[]];
  /** A client with this bearer token. */
  clientWith(token: string): ApiClient;
  /** Writes a kubeconfig for this bearer token and gives its path. */
  kubeconfigFor(name: string, token: string): Promise<string>;
  /** Ends the API server and starts it again on the same port and the same data. */
  restartApiServer(how?: 'stop' | 'kill'): Promise<void>;
  /** Kills the API server, does this, and starts it again. */
  withoutApiServer(action: () => Promise<void>): Promise<void>;
  /** Forgets the history of the store up to now: a watch from a version until now is answered with 410 by a server that starts afterwards. */
  compact(): Promise<void>;
  /**
   * Requests of this user that a ready API server has answered, oldest first. Only users named in `audited`. A server that has
   * just come up refuses everything with 403 for a moment, until it has read the rules.
   */
  audit(user: string): Promise<readonly AuditEntry[]>;
  /** What a program wrote last. */
  tail(part: Part): string;
  stop(): Promise<void>;
}

const TOKENS = {
  admin: ['e2e-admin', 'system:masters'],
  'kube-controller-manager': ['system:kube-controller-manager', ''],
  'kube-scheduler': ['system:kube-scheduler', ''],
} as const;

const PATIENCE_MS = 120_000;

/** Starts everything and waits until pods could be made and bound. Whatever was started is ended again when that fails. */
export async function startControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const dir = await mkdtemp(join(tmpdir(), 'aks-autoscaler-control-plane-'));
  const running = new Map<Part, Program>();
  try {
    return await startIn(dir, options, running);
  } catch (thrown) {
    await endAll(running);
    await rm(dir, { recursive: true, force: true });
    throw thrown;
  }
}

async function startIn(dir: string, options: ControlPlaneOptions, running: Map<Part, Program>): Promise<ControlPlane> {
  const tls = await createServerTls(Date.now());
  const tokens = Object.fromEntries(Object.keys(TOKENS).map((name) => [name, randomBytes(16).toString('hex')]));
  const account = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const file = async (name: string, text: string): Promise<string> => {
    await writeFile(join(dir, name), text, { mode: 0o600 });
    return join(dir, name);
  };
  const files = {
    ca: await file('ca.pem', tls.caPem),
    cert: await file('server.pem', tls.certPem),
    key: await file('server-key.pem', tls.keyPem),
    accountKey: await file('service-accounts-key.pem', String(account.privateKey.export({ type: 'pkcs8', format: 'pem' }))),
    accountPublic: await file('service-accounts.pem', String(account.publicKey.export({ type: 'spki', format: 'pem' }))),
    tokens: await file(
      'tokens.csv',
      Object.entries(TOKENS)
        .map(([name, [user, group]]) => `${tokens[name]},${user},${name}${group === '' ? '' : `,"${group}"`}\n`)
        .join(''),
    ),
  };
  const audit = {
    policy: await file('audit-policy.json', JSON.stringify(auditPolicy(options.audited ?? []))),
    log: join(dir, 'audit.log'),
  };
  const [etcdPort, peerPort, apiPort] = await freePorts();
  const url = `https://127.0.0.1:${apiPort}`;
  const clients: ApiClient[] = [];
  const clientWith = (token: string): ApiClient => {
    const client = new ApiClient({ server: url, caPem: tls.caPem, token });
    clients.push(client);
    return client;
  };
  const kubeconfigFor = (name: string, token: string): Promise<string> => file(`${name}.kubeconfig`, kubeconfig(url, tls.caPem, token));
  const admin = clientWith(tokens['admin'] ?? '');

  const start = (part: Part, args: readonly string[]): void => {
    const all = [...args, ...(options.args?.[part] ?? [])];
    // Nothing of the machine's own settings: a KUBECONFIG or a proxy must not reach these.
    const env = { PATH: process.env['PATH'], HOME: dir, GOMAXPROCS: '2' };
    running.set(part, new Program({ name: part, command: options.binaries[part], args: all, env, logFile: join(dir, `${part}.log`) }));
  };
  const tail = (part: Part): string => running.get(part)?.tail() ?? '';
  const isUp = (part: Part): boolean => {
    const end = running.get(part)?.end;
    if (end !== undefined) throw new GaveUp(`${part} ended with ${end}:\n${tail(part)}`);
    return true;
  };

  await mkdir(join(dir, 'etcd'), { mode: 0o700 });
  start('etcd', etcdArgs(dir, etcdPort, peerPort));
  const etcd = `http://127.0.0.1:${etcdPort}`;
  await orGiveUp('etcd answers', async () => isUp('etcd') && (await fetch(`${etcd}/health`)).ok);
  const apiArgs = [
    ...apiServerArgs({ etcd, port: apiPort, files }),
    `--audit-policy-file=${audit.policy}`,
    `--audit-log-path=${audit.log}`,
  ];
  const apiReady = (): Promise<unknown> =>
    orGiveUp('the API server is ready', async () => isUp('kube-apiserver') && (await admin.call('GET', '/readyz')).status === 200);
  /** When the API server was started, and when it was ready. */
  const starts: { readonly atMs: number; readonly readyMs: number }[] = [];
  const startApiServer = async (): Promise<void> => {
    const atMs = Date.now();
    start('kube-apiserver', apiArgs);
    await apiReady();
    starts.push({ atMs, readyMs: Date.now() });
  };
  await startApiServer();
  for (const part of options.parts ?? (['kube-controller-manager', 'kube-scheduler'] as const)) {
    const config = await kubeconfigFor(part, tokens[part] ?? '');
    if (part === 'kube-controller-manager') start(part, controllerArgs(config, files));
    else if (options.scheduler === undefined) start(part, schedulerArgs(config));
    else start(part, [`--config=${await file('scheduler.json', schedulerConfig(config, options.scheduler))}`, '--secure-port=0']);
  }
  if (running.has('kube-controller-manager')) {
    await orGiveUp('the controllers make service accounts', async () => {
      isUp('kube-controller-manager');
      return (await admin.get('/api/v1/namespaces/default/serviceaccounts/default')) !== undefined;
    });
  }
  return {
    url,
    caPem: tls.caPem,
    admin,
    adminKubeconfig: await kubeconfigFor('admin', tokens['admin'] ?? ''),
    dir,
    kubectl: options.binaries.kubectl,
    clientWith,
    kubeconfigFor,
    restartApiServer: async (how = 'stop') => {
      await running.get('kube-apiserver')?.[how]();
      await startApiServer();
    },
    withoutApiServer: async (action) => {
      await running.get('kube-apiserver')?.kill();
      try {
        await action();
      } finally {
        await startApiServer();
      }
    },
    compact: () => compact(etcd),
    audit: async (user) => {
      const lines = existsSync(audit.log) ? (await readFile(audit.log, 'utf8')).split('\n') : [];
      // The last line may be half written.
      const whole = lines.slice(0, -1).map((line) => JSON.parse(line) as AuditEntry);
      return whole.filter(({ user: { username }, requestReceivedTimestamp }) => {
        const atMs = Date.parse(requestReceivedTimestamp);
        return username === user && !starts.some((begun) => atMs >= begun.atMs && atMs <= begun.readyMs);
      });
    },
    tail,
    stop: async () => {
      for (const client of clients) await client.close();
      await endAll(running);
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** A wait that makes no sense any longer. */
class GaveUp extends Error {}

async function orGiveUp(what: string, ask: () => Promise<boolean> | boolean): Promise<void> {
  let reason: GaveUp | undefined;
  await until(
    what,
    async () => {
      try {
        return await ask();
      } catch (thrown) {
        if (!(thrown instanceof GaveUp)) throw thrown;
        reason = thrown;
        return true;
      }
    },
    PATIENCE_MS,
  );
  if (reason !== undefined) throw reason;
}

/** In the order of dependence: who writes to the store ends before the store. */
async function endAll(running: ReadonlyMap<Part, Program>): Promise<void> {
  for (const program of [...running.values()].toReversed()) await program.stop(5_000);
}

/** etcd's own JSON gateway. */
async function compact(etcd: string): Promise<void> {
  const call = async (path: string, body: unknown): Promise<{ readonly header?: { readonly revision?: string } }> => {
    const response = await fetch(`${etcd}/v3/${path}`, { method: 'POST', body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`etcd answered ${response.status} to ${path}: ${await response.text()}`);
    return (await response.json()) as { readonly header?: { readonly revision?: string } };
  };
  // A version of its own: no object has it, so a watch from any object's version is too old.
  const key = Buffer.from('compacted').toString('base64');
  const { header } = await call('kv/put', { key, value: key });
  await call('kv/compaction', { revision: header?.revision, physical: true });
}
