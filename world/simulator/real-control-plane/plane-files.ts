/** The throwaway keys, certificates, tokens and policies of a control plane, in its folder. */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { kubeconfig } from '../base/kubeconfig.ts';
import { createServerTls, type ServerTls } from '../base/tls.ts';
import { auditPolicy, type KeyFiles } from './program-arguments.ts';
import { realTime } from './waits.ts';

/** Users by the name of their kubeconfig, with their group. */
const USERS = {
  admin: ['world-admin', 'system:masters'],
  'kube-controller-manager': ['system:kube-controller-manager', ''],
  'kube-scheduler': ['system:kube-scheduler', ''],
} as const;
export type PlaneUser = keyof typeof USERS;

/** Owns nothing but paths. */
export class PlaneFiles {
  readonly dir: string;
  readonly tls: ServerTls;
  readonly tokens: Readonly<Record<PlaneUser, string>>;
  /** Where requests of the audited users are recorded. */
  readonly auditLog: string;

  private constructor(dir: string, tls: ServerTls) {
    this.dir = dir;
    this.tls = tls;
    this.auditLog = join(dir, 'audit.log');
    this.tokens = { admin: randomToken(), 'kube-controller-manager': randomToken(), 'kube-scheduler': randomToken() };
  }

  /** @param tls of the API server. Default: new ones. */
  static async create(dir: string, tls: ServerTls | undefined): Promise<PlaneFiles> {
    await mkdir(join(dir, 'etcd'), { mode: 0o700 });
    return new PlaneFiles(dir, tls ?? (await createServerTls(realTime.now())));
  }

  /** Only the owner can read it. @returns its path. */
  async write(name: string, text: string): Promise<string> {
    await writeFile(join(this.dir, name), text, { mode: 0o600 });
    return join(this.dir, name);
  }

  /** @returns the path of a kubeconfig for this bearer token. */
  kubeconfigFor(name: string, server: string, token: string): Promise<string> {
    return this.write(`${name}.kubeconfig`, kubeconfig({ name: 'world', server, caPem: this.tls.caPem, token }));
  }

  async writeKeys(): Promise<KeyFiles> {
    const account = generateKeyPairSync('rsa', { modulusLength: 2048 });
    return {
      ca: await this.write('ca.pem', this.tls.caPem),
      cert: await this.write('server.pem', this.tls.certPem),
      key: await this.write('server-key.pem', this.tls.keyPem),
      accountKey: await this.write('service-accounts-key.pem', String(account.privateKey.export({ type: 'pkcs8', format: 'pem' }))),
      accountPublic: await this.write('service-accounts.pem', String(account.publicKey.export({ type: 'spki', format: 'pem' }))),
      tokens: await this.write('tokens.csv', this.#tokenLines()),
    };
  }

  writeAuditPolicy(users: readonly string[]): Promise<string> {
    return this.write('audit-policy.json', JSON.stringify(auditPolicy(users)));
  }

  #tokenLines(): string {
    return Object.entries(USERS)
      .map(([name, [user, group]]) => `${this.tokens[name as PlaneUser]},${user},${name}${group === '' ? '' : `,"${group}"`}\n`)
      .join('');
  }
}

function randomToken(): string {
  return randomBytes(16).toString('hex');
}
