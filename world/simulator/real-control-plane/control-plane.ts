/**
 * A real control plane on loopback: etcd, kube-apiserver with RBAC, kube-scheduler and kube-controller-manager, each a process of
 * its own, with throwaway keys. Nodes come from others. Must not know Azure, nor the program under test.
 *
 *     const plane = await startControlPlane({ programs, searchPath: env['PATH'] });
 *     await plane.admin.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } });
 *     await plane.stop();
 */
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AutoscalerError } from '../../../src/lib/errors.ts';
import type { ServerTls } from '../base/tls.ts';
import { ApiClient, type Json } from './api-client.ts';
import { compactStore } from './etcd.ts';
import type { Part } from './find-programs.ts';
import { freePort } from './free-ports.ts';
import { PlaneFiles, type PlaneUser } from './plane-files.ts';
import { apiServerArgs, controllerArgs, etcdArgs, schedulerArgs, schedulerConfig, type KeyFiles } from './program-arguments.ts';
import { ProgramSet, type ProgramSetOptions } from './program-set.ts';
import { realTime, waitUntil } from './waits.ts';

export interface ControlPlaneOptions extends Omit<ProgramSetOptions, 'dir'> {
  /**
   * Without the scheduler pods are not bound, without the controllers workloads have no pods: enough for single requests. Without the
   * controllers there are no service accounts: turn that admission off by `args`. Default: all.
   */
  readonly parts?: readonly ('kube-scheduler' | 'kube-controller-manager')[];
  /** Names for kube-controller-manager. Default: all that run without a cloud and without a disk driver. */
  readonly controllers?: readonly string[];
  /** Users whose requests are recorded. Default: none. */
  readonly audited?: readonly string[];
  /** The scheduler's own configuration, if its defaults will not do; how it reaches the API server is filled in. */
  readonly scheduler?: Json;
  /** Further arguments by program, after our own. */
  readonly args?: Readonly<Partial<Record<Part, readonly string[]>>>;
  /** The port of the API server. Default: a free one. */
  readonly port?: number;
  /** Of the API server. Default: new ones. */
  readonly tls?: ServerTls;
}

interface AuditEntry {
  readonly verb: string;
  readonly requestURI: string;
  readonly user: { readonly username: string };
  readonly responseStatus?: { readonly code?: number };
  readonly requestReceivedTimestamp: string;
}

interface PlanePorts {
  readonly etcd: number;
  readonly peer: number;
  readonly api: number;
}

/** A slow machine needs a while to load half a gigabyte of programs. A program that ended is noticed at once. */
const START_LIMIT_MS = 600_000;

/**
 * Starts everything and waits until pods can be created and bound. If that fails, everything is ended again.
 * @throws AutoscalerError of kind `unavailable`: a program ended, with the end of its log in further lines, or nothing happened for minutes.
 */
export async function startControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const dir = await mkdtemp(join(tmpdir(), 'aks-autoscaler-control-plane-'));
  const programs = new ProgramSet({ programs: options.programs, dir, searchPath: options.searchPath });
  try {
    const files = await PlaneFiles.create(dir, options.tls);
    const ports = { etcd: await freePort(), peer: await freePort(), api: options.port ?? (await freePort()) };
    return await ControlPlane.start({ options, files, ports, programs });
  } catch (thrown) {
    await programs.stop();
    await rm(dir, { recursive: true, force: true });
    throw thrown;
  }
}

interface ControlPlaneInput {
  readonly options: ControlPlaneOptions;
  readonly files: PlaneFiles;
  readonly ports: PlanePorts;
  readonly programs: ProgramSet;
}

/** Owns the processes and the folder of one control plane. */
export class ControlPlane {
  /** `https://127.0.0.1:<port>` */
  readonly url: string;
  readonly caPem: string;
  /** Bearer token of a member of system:masters: everything is allowed. */
  readonly adminToken: string;
  /** A client of the same user. */
  readonly admin: ApiClient;
  /** The path of a kubeconfig of the same user. */
  readonly adminKubeconfig: string;
  /** Where logs and keys are. */
  readonly dir: string;
  /** Resolves if a program ends without a request, with an error that ends with the end of its log. */
  readonly failed: Promise<AutoscalerError>;
  readonly #options: ControlPlaneOptions;
  readonly #files: PlaneFiles;
  readonly #ports: PlanePorts;
  readonly #programs: ProgramSet;
  readonly #clients: ApiClient[] = [];
  /** Milliseconds since the epoch: when the API server was started, and when it was ready. */
  readonly #starts: { readonly atMs: number; readonly readyMs: number }[] = [];
  #apiArgs: readonly string[] = [];

  private constructor({ options, files, ports, programs }: ControlPlaneInput) {
    this.url = `https://127.0.0.1:${ports.api}`;
    this.caPem = files.tls.caPem;
    this.adminToken = files.tokens.admin;
    this.dir = files.dir;
    this.adminKubeconfig = join(files.dir, 'admin.kubeconfig');
    this.failed = programs.failed;
    this.#options = options;
    this.#files = files;
    this.#ports = ports;
    this.#programs = programs;
    this.admin = this.clientWith(this.adminToken);
  }

  /** @internal */
  static async start(input: ControlPlaneInput): Promise<ControlPlane> {
    const plane = new ControlPlane(input);
    try {
      await plane.#startAll(input);
      return plane;
    } catch (thrown) {
      plane.#closeClients();
      throw thrown;
    }
  }

