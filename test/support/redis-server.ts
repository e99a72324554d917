/** A real Redis server of its own for a test, without a disk. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { createServerTls } from '../../world/simulator/base/tls.ts';

export const hasRedis = spawnSync('redis-server', ['--version']).status === 0;

/** Arguments of a server that only speaks TLS, with a certificate for `localhost`. */
export async function tlsArguments(port: number, folder: string): Promise<{ readonly extra: readonly string[]; readonly caPem: string }> {
  const { certPem, keyPem, caPem } = await createServerTls(Date.now());
  const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem'), 'ca-cert': join(folder, 'ca.pem') };
  await Promise.all([writeFile(files.cert, certPem), writeFile(files.key, keyPem), writeFile(files['ca-cert'], caPem)]);
  const named = Object.entries(files).flatMap(([name, path]) => [`--tls-${name}-file`, path]);
  return { extra: ['--port', '0', '--tls-port', String(port), '--tls-auth-clients', 'no', ...named], caPem };
}

export class RedisServer {
  readonly port: number;
  readonly #extra: readonly string[];
  #child: ChildProcess | undefined;

  constructor(port: number, extra: readonly string[] = []) {
    this.port = port;
    this.#extra = extra;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Resolves when it accepts connections. A server that was stopped starts empty. */
  async start(): Promise<void> {
    const args = [
      '--port',
      String(this.port),
      '--bind',
      '127.0.0.1',
      '--save',
      '',
      '--appendonly',
      'no',
      '--dir',
      tmpdir(),
      ...this.#extra,
    ];
    const child = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'ignore'] });
    this.#child = child;
    for await (const line of createInterface({ input: child.stdout })) if (line.includes('Ready to accept connections')) return;
    throw new Error('redis-server ended');
  }

  /** `SIGSTOP`: it accepts, and never answers. `SIGCONT`: it goes on. */
  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  async stop(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }
}
