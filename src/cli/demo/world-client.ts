/** How the demo looks at the world and acts on it: as kubectl and a portal would, over HTTPS with the world's own CA. */
import { spawn, type ChildProcess } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Agent, request } from 'undici';
import { parse } from 'yaml';
import { AutoscalerError } from '../../lib/errors.ts';

export type Json = Readonly<Record<string, unknown>>;

export interface WorldClient {
  readonly kubeUrl: string;
  readonly armUrl: string;
  kube(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: Json): Promise<Json>;
  /** The control surface, which real Azure does not have. */
  control(method: 'GET' | 'POST' | 'PUT', path: string, body?: Json): Promise<Json>;
  close(): Promise<void>;
}

interface Kubeconfig {
  readonly clusters: readonly { readonly cluster: { readonly server: string } }[];
  readonly users: readonly { readonly user: { readonly token: string } }[];
}

/** Reads the files that `emulate --dir` wrote. */
export async function connectWorld(dir: string): Promise<WorldClient> {
  const kubeconfig = parse(await readFile(join(dir, 'kubeconfig'), 'utf8')) as Kubeconfig;
  const env = await readFile(join(dir, 'env'), 'utf8');
  const armUrl = /AZURE_RESOURCE_MANAGER_ENDPOINT='([^']+)'/.exec(env)?.[1];
  const kubeUrl = kubeconfig.clusters[0]?.cluster.server;
  const token = kubeconfig.users[0]?.user.token;
  if (armUrl === undefined || kubeUrl === undefined || token === undefined) {
    throw new AutoscalerError({ kind: 'bug' }, `The files in ${dir} do not describe a world.`);
  }
  const agent = new Agent({ connect: { ca: await readFile(join(dir, 'ca.pem'), 'utf8') } });
  const call = async (url: string, method: string, body: Json | undefined, headers: Readonly<Record<string, string>>): Promise<Json> => {
    const response = await request(url, {
      dispatcher: agent,
      method: method as 'GET',
      headers: {
        ...headers,
        ...(body === undefined ? {} : { 'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.body.text();
    if (response.statusCode >= 300) {
      throw new AutoscalerError({ kind: 'bug' }, `${method} ${url} answered ${response.statusCode}: ${text.slice(0, 200)}`);
    }
    return text === '' ? {} : (JSON.parse(text) as Json);
  };
  return {
    kubeUrl,
    armUrl,
    kube: (method, path, body) => call(kubeUrl + path, method, body, { authorization: `Bearer ${token}` }),
    control: (method, path, body) => call(armUrl + path, method, body, {}),
    close: () => agent.close(),
  };
}

// Child processes of the demo: the world in one, the daemon in another, as on two machines.

export interface Child {
  readonly name: string;
  /** Resolves with the first line of standard output that the pattern matches; rejects when the process ends before. */
  line(pattern: RegExp): Promise<string>;
  /** Resolves with the exit code (128 + signal number when a signal ended it). */
  readonly ended: Promise<number>;
  /** Asks the process to end, and waits for it. */
  stop(): Promise<number>;
}

const MAIN = join(import.meta.dirname, '..', 'main.ts');
const SIGNAL_BASE = 128;
const SIGTERM_NUMBER = 15;

/** Starts this program's own command line in a process of its own. `onLine` sees every line of its standard output. */
export function startChild(
  name: string,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  onLine: (line: string) => void,
): Child {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', MAIN, ...args], {
    env: { ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const waiting: { readonly pattern: RegExp; readonly found: (line: string) => void; readonly failed: (error: Error) => void }[] = [];
  const complaints: string[] = [];
  const ended = endOf(child);
  createInterface({ input: child.stdout }).on('line', (line) => {
    onLine(line);
    for (const waiter of waiting.filter(({ pattern }) => pattern.test(line))) {
      waiting.splice(waiting.indexOf(waiter), 1);
      waiter.found(line);
    }
  });
  createInterface({ input: child.stderr }).on('line', (line) => complaints.push(line));
  void ended.then((code) => {
    const last = complaints.slice(-3).join(' ');
    const error = new AutoscalerError({ kind: 'bug' }, `The ${name} process ended with code ${code} too early. ${last}`.trim());
    for (const waiter of waiting.splice(0)) waiter.failed(error);
  });
  return {
    name,
    line: (pattern) => new Promise((found, failed) => waiting.push({ pattern, found, failed })),
    ended,
    stop: () => {
      child.kill('SIGTERM');
      return ended;
    },
  };
}

function endOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve) => {
    child.once('error', () => resolve(1));
    child.once('close', (code) => resolve(code ?? SIGNAL_BASE + SIGTERM_NUMBER));
  });
}

// What the daemon of a dry run would have done, as it serves it.

/** One entry of the daemon's /debug/withheld. */
export interface Wish {
  readonly kind: string;
  readonly subject: string;
  readonly detail: string;
  readonly times: number;
}