  async #startAll({ files, options }: ControlPlaneInput): Promise<void> {
    await files.kubeconfigFor('admin', this.url, this.adminToken);
    const keys = await files.writeKeys();
    await this.#startStore();
    this.#apiArgs = await this.#apiServerArgs(keys);
    await this.#startApiServer();
    for (const part of options.parts ?? (['kube-controller-manager', 'kube-scheduler'] as const)) await this.#startClient(part, keys);
    await this.#waitForAccounts();
  }

  /** A client with this bearer token. */
  clientWith(token: string): ApiClient {
    const client = new ApiClient({ server: this.url, caPem: this.caPem, token });
    this.#clients.push(client);
    return client;
  }

  /** Writes a kubeconfig for this bearer token and gives its path. */
  kubeconfigFor(name: string, token: string): Promise<string> {
    return this.#files.kubeconfigFor(name, this.url, token);
  }

  /** Ends the API server and starts it again on the same port and the same data. */
  async restartApiServer(how: 'stop' | 'kill' = 'stop'): Promise<void> {
    await this.#programs.end('kube-apiserver', how);
    await this.#startApiServer();
  }

  /** Kills the API server, does this, and starts it again. */
  async withoutApiServer(action: () => Promise<void>): Promise<void> {
    await this.#programs.end('kube-apiserver', 'kill');
    try {
      await action();
    } finally {
      await this.#startApiServer();
    }
  }

  /** Drops the history of the store up to now: a server that starts afterwards refuses a watch from an older version with 410. */
  compact(): Promise<void> {
    return compactStore(this.#etcd);
  }

  /**
   * Requests of this user that a ready API server has answered, oldest first. Only users named in `audited`. A server that has
   * just started refuses everything with 403 for a moment, until it has read the rules.
   */
  async audit(user: string): Promise<readonly AuditEntry[]> {
    const { auditLog } = this.#files;
    const lines = existsSync(auditLog) ? (await readFile(auditLog, 'utf8')).split('\n') : [];
    // The last line may be half written.
    const whole = lines.slice(0, -1).map((line) => JSON.parse(line) as AuditEntry);
    return whole.filter(({ user: { username }, requestReceivedTimestamp }) => {
      const atMs = Date.parse(requestReceivedTimestamp);
      return username === user && !this.#starts.some((begun) => atMs >= begun.atMs && atMs <= begun.readyMs);
    });
  }

  /** What a program wrote last. */
  tail(part: Part): string {
    return this.#programs.tail(part);
  }

  async stop(): Promise<void> {
    this.#closeClients();
    await this.#programs.stop();
    await rm(this.dir, { recursive: true, force: true });
  }

  #closeClients(): void {
    for (const client of this.#clients) client.close();
  }

  get #etcd(): string {
    return `http://127.0.0.1:${this.#ports.etcd}`;
  }

  #start(part: Part, args: readonly string[]): void {
    this.#programs.start(part, [...args, ...(this.#options.args?.[part] ?? [])]);
  }

  async #startStore(): Promise<void> {
    this.#start('etcd', etcdArgs(this.dir, this.#ports.etcd, this.#ports.peer));
    await this.#until('etcd', 'etcd answers', async () => (await fetch(`${this.#etcd}/health`)).ok);
  }

  async #apiServerArgs(files: KeyFiles): Promise<readonly string[]> {
    const policy = await this.#files.writeAuditPolicy(this.#options.audited ?? []);
    const own = apiServerArgs({ etcd: this.#etcd, port: this.#ports.api, files });
    return [...own, `--audit-policy-file=${policy}`, `--audit-log-path=${this.#files.auditLog}`];
  }

  async #startApiServer(): Promise<void> {
    const atMs = realTime.now();
    this.#start('kube-apiserver', this.#apiArgs);
    await this.#until('kube-apiserver', 'the API server is ready', async () => (await this.admin.call('GET', '/readyz')).status === 200);
    this.#starts.push({ atMs, readyMs: realTime.now() });
  }

  async #startClient(part: Part & PlaneUser, files: KeyFiles): Promise<void> {
    const config = await this.kubeconfigFor(part, this.#files.tokens[part]);
    const { controllers, scheduler } = this.#options;
    if (part === 'kube-controller-manager') return this.#start(part, controllerArgs(config, files, controllers));
    if (scheduler === undefined) return this.#start(part, schedulerArgs(config));
    const file = await this.#files.write('scheduler.json', schedulerConfig(config, scheduler));
    this.#start(part, [`--config=${file}`, '--secure-port=0']);
  }

  async #waitForAccounts(): Promise<void> {
    if (!this.#programs.has('kube-controller-manager')) return;
    // The last namespaces that an API server creates, and the first account that a pod needs.
    const paths = ['kube-system', 'kube-node-lease', 'default/serviceaccounts/default'].map((name) => `/api/v1/namespaces/${name}`);
    const exist = async (): Promise<boolean> => (await Promise.all(paths.map((path) => this.admin.get(path)))).every(Boolean);
    await this.#until('kube-controller-manager', 'the controllers create service accounts', exist);
  }

  async #until(part: Part, what: string, check: () => Promise<boolean>): Promise<void> {
    const started = waitUntil({ what, check, limitMs: START_LIMIT_MS, givesUp: () => this.#programs.endOf(part) });
    // Another server at the same port may never answer the check.
    const failed = this.failed.then((error) => Promise.reject(error));
    await Promise.race([started, failed]);
  }
}
